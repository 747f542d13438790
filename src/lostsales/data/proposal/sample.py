"""Part of a table in DuckDB: all rows of a small one, whole series of a large one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from lostsales.data.labels import is_missing, spelled
from lostsales.data.reading.cells import connect
from lostsales.data.reading.files import open_files
from lostsales.data.reading.paths import files_of
from lostsales.data.reading.table import Table, open_table
from lostsales.errors import LostSalesError
from lostsales.types import Array

MOST_ROWS = 100_000  # of a sample
HEAD_ROWS = 20_000  # from which the columns that name a series are guessed


@dataclass(frozen=True)
class Sample:
    """Rows of a table as the table `log` of a connection."""

    connection: duckdb.DuckDBPyConnection
    kinds: dict[str, tuple[str, str]]  # column: its expression in SQL and its type
    rows: int
    table_rows: int

    @property
    def is_whole(self) -> bool:
        """True if the sample has all rows of the table."""
        return self.rows == self.table_rows

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of an answer."""
        return list(self.connection.execute(sql).fetchall())

    def write(self, folder: Path) -> Path:
        """A file of these rows under the names of the table."""
        named = ", ".join(f'{sql} AS "{name.replace(chr(34), chr(34) * 2)}"' for name, (sql, _) in self.kinds.items())
        is_text = all(kind == "text" for _, kind in self.kinds.values())
        path = folder / ("sample.csv" if is_text else "sample.parquet")
        target = str(path).replace("'", "''")
        self.connection.execute(f"COPY (SELECT {named} FROM log) TO '{target}'")
        return path


@dataclass(frozen=True)
class Source:
    """A table that is not loaded, from which samples are taken."""

    connection: duckdb.DuckDBPyConnection
    kinds: dict[str, tuple[str, str]]  # column: its expression in SQL and its type
    rows: int

    def head(self) -> Sample:
        """The first rows, or all rows where they are few."""
        return self._sample("", MOST_ROWS if self.rows <= MOST_ROWS else HEAD_ROWS)

    def whole_series(self, keys: tuple[str, ...]) -> Sample:
        """Rows of some values of the `keys`, all of each, about as many as a sample may have."""
        share = -(-self.rows // MOST_ROWS)
        hashed = ", ".join(f"CAST({self.kinds[key][0]} AS VARCHAR)" for key in keys)
        found = self._sample(f"WHERE hash({hashed}) % {share} = 0", 2 * MOST_ROWS) if keys else self.head()
        return found if found.rows >= HEAD_ROWS else self._sample("", MOST_ROWS)  # a few very long series

    def _sample(self, where: str, most: int) -> Sample:
        # In a schema of its own, so that it is `log` to those who ask through its cursor.
        cursor = self.connection.cursor()
        cursor.execute("CREATE SCHEMA IF NOT EXISTS sample")
        try:
            cursor.execute(f"CREATE OR REPLACE TABLE sample.log AS SELECT * FROM main.log {where} LIMIT {most}")
        except duckdb.Error as error:
            raise LostSalesError(f"the table cannot be read: {str(error).splitlines()[0]}") from None
        cursor.execute("SET schema = 'sample'")
        ((rows,),) = cursor.execute("SELECT count(*) FROM log").fetchall()
        return Sample(cursor, self.kinds, int(rows), self.rows)


def open_source(source: Any) -> Source:
    """CSV or Parquet files, or a pandas, polars or Arrow table."""
    if isinstance(source, str | Path | list | tuple):
        file = open_files(files_of(source), keep=False)
        return Source(file.connection, file.kinds, file.rows)
    table = open_table(source)
    if not table.columns:
        raise LostSalesError("a problem is proposed from columns, but the table has none")
    columns = {f"c{index}": _plain(table, name) for index, name in enumerate(table.columns)}
    connection = connect()
    connection.register("columns", columns)
    connection.execute("CREATE TABLE log AS SELECT * FROM columns")
    kinds = connection.execute("DESCRIBE log").fetchall()
    named = zip(table.columns, kinds, strict=True)
    return Source(connection, {name: (column, kind) for name, (column, kind, *_) in named}, table.rows)


def _plain(table: Table, column: str) -> Array:
    """Numbers, truth values and moments as they are, all else as text, which DuckDB can hold whatever it is."""
    cells = table.cells(column)
    if cells.texts is None and cells.others is None:
        values = next((each for each in (cells.numbers, cells.moments) if each is not None), None)
        if values is not None:
            return values
    if cells.truths is not None and cells.texts is None and not np.isnan(cells.truths).any():
        return cells.truths.astype(bool)
    shown = table.shown(column, np.arange(table.rows))
    texts = [None if is_missing(value) else _spelled(value) for value in shown]
    return np.array(texts, dtype=object)


def _spelled(value: object) -> str:
    """A text that UTF-8 can write: reading refuses others, but a proposal can still be made."""
    try:
        return spelled(value).encode("utf-8", "replace").decode()
    except Exception:  # noqa: BLE001, objects raise what they like
        return f"a {type(value).__name__} without a text"
