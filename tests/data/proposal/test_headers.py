"""Tables as users have them: which columns are found, and what is said to be left."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

from lostsales.data.problem import Problem
from lostsales.data.proposal.propose import Proposal, propose
from lostsales.data.reading.gate import read_log
from tests.data.proposal.headers import TABLES

NO_STOCKOUTS = "nothing says when a product was out of stock"
NO_PRICE = "price: no column has it"
COSTS = "[costs] order"


class Expected(NamedTuple):
    """Facts that must be found in a table."""

    columns: dict[str, Any]
    features: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    left: tuple[str, ...] = (COSTS,)  # how each thing that is left begins
    format: dict[str, str] = {}  # noqa: RUF012, never changed


EXPECTED = {
    "m5": Expected(
        {"series": ("store_id", "item_id"), "period": "date", "sales": "sales", "price": "sell_price"},
        ("weekday", "snap_CA"),
        ("dept_id",),
        (COSTS, NO_STOCKOUTS),
    ),
    "rossmann": Expected(
        {"series": "Store", "period": "Date", "sales": "Sales"},
        ("DayOfWeek", "Promo"),
        left=(NO_PRICE, COSTS, NO_STOCKOUTS),
    ),
    "online_retail": Expected(
        {"series": "StockCode", "period": "InvoiceDate", "sales": "Quantity", "price": "UnitPrice"},
        left=(
            COSTS,
            "several rows belong to one product and day",
            "'Quantity' has values below 0",
            NO_STOCKOUTS,
        ),
        format={"dates": "%m/%d/%Y %H:%M"},
    ),
    "store_item": Expected(
        {"series": ("store", "item"), "period": "date", "sales": "sales"}, left=(NO_PRICE, COSTS, NO_STOCKOUTS)
    ),
    "nixtla": Expected({"series": "unique_id", "period": "ds", "sales": "y"}, left=(NO_PRICE, COSTS, NO_STOCKOUTS)),
    "gluonts": Expected(
        {"series": "item_id", "period": "timestamp", "sales": "target"}, left=(NO_PRICE, COSTS, NO_STOCKOUTS)
    ),
    "health_ledger": Expected(
        {
            "series": ("Facility", "Product"),
            "period": "Month",
            "sales": "Quantity Issued",
            "stock": "Opening Balance",
            "order": "Quantity Received",
            "adjustment": "Losses/Adjustments",
            "out_of_stock": "Days Out of Stock",
        },
        left=(NO_PRICE, COSTS),
    ),
    "german_erp": Expected(
        {
            "series": ("Filiale", "Artikelnummer"),
            "period": "Datum",
            "sales": "Menge",
            "price": "Preis",
            "stock": "Bestand",
            "order": "Bestellung",
            "stockout": "Ausverkauft",
        },
        format={"decimal": ",", "thousands": ".", "currency": "€", "dates": "%d.%m.%Y"},
    ),
    "shopify": Expected(
        {
            "series": "Lineitem sku",
            "period": "Created at",
            "sales": "Lineitem quantity",
            "price": "Lineitem price",
        },
        left=(COSTS, "several rows belong to one product and day", NO_STOCKOUTS),
    ),
    "fresh_retail": Expected(
        {
            "series": ("store_id", "product_id"),
            "period": "dt",
            "sales": "sale_amount",
            "price": "discount",
            "out_of_stock": "stock_hour6_22_cnt",
        },
        ("holiday_flag", "avg_temperature"),
        ("first_category_id",),
    ),
    "dominicks": Expected(
        {"series": ("STORE", "UPC"), "period": "WEEK", "sales": "MOVE", "price": "PRICE"}, left=(COSTS, NO_STOCKOUTS)
    ),
    "retail_inventory": Expected(
        {
            "series": ("Store ID", "Product ID"),
            "period": "Date",
            "sales": "Units Sold",
            "price": "Price",
            "stock": "Inventory Level",
            "order": "Units Ordered",
        },
        ("Weather Condition",),
        ("Category",),
    ),
    "french": Expected(
        {
            "series": ("Magasin", "Référence"),
            "period": "Date de vente",
            "sales": "Qté vendue",
            "price": "Prix unitaire",
            "stock": "Stock initial",
            "order": "Qté commandée",
            "stockout": "Rupture",
        },
        format={"decimal": ",", "dates": "%d/%m/%Y"},
    ),
    "favorita": Expected(
        {"series": ("store_nbr", "family"), "period": "date", "sales": "sales"},
        ("onpromotion",),
        left=(NO_PRICE, COSTS, NO_STOCKOUTS),
    ),
    "unknown_names": Expected(
        {"series": "k1", "period": "k2", "sales": "x1", "stock": "x2", "order": "x3"},
        left=(NO_PRICE,),
    ),
    "vn2": Expected(
        {"series": ("store", "product"), "period": "week", "sales": "sales", "in_stock": "in_stock"},
        attributes=("division",),
        left=(NO_PRICE, COSTS),
    ),
}
EXPECTED |= {
    "walmart": Expected(
        {"series": ("Store", "Dept"), "period": "Date", "sales": "Weekly_Sales"},
        ("IsHoliday", "Fuel_Price"),
        left=(NO_PRICE, COSTS, "'Weekly_Sales' has fractions: if it is money", NO_STOCKOUTS),
    ),
    "point_of_sale": Expected(
        {
            "series": ("Store Name", "SKU"),
            "period": "Sales Date",
            "sales": "POS Qty",
            "price": "Unit Selling Price",
            "stock": "On Hand Qty",
            "order": "Qty Ordered",
            "stockout": "Stockout Flag (Y/N)",
        },
        left=(),
        format={"thousands": ",", "currency": "$", "dates": "%m/%d/%Y"},
    ),
    "numbered_places": Expected(
        {"series": ("Producto_ID", "Zona"), "period": "Semana", "sales": "Venta_uni_hoy"},
        left=(NO_PRICE, COSTS, NO_STOCKOUTS),
    ),
}


def write(table: pd.DataFrame, folder: Path, ending: str) -> Path:
    path = folder / f"sales.{ending}"
    if ending == "csv":
        german = table.columns[0] == "Filiale"
        table.to_csv(path, index=False, sep=";" if german else ",")
    else:
        table.to_parquet(path, index=False)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", TABLES)
def test_columns_features_and_formats_of_a_table_are_found(name: str, ending: str, tmp_path: Path) -> None:
    path, expected = write(TABLES[name](), tmp_path, ending), EXPECTED[name]
    found = propose(path)
    assert found.columns == expected.columns
    own = [each for each in found.problem.features if each.calendar is None]
    assert tuple(each.name for each in own) == expected.features
    assert found.problem.attributes == expected.attributes
    assert found.problem.format.model_dump(exclude_defaults=True) == expected.format
    assert len(found.left) == len(expected.left), found.left
    assert all(each.startswith(start) for each, start in zip(found.left, expected.left, strict=True)), found.left
    assert found.is_readable == all(each.startswith("[costs]") or each == NO_STOCKOUTS for each in expected.left)
    assert_written_well(found, tmp_path)


@pytest.mark.parametrize("name", [name for name, each in EXPECTED.items() if NO_PRICE in each.left])
def test_with_a_price_the_table_can_be_read(name: str, tmp_path: Path) -> None:
    path = write(TABLES[name](), tmp_path, "csv")
    found = propose(path)
    text = found.text.replace("# price = 2", "price = 2")
    path.with_suffix(".toml").write_text(text, encoding="utf-8")
    log = read_log(path)
    assert len(log) == found.rows
    assert set(log.price) == {2.0}
    assert log.notes.sales_are_demand == (NO_STOCKOUTS in EXPECTED[name].left)


def assert_written_well(found: Proposal, folder: Path) -> None:
    """The text is the problem, and every key has a comment beside it or above."""
    (folder / "again.toml").write_text(found.text, encoding="utf-8")
    assert Problem.from_toml(folder / "again.toml") == found.problem
    lines = found.text.splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        if re.match(r"[a-z_]+ = ", line) and not line.endswith("["):
            assert "  # " in line or before.startswith("#"), line
        if line.startswith("  "):
            assert "  # " in line.strip(), line
