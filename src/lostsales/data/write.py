"""Writing tables and logs: to a temporary file first, then renamed, so that nothing half-written stays."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from lostsales.arrays import Array
from lostsales.data.log import SalesLog
from lostsales.data.table import SERIES_SEPARATOR
from lostsales.errors import LostSalesError

FORMATS = {".parquet": "FORMAT parquet", ".csv": "FORMAT csv, HEADER"}


def check_target(path: Path) -> None:
    """Refuse a path that no table can be written to, before any work."""
    if path.suffix not in FORMATS:
        raise LostSalesError(f"{path} must end in .parquet or .csv")
    if not path.parent.is_dir():
        raise LostSalesError(f"there is no folder {path.parent} to write {path.name} into")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and vanishes when it does not."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_table(columns: dict[str, Array], path: str | Path) -> None:
    """Write columns of equal length as Parquet or CSV, by the ending of `path`."""
    import duckdb

    target = Path(path)
    check_target(target)
    with replacing(target) as temporary, duckdb.connect() as connection:
        connection.register("columns", columns)
        connection.execute(
            f"COPY columns TO '{str(temporary).replace(chr(39), chr(39) * 2)}' ({FORMATS[target.suffix]})"
        )


def write_log(log: SalesLog, path: str | Path) -> None:
    """Write a log and, beside it, its problem as TOML, so that `read_log(path)` gives the log back."""
    target = Path(path)
    write_table(log_columns(log), target)
    with replacing(target.with_suffix(".toml")) as temporary:
        temporary.write_text(log.problem.to_toml(), encoding="utf-8")


def log_columns(log: SalesLog) -> dict[str, Array]:
    """The columns of a log under the names of its problem."""
    names = log.problem.columns
    columns: dict[str, Array] = dict(zip(names.series_parts, _series_texts(log), strict=True))
    columns[names.period] = log.period
    for index, feature in enumerate(log.problem.features):
        values = log.features[:, index]
        columns[feature.name] = values if feature.levels is None else _texts(feature.levels)[values.astype(np.int64)]
    for name, texts in log.attributes.items():
        columns[name] = texts[log.series]
    for role in ("stock", "price", "order", "sales", "stockout", "received", "adjustment"):
        if (values := getattr(log, role)) is not None:
            columns[getattr(names, role)] = values
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


def _series_texts(log: SalesLog) -> list[Array]:
    parts = len(log.problem.columns.series_parts)
    if parts == 1:
        return [_numbers_where_possible(log.names)[log.series]]
    split = [name.split(SERIES_SEPARATOR, parts - 1) for name in log.names]
    return [np.array([each[part] for each in split], dtype=object)[log.series] for part in range(parts)]


def _numbers_where_possible(names: Array) -> Array:
    """Series that are numbered are written as numbers: a tenth of the size, and as quick to read."""
    try:
        numbers = names.astype(np.int64)
    except ValueError:
        return names
    return numbers if (numbers.astype(str) == names).all() else names


def _texts(levels: tuple[object, ...]) -> Array:
    texts = np.empty(len(levels), dtype=object)
    texts[:] = [str(level) for level in levels]
    return texts
