"""Later rows and corrections of a table: the newest row of a series and period counts, then single values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lostsales.data.problem import Problem
from lostsales.data.reading.cells import Cells, Texts
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.frames import NO_MOMENT
from lostsales.data.reading.table import SomeRows, Table
from lostsales.types import Array, Floats, Ints


class TableUpdate(NamedTuple):
    """Rows to add or, with `corrects`, values of these columns for rows of the same series and period."""

    table: Table
    corrects: tuple[str, ...] = ()


def with_updates(updates: Sequence[TableUpdate], columns: Sequence[str], problem: Problem) -> Table:
    """Table of these columns after all updates, the oldest first.

    A row replaces earlier rows of its series and period. A correction changes rows that are older than it, and fills
    missing values of any; the newest one counts. Rows without a readable series or period replace nothing.
    """
    tables = tuple(each.table for each in updates)
    of_update = np.repeat(np.arange(len(tables)), [each.rows for each in tables])
    key = _keys(tables, problem)
    is_row = np.array([not each.corrects for each in updates], dtype=bool)[of_update]
    newest = np.full(int(key.max(initial=-1)) + 2, -1)  # update of the row that counts, by key; the last: no key
    np.maximum.at(newest, key[is_row], of_update[is_row])
    kept = np.flatnonzero(is_row & ((key < 0) | (of_update == newest[key])))
    table: Table = StackedTables(tables, tuple(columns))
    table = SomeRows(table, kept)
    starts = np.cumsum([0, *(each.rows for each in tables)])
    values = {
        column: _correction(table, column, updates, starts, key, kept)
        for column in columns
        if any(column in each.corrects for each in updates)
    }
    return CorrectedTable(table, values) if values else table


def _keys(tables: tuple[Table, ...], problem: Problem) -> Ints:
    """Number of the series and period of each row of all tables, -1 where one of them cannot be read, (rows,)."""
    names = problem.columns
    stacked = StackedTables(tables, (*names.series_parts, names.period))
    reader = ColumnReader(stacked, Findings(stacked.name), problem.format)
    series, period = reader.series(names.series_parts)[0], reader.period(names.period)
    moments, at = np.unique(period, return_inverse=True)
    is_known = (series >= 0) & ~(np.isnat(period) if period.dtype.kind == "M" else np.isnan(period))
    return np.where(is_known, np.unique(series * len(moments) + at, return_inverse=True)[1], -1)


def _correction(
    table: Table, column: str, updates: Sequence[TableUpdate], starts: Ints, key: Ints, kept: Ints
) -> tuple[Ints, Floats]:
    """Rows of a table whose value of a column is corrected, and the corrected values."""
    newest, value = np.full(int(key.max(initial=-1)) + 2, -1), np.full(int(key.max(initial=-1)) + 2, np.nan)
    for at, each in enumerate(updates):
        if column in each.corrects:
            own = key[starts[at] : starts[at + 1]]
            given = ColumnReader(each.table, Findings(each.table.name), Problem().format).number(column, negative=True)
            is_given = (own >= 0) & ~np.isnan(given)
            newest[own[is_given]], value[own[is_given]] = at, given[is_given]
    of_row = key[kept]
    is_later = newest[of_row] > np.searchsorted(starts, kept, side="right") - 1
    rows = np.flatnonzero((newest[of_row] >= 0) & (is_later | table.cells(column).missing()))
    return rows, value[of_row[rows]]


@dataclass(frozen=True, eq=False)
class StackedTables:
    """Tables below each other; a column that one of them lacks is missing in its rows."""

    tables: tuple[Table, ...]
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name in messages."""
        return " and ".join(dict.fromkeys(each.name for each in self.tables))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(each.rows for each in self.tables)

    def place(self, row: int) -> str:
        """The name of a row in messages."""
        for at, each in enumerate(self.tables):
            if row < each.rows:
                return each.place(row) if at == 0 else f"{each.place(row)} of {each.name}"
            row -= each.rows
        raise IndexError(row)

    def cells(self, column: str) -> Cells:
        """A column as it came."""
        parts = [each.cells(column) if column in each.columns else Cells(each.rows) for each in self.tables]

        def joined(name: str, nothing: Array) -> Array | None:
            found = [getattr(each, name) for each in parts]
            if all(each is None for each in found):
                return None
            filled = [
                np.full(part.rows, nothing) if each is None else each for part, each in zip(parts, found, strict=True)
            ]
            return np.concatenate(filled)

        texts = None
        if any(each.texts is not None for each in parts):
            texts = Texts.of(np.concatenate([_texts(each) for each in parts]))
        nan = np.array(np.nan)
        return Cells(
            rows=self.rows,
            numbers=joined("numbers", nan),
            truths=joined("truths", nan),
            moments=joined("moments", np.array(NO_MOMENT)),
            texts=texts,
            others=joined("others", np.array(False)),
            days=all(each.days or each.moments is None for each in parts),
        )

    def labels(self, column: str) -> tuple[Ints, Array]:
        """Codes in order of first appearance (-1 where missing) and the text behind each code."""
        code_of: dict[str, int] = {}
        codes = []
        for each in self.tables:
            own, texts = each.labels(column) if column in each.columns else (np.full(each.rows, -1), ())
            codes.append(np.array([*(code_of.setdefault(str(text), len(code_of)) for text in texts), -1])[own])
        return np.concatenate(codes), np.array(list(code_of), dtype=object)

    def shown(self, column: str, rows: Ints) -> Array:
        """The values of some rows as they came, as objects."""
        shown, start = np.full(len(rows), None, dtype=object), 0
        for each in self.tables:
            own = (rows >= start) & (rows < start + each.rows)
            if own.any() and column in each.columns:
                shown[own] = each.shown(column, rows[own] - start)
            start += each.rows
        return shown


@dataclass(frozen=True, eq=False)
class CorrectedTable:
    """A table in which some numbers are others."""

    table: Table
    values: Mapping[str, tuple[Ints, Floats]]  # by column: rows, and their numbers

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.table.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.table.columns

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.table.rows

    def place(self, row: int) -> str:
        """The name of a row in messages."""
        return self.table.place(row)

    def cells(self, column: str) -> Cells:
        """A column with its corrections."""
        cells = self.table.cells(column)
        if column not in self.values:
            return cells
        rows, values = self.values[column]
        numbers = np.full(cells.rows, np.nan) if cells.numbers is None else cells.numbers.copy()
        numbers[rows] = values
        texts = None
        if cells.texts is not None:
            found = _texts(cells)
            found[rows] = None
            texts = Texts.of(found)
        others = None if cells.others is None else cells.others & ~np.isin(np.arange(cells.rows), rows)
        return replace(cells, numbers=numbers, texts=texts, others=others)

    def labels(self, column: str) -> tuple[Ints, Array]:
        """Codes and texts; labels are not corrected."""
        return self.table.labels(column)

    def shown(self, column: str, rows: Ints) -> Array:
        """The values of some rows, as objects."""
        shown = self.table.shown(column, rows)
        if column in self.values:
            value_of = dict(zip(*(each.tolist() for each in self.values[column]), strict=True))
            for at, row in enumerate(rows.tolist()):
                shown[at] = value_of.get(row, shown[at])
        return shown


def _texts(cells: Cells) -> Array:
    """Texts of a column as objects, None where there is none."""
    if cells.texts is None:
        return np.full(cells.rows, None, dtype=object)
    return np.asarray(cells.texts.fetch(cells.texts.expression)).astype(object)
