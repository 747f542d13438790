"""Days of FreshRetailNet-50K by the hour: which were in stock throughout, and cutting them at stock-outs of others."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.reading.freshretail import CLOSE, HOURS, OPEN, SOURCES, read_freshretail
from lostsales.errors import LostSalesError
from lostsales.types import Array, Bools, Floats, Ints

DAY_HOURS = 24  # hours of a row's sales
MOST_SERIES = 1_000  # of the whole set, chosen by a hash of their names
WHERE = (
    "get FreshRetailNet-50K (Dingdong-Inc, CC BY 4.0: https://huggingface.co/datasets/Dingdong-Inc/FreshRetailNet-50K) "
    "and give its folder or its train.parquet"
)


@dataclass(frozen=True, eq=False)
class FreshRetailDays:
    """Days in order of series and date."""

    connection: duckdb.DuckDBPyConnection  # with a table `days` of the same order, under the published names
    series: Ints  # (days,)
    sales: Floats  # (days,)
    hourly: Floats  # (days, 24) sales
    sold_out: Bools  # (days, 24)

    @property
    def clean(self) -> Bools:
        """Days without a stock-out while the shop was open."""
        return np.asarray(~self.sold_out[:, OPEN:CLOSE].any(axis=1))


@dataclass(frozen=True, eq=False)
class CutDays:
    """Days that were cut: what remains of their sales, and the hour from which nothing was left."""

    rows: Ints
    sales: Floats
    hour: Ints


Cutting = Callable[[FreshRetailDays, Ints, np.random.Generator], CutDays]


def read_days(path: Path) -> FreshRetailDays:
    """The published table, or a sample of it; of the whole set some series."""
    if not path.exists():
        raise LostSalesError(f"{path} is not there; {WHERE}")
    connection = duckdb.connect()
    try:
        _load(connection, _file_of(path))
        table = connection.execute("SELECT series, sale_amount, hours_sale, hours_stock_status FROM days").fetchnumpy()
    except duckdb.Error as error:
        raise LostSalesError(f"{path} cannot be read as a Parquet file: {str(error).splitlines()[0]}") from None
    hourly, sold_out = (_by_hour(np.asarray(table[name]), name) for name in ("hours_sale", "hours_stock_status"))
    # The set was published in single precision.
    sales = np.asarray(np.ma.filled(np.ma.asarray(table["sale_amount"], dtype=np.float64), np.nan)).round(4)
    if not (np.isfinite(sales) & (sales >= 0)).all():
        raise LostSalesError(f"the sales of {path} must be numbers of at least 0 on every day")
    found = FreshRetailDays(connection, np.asarray(table["series"], dtype=np.int64), sales, hourly, sold_out > 0)
    if not found.clean.any() or found.clean.all():
        raise LostSalesError(f"{path} must have days with a stock-out and days without one")
    return found


def _file_of(path: Path) -> Path:
    if path.is_file():
        return path
    found = sorted(path.rglob("train*.parquet")) or sorted(path.glob("*.parquet"))
    if len(found) != 1:
        raise LostSalesError(f"{path} holds no train.parquet and no other single Parquet file; {WHERE}")
    return found[0]


def _load(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Make the table `days`."""
    relation = connection.read_parquet(str(path))
    wanted = (*SOURCES.values(), *HOURS.values())
    source = {names[0]: next((name for name in names if name in relation.columns), None) for names in wanted}
    if missing := [name for name, found in source.items() if found is None]:
        raise LostSalesError(f"{path} is not laid out as FreshRetailNet-50K: it has no column {', '.join(missing)}")
    columns = ", ".join(f'"{found}" AS {name}' for name, found in source.items())
    relation.create_view("published")
    connection.execute(
        f"CREATE TABLE days AS WITH chosen AS (SELECT store_id, product_id FROM published "
        f"GROUP BY store_id, product_id ORDER BY hash(store_id, product_id) LIMIT {MOST_SERIES}) "
        f"SELECT {columns}, dense_rank() OVER (ORDER BY store_id, product_id) - 1 AS series "
        f"FROM published SEMI JOIN chosen USING (store_id, product_id) ORDER BY store_id, product_id, dt"
    )


def _by_hour(lists: Array, name: str) -> Floats:
    try:
        found = np.array([np.asarray(each, dtype=np.float64) for each in lists])
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 2 or found.shape[1] != DAY_HOURS or not np.isfinite(found).all():
        raise LostSalesError(f"{name} must be a list of {DAY_HOURS} numbers on every day")
    return found


def cut_at_hours(days: FreshRetailDays, rows: Ints, rng: np.random.Generator) -> CutDays:
    """Each day ends at the first sold-out hour of a real stock-out."""
    first = days.sold_out[~days.clean, OPEN:CLOSE].argmax(axis=1) + OPEN
    hour = rng.choice(first[first > OPEN], len(rows))
    sales = np.where(np.arange(DAY_HOURS) < hour[:, None], days.hourly[rows], 0).sum(axis=1)
    return CutDays(rows, sales, hour)


def cut_at_supplies(days: FreshRetailDays, rows: Ints, rng: np.random.Generator) -> CutDays:
    """Each day gets the supply of a real day of its series that was sold out to close; if that suffices it stays."""
    closed = np.flatnonzero(~days.clean & days.sold_out[:, CLOSE - 1])
    low, high = (np.searchsorted(days.series[closed], days.series[rows], side) for side in ("left", "right"))
    supply = np.full(len(rows), np.inf)
    has = high > low
    supply[has] = days.sales[closed[rng.integers(low[has], high[has])]]
    short = supply < days.sales[rows] - 1e-9
    so_far = days.hourly[rows[short]].cumsum(axis=1)
    hour = np.minimum((so_far >= supply[short, None] - 1e-6).argmax(axis=1) + 1, CLOSE)
    return CutDays(rows[short], supply[short], hour)


def log_of(days: FreshRetailDays, cut: CutDays, kept: Bools) -> SalesLog:
    """The log that a reader of the published layout makes of the days that are kept, some of them cut."""
    sales, hours, hour = days.sales.copy(), (~days.clean).astype(np.int64), np.full(len(kept), DAY_HOURS)
    sales[cut.rows], hours[cut.rows], hour[cut.rows] = cut.sales, 1, cut.hour
    days.connection.register("cut", {"sold": sales, "hours": hours, "hour": hour, "kept": kept})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cut.parquet"
        by_hour = f"[(h >= hour)::DOUBLE FOR h IN range({DAY_HOURS})]"
        days.connection.execute(
            f"COPY (SELECT days.* REPLACE (sold AS sale_amount, hours AS stock_hour6_22_cnt, "
            f"CASE WHEN hour < {DAY_HOURS} THEN {by_hour} ELSE hours_stock_status::DOUBLE[] END AS hours_stock_status) "
            f"FROM days POSITIONAL JOIN cut WHERE kept) TO '{path}'"
        )
        return read_freshretail(path)
