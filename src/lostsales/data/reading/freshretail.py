"""FreshRetailNet-50K (Dingdong-Inc, CC BY 4.0): days of fresh food in shops, as a log of demand only.

The published table has no stock and no orders, only the hours in which a product was sold out. A day with a stock-out
while the shop was open counts with the share of a day's sales that usually falls into its other hours.
"""

from pathlib import Path

import numpy as np

from lostsales.data.calendar.clock import WEEKDAYS
from lostsales.data.feature import Feature
from lostsales.data.log import SalesLog
from lostsales.data.problem import Columns, Problem
from lostsales.data.progress import Progress
from lostsales.data.reading.files import FileTable, open_files
from lostsales.data.reading.gate import read_table
from lostsales.data.reading.table import files_of
from lostsales.errors import LostSalesError

SHORT_WEEKDAYS = tuple(day[:3] for day in WEEKDAYS)
# Our columns, and what they are called where the set was published or where it was prepared for study.
SOURCES = {
    "store_id": ("store_id",),
    "product_id": ("product_id",),
    "day": ("dt",),
    "price": ("discount", "price_ratio"),
    "sales": ("sale_amount", "sales"),
    "stockout": ("stock_hour6_22_cnt", "oos_hours_6_22"),
    "promotion": ("activity_flag", "promo"),
    "holiday": ("holiday_flag",),
    "rain": ("precpt",),
    "temperature": ("avg_temperature",),
    "humidity": ("avg_humidity",),
    "wind": ("avg_wind_level",),
}
HOURS = {"sold": ("hours_sale",), "out": ("hours_stock_status", "hours_oos")}  # lists of 24
OPEN, CLOSE = 6, 22  # hours that the published count of hours out of stock is of
NUMERIC = ("promotion", "holiday", "rain", "temperature", "humidity", "wind")
PROBLEM = Problem(
    columns=Columns(series=("store_id", "product_id"), period="day"),
    features=(
        *(Feature(name=name) for name in NUMERIC),
        Feature(name="weekday", kind="categorical", levels=SHORT_WEEKDAYS),
    ),
    attributes=("usual_sales",),
)
SHARED = PROBLEM.model_copy(update={"columns": PROBLEM.columns.model_copy(update={"in_stock_share": "in_stock_share"})})


def read_freshretail(path: str | Path, progress: Progress | None = None) -> SalesLog:
    """Read the published table: a series is a product in a store, a period a day, the price a share of the full one.

    `usual_sales`, the mean sales of the series' days without stock-out, distinguishes series of different size.
    """
    table = open_files(files_of(path))
    found = {ours: next((name for name in names if name in table.columns), None) for ours, names in SOURCES.items()}
    if missing := [" or ".join(SOURCES[ours]) for ours, name in found.items() if name is None]:
        raise LostSalesError(f"{path} is not laid out as FreshRetailNet-50K: it has no column {', '.join(missing)}")
    source = {ours: table.kinds[name][0] for ours, name in found.items() if name is not None}
    # The set was published in single precision: 0.1 is 0.1 again after rounding.
    sales = f"round(CAST({source['sales']} AS DOUBLE), 4)"
    sold_out = f"(CAST({source['stockout']} AS DOUBLE) > 0)"
    day = f"CAST({source['day']} AS TIMESTAMP)"
    series = f"PARTITION BY {source['store_id']}, {source['product_id']}"
    usual = f"coalesce(avg({sales}) FILTER (WHERE NOT {sold_out}) OVER ({series}), avg({sales}) OVER ({series}))"
    kinds = {name: table.kinds[name] for name in ("store_id", "product_id")} | {
        "day": (day, "TIMESTAMP"),
        "price": (f"round(CAST({source['price']} AS DOUBLE), 4)", "DOUBLE"),
        "sales": (sales, "DOUBLE"),
        "stockout": (sold_out, "BOOLEAN"),
        "weekday": (f"strftime({day}, '%a')", "VARCHAR"),
        "usual_sales": (f"round({usual}, 4)", "DOUBLE"),
    }
    kinds |= {name: (source[name], "DOUBLE") for name in NUMERIC}
    hours = {what: next((name for name in names if name in table.columns), None) for what, names in HOURS.items()}
    if hours["sold"] is None or hours["out"] is None:
        return read_table(FileTable(table.connection, table.name, tuple(kinds), kinds, table.files), PROBLEM, progress)
    del kinds["stockout"]
    share = _in_stock_share(table, table.kinds[hours["sold"]][0], table.kinds[hours["out"]][0], sold_out)
    kinds["in_stock_share"] = (share, "DOUBLE")
    return read_table(FileTable(table.connection, table.name, tuple(kinds), kinds, table.files), SHARED, progress)


def _in_stock_share(table: FileTable, sold: str, out: str, sold_out: str) -> str:
    """SQL of the usual share of a day's sales in the hours in stock; 1 without a stock-out while open.

    What is usual is seen on days without one; where those show no sales by the hour, all open hours count the same.
    """
    sums = ", ".join(f"sum(CAST({sold}[{hour + 1}] AS DOUBLE)) FILTER (WHERE NOT {sold_out})" for hour in range(24))
    usual = np.nan_to_num(np.array(table.connection.execute(f"SELECT {sums} FROM log").fetchall()[0], dtype=float))
    if usual.sum() <= 0:
        usual = ((np.arange(24) >= OPEN) & (np.arange(24) < CLOSE)).astype(np.float64)
    missed = " + ".join(
        f"{share!r} * (CAST({out}[{hour + 1}] AS DOUBLE) > 0)::INT"
        for hour, share in enumerate((usual / usual.sum()).tolist())
    )
    return f"CASE WHEN {sold_out} THEN greatest(1 - ({missed}), 0) ELSE 1 END"
