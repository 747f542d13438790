"""FreshRetailNet: recovery of demand that stock-outs hid, where it is known.

A fifth of the days in stock is cut as real stock-outs cut other days, filled in by `impute` from what remains and all
other days, and compared with what was sold.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.reading.freshretail import CLOSE, HOURS, OPEN, SOURCES, read_freshretail
from lostsales.demand.imputing import impute
from lostsales.errors import LostSalesError
from lostsales.lab.benchmarks.board import BoardRow, Figures, fingerprint
from lostsales.lab.benchmarks.entrant import Entrant
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


SHARE = 0.2  # of the days in stock that are cut
DRAWS = 4  # of the days to cut, and of the cuts
CUTTINGS: dict[str, Cutting] = {"hours": cut_at_hours, "supplies": cut_at_supplies}
NAMES = {"hours": "cut at hours of real stock-outs", "supplies": "cut at supplies of days that sold out"}
ALL_DAYS, OTHER_DAYS = "impute, from all days", "impute, without days of real stock-outs"
OURS = (ALL_DAYS, OTHER_DAYS)
FIGURES = {"bias": "bias, per cent of demand", "error": "mean absolute error"}


@dataclass(frozen=True, eq=False)
class CutRun:
    """One draw of days that are cut."""

    days: FreshRetailDays
    cutting: str
    seed: int
    entrant: Entrant | None = None

    @property
    def key(self) -> str:
        """Name of the part and of its file."""
        return f"{self.cutting}-{self.seed}"

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the days."""
        days = self.days
        by = self.entrant.fingerprint if self.entrant else ""
        return fingerprint(self.key, by, days.sales.tobytes(), days.hourly.tobytes(), days.sold_out.tobytes())

    def run(self) -> Figures:
        """Bias and mean absolute error of each way to fill in; how many days were cut."""
        days, rng = self.days, np.random.default_rng(self.seed)
        clean = np.flatnonzero(days.clean)
        rows = np.sort(rng.choice(clean, int(SHARE * len(clean)), replace=False))
        cut = CUTTINGS[self.cutting](days, rows, rng)
        truth = days.sales[cut.rows]
        ways = {"sales read as demand": cut.sales} | scaled(days, cut)
        if self.entrant:
            ways[self.entrant.place] = asked(self.entrant, days, cut)
        else:
            kept = {ALL_DAYS: np.ones_like(days.clean), OTHER_DAYS: days.clean}
            ways |= {way: imputed(days, cut, which) for way, which in kept.items()}
        found: Figures = {"days": float(len(truth))}
        for way, filled in ways.items():
            error = filled - truth
            found[f"bias: {way}"] = float(100 * error.mean() / max(truth.mean(), 1e-12))
            found[f"error: {way}"] = float(np.abs(error).mean())
        return found


@dataclass(frozen=True, eq=False)
class FreshRetail:
    """The board."""

    days: FreshRetailDays
    entrant: Entrant | None = None
    name: str = "freshretail"
    source: str = (
        "data: Dingdong-Inc, FreshRetailNet-50K (CC BY 4.0), arXiv 2505.16319; the cuts, and the figures of simple "
        "methods next to ours, are measured here"
    )

    @classmethod
    def read(cls, data: Path) -> "FreshRetail":
        """Read from the publisher's folder or file, or a sample of it."""
        return cls(read_days(data))

    @property
    def parts(self) -> Sequence[CutRun]:
        """Draws of each cut."""
        return [CutRun(self.days, cutting, seed, self.entrant) for cutting in CUTTINGS for seed in range(DRAWS)]

    def rows(self, measured: dict[str, Figures]) -> list[BoardRow]:
        """Ours beside each simple way, means over draws."""
        found = []
        entered = (self.entrant.place,) if self.entrant else OURS
        for cutting, name in NAMES.items():
            draws = [measured[CutRun(self.days, cutting, seed).key] for seed in range(DRAWS)]
            by_name = {key: np.array([draw[key] for draw in draws]) for key in draws[0]}
            for figure, words in FIGURES.items():
                simple = {
                    way: float(values.mean())
                    for key, values in by_name.items()
                    if key.startswith(f"{figure}: ") and (way := key.removeprefix(f"{figure}: ")) not in entered
                }
                for way in entered:
                    ours = by_name[f"{figure}: {way}"]
                    found += [
                        BoardRow.of(name, way, words, ours, value, f"{by} (measured here)")
                        for by, value in simple.items()
                    ]
        return found


def scaled(days: FreshRetailDays, cut: CutDays) -> dict[str, Floats]:
    """Sales divided by the share of the day until the cut; a day cut before opening has the mean of its series."""
    learned = days.clean.copy()
    learned[cut.rows] = False
    count = np.bincount(days.series, learned, days.series.max() + 1)
    total = np.bincount(days.series, days.sales * learned, len(count))
    usual = np.divide(total, count, out=np.full(len(count), days.sales[learned].mean()), where=count > 0)
    profile = np.r_[0.0, days.hourly[learned].sum(axis=0).cumsum()]
    shares = {
        "scaled by open hours": (cut.hour - OPEN) / (CLOSE - OPEN),
        "scaled by usual sales until then": profile[cut.hour] / max(profile[-1], 1e-12),
    }
    opened, fallback = cut.hour > OPEN, usual[days.series[cut.rows]]
    return {way: np.where(opened, cut.sales / np.where(opened, share, 1.0), fallback) for way, share in shares.items()}


def asked(entrant: Entrant, days: FreshRetailDays, cut: CutDays) -> Floats:
    """Demand of the cut days by an entrant that is shown all days, the cut ones as a shop would see them."""
    sales, until, stockout = days.sales.copy(), np.where(days.clean, CLOSE, days.sold_out.argmax(axis=1)), ~days.clean
    sales[cut.rows], until[cut.rows], stockout[cut.rows] = cut.sales, cut.hour, True
    day = np.arange(len(sales)) - np.searchsorted(days.series, days.series)
    columns = {"series": days.series, "day": day, "sales": sales, "stockout": stockout, "sold_out_from": until}
    return entrant.start({name: values[~stockout] for name, values in columns.items()}, "demand")(columns)[cut.rows]


def imputed(days: FreshRetailDays, cut: CutDays, kept: Bools) -> Floats:
    """Expected demand of the cut days, from a log of the days that are kept."""
    log = log_of(days, cut, kept)
    at = np.searchsorted(np.flatnonzero(kept), cut.rows)
    asked = np.zeros(len(log), dtype=bool)
    asked[at] = True
    return impute(log, replicates=0, only=asked).expected_demand[at]
