"""Leaving out the rows that cannot be used: they are counted, and written to a file with the reason."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.data.databases.query import DatabaseQuery
from lostsales.data.labels import spelled
from lostsales.data.output_files import check_output, is_within, replacing
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.table import DROPPED, SomeRows, Table, files_of
from lostsales.errors import LostSalesError, SettingError
from lostsales.types import Ints


@dataclass
class DroppedRows:
    """Rows of a table that are left out, and why."""

    table: Table
    reasons: dict[int, list[str]] = field(default_factory=dict)

    def add(self, findings: Findings, rows: Ints, series: Ints | None = None) -> None:
        """The rows of findings, whose positions stand for `rows` of the table; with `series` all rows of theirs."""
        for wanted, positions in findings.bad_rows:
            whole = positions if series is None else np.flatnonzero(np.isin(series, series[positions]))
            for row in rows[whole].tolist():
                self.reasons.setdefault(row, []).append(wanted)

    def kept(self) -> Ints:
        """The rows that remain."""
        is_kept = np.ones(self.table.rows, dtype=bool)
        is_kept[list(self.reasons)] = False
        return np.flatnonzero(is_kept)

    def rest(self) -> Table:
        """The table without them."""
        return SomeRows(self.table, self.kept()) if self.reasons else self.table

    def write(self, path: Path) -> None:
        """Every column as it came, after the place of the row (rows count from 0) and the reason."""
        rows = np.array(sorted(self.reasons), dtype=np.int64)
        columns = [[self.table.place(row) for row in rows.tolist()], ["; ".join(self.reasons[row]) for row in rows]]
        columns += [[_text(value) for value in self.table.shown(name, rows)] for name in self.table.columns]
        with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([_unused("dropped_row", self.table), _unused("reason", self.table), *self.table.columns])
            writer.writerows(zip(*columns, strict=True))


def dropped_file(source: Any, chosen: bool | str | Path, inputs: Iterable[object]) -> Path | None:
    """File for the dropped rows: the chosen path, else one next to the file or folder that is read.

    Raises where that would overwrite one of the `inputs`, or cannot be written.
    """
    target = _target(source, chosen)
    if target is None:
        return None
    named = _is_path(source) or isinstance(source, DatabaseQuery)
    read = [*(files_of(source) if named else ()), *(each for each in inputs if isinstance(each, str | Path))]
    check_output(target, map(Path, read))
    return target


def check_apart(source: Any, chosen: bool | str | Path, others: Iterable[Path | None]) -> None:
    """Raise where the dropped rows would go to one of the other files of a command."""
    target = _target(source, chosen) if chosen is not False else None
    for each in others:
        if target is not None and each is not None and is_within(target, each):
            raise LostSalesError(f"the rows left out need a file of their own (--dropped-rows), but {target} is {each}")


def _target(source: Any, chosen: bool | str | Path) -> Path | None:
    if isinstance(chosen, str | Path):
        return Path(chosen)
    if not isinstance(chosen, bool):
        raise SettingError(f"drop_bad_rows is true, false or a path, but a {type(chosen).__name__} came")
    if isinstance(source, DatabaseQuery):
        raise LostSalesError("the rows left out of a query need a file: --dropped-rows, or drop_bad_rows with a path")
    if not _is_path(source):
        return None
    first = Path(source) if isinstance(source, str | Path) and Path(source).is_dir() else files_of(source)[0]
    return first.absolute().parent / f"{first.absolute().name.split('.')[0]}{DROPPED}"


def _is_path(source: Any) -> bool:
    return isinstance(source, str | Path) or (isinstance(source, list | tuple) and isinstance(source[0], str | Path))


def _unused(name: str, table: Table) -> str:
    while name in table.columns:
        name += "_"
    return name


def _text(value: object) -> str:
    return "" if value is None else spelled(value)
