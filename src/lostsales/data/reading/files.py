"""Tables in files: CSV and Parquet, read by DuckDB one column at a time."""

import csv
import gzip
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from lostsales.data.labels import by_appearance, coded
from lostsales.errors import LostSalesError
from lostsales.types import Array, Ints

WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
NUMBERS = (*WHOLE, "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE")
DELIMITERS = ",;\t|"


def open_file(path: Path, *, keep: bool = True) -> "FileTable":
    """The table in a file, by its ending; a CSV is read once and kept, or else again for every question."""
    if path.is_dir():
        raise LostSalesError(f"a log is read from one file, but {path} is a folder")
    if not path.is_file():
        raise LostSalesError(f"there is no file {path}")
    connection = duckdb.connect(config={"preserve_insertion_order": True})
    match [suffix.lower() for suffix in path.suffixes]:
        case [*_, ".parquet" | ".pq"]:
            return _open_parquet(connection, path)
        case [*_, ".csv" | ".tsv" | ".txt"] | [*_, ".csv", ".gz"]:
            return _open_csv(connection, path, keep)
    raise LostSalesError(f"{path} must end in .csv or .parquet")


@dataclass(frozen=True)
class FileTable:
    """A file as the view or table `log` of a connection."""

    connection: duckdb.DuckDBPyConnection
    path: Path
    kinds: dict[str, tuple[str, str]]  # column: its expression in SQL and its type

    @property
    def name(self) -> str:
        """The name in messages."""
        return str(self.path)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.kinds)

    @cached_property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self._query("SELECT count(*) FROM log").fetchall()[0][0])

    def values(self, column: str) -> Array:
        """The column as float64, bool, datetime64[us] or else objects."""
        expression, kind = self.kinds[column]
        if kind == "text":
            kind = self._kind_of_text(expression)
        if kind in NUMBERS or _is_decimal(kind):
            return self._fetch(f"CAST({expression} AS DOUBLE)")
        if kind == "BOOLEAN":
            return self._fetch(f"CAST({expression} AS BOOLEAN)")
        if kind == "TIMESTAMP WITH TIME ZONE":
            return self._fetch(f"make_timestamp(epoch_us({expression}))")
        if kind == "DATE" or kind.startswith("TIMESTAMP"):
            return self._fetch(f"CAST({expression} AS TIMESTAMP)")
        return self._fetch(f"CAST({expression} AS VARCHAR)")

    def labels(self, column: str) -> tuple[Ints, Array]:
        """Whole numbers are coded by numpy, text by DuckDB, so that no row becomes a Python object."""
        expression, kind = self.kinds[column]
        if kind in WHOLE:
            numbers = self._fetch(f"CAST({expression} AS BIGINT)")
            if numbers.dtype == np.int64:
                return coded(numbers)
        elif kind in ("FLOAT", "DOUBLE", "BOOLEAN", "DATE") or kind.startswith("TIMESTAMP"):
            return coded(self.values(column))
        text = f"CAST({expression} AS VARCHAR)"
        distinct = f"SELECT DISTINCT {text} AS label FROM log WHERE label IS NOT NULL"
        self._query(f"CREATE OR REPLACE TYPE label AS ENUM ({distinct})")
        codes, found = by_appearance(
            self._fetch(f"coalesce(CAST(enum_code(CAST({text} AS label)) AS BIGINT), -1)"), missing=-1
        )
        texts = self._query("SELECT unnest(enum_range(NULL::label))").fetchall()
        return codes, np.array([texts[each][0] for each in found], dtype=object)

    def _kind_of_text(self, expression: str) -> str:
        """The type that all texts of a column can be read as; of dates only ISO ones, others would be ambiguous."""
        # DuckDB would drop an offset from UTC; Python reads those one by one.
        offset = f"regexp_matches({expression}, ':.*[Z+-]')"
        casts = {kind: f"TRY_CAST({expression} AS {kind})" for kind in ("DOUBLE", "BOOLEAN", "TIMESTAMP")}
        casts["TIMESTAMP"] = f"CASE WHEN {offset} THEN NULL ELSE {casts['TIMESTAMP']} END"
        counts = ", ".join(f"count({each})" for each in (expression, *casts.values()))
        present, *readable = self._query(f"SELECT {counts} FROM log").fetchall()[0]
        return next((kind for kind, count in zip(casts, readable, strict=True) if count == present), "VARCHAR")

    def _query(self, sql: str) -> Any:
        return _execute(self.connection, self.path, sql)

    def _fetch(self, expression: str) -> Array:
        try:
            column = self._query(f"SELECT {expression} AS c FROM log").fetchnumpy()["c"]
        except duckdb.Error as error:
            raise _unreadable(self.path, error) from None
        if not isinstance(column, np.ma.MaskedArray):
            return np.asarray(column)
        missing = np.ma.getmaskarray(column)
        if column.dtype.kind == "M":
            return np.asarray(column.filled(np.datetime64("NaT")))
        if column.dtype.kind in "fb":
            return np.where(missing, np.nan, column.data)
        objects = np.asarray(column.data, dtype=object)
        objects[missing] = None
        return objects


def _open_parquet(connection: duckdb.DuckDBPyConnection, path: Path) -> FileTable:
    _execute(connection, path, f"CREATE VIEW log AS SELECT * FROM read_parquet({_literal(path)})")
    described = _execute(connection, path, "DESCRIBE log").fetchall()
    return FileTable(connection, path, {name: (_quoted(name), kind) for name, kind, *_ in described})


def _open_csv(connection: duckdb.DuckDBPyConnection, path: Path, keep: bool) -> FileTable:
    """All columns are read as text: sniffing dialect and types from a sample can drop rows or zeros silently."""
    names, delimiter = _header(path)
    columns = [f"c{index}" for index in range(len(names))]
    options = f"auto_detect=false, header=true, delim='{delimiter}', quote='\"', escape='\"'"
    types = ", ".join(f"{column}: 'VARCHAR'" for column in columns)
    source = f"FROM read_csv({_literal(path)}, {options}, columns={{{types}}})"
    _execute(connection, path, f"CREATE {'TABLE' if keep else 'VIEW'} log AS {source}")
    return FileTable(connection, path, {name: (column, "text") for name, column in zip(names, columns, strict=True)})


def _header(path: Path) -> tuple[list[str], str]:
    """The names in the first line of a CSV, and what separates them."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            line = file.readline().decode("utf-8-sig").rstrip("\r\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise LostSalesError(f"{path} cannot be read: {error}") from None
    delimiter = max(DELIMITERS, key=line.count)
    names = [name or f"column{index}" for index, name in enumerate(next(csv.reader([line], delimiter=delimiter), []))]
    if not names:
        raise LostSalesError(f"{path} must start with a line of column names, but it is empty")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise LostSalesError(f"the columns of {path} must have different names, but {', '.join(twice)} comes again")
    return names, delimiter


def _execute(connection: duckdb.DuckDBPyConnection, path: Path, sql: str) -> Any:
    try:
        return connection.execute(sql)
    except duckdb.Error as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: duckdb.Error) -> LostSalesError:
    """The reason and place that DuckDB gives, without its advice."""
    message = re.split(r"\n(?:Possible|LINE)", str(error))[0].splitlines()
    lines = [line for line in message if line.strip()]
    return LostSalesError(f"{path} cannot be read: {'; '.join(dict.fromkeys([lines[0], lines[-1]]))}")


def _literal(path: Path) -> str:
    """The path as SQL text, in which DuckDB's wildcards stand for themselves."""
    text = str(path).replace("[", "[[]").replace("*", "[*]").replace("?", "[?]")
    return "'" + text.replace("'", "''") + "'"


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _is_decimal(kind: str) -> bool:
    return kind.startswith("DECIMAL(") and kind.endswith(")")
