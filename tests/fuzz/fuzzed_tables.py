"""Tables drawn at random, most of them wrong, and by their drawing what reading may make of them."""

import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from lostsales.types import Floats

NUMBERS = ("stock", "price", "order", "sales")
CONTAINERS = ("csv", "csv.gz", "parquet", "pandas", "polars", "arrow", "lazy", "files")


class RaisesInEverything:
    """An object of a class that somebody else wrote."""

    def _raise(self, *_: object) -> Any:
        raise RuntimeError("no")

    __repr__ = __str__ = __eq__ = __ne__ = __hash__ = __float__ = __bool__ = __len__ = __iter__ = _raise
    __getattr__ = _raise


class RaisingNumber(float):
    """A number that is none."""

    def __float__(self) -> float:
        raise RuntimeError("no")


class RaisingText(str):
    """A text that is none."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no")


def _nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


ODD_OBJECTS: tuple[Any, ...] = (
    object(), [1], {"a": 1}, (1, 2), {1}, b"5", b"\xff", 1j, type, len, Ellipsis, NotImplemented, range(3), frozenset(),
    timedelta(1), date.min, date.max, datetime.max, datetime.min.replace(tzinfo=UTC), pd.Timestamp.max, pd.NaT,
    pd.Period("2026-03"), pd.Interval(0, 1), np.array([1, 2]), np.datetime64("NaT"), pd.NA,
    np.timedelta64(1, "D"),
    np.float32(1.5), np.int8(-3), np.complex64(1), np.bool_(True), decimal.Decimal("NaN"), decimal.Decimal("sNaN"),
    decimal.Decimal("1e400"), 10**400, -(10**400), float("inf"), float("nan"), True, False, None, "", "\ud800", "\x00",
    RaisesInEverything(), RaisingNumber(2), RaisingText("x"), _nested(100_000), 10**5_000, decimal.Decimal("1e1000000"),
    np.datetime64(2**62, "Y"), memoryview(b"2"), np.void(b"2"), np.str_("x"),
)  # fmt: skip
# Texts that are no finite number of zero or more, whatever a lenient reader makes of them.
NO_NUMBERS = (
    "", " ", "yes", "no", "true", "1_000", "٣", "+-7", "--1", "1e", "e5", "0x10", "1,5", "1.234,50", "5 €", "$5",
    "nan", "inf", "-inf", "Infinity", "1e999", "NULL", "None", "N/A", "-", "+", ".", "1.2.3", "1 2", "½",
    "5%", "(5)", "5-", "١٢",
    "\uff11\uff12", "1\u00a0000",
    "'; DROP TABLE log; --", '"', "\x00", "\ufeff5", "=1+1", "-5", "[1]", "a" * 5_000,
)  # fmt: skip
GOOD_NUMBERS = ("5", "5.0", " 7 ", "+3", "1e1", "0", ".5", "2.", "007", "1E-3", "123456789.25", "-0")
NO_PERIODS = (
    "infinity", "-infinity", "epoch", "today", "now", "01/02/2026", "1.2.2026", "2026-13-01", "2026-02-30", "24-01-31",
    "1.5", "nan", "1e300", "March", "2026-03-01T25:00", "12:00", "", "٣", "9" * 30, "2026-W99-1",
)  # fmt: skip


@dataclass(frozen=True)
class FuzzedTable:
    """A source for `read_log`, and the numbers that a right reading gives, where the table can be read at all."""

    what: str
    source: Any
    price: Floats | None  # None: the table has to be refused
    may_be_refused: bool = False
    may_be_read: bool = False  # and nobody knows as what
    problem: Path | None = None


def fuzzed_table(rng: np.random.Generator, folder: Path) -> FuzzedTable:
    """A table; files lie in `folder`."""
    rows = int(rng.integers(1, 12))
    container = _pick(rng, CONTAINERS)
    table: dict[str, list[Any]] = {
        "series": [f"s{row % 3}" for row in range(rows)],
        "period": list(range(rows)),
        "stock": [50.0] * rows,
        "price": [2.0] * rows,
        "order": [0.0] * rows,
        "sales": [1.0] * rows,
    }
    fault = str(
        rng.choice(["none", "text numbers", "bad number", "bad period", "odd object", "missing", "extra", "renamed"])
    )
    expected: list[float] | None = table["price"]
    row, column = int(rng.integers(rows)), _pick(rng, NUMBERS)
    if fault == "text numbers":
        table["price"] = [_pick(rng, GOOD_NUMBERS) for _ in range(rows)]
        expected = [float(text) for text in table["price"]]
    elif fault == "bad number":
        table[column] = [str(value) for value in table[column]]
        table[column][row], expected = _pick(rng, NO_NUMBERS), None
    elif fault == "bad period":
        table["period"] = [str(value) for value in table["period"]]
        table["period"][row], expected = _pick(rng, NO_PERIODS), None
    elif fault == "odd object":
        container = "pandas"
        column = _pick(rng, list(table))
        table[column][row] = ODD_OBJECTS[int(rng.integers(len(ODD_OBJECTS)))]
        expected = _price_of(table[column][row], table["price"], row) if column in NUMBERS else table["price"]
    elif fault == "missing":
        del table[column]
        expected = None
    elif fault == "extra":
        name = str(
            rng.choice(["label", "c0", "log", "rowid", "file_row_number", "select", '"', "é", "x" * 300, " ", "value"])
        )
        table[name] = [None] * rows if rng.random() < 0.5 else list(range(rows))
    elif fault == "renamed":
        wrong = _pick(rng, [f" {column}", column.upper(), f"{column}\ufeff", f"{column}\x00", ""])
        table[wrong] = table.pop(column)
        expected = None
    source = _contained(container, table, folder, rng)
    # Where a label stands, odd objects may be refused or not; what they are read as is not ours to say.
    price = None if expected is None else np.array(expected)
    return FuzzedTable(f"{fault} in {container}", source, price, may_be_refused=fault == "odd object")


def _pick(rng: np.random.Generator, options: Sequence[str]) -> str:
    """One of some texts; numpy's own choice would cut NUL characters off."""
    return options[int(rng.integers(len(options)))]


def _price_of(value: Any, price: list[Any], row: int) -> list[float] | None:
    """The prices where the odd value is a number of zero or more, else None."""
    number = isinstance(value, int | float | np.number | decimal.Decimal) and not isinstance(value, bool | np.bool_)
    if not number or isinstance(value, np.complexfloating | np.timedelta64):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError, RuntimeError):
        return None
    if not 0 <= found < np.inf:
        return None
    return [found if at == row and price[row] is value else 2.0 for at in range(len(price))]


def _contained(container: str, table: dict[str, list[Any]], folder: Path, rng: np.random.Generator) -> Any:
    if container == "pandas":
        return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in table.items()})
    if container in ("polars", "lazy"):
        frame = pl.DataFrame(table, strict=False)
        return frame.lazy() if container == "lazy" else frame
    arrow = pa.table({name: pa.array(values) for name, values in table.items()})
    if container == "arrow":
        return arrow
    path = folder / f"log.{container}"
    if container == "parquet":
        pq.write_table(arrow, path)
    elif container == "files":
        cut = int(rng.integers(len(next(iter(table.values()))) + 1))
        paths = [folder / "part-1.csv", folder / "part-2.csv"]
        for part, rows in zip(paths, (slice(None, cut), slice(cut, None)), strict=True):
            pd.DataFrame(table)[rows].to_csv(part, index=False)
        return paths
    else:
        pd.DataFrame(table).to_csv(path, index=False, sep=_pick(rng, [",", ";", "\t", "|"]))
    return path


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """A file with bytes cut, changed, doubled or put in."""
    at, length = int(rng.integers(len(content))), int(rng.integers(1, 40))
    noise = rng.integers(0, 256, length).astype(np.uint8).tobytes()
    return (
        content[:at],
        content[:at] + noise + content[at + length :],
        content[:at] + noise + content[at:],
        content[:at] + content[at + length :],
        content[:at] + content[max(at - length, 0) : at] + content[at:],
    )[int(rng.integers(5))]
