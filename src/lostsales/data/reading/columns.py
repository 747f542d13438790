"""Columns of a table as checked arrays: numbers, flags, periods, categories."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lostsales.data.feature import MOST_LEVELS, Feature
from lostsales.data.format import Format
from lostsales.data.labels import SERIES_SEPARATOR, joined, plain_number, spelled, texts_of
from lostsales.data.progress import Progress
from lostsales.data.reading.cells import Cells, Texts
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.formats import date_hint, number_hint
from lostsales.data.reading.table import Table
from lostsales.data.reading.text import as_flag, as_moment, as_number, by_date_format, stripped
from lostsales.types import Array, Bools, Floats, Ints

# Beyond this a float no longer distinguishes whole numbers.
LARGEST_WHOLE = 2.0**53
SHOWN_LEVELS = 8  # categories listed in a message


@dataclass
class ColumnReader:
    """Reads and validates columns.

    A value that is reported becomes NaN, and a missing column is all NaN, so that no later check reports it again.
    """

    table: Table
    findings: Findings
    written: Format
    progress: Progress | None = None
    used: set[str] = field(default_factory=set)

    def number(
        self, column: str, *, gaps: bool | Bools = False, negative: bool = False, truths: bool = False
    ) -> Floats:
        """Finite numbers; NaN only where there may be `gaps`, in all or some rows; `truths` reads true and false."""
        cells = self._cells(column)
        if cells is None:
            return np.full(self.table.rows, np.nan)
        numbers = _numbers(cells, self.written)
        if truths:
            numbers = _with_truths(numbers, cells)
        if np.isnan(numbers).any():
            missing = cells.missing()
            self._check(np.isnan(numbers) & ~missing, f"{column} must be a number", column, cells, number_hint)
            self.findings.check(missing & ~np.asarray(gaps), f"{column} must be present", verb="has none")
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
        cells = self._cells(column)
        if cells is None:
            return None
        texts = None if cells.texts is None else cells.texts.fetch(as_flag(cells.texts.expression))
        numbers = _first_of(cells.rows, cells.truths, cells.numbers, texts)
        wrong = (numbers != 0) & (numbers != 1)
        if wrong.any():
            missing = cells.missing()
            self._check(wrong & ~missing, f"{column} must be true or false", column, cells)
            if not gaps:
                self.findings.check(missing, f"{column} must be true or false", verb="has none")
        return np.asarray(numbers == 1)

    def period(self, column: str) -> Array:
        """Whole numbers as float64, or moments as datetime64[us]; NaN or NaT where reported."""
        cells = self._cells(column)
        if cells is None:
            return np.full(self.table.rows, np.nan)
        read = self._moments_or_numbers(column, cells)
        wrong = np.isnat(read) if read.dtype.kind == "M" else np.isnan(read)
        if read.dtype.kind == "f":
            wrong |= (np.abs(read) > LARGEST_WHOLE) | (read != np.rint(read))
        if wrong.any():
            missing = cells.missing()
            self.findings.check(missing, f"{column} must be present", verb="has none")
            wanted = "a whole number or a date such as 2026-03-01"
            if self.written.date_formats:
                wanted = f"a date as the problem declares it ({' or '.join(self.written.date_formats)})"
            self._check(wrong & ~missing, f"{column} must be {wanted}", column, cells, date_hint)
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
            if len(texts) > MOST_LEVELS:
                self.findings.add(
                    f"{feature.name} must have at most {MOST_LEVELS:,} levels as a category, "
                    f"but it has {len(texts):,}: declare it as a number, or group its levels"
                )
                return feature, np.full(len(codes), -1)
            feature = feature.model_copy(update={"levels": tuple(sorted(texts))})
        level_index = {spelled(level): index for index, level in enumerate(feature.levels or ())}
        level_of = np.array([level_index.get(text, level_index.get(_plain(text), -1)) for text in texts] + [-1])
        level = level_of[codes]
        unknown = (level < 0) & (codes >= 0)
        if unknown.any():
            listed = ", ".join(
                [*list(level_index)[:SHOWN_LEVELS], *(["..."] if len(level_index) > SHOWN_LEVELS else [])]
            )
            self.findings.check(unknown, f"{feature.name} must be one of {listed}", texts_of(labels))
        return feature, level

    def _moments_or_numbers(self, column: str, cells: Cells) -> Array:
        """The periods as moments or as numbers, whichever more rows can be read as."""
        declared = self.written.date_formats
        texts = cells.texts
        if declared and cells.numbers is not None:  # 20260301 in a column of numbers
            texts = Texts.of_whole(cells.numbers) if texts is None else texts
        moments = None if texts is None else texts.fetch(as_moment(texts.expression, self.written))
        found = cells.moments if moments is None else moments
        if cells.moments is not None and moments is not None:
            found = np.where(np.isnat(cells.moments), moments, cells.moments)
        if len(declared) > 1 and texts is not None:
            self._check_one_reading(column, texts)
        numbers = np.full(cells.rows, np.nan) if declared else _numbers(cells, Format())
        if found is None or int((~np.isnat(found)).sum()) < max(int((~np.isnan(numbers)).sum()), 1):
            return numbers
        return np.asarray(found, dtype="datetime64[us]")

    def _check_one_reading(self, column: str, texts: Texts) -> None:
        bare = stripped(texts.expression)
        readings = ", ".join(by_date_format(bare, each) for each in self.written.date_formats)
        differ = texts.fetch(f"coalesce(least({readings}) <> greatest({readings}), false)").astype(bool)
        wanted = (
            f"{column} must be one date, whichever declared format ({', '.join(self.written.date_formats)}) reads it"
        )
        self.findings.check(differ, wanted, lambda rows: self.table.shown(column, rows))

    def _check(self, wrong: Bools, wanted: str, column: str, cells: Cells, hint: Any = None) -> None:
        texts = cells.texts
        advice = None if hint is None or texts is None else lambda: str(hint(texts, self.written))
        self.findings.check(wrong, wanted, lambda rows: self.table.shown(column, rows), hint=advice)

    def _cells(self, column: str) -> Cells | None:
        if column not in self.table.columns:
            return None
        cells = self.table.cells(column)
        self._note(column)
        return cells

    def _note(self, column: str) -> None:
        self.used.add(column)
        if self.progress:
            self.progress(len(self.used), len(self.table.columns) + 1)


def _numbers(cells: Cells, written: Format) -> Floats:
    """The numbers of a column, NaN where a row is none."""
    texts = None if cells.texts is None else cells.texts.fetch(as_number(cells.texts.expression, written))
    return _first_of(cells.rows, cells.numbers, texts)


def _with_truths(numbers: Floats, cells: Cells) -> Floats:
    """Truth values as 1 and 0, in words only where the whole column is words."""
    found = _first_of(cells.rows, numbers, cells.truths)
    if cells.texts is not None and np.isnan(found).any():
        words = cells.texts.fetch(as_flag(cells.texts.expression))
        if (np.isin(words, (0, 1)) | cells.missing() | ~np.isnan(_first_of(cells.rows, cells.truths))).all():
            return _first_of(cells.rows, cells.truths, words)
    return found


def _first_of(rows: int, *columns: Floats | None) -> Floats:
    """The first value of each row that is no NaN."""
    given = [column for column in columns if column is not None]
    if not given:
        return np.full(rows, np.nan)
    found = given[0]
    for column in given[1:]:
        found = np.where(np.isnan(found), column, found)
    return found.astype(np.float64, copy=False)


def _plain(text: str) -> str:
    """Spelling of a level that came as text, as if it had come as a number or a truth value."""
    number = plain_number(text)
    return spelled(number) if number == number else text.lower() if text.lower() in ("true", "false") else text
