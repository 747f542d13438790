"""Recommendations for all products of a fleet: rows are split by shard once, then each shard decides."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np

from lostsales.apps.fleet.engine import Engine, Processes
from lostsales.apps.fleet.fleet import Fleet, in_order
from lostsales.data.parallel import single_threaded
from lostsales.data.progress import Progress
from lostsales.data.reading.cells import connect, fetched
from lostsales.data.reading.files import FileTable, execute, open_files, open_query, parquet_rows
from lostsales.data.reading.table import files_of
from lostsales.data.sql_names import identifier, quoted
from lostsales.policy.coming_periods import rows_that_are_open
from lostsales.policy.limits import AppliedLimit, DayOrders, settle_parts
from lostsales.policy.open_day import OpenDay
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.recommendation import Recommendation, open_day, recommended
from lostsales.types import Floats, Ints

ROW = "lostsales row"  # column with the row number in the original table
SMALL = 5_000  # rows below which starting workers takes longer than deciding


@dataclass(frozen=True)
class DecideTask:
    """Rows of one shard in a folder of parts."""

    store: str
    version: str
    shard: int
    today: Path
    recent: Path | None
    names: tuple[str, str]  # of the tables, in messages
    settled: Floats | None = None  # (rows,) orders that limits over all products have settled


@dataclass(frozen=True, kw_only=True)
class _Part(FileTable):
    """Part of a table, with row numbers of the whole table in messages."""

    rows_in_file: Ints

    def place(self, row: int) -> str:
        """Name of a row in messages."""
        return f"row {self.rows_in_file[row]}"


def recommend_fleet(
    fleet: Fleet,
    recent: Path | None,
    today: Path,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Recommendation:
    """Decide for today's rows of all products; `recent` and `today` are files.

    Parameters
    ----------
    fleet : Fleet
        What `Fleet.open` gives.
    recent : path or None
        Completed rows of the products: a file, a folder or a pattern.
    today : path
        One open row per product.
    engine : Engine, optional
        Executor of the shards; by default this process.
    progress : callable, optional
        Called with products decided and products in total.

    Returns
    -------
    Recommendation
        In the order of today's rows.

    """
    with TemporaryDirectory(prefix="lostsales-") as name:
        folder = Path(name)
        counts = _write_parts(fleet, today, folder / "today")
        with_recent = set() if recent is None else set(_write_parts(fleet, recent, folder / "recent"))
        store, version = str(fleet.version.folder.parent.parent), fleet.version.name
        tasks = [
            DecideTask(
                store,
                version,
                shard,
                _part(folder / "today", shard),
                _part(folder / "recent", shard) if shard in with_recent else None,
                (str(today), str(recent)),
            )
            for shard in counts
        ]
        total, done, parts = sum(counts.values()), 0, []
        chosen = Processes(1) if engine is None or total < SMALL else engine
        applied: tuple[AppliedLimit, ...] = ()
        if fleet.problem.limits:
            tasks, applied = _settled(fleet, tasks, chosen)
        for rows, part in chosen.run(decide, tasks):
            parts.append((rows, part))
            done += len(rows)
            if progress:
                progress(done, total)
    return replace(in_order(fleet.problem, parts), limits=applied)


def decide(task: DecideTask) -> tuple[Ints, Recommendation]:
    """Recommendation of a shard, and today's rows that it is for."""
    with _shard(task) as (policy, rows, day):
        return rows, recommended(policy, replace(day, view=replace(day.view, settled=task.settled)))


def value_orders(task: DecideTask) -> tuple[int, DayOrders]:
    """Candidate orders of a shard with their values, and its number."""
    with _shard(task) as (policy, _, day):
        return task.shard, DayOrders.of(policy, day.view)


def _settled(
    fleet: Fleet, tasks: list[DecideTask], engine: Engine
) -> tuple[list[DecideTask], tuple[AppliedLimit, ...]]:
    """Tasks with orders within the limits that all products share."""
    valued = dict(engine.run(value_orders, tasks))
    orders, applied = settle_parts(fleet.problem.limits, [valued[each.shard] for each in tasks])
    return [replace(task, settled=own) for task, own in zip(tasks, orders, strict=True)], applied


@contextmanager
def _shard(task: DecideTask) -> Iterator[tuple[SavedPolicy, Ints, OpenDay]]:
    """Policy of a shard, and today's rows that it decides for, in the table of all and as an open day."""
    policy = _opened(task.store, task.version).policy(task.shard)
    with single_threaded(), connect() as connection:
        today = _table(connection, task.today, task.names[0])
        recent = None if task.recent is None else _table(connection, task.recent, task.names[1])
        rows = today.rows_in_file[rows_that_are_open(policy.problem, today)]
        yield policy, rows, open_day(policy, recent, today)


@lru_cache(maxsize=1)  # the tasks of a worker are of one fleet
def _opened(store: str, version: str) -> Fleet:
    return Fleet.open(store, version, most_loaded=1)


def _write_parts(fleet: Fleet, path: Path, folder: Path) -> dict[int, int]:
    """Write the rows of each shard as one Parquet file, and return the number of rows of each."""
    table = open_files(files_of(path))
    shard_of = fleet.shards_of(table)
    connection = table.connection
    connection.register("assigned", {"row": np.arange(len(shard_of)), "shard": shard_of})
    columns = ", ".join(f"{place} AS {identifier(column)}" for column, (place, _) in table.kinds.items())
    numbered = f"SELECT {columns}, row_number() OVER () - 1 AS row FROM log"
    named = f"SELECT numbered.* EXCLUDE (row), row AS {identifier(ROW)}, shard FROM ({numbered}) AS numbered"
    rows = f"{named} JOIN assigned USING (row) ORDER BY shard, row"
    connection.execute("SET threads = 1")
    options = "FORMAT parquet, PARTITION_BY (shard), WRITE_PARTITION_COLUMNS false"
    execute(connection, str(path), f"COPY ({rows}) TO {quoted(str(folder.absolute()))} ({options})")
    connection.close()
    shards, counts = np.unique(shard_of, return_counts=True)
    return dict(zip(shards.tolist(), counts.tolist(), strict=True))


def _part(folder: Path, shard: int) -> Path:
    return folder / f"shard={shard}" / "data_0.parquet"


def _table(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> _Part:
    column = identifier(ROW)
    table = open_query(connection, name, f"SELECT * EXCLUDE ({column}) FROM {parquet_rows((path,))}")
    rows = fetched(connection, f"SELECT {column} AS c FROM {parquet_rows((path,))}")
    return _Part(table.connection, name, table.columns, table.kinds, table.files, rows_in_file=rows)
