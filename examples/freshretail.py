"""Imputation checked on real sales: censor days whose demand is observed, impute them, compare with what was sold.

`python examples/freshretail.py [PATH] [--series N]` reads FreshRetailNet-50K (Dingdong-Inc, CC BY 4.0; download it from
its publisher). Demand is observed on days without a stock-out. A fifth of them is cut in one of two ways:

- at the hour of a real stock-out on another day: what was sold until then remains;
- at a supply, the sales of a real day of the same series that was sold out to close: what was sold beyond it is gone.

Beran's estimator assumes that demand does not depend on what was available. The second cut keeps to that; the first
does not, as sales until an hour are a share of the day's demand. Days with a real stock-out had more demand than the
days that can be checked, so that learning from them as well answers a different question: both are shown.
"""

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from lostsales.data.reading.freshretail import SOURCES, read_freshretail
from lostsales.demand.survival.imputation import impute
from lostsales.types import Bools, Floats, Ints

DEFAULT = Path(__file__).parents[1] / "../shared/data/frn_demo.parquet"
OPEN, CLOSE = 6, 22  # hours
SHARE = 0.2


@dataclass(frozen=True)
class FreshRetailDays:
    """The data set in order of series and day."""

    connection: duckdb.DuckDBPyConnection  # with a table `days`
    series: Ints  # (days,)
    sales: Floats  # (days,)
    hourly: Floats  # (days, 24) sales
    sold_out: Bools  # (days, 24)

    @property
    def clean(self) -> Bools:
        """Days without a stock-out while the shop was open."""
        return np.asarray(~self.sold_out[:, OPEN:CLOSE].any(axis=1))


@dataclass(frozen=True)
class Cut:
    """Days that were cut: what remains of their sales, and the hour from which nothing was left."""

    what: str
    rows: Ints
    sales: Floats
    hour: Ints


def main() -> None:
    """Read, cut, fill, compare."""
    parser = argparse.ArgumentParser(description="Fill in demand that is known, on real sales.")
    parser.add_argument("path", nargs="?", type=Path, default=Path(os.environ.get("LOSTSALES_FRESHRETAIL", DEFAULT)))
    parser.add_argument("--series", type=int, default=10**9, help="how many series to use (all unless given)")
    given = parser.parse_args()
    if not given.path.is_file():
        message = (
            f"skipped: there is no file {given.path}. Download FreshRetailNet-50K from its publisher and give its path."
        )
        Console(soft_wrap=True).print(message, markup=False, highlight=False)
        sys.exit(0)
    days = read_days(given.path, given.series)
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(np.flatnonzero(days.clean), int(SHARE * days.clean.sum()), replace=False))
    for cut in (cut_at_hours(days, rows, rng), cut_at_supplies(days, rows, rng)):
        compare(days, cut)


def read_days(path: Path, series: int) -> FreshRetailDays:
    """The first series of the set under its published names."""
    connection = duckdb.connect()
    relation = connection.read_parquet(str(path))
    hours = "hours_stock_status" if "hours_stock_status" in relation.columns else "hours_oos"
    source = {names[0]: next(name for name in names if name in relation.columns) for names in SOURCES.values()}
    columns = ", ".join(f"{name} AS {published}" for published, name in source.items())
    connection.execute(
        f"CREATE TABLE days AS SELECT {columns}, hours_sale, {hours} AS hours_stock_status, "
        f"dense_rank() OVER (ORDER BY store_id, product_id) - 1 AS series FROM relation "
        f"QUALIFY series < {series} ORDER BY store_id, product_id, dt"
    )
    table = connection.execute("SELECT series, sale_amount, hours_sale, hours_stock_status FROM days").fetchnumpy()
    hourly, sold_out = (np.array(list(table[name]), dtype=float) for name in ("hours_sale", "hours_stock_status"))
    sales = np.round(np.asarray(table["sale_amount"], dtype=float), 4)
    return FreshRetailDays(connection, np.asarray(table["series"], dtype=np.int64), sales, hourly, sold_out > 0)


def cut_at_hours(days: FreshRetailDays, rows: Ints, rng: np.random.Generator) -> Cut:
    """Each day ends at the first sold-out hour of a real stock-out."""
    first = days.sold_out[~days.clean, OPEN:CLOSE].argmax(axis=1) + OPEN
    hour = rng.choice(first[first > OPEN], len(rows))
    sales = np.where(np.arange(24) < hour[:, None], days.hourly[rows], 0).sum(axis=1)
    return Cut("at the hours of real stock-outs", rows, sales, hour)


def cut_at_supplies(days: FreshRetailDays, rows: Ints, rng: np.random.Generator) -> Cut:
    """Each day gets the supply of a real day of its series that was sold out to close; if that suffices it stays."""
    closed = np.flatnonzero(~days.clean & days.sold_out[:, CLOSE - 1])
    supply = np.full(len(rows), np.inf)
    for index, row in enumerate(rows):
        same = closed[days.series[closed] == days.series[row]]
        if len(same):
            supply[index] = days.sales[rng.choice(same)]
    short = supply < days.sales[rows] - 1e-9
    so_far = days.hourly[rows[short]].cumsum(axis=1)
    hour = np.minimum((so_far >= supply[short, None] - 1e-6).argmax(axis=1) + 1, CLOSE)
    return Cut("at supplies of real stock-outs", rows[short], supply[short], hour)


def compare(days: FreshRetailDays, cut: Cut) -> None:
    """One table: bias and mean absolute error of each way to fill in."""
    truth = days.sales[cut.rows]
    learned = days.clean.copy()
    learned[cut.rows] = False
    ways = {"sales are demand": cut.sales} | scalings(days, cut, learned)
    identified = np.zeros(len(truth), dtype=bool)
    for what, kept in (("Beran, real stock-outs as well", np.ones_like(learned)), ("Beran", days.clean)):
        ways[what], identified = fill(days, cut, kept)
    ways |= {"Beran, where identified": ways["Beran"]}
    table = Table("filled in", "bias", "", "mean absolute error", title=f"{len(truth):,} days cut {cut.what}")
    for what, filled in ways.items():
        shown = identified if what.endswith("identified") else np.ones_like(identified)
        error = (filled - truth)[shown]
        relative = error.mean() / truth[shown].mean()
        note = f" ({identified.mean():.0%})" if what.endswith("identified") else ""
        table.add_row(what + note, f"{error.mean():+.3f}", f"{relative:+.1%}", f"{np.abs(error).mean():.3f}")
    Console().print(table)


def scalings(days: FreshRetailDays, cut: Cut, learned: Bools) -> dict[str, Floats]:
    """What was sold over the share of the day until the cut; a day cut before the doors open has its series' mean."""
    count, total = (np.bincount(days.series[learned], each[learned]) for each in (np.ones_like(days.sales), days.sales))
    usual = np.divide(total, count, out=np.full(len(count), days.sales[learned].mean()), where=count > 0)
    usual = np.r_[usual, np.full(days.series.max() + 1 - len(usual), usual.mean())][days.series[cut.rows]]
    profile = np.r_[0.0, days.hourly[learned].sum(axis=0).cumsum()]
    shares = {
        "by the share of open hours": (cut.hour - OPEN) / (CLOSE - OPEN),
        "by the usual share of sales until then": profile[cut.hour] / profile[-1],
    }
    opened = cut.hour > OPEN
    return {what: np.where(opened, cut.sales / np.where(opened, share, 1.0), usual) for what, share in shares.items()}


def fill(days: FreshRetailDays, cut: Cut, kept: Bools) -> tuple[Floats, Bools]:
    """Expected demand of the cut days, and where it is identified, from a log of the days that are kept."""
    sales, sold_out = days.sales.copy(), ~days.clean
    sales[cut.rows], sold_out[cut.rows] = cut.sales, True
    by_hour = days.sold_out.copy()
    by_hour[cut.rows] = np.arange(24) >= cut.hour[:, None]
    hours = pa.FixedSizeListArray.from_arrays(by_hour.astype(np.int64).reshape(-1), 24)
    columns = {"sold": sales, "hours": sold_out.astype(np.int64), "kept": kept, "by_hour": hours}
    days.connection.register("cut", pa.table(columns))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cut.parquet"
        days.connection.execute(
            f"COPY (SELECT days.* REPLACE (sold AS sale_amount, hours AS stock_hour6_22_cnt, "
            f"by_hour AS hours_stock_status) "
            f"FROM days POSITIONAL JOIN cut WHERE kept) TO '{path}'"
        )
        log = read_freshretail(path)
    at = np.searchsorted(np.flatnonzero(kept), cut.rows)
    asked = np.zeros(len(log), dtype=bool)
    asked[at] = True
    filled = impute(log, tail="exponential", replicates=0, only=asked)
    return filled.expected_demand[at], filled.identified[at]


if __name__ == "__main__":
    main()
