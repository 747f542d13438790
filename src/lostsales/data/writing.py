"""Atomic writing of tables and logs: to a temporary file, then renamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from lostsales.data.labels import SERIES_SEPARATOR, spelled
from lostsales.data.log import SalesLog
from lostsales.errors import LostSalesError
from lostsales.types import Array

FORMATS = {".parquet": "FORMAT parquet", ".csv": "FORMAT csv, HEADER"}


def check_target(path: Path) -> None:
    """Raise where no table can be written to a path, before any work."""
    if path.suffix not in FORMATS:
        raise LostSalesError(f"{path} must end in .parquet or .csv")
    if not path.parent.is_dir():
        raise LostSalesError(f"there is no folder {path.parent} to write {path.name} into")
    if path.is_dir():
        raise LostSalesError(f"{path} is a folder, and a table is written into a file")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path that replaces `path` when the block succeeds and is removed when it does not."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise LostSalesError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_table(columns: dict[str, Array], path: str | Path) -> None:
    """Write columns of equal length as Parquet or CSV, by the ending of `path`."""
    import duckdb

    target = Path(path)
    check_target(target)
    with replacing(target) as temporary, duckdb.connect() as connection:
        connection.register("columns", columns)
        quoted = str(temporary).replace("'", "''")
        try:
            connection.execute(f"COPY columns TO '{quoted}' ({FORMATS[target.suffix]})")
        except duckdb.Error as error:
            raise LostSalesError(f"{target} cannot be written: {str(error).splitlines()[0]}") from None


def write_log(log: SalesLog, path: str | Path) -> None:
    """Write a log and, beside it, its problem as TOML, so that `read_log(path)` gives the log back.

    Parameters
    ----------
    log : SalesLog
        The log.
    path : path
        Of a file that ends in .parquet or .csv, in a folder that exists; files of this name are replaced.

    Raises
    ------
    LostSalesError
        The path has another ending, or cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from lostsales.data.reading.gate import read_log
    >>> from lostsales.simulation.scenario import Scenario
    >>> from lostsales.simulation.simulator import simulate
    >>> log, _ = simulate(Scenario.load("released"), episodes=5, seed=1)
    >>> with TemporaryDirectory() as folder:
    ...     write_log(log, f"{folder}/log.parquet")
    ...     len(read_log(f"{folder}/log.parquet")) == len(log)
    True

    """
    target = Path(path)
    with replacing(target.with_suffix(".toml")) as temporary:
        temporary.write_text(log.problem.to_toml(), encoding="utf-8")
        write_table(log_columns(log), target)


def key_columns(log: SalesLog) -> dict[str, Array]:
    """The columns that name a row: its series and its period."""
    names = log.problem.columns
    return dict(zip(names.series_parts, _series_columns(log), strict=True)) | {names.period: log.period}


def log_columns(log: SalesLog) -> dict[str, Array]:
    """The columns of a log under the names of its problem."""
    names = log.problem.columns
    columns = key_columns(log)
    for index, feature in enumerate(log.problem.features):
        values = log.features[:, index]
        columns[feature.name] = values if feature.levels is None else _texts(feature.levels)[values.astype(np.int64)]
    for name, texts in log.attributes.items():
        columns[name] = texts[log.series]
    for role in ("stock", "price", "order", "sales", "stockout", "received", "adjustment"):
        if (values := getattr(log, role)) is not None:
            columns[getattr(names, role)] = values
    if log.out_of_stock is not None:
        if names.out_of_stock is not None:
            columns[names.out_of_stock] = log.out_of_stock
        elif names.in_stock is not None:
            columns[names.in_stock] = log.out_of_stock == 0
    if log.open_time is not None:
        columns[str(log.problem.open_time)] = log.open_time
    for role in ("lost", "order", "holding"):
        if log.costs is not None and isinstance(cost := getattr(log.costs, role), np.ndarray):
            columns[getattr(log.problem.costs, role) or getattr(names, f"{role}_cost")] = cost
    if not np.isnan(log.last_sales).all():
        first = np.zeros(len(log), dtype=bool)
        first[log.starts] = True
        columns[names.last_sales] = np.ma.masked_array(
            log.last_sales[log.series], ~first | np.isnan(log.last_sales)[log.series]
        )
        columns[names.last_stockout] = np.ma.masked_array(log.last_stockout[log.series], ~first)
    return columns


def _series_columns(log: SalesLog) -> list[Array]:
    parts = len(log.problem.columns.series_parts)
    if parts == 1:
        return [_numbers_where_possible(log.names)[log.series]]
    split = [name.split(SERIES_SEPARATOR, parts - 1) for name in log.names]
    return [np.array([each[part] for each in split], dtype=object)[log.series] for part in range(parts)]


def _numbers_where_possible(names: Array) -> Array:
    """Names of series that are all whole numbers, as numbers: a tenth of the size."""
    try:
        numbers = names.astype(np.int64)
    except ValueError:
        return names
    return numbers if (numbers.astype(str) == names).all() else names


def _texts(levels: tuple[object, ...]) -> Array:
    texts = np.empty(len(levels), dtype=object)
    texts[:] = [spelled(level) for level in levels]
    return texts
