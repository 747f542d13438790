"""Writing decisions to a table of a database: in one transaction, once for every run, series and period."""

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lostsales.data.databases.address import DatabaseAddress
from lostsales.data.databases.sessions import session
from lostsales.data.sql_names import identifier
from lostsales.errors import LostSalesError
from lostsales.types import Array

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "lostsales_decisions"
RUN = "run"
INCOMING = "lostsales_incoming"


def write_decisions(
    address: DatabaseAddress, columns: dict[str, Array], keys: tuple[str, ...], run: str, table: str = TABLE
) -> int:
    """Insert the rows that are not there yet, all of them or none, and return their number.

    A row is identified by its run and the columns in `keys`. The table is created if it does not exist. Writing the
    same rows again changes nothing; different decisions under the name of an existing run are an error.
    """
    if RUN in columns:
        raise LostSalesError(f"the table of decisions has a column {RUN!r} of its own: rename that of today's table")
    rows = _arrow(columns, run)
    names = ", ".join(map(identifier, rows.column_names))
    key = ", ".join(map(identifier, (RUN, *keys)))
    target, index = _target(table)
    with session(address, writes=True) as transaction:
        transaction.load(INCOMING, rows)
        transaction.execute(f"CREATE TABLE IF NOT EXISTS {target} AS SELECT * FROM {INCOMING} WHERE 1 = 0")
        transaction.execute(f"CREATE UNIQUE INDEX IF NOT EXISTS {index} ON {target} ({key})")
        before = transaction.number(f"SELECT count(*) FROM {target}")
        incoming = f"SELECT {names} FROM {INCOMING}"
        transaction.execute(f"INSERT INTO {target} ({names}) {incoming} WHERE 1 = 1 ON CONFLICT ({key}) DO NOTHING")
        other = transaction.number(f"SELECT count(*) FROM ({incoming} EXCEPT SELECT {names} FROM {target}) AS other")
        if other:
            raise LostSalesError(
                f"the run {run!r} is already in {table} of {address}, with different decisions for {other:,} of these "
                "rows: name another run (--run)"
            )
        added = transaction.number(f"SELECT count(*) FROM {target}") - before
        transaction.execute(f"DROP TABLE {INCOMING}")
    return added


def run_name(policy: Path, columns: dict[str, Array]) -> str:
    """Name of a run, a hash of policy and decisions: the same policy on the same day gives the same name."""
    digest = sha256(policy.read_bytes())
    digest.update(json.dumps({name: each.tolist() for name, each in columns.items()}, default=str).encode())
    return digest.hexdigest()[:16]


def _arrow(columns: dict[str, Array], run: str) -> "pa.Table":
    """Rows with their run as an Arrow table; NaN and infinity become missing values."""
    import pyarrow as pa

    arrays = {name: pa.array(_plain(each), from_pandas=True) for name, each in columns.items()}
    rows = len(next(iter(arrays.values())))
    return pa.table({RUN: pa.array([run] * rows, pa.string())} | arrays)


def _plain(values: Array) -> Array:
    """Values that every database can store: dates without a time of day as days, infinite numbers as NaN."""
    if values.dtype.kind == "M":
        days = values.astype("datetime64[D]")
        return days if (days == values).all() else values.astype("datetime64[us]")
    if values.dtype.kind == "f":
        return np.where(np.isfinite(values), values, np.nan)
    return values


def _target(table: str) -> tuple[str, str]:
    """Table name, with its schema if it has one, and index name, both quoted for SQL."""
    parts = table.split(".")
    if not all(part.strip() and "\0" not in part for part in parts) or len(parts) > 2:
        raise LostSalesError(f"a table must be a name such as {TABLE} or schema.name, but {table!r} came")
    return ".".join(map(identifier, parts)), identifier(f"{parts[-1]}_key")
