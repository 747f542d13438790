"""Tables as shops keep them, with something odd in them: dates, closed days, time out of stock, several files."""

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.fuzz.fuzzed_tables import FuzzedTable, damaged

FIRST = date(2026, 1, 5)
HOURS = 16
SUFFIXES = (".csv", ".parquet")
COLUMNS = '[columns]\nseries = ["shop", "sku"]\nperiod = "day"\nout_of_stock = "hours_out"\n'
PROBLEM = f'arrival = "before"\nopen_time = {HOURS}\nattributes = ["department"]\n{{more}}\n{COLUMNS}{{tables}}'

CLOCKS = (
    "",
    '[clock]\nclosed = "learn"',
    '[clock]\nclosed = "none"',
    '[clock]\nclosed = ["Sunday"]',
    '[clock]\nclosed = ["Sun", "2026-01-06", 3]',
    "[clock]\nclosed = []",
    '[clock]\nclosed = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]',
    '[clock]\nclosed = ["learn", "Sunday"]\nopen = ["2026-01-11"]\ncolumn = "shop"',
    '[clock]\nclosed = "learn"\ncolumn = "absent"',
    '[clock]\ncolumn = "shop"\n[clock.own]\nnorth = ["Sunday"]\nabsent = ["Monday"]',
    '[clock]\n[clock.own]\n"north / a" = ["Sunday"]',
    "[clock]\nclosed = [1e15]",
    "[clock]\nclosed = [999999999999999]",
    '[clock]\nclosed = ["9999-12-31", "0001-01-01"]',
    "[clock]\nopen = [true]",
    '[clock]\nclosed = ["infinity"]',
    '[clock]\ncolumn = ""',
    "[clock.calendars]\nstep = 5\nanchor = -9",
    "[clock.calendars]\nstep = 1\nweek = 7\nclosed = []\n[clock.calendars.of_series]\na = 3",
)  # fmt: skip
RULES = (
    "",
    '[rules]\nown = [{where = {department = "bakery"}, multiple = 6}]',
    '[rules]\nown = [{where = {sku = "a"}, multiple = 0}]',
    '[rules]\nown = [{where = {department = "absent"}, minimum = 3}]',
    "[rules]\nown = [{where = {}, least_margin = 0.2}]",
    "[rules]\nown = [{multiple = 6}]",
    '[[rules.own]]\nwhere = {series = "north / a"}\ngreatest_price_change_percent = 0',
    '[[rules.own]]\nwhere = {series = ["north / a", 5]}\nmultiple = true',
    '[[rules.own]]\nwhere = {department = ["bakery", "dairy"]}\nmultiple = 1e300',
    "[rules]\nprice_ladder = []",
    "[rules]\nmultiple = 5e-324",
    "[rules]\nforbidden = [[2, 0], [2]]",
)  # fmt: skip
SUPPLIES = (
    "",
    "[supply]\nlead_time = 2",
    "[supply]\nlead_time = -1",
    "[supply]\nlead_time = 101",
    '[supply]\nlead_time = "learn"',
    "[supply]\nlead_time = {1 = 0.5, 3 = 0.25, lost = 0.25}",
    "[supply]\nlead_time = {1 = 0.5, 2 = 0.6}",
    "[supply]\nlead_time = {lost = 1}",
    "[supply]\nlead_time = {1 = nan, x = 1}",
    '[supply]\norder_days = ["Monday", "Thursday"]\ncrossing = false',
    '[supply]\norder_days = {every = 14, from = "2026-01-05"}',
    '[supply]\norder_days = "absent"',
    "[supply]\nshare = 0",
    "[supply]\nshare = 0.5\ncapacity = 1e15",
    '[supply]\nmultiple = "department"',
    "[supply]\nmultiple = true",
)
MORE = (
    "", "out_of_stock_pace = 3", "out_of_stock_pace = 5e-324", "out_of_stock_pace = 1e14", "price = 2",
    "prices = {from = 1, to = 3, step = 0.5}", "orders = {multiple = 12, most = 48}", "orders = [0]", "prices = [2]",
    "capacity = 5e-324", "capacity = 10", "longest_run = 1", "discount = 0", "balance = 'netted'",
)  # fmt: skip
NO_TIMES = ("-1", str(HOURS + 1), "nan", "inf", "yes", "1e300", "12:30", "x")  # out of stock
MAY_BE_TIMES = ("", "0", str(HOURS), "0.5", " 3 ", "1e0", "5e-324")
ODD_DAYS = (
    "2026-02-30",
    "0000-01-01",
    "20260105",
    "2026-1-5",
    "2026-01-05T24:00",
    "2026-01-05 12:00+25:00",
    "9",
    "Monday",
)


def shop_table(rng: np.random.Generator) -> pd.DataFrame:
    """Two shops and two products of some weeks, closed on Sundays, out of stock for some hours."""
    rows = []
    for shop, sku, department in (("north", "a", "bakery"), ("north", "b", "dairy"), ("south", "a", "bakery")):
        for day in range(int(rng.integers(8, 25))):
            when = FIRST + timedelta(days=day)
            if when.weekday() == 6 or rng.random() < 0.03:
                continue
            order = float(rng.integers(0, 8))
            sales = float(rng.integers(0, int(order) + 3))
            out = float(rng.integers(0, HOURS)) if rng.random() < 0.3 else 0.0
            price = float(rng.choice([1.5, 2.0, 2.5]))
            rows.append((shop, sku, when.isoformat(), department, 2.0, price, order, min(sales, order + 2), out))
    names = ("shop", "sku", "day", "department", "stock", "price", "order", "sales", "hours_out")
    return pd.DataFrame(rows, columns=names)


def odd_shop(rng: np.random.Generator, folder: Path) -> FuzzedTable:
    """A shop with a problem of its own, and one cell that is wrong, or none."""
    frame = shop_table(rng).astype(object)
    row = int(rng.integers(len(frame)))
    fault = _pick(rng, ("none", "no time", "time", "day", "twice", "department"))
    if fault in ("no time", "time"):
        frame.loc[row, "hours_out"] = _pick(rng, NO_TIMES if fault == "no time" else MAY_BE_TIMES)
    elif fault == "day":
        frame.loc[row, "day"] = _pick(rng, ODD_DAYS)
    elif fault == "twice":
        frame = pd.concat([frame, frame.iloc[[row]]], ignore_index=True)
    elif fault == "department":
        frame.loc[row, "department"] = "another"
    text = PROBLEM.format(
        more=_pick(rng, MORE), tables="\n".join(_pick(rng, each) for each in (CLOCKS, RULES, SUPPLIES))
    )
    content = damaged(text.encode(), rng) if rng.random() < 0.1 else text.encode()
    problem = folder / "problem.toml"
    problem.write_bytes(content)
    source = _written(frame, folder, rng)
    refused = fault in ("no time", "twice", "department")
    return FuzzedTable(
        f"{fault} in {source!s:.60} with {content!r}",
        source,
        None,
        may_be_refused=True,
        may_be_read=not refused or content != text.encode(),
        problem=problem,
    )


def odd_parts(rng: np.random.Generator, folder: Path) -> FuzzedTable:
    """Several files that are one table, or nearly."""
    frame = shop_table(rng)
    cut = int(rng.integers(1, len(frame)))
    first, second = frame[:cut], frame[cut:]
    changes: dict[str, tuple[Callable[[], pd.DataFrame], bool]] = {  # the second file, and whether both are one table
        "as it is": (lambda: second, True),
        "columns in another order": (lambda: second[list(reversed(second.columns))], True),
        "a column more": (lambda: second.assign(remark="x"), False),
        "a column less": (lambda: second.drop(columns="price"), False),
        "the first file again": (lambda: first, False),
        "prices as text": (lambda: second.assign(price=[f"{each:.2f}" for each in second["price"]]), True),
        "prices that are none": (lambda: second.assign(price="dear"), False),
        "no rows": (lambda: second[:0], False),
    }
    kind = _pick(rng, tuple(changes))
    change, is_table = changes[kind]
    suffix = _pick(rng, SUFFIXES)
    paths = [_file(each, folder / f"part-{at}{suffix}") for at, each in enumerate((first, change()))]
    (folder / "problem.toml").write_text(PROBLEM.format(more="", tables=""))
    source: Any = paths
    if rng.random() < 0.3 and suffix == ".csv":
        source = str(folder / "part-*.csv")
    price = np.concatenate([first["price"], second["price"]]) if is_table else None
    return FuzzedTable(
        f"{kind}: {source}", source, price, may_be_read=kind == "no rows", problem=folder / "problem.toml"
    )


def _written(frame: pd.DataFrame, folder: Path, rng: np.random.Generator) -> Any:
    """The frame itself, or a file of it."""
    return frame if rng.random() < 0.3 else _file(frame.astype(str), folder / f"log{_pick(rng, SUFFIXES)}")


def _file(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


def _pick(rng: np.random.Generator, options: tuple[str, ...]) -> str:
    return options[int(rng.integers(len(options)))]
