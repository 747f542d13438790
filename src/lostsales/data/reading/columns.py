"""Columns of a table as checked arrays: numbers, flags, periods, categories."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from lostsales.data.labels import SERIES_SEPARATOR, joined, spelled, texts_of
from lostsales.data.problem import Feature
from lostsales.data.progress import Progress
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.table import Table
from lostsales.types import Array, Bools, Floats, Ints

# Beyond this a float no longer tells whole numbers apart.
LARGEST_WHOLE = 2.0**53
# The words that DuckDB reads as truth values in a CSV.
FLAGS = dict.fromkeys(("true", "t", "yes", "y", "1"), 1.0) | dict.fromkeys(("false", "f", "no", "n", "0"), 0.0)


@dataclass
class ColumnReader:
    """Reads and validates columns.

    A value that is reported becomes NaN, and a missing column is all NaN, so that no later check reports it again.
    """

    table: Table
    findings: Findings
    progress: Progress | None = None
    used: set[str] = field(default_factory=set)

    def number(self, column: str, *, gaps: bool = False, negative: bool = False) -> Floats:
        """Finite numbers; NaN only where there may be `gaps`."""
        values = self._values(column)
        if values is None:
            return np.full(self.table.rows, np.nan)
        if values.dtype.kind == "M":
            self.findings.check(~np.isnat(values), f"{column} must be a number", values)
            return np.full(len(values), np.nan)
        missing, numbers = _missing(values), _as_numbers(values)
        if values.dtype.kind == "O":
            self.findings.check(np.isnan(numbers) & ~missing, f"{column} must be a number", values)
        if not gaps:
            self.findings.check(missing, f"{column} must be present", verb="has none")
        infinite = np.isinf(numbers)
        self.findings.check(infinite, f"{column} must be finite", numbers)
        below = (numbers < 0) & ~infinite if not negative else np.zeros(len(numbers), dtype=bool)
        self.findings.check(below, f"{column} must not be negative", numbers)
        return np.where(infinite | below, np.nan, numbers) if infinite.any() or below.any() else numbers

    def optional(self, column: str, *, gaps: bool = False, negative: bool = False) -> Floats | None:
        """`number`, or None where the table has no such column."""
        return self.number(column, gaps=gaps, negative=negative) if column in self.table.columns else None

    def flag(self, column: str, *, gaps: bool = False) -> Bools | None:
        """True or false, where there are `gaps` false; None where the table has no such column."""
        values = self._values(column)
        if values is None or values.dtype.kind == "b":
            return values
        missing = _missing(values)
        if values.dtype.kind == "O":
            numbers = np.array([FLAGS.get(spelled(value).lower(), -1.0) for value in values])
        else:
            numbers = values if values.dtype.kind == "f" else np.full(len(values), -1.0)
        self.findings.check((numbers != 0) & (numbers != 1) & ~missing, f"{column} must be true or false", values)
        if not gaps:
            self.findings.check(missing, f"{column} must be true or false", verb="has none")
        return np.asarray(numbers == 1)

    def period(self, column: str) -> Array:
        """Whole numbers as float64, or moments as datetime64[us]; NaN or NaT where reported."""
        values = self._values(column)
        if values is None:
            return np.full(self.table.rows, np.nan)
        missing, read = _missing(values), values
        if values.dtype.kind == "O":
            read = _as_numbers(values)
            if (np.isnan(read) & ~missing).any():
                read = np.array([_moment(value) for value in values], dtype="datetime64[us]")
        elif values.dtype.kind == "b":
            read = np.full(len(values), np.nan)
        wrong = _missing(read)
        if read.dtype.kind == "f":
            wrong |= (np.abs(read) > LARGEST_WHOLE) | (read != np.rint(read))
        self.findings.check(missing, f"{column} must be present", verb="has none")
        self.findings.check(wrong & ~missing, f"{column} must be a whole number or a date such as 2026-03-01", values)
        return np.where(wrong, np.nan, read) if wrong.any() and read.dtype.kind == "f" else read

    def series(self, columns: tuple[str, ...]) -> tuple[Ints, Array]:
        """The labels of the series, which several columns may name together."""
        labels = self.labels(columns[0])
        for column in columns[1:]:
            labels = joined(labels, self.labels(column))
        if len(columns) > 1:
            ambiguous = np.array([text.count(SERIES_SEPARATOR) >= len(columns) for text in labels[1]] + [False])
            self.findings.check(
                ambiguous[labels[0]],
                f"{' and '.join(columns)} must not contain {SERIES_SEPARATOR!r}, which joins them",
                texts_of(labels) if ambiguous.any() else None,
            )
        return labels

    def labels(self, column: str) -> tuple[Ints, Array]:
        """Codes and texts; -1 where reported."""
        if column not in self.table.columns:
            return np.full(self.table.rows, -1), np.zeros(0, dtype=object)
        labels = self.table.labels(column)
        self._note(column)
        self.findings.check(labels[0] < 0, f"{column} must be present", verb="has none")
        return labels

    def levels(self, feature: Feature) -> tuple[Feature, Ints]:
        """A categorical feature with its levels (those in the table unless declared), and the level of each row."""
        codes, texts = labels = self.labels(feature.name)
        if feature.levels is None:
            feature = feature.model_copy(update={"levels": tuple(sorted(texts))})
        level_index = {spelled(level): index for index, level in enumerate(feature.levels or ())}
        level_of = np.array([level_index.get(text, level_index.get(_plain(text), -1)) for text in texts] + [-1])
        level = level_of[codes]
        unknown = (level < 0) & (codes >= 0)
        if unknown.any():
            self.findings.check(unknown, f"{feature.name} must be one of {', '.join(level_index)}", texts_of(labels))
        return feature, level

    def _values(self, column: str) -> Array | None:
        if column not in self.table.columns:
            return None
        values = self.table.values(column)
        self._note(column)
        return values

    def _note(self, column: str) -> None:
        self.used.add(column)
        if self.progress:
            self.progress(len(self.used), len(self.table.columns) + 1)


def _missing(values: Array) -> Bools:
    if values.dtype.kind == "O":
        return np.array([value is None or value != value for value in values], dtype=bool)
    return np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)


def _as_numbers(values: Array) -> Floats:
    """NaN where a value is no number."""
    return (
        np.array([_number(value) for value in values])
        if values.dtype.kind == "O"
        else values.astype(np.float64, copy=False)
    )


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        return float("nan")


def _moment(value: object) -> np.datetime64:
    text = f"{value}-01" if re.fullmatch(r"\d{4}-\d{2}", str(value)) else str(value)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return np.datetime64("NaT", "us")
    naive = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(naive, "us")


def _plain(text: str) -> str:
    """How a level that came as text would be spelled, had it come as a number or a truth value."""
    number = _number(text)
    return spelled(number) if number == number else text.lower() if text.lower() in ("true", "false") else text
