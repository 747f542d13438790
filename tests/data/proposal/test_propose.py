"""Content that decides in a proposal, and what is said where it decides nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lostsales.data.problem import Problem
from lostsales.data.proposal import profile
from lostsales.data.proposal.propose import propose
from lostsales.data.reading.gate import read_log
from lostsales.errors import LostSalesError
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.data.calendar.shops import days, on_weekdays, products, shop
from tests.data.proposal.headers import retail_inventory, rows, unknown_names
from tests.learn.small import frame_of


@pytest.mark.parametrize("scenario", ["released", "steady"])
def test_the_timing_of_a_simulated_shop_is_found(scenario: str) -> None:
    truth = Scenario.load(scenario).problem
    log, _ = simulate(scenario, episodes=20, seed=2)
    found = propose(frame_of(log))
    assert found.problem.arrival == truth.arrival
    assert {each.name for each in found.problem.features} == {each.name for each in truth.features}
    assert found.problem.capacity == truth.capacity
    assert found.is_readable
    assert "980 of 980 rows" in found.text


def test_a_readable_proposal_reads_the_whole_table(tmp_path: Path) -> None:
    table = retail_inventory()
    table.to_csv(tmp_path / "sales.csv", index=False)
    found = propose(tmp_path / "sales.csv")
    assert found.is_readable
    (tmp_path / "sales.toml").write_text(found.text)
    log = read_log(tmp_path / "sales.csv")
    assert len(log) == len(table)
    assert log.sales.sum() == table["Units Sold"].sum()
    assert log.attributes["Category"].tolist().count("Toys") == 2


def test_frames_are_looked_at_as_files_are(tmp_path: Path) -> None:
    import polars as pl

    table = retail_inventory()
    table.to_parquet(tmp_path / "sales.parquet")
    expected = propose(tmp_path / "sales.parquet").problem
    assert propose(table).problem == expected
    assert propose(pl.from_pandas(table)).problem == expected


def test_a_number_of_each_series_may_be_a_cost_and_a_text_is_another_name() -> None:
    log, _ = simulate("released", episodes=6, seed=2)
    table = frame_of(log)
    number = table["series"].astype(int)
    found = propose(table.assign(carrying=0.011 * (1 + number), label="shop " + number.astype(str))).text
    assert "'carrying', one number in each series; a unit cost belongs in [costs]" in found
    assert "'label', another name of the series" in found


def test_several_files_are_one_table(tmp_path: Path) -> None:
    table = retail_inventory()
    (tmp_path / "parts").mkdir()
    paths = [tmp_path / "parts" / f"{part}.csv" for part in "ab"]
    for path, part in zip(paths, (table.iloc[:80], table.iloc[80:]), strict=True):
        part.to_csv(path, index=False)
    for source in (paths, tmp_path / "parts"):
        found = propose(source)
        assert (found.rows, found.is_readable) == (180, True)
        assert found.columns["sales"] == "Units Sold"


def test_a_name_that_its_content_contradicts_is_not_taken() -> None:
    table = rows().drop(columns=["price"])
    table["Price"] = np.where(table["promo"] == 1, "cheap", "dear")
    found = propose(table.rename(columns={"item": "sku", "place": "store"}))
    assert "price" not in found.columns
    assert "'Price' is named as if it held the price, but its values are not numbers" in " ".join(found.text.split())


def test_content_wins_over_names_that_are_swapped() -> None:
    table = rows().rename(columns={"place": "store", "stock": "sales", "sales": "stock"})
    found = propose(table)
    assert (found.columns["stock"], found.columns["sales"]) == ("sales", "stock")
    assert "found by its balance" in found.text


def test_rows_decide_when_orders_arrive() -> None:
    table = rows()
    after = propose(table)
    before = propose(table.assign(stock=table["stock"] - table["order"]).query("stock >= 0"))
    assert (after.problem.arrival, before.problem.arrival) == ("after", "before")
    unknown = propose(table.assign(stock=table["stock"] + 1000))
    assert any(each.startswith("arrival:") for each in unknown.left)


def test_a_flag_of_rows_that_sold_out_is_found_whatever_its_name() -> None:
    assert propose(rows().rename(columns={"place": "store", "out": "x"})).columns["stockout"] == "x"


@pytest.mark.parametrize(
    "words", ["ja nein", "WAHR FALSCH", "Oui Non", "vrai faux", "Sí No", "si no", "vero falso", "sim não"]
)
def test_flags_in_other_languages(words: str) -> None:
    table = rows().rename(columns={"place": "store"})
    yes, no = words.split()
    written = table.assign(out=np.where(table["out"].astype(bool), yes, no))
    found = propose(written)
    assert found.columns["stockout"] == "out"
    np.testing.assert_array_equal(read_log(written, found.problem).stockout, read_log(table, found.problem).stockout)


def test_the_only_product_of_a_table_is_not_divided_by_its_promotions() -> None:
    table = rows().query("place == '1' and item == '10'").drop(columns=["place", "item"])
    found = propose(table)
    assert "series" not in found.columns
    assert any(each.startswith("no column names a series: if the table is one product in one") for each in found.left)
    assert propose(table.assign(item="10")).is_readable


def test_missing_zeros_are_left_to_do() -> None:
    table = rows().rename(columns={"place": "store"})[["store", "item", "date", "price", "sales"]]
    sold = table[(table["sales"] > 0) & (np.random.default_rng(1).random(len(table)) < 0.4)]
    assert any(each.startswith("rows of zero sales seem to be missing: ") for each in propose(sold).left)
    assert not any("zero sales" in each for each in propose(table).left)


def test_money_that_is_no_multiple_of_sales_is_no_revenue() -> None:
    table = rows().rename(columns={"place": "store"}).drop(columns="price")
    noise = np.random.default_rng(1).uniform(1, 100, len(table))
    assert "revenue" not in propose(table.assign(amount=noise)).columns
    found = propose(table.assign(amount=table["sales"] * 2.5))
    assert (found.columns["revenue"], found.is_readable) == ("amount", True)


@pytest.mark.parametrize("name", ["in_stock_share", "On-shelf availability", "InStockRate"])
def test_a_share_of_the_period_in_stock_is_found(name: str) -> None:
    table = retail_inventory().drop(columns=["Inventory Level", "Units Ordered"])
    table[name] = np.where(np.arange(len(table)) % 3 == 0, 0.4, 1.0)
    found = propose(table)
    assert found.columns["in_stock_share"] == name
    log = read_log(table, found.problem)
    assert log.out_of_stock is not None
    assert log.out_of_stock == pytest.approx(1.0 - table[name])


def test_a_share_in_per_cent_is_not_taken_for_one() -> None:
    table = retail_inventory().assign(in_stock_share=np.arange(len(retail_inventory())) % 101.0)
    found = propose(table)
    assert "in_stock_share" not in {*found.columns, *found.columns.values()}


@pytest.mark.parametrize("name", ["stock", "Closing stock"])
@pytest.mark.parametrize("delivered", [0, 1], ids=["counted before the delivery", "counted after it"])
def test_a_stock_counted_at_the_end_of_the_period_is_read_as_such(name: str, delivered: int) -> None:
    opening = rows().rename(columns={"place": "store"})
    left = opening["stock"] + delivered * opening["order"] - opening["sales"]
    table = opening.assign(stock=left).rename(columns={"stock": name})
    found = propose(table)
    assert found.problem.columns.closing_stock == name
    assert found.is_readable
    log, usual = read_log(table, found.problem), read_log(opening, propose(opening).problem)
    np.testing.assert_allclose(np.asarray(log.stock), np.asarray(usual.stock))
    np.testing.assert_allclose(log.available, usual.available)


def test_orders_that_come_later_are_named() -> None:
    table = rows()
    table["order"] = table.groupby(["place", "item"])["order"].shift(-2, fill_value=0)
    found = propose(table.rename(columns={"place": "store"}))
    assert any(each.startswith("orders come 2 periods later than for the next one") for each in found.left)


def test_an_adjustment_of_the_wrong_sign_is_named() -> None:
    table = rows()
    lost = np.arange(len(table)) % 3
    within = table.groupby(["place", "item"])
    table["Losses"] = lost
    table["stock"] += 100 - (within["Losses"].cumsum() - lost)
    assert any("turn its sign" in each for each in propose(table.rename(columns={"place": "store"})).left)


def test_days_and_months_that_could_be_either_are_said_to_be() -> None:
    table = rows("MS", "2024-01-01").query("date < '2025-01-01'")
    written = table.assign(date=table["date"].dt.strftime("%d/%m/%Y")).rename(columns={"place": "store"})
    found = propose(written)
    assert any("day and month can be read both ways" in each for each in found.left)


def test_thousands_that_could_be_fractions_are_said_to_be() -> None:
    table = rows().rename(columns={"place": "store"})
    table["sales"] = [f"{1 + sold % 9},{sold:03d}" for sold in table["sales"]]
    found = propose(table)
    assert found.problem.format.thousands == ","
    assert any("can be read as thousands or as fractions" in each for each in found.left)


def test_dates_without_separators() -> None:
    table = rows().rename(columns={"place": "store"})
    found = propose(table.assign(date=table["date"].dt.strftime("%Y%m%d").astype(int)))
    assert (found.problem.format.dates, found.is_readable) == ("%Y%m%d", True)
    assert "daily" in found.text


def test_a_large_table_is_looked_at_in_whole_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [retail_inventory().assign(**{"Store ID": f"S{number:03d}"}) for number in range(40)]
    table = pd.concat([each.drop_duplicates(["Store ID", "Product ID", "Date"]) for each in parts])
    table.sort_values("Date").to_csv(tmp_path / "sales.csv", index=False)
    monkeypatch.setattr(profile, "SAMPLE_ROWS", 900)
    monkeypatch.setattr(profile, "HEAD_ROWS", 300)
    found = propose(tmp_path / "sales.csv")
    assert found.rows == len(table) == 3600
    assert 300 <= found.rows_seen <= 1800
    assert found.columns["series"] == ("Store ID", "Product ID")
    assert found.is_readable
    assert found.rows_seen % 30 == 0  # the length of a series
    followed = found.rows_seen - found.rows_seen // 30
    assert f"stock + order - sales in {followed:,} of {followed:,} rows" in " ".join(found.text.split())


def test_a_table_of_one_column_a_period_is_refused() -> None:
    wide = pd.DataFrame({"id": ["a", "b"]} | {f"d_{day}": [1, 2] for day in range(1, 40)})
    with pytest.raises(LostSalesError, match="one column per period"):
        propose(wide)


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(LostSalesError, match="the table has none"):
        propose(unknown_names().head(0))


def test_names_that_toml_must_quote() -> None:
    table = rows().rename(columns={"place": 'the "store"', "promo": "a\nb # c", "item": "sku"})
    found = propose(table)
    assert [each.name for each in found.problem.features if each.calendar is None] == ["a\nb # c"]
    assert found.is_readable


def test_a_column_named_as_ours_that_is_something_else_is_not_read_as_ours() -> None:
    table = rows().drop(columns=["order", "stock"]).rename(columns={"place": "store", "out": "stockout"})
    found = propose(table.assign(order=[f"PO-{number}" for number in range(len(table))]))
    assert found.problem.columns.order == "no order"
    assert "order" not in found.columns
    assert found.is_readable


NAMES = (
    "date",
    "sku",
    "store",
    "sales",
    "Price",
    "stock",
    "order",
    "stockout",
    "in_stock",
    "in_stock_share",
    "received",
    "adjustment",
    "x",
    "id",
    "last_sales",
    "é#",
    'a "b"',
    "'",
    "year",
    "week",
    "days out of stock",
    "Losses",
    "unit cost",
    "category",
    "closing stock",
)


@pytest.mark.parametrize("seed", range(40))
def test_any_table_gets_a_problem_that_is_valid(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.choice([1, 2, 30, 200]))
    days = pd.date_range("2024-01-01", periods=size)
    values: list[Any] = [
        rng.integers(0, 5, size),
        rng.normal(size=size),
        rng.choice(["a", "b"], size),
        [None] * size,
        days,
        days.strftime("%d.%m.%Y"),
        rng.choice([True, False], size),
        [f"{each:.2f}".replace(".", ",") for each in range(size)],
        [f"${each:,.2f}" for each in rng.normal(5000, 2, size)],
        np.where(rng.random(size) < 0.5, np.nan, 1.0),
        np.full(size, np.inf),
        rng.integers(-(2**62), 2**62, size),
        [*map(str, range(size))],
        np.arange(size) + 20240101,
        ["1e400", *["x"] * (size - 1)],
        np.zeros(size),
        rng.choice(["2024-01", "2024-02"], size),
        ["31/12/2024 25:61"] * size,
        ["%\\'"] * size,
        rng.choice(["yes", "no"], size),
    ]
    chosen = rng.choice(NAMES, int(rng.integers(1, 9)), replace=False)
    table = pd.DataFrame({name: values[int(rng.integers(len(values)))] for name in chosen})
    if seed % 2:
        table.to_csv(tmp_path / "t.csv", index=False)
    found = propose(tmp_path / "t.csv" if seed % 2 else table)
    (tmp_path / "t.toml").write_text(found.text, encoding="utf-8")
    assert Problem.from_toml(tmp_path / "t.toml") == found.problem
    assert found.is_readable or found.left


def test_closings_are_proposed_and_the_gaps_that_remain_are_counted() -> None:
    stores = {"x / ": on_weekdays(6, also=["2024-05-01"]), "y / ": on_weekdays(0)}
    table = pd.concat([shop(days(150, clock), products(3, store)) for store, clock in stores.items()])
    table = table[(table.series != "y / 1") | (table.period != "2024-03-06")]
    table[["store", "product"]] = table.series.str.split(" / ", expand=True)
    found = propose(table.drop(columns="series"))
    text = " ".join(found.text.replace("#", "").split())
    assert (
        "CHECK: found closed every Sunday and on 1 other day: 3 series, such as x / 0; every Monday: 3 series, such as "
        'y / 0; else a list of weekdays and dates closed = "learn"'
    ) in text
    assert "daily, 1 gap, which starts a new series" in text
    assert found.problem.clock.closed == "learn"
    assert "clock" not in propose(shop(range(50), "ab")).text


def test_a_column_without_a_type_is_empty() -> None:
    table = {"series": ["a", "a"], "period": [1, 2], "price": [2, 3], "sales": [4, 1]}
    found = propose(pa.table({name: pa.array(values) for name, values in table.items()} | {"rowid": pa.nulls(2)}))
    assert "rowid" in found.text
    assert "empty" in next(line for line in found.text.splitlines() if "rowid" in line)


def test_a_column_of_numbers_without_a_name_is_no_order() -> None:
    table = {"series": ["a"] * 3, "period": [1, 2, 3], "stock": [50.0] * 3, "price": [2.0] * 3, "sales": [1.0] * 3}
    found = propose(pa.table(table | {"": [0.0] * 3}))
    assert "order" not in found.problem.columns.model_dump(exclude_defaults=True)


def test_a_text_that_utf_8_cannot_write_is_no_reason_to_fail() -> None:
    table = pd.DataFrame(
        {"series": ["a", "\ud800"], "period": [1, 2], "price": [2.0, 3.0], "sales": [4, 1]}, dtype=object
    )
    assert "sales" in propose(table).text


@pytest.mark.parametrize("table", [pd.DataFrame(index=range(3)), pd.DataFrame({"sales": []})])
def test_a_table_without_rows_or_columns_is_refused(table: pd.DataFrame) -> None:
    with pytest.raises(LostSalesError, match="but the table has none"):
        propose(table)


def test_numbers_beyond_every_whole_number_are_no_reason_to_fail() -> None:
    table = rows().drop(columns="date", errors="ignore")
    table["period"] = np.arange(len(table)) % 40
    for name in [name for name in table.columns if table[name].dtype.kind in "iuf"]:
        odd = table.astype({name: float})
        odd.loc[5, name] = 1e300
        assert propose(odd).text
