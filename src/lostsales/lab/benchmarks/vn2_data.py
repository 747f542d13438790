"""The weekly sales of the VN2 challenge: from the publisher's files, or from one long table."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lostsales.errors import LostSalesError
from lostsales.lab.benchmarks.board import csv_rows, parquet_columns
from lostsales.types import Array, Bools, Floats

WEEK = np.timedelta64(7, "D")
COLUMNS = ("store", "product", "week", "sales", "in_stock")
KEYS = ("Store", "Product")
STATE = ("End Inventory", "In Transit W+1", "In Transit W+2")
WHERE = (
    "get the files of the VN2 inventory planning challenge (https://www.datasource.ai: `Week 0 - ... - Sales.csv`, "
    "`Week 0 - In Stock.csv`, and for the official weeks `... - Initial State.csv` and `Week 1 - ... - Sales.csv` to "
    "`Week 8 - ...`) and give their folder, or a Parquet file with the columns " + ", ".join(COLUMNS)
)


@dataclass(frozen=True, eq=False)
class WeeklySales:
    """Sales of series (rows) in weeks (columns), and the state before the official weeks where it is given."""

    sales: Floats  # (series, weeks)
    in_stock: Bools  # (series, weeks) false: sales are below demand
    weeks: Array  # (weeks,) dates, a week apart
    start: Floats | None = None  # (series, 3) stock and two orders on the way when the history ends
    played: Floats | None = None  # (series, 8) sales of the official weeks


def read_sales(path: Path) -> WeeklySales:
    """All series that the data have in full."""
    if not path.exists():
        raise LostSalesError(f"{path} is not there; {WHERE}")
    found = _from_folder(path) if path.is_dir() else _from_table(path)
    steps = np.diff(found.weeks)
    if len(found.weeks) < 2 or (steps != WEEK).any():
        raise LostSalesError(f"the weeks of {path} must follow each other, but after {found.weeks[:-1][steps != WEEK]}")
    for name, values in (("sales", found.sales), ("start", found.start), ("official weeks", found.played)):
        if values is not None and not (np.isfinite(values) & (values >= 0)).all():
            row = int(np.flatnonzero(~(np.isfinite(values) & (values >= 0)).all(axis=1))[0])
            raise LostSalesError(f"{name} must be numbers of at least 0 in every week, but series {row} has others")
    return found


def _from_table(path: Path) -> WeeklySales:
    rows = parquet_columns(path, COLUMNS, WHERE, order="store, product, week")
    keys = np.stack([np.ma.getdata(rows["store"]).astype(str), np.ma.getdata(rows["product"]).astype(str)])
    weeks, count = np.unique(np.ma.getdata(rows["week"]).astype("datetime64[D]"), return_counts=True)
    series = len(np.unique(keys, axis=1).T)
    if (count != series).any():
        raise LostSalesError(
            f"every series of {path} must have a row in every week, but {weeks[count != series][0]} lacks some"
        )
    shape = series, len(weeks)
    sales = np.ma.filled(np.ma.asarray(rows["sales"], dtype=np.float64), np.nan).reshape(shape)
    return WeeklySales(sales, np.ma.getdata(rows["in_stock"]).astype(bool).reshape(shape), weeks)


def _from_folder(path: Path) -> WeeklySales:
    names, dates, sales = _wide(_one(path, "Week 0 - * - Sales.csv"))
    same, stock_dates, in_stock = _wide(_one(path, "Week 0 - In Stock.csv"))
    if same != names or not set(dates) <= set(stock_dates):
        raise LostSalesError(f"the series and weeks of the sales and of `In Stock` in {path} must be the same")
    at = [stock_dates.index(date) for date in dates]
    weeks = np.array(dates, dtype="datetime64[D]")
    start = played = None
    if state := sorted(path.glob("Week 0 - * - Initial State.csv")):
        rows = csv_rows(state[0], KEYS)
        by_name = {
            tuple(row[key] for key in KEYS): [_number(state[0], row.get(name)) for name in STATE] for row in rows
        }
        if missing := [name for name in names if name not in by_name]:
            raise LostSalesError(f"{state[0]} lacks the series {missing[0]}")
        start = np.array([by_name[name] for name in names])
        played = _official_weeks(path, names, weeks[-1])
    return WeeklySales(sales, in_stock[:, at] != 0, weeks, start, played)


def _official_weeks(path: Path, names: list[tuple[str, ...]], last: np.datetime64) -> Floats | None:
    """Sales of the eight weeks after the history, None where a file of them is not there."""
    columns = []
    for week in range(1, 9):
        files = sorted(path.glob(f"Week {week} - * - Sales.csv"))
        if not files:
            return None
        same, dates, sales = _wide(files[0])
        date = str(last + week * WEEK)
        if same != names or date not in dates:
            raise LostSalesError(f"{files[0]} must have the series of week 0 and a column {date}")
        columns.append(sales[:, dates.index(date)])
    return np.stack(columns, axis=1)


def _wide(path: Path) -> tuple[list[tuple[str, ...]], list[str], Floats]:
    """Names of series, dates, and numbers (series, dates) of a file with a column a week."""
    rows = csv_rows(path, KEYS)
    dates = [name for name in rows[0] if name not in KEYS]
    values = [[_number(path, row[date]) for date in dates] for row in rows]
    return [tuple(row[key] for key in KEYS) for row in rows], dates, np.array(values)


def _number(path: Path, text: str | None) -> float:
    words = {"true": 1.0, "false": 0.0, "": np.nan}
    word = (text or "").strip().lower()
    try:
        return words[word] if word in words else float(word)
    except ValueError:
        raise LostSalesError(f"{path} must hold numbers, but has {text!r}") from None


def _one(path: Path, pattern: str) -> Path:
    found = sorted(path.glob(pattern))
    if not found:
        raise LostSalesError(f"{path} holds no `{pattern}`; {WHERE}")
    return found[0]
