"""Shards: groups of products that are learned together, and the rows of each as one Parquet file.

One pass counts the rows of every product, one sorts the rows by shard, product and period and writes them. DuckDB sorts
on disk if memory does not suffice; only the list of products is held in memory.
"""

import shutil
from dataclasses import dataclass, replace
from hashlib import file_digest, sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.memory import memory_limit
from lostsales.data.output_files import check_utf8
from lostsales.data.problem import Problem
from lostsales.data.reading.cells import connect, fetched
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.files import execute, open_files, open_query, parquet_rows
from lostsales.data.reading.findings import Findings, listed
from lostsales.data.reading.gate import read_good_series
from lostsales.data.settings import checked
from lostsales.data.sql_names import identifier, quoted
from lostsales.data.sublogs import series_of
from lostsales.data.writing import failed_write
from lostsales.errors import LogError, LostSalesError, SettingError
from lostsales.types import Array, Ints

MOST_ROWS = 300_000  # of a shard (docs/decisions/fleet.md)
LEAST_PRODUCTS = 20  # of a shard by attributes: smaller groups join their neighbours (docs/decisions/fleet.md)
SORTING_MEMORY = 2 * 2**30  # bytes for DuckDB's sort; more goes to disk


@dataclass(frozen=True, eq=False)
class Sharding:
    """Shard of each product, sorted by shard; every array is (products,)."""

    names: Array  # text, names of the series in the log
    by: dict[str, Array]  # attributes of `--by`, text
    rows: Ints
    shard: Ints
    nameless: int  # rows without a product name

    @property
    def shards(self) -> int:
        """Number of shards."""
        return int(self.shard.max(initial=-1)) + 1


def partition(
    paths: tuple[Path, ...], problem: Problem, by: tuple[str, ...], size: int, folder: Path, name: str
) -> tuple[Sharding, tuple[str, ...]]:
    """Write the rows of every shard to `folder`, one Parquet file each; return the shards and the files' checksums."""
    check_utf8(folder)
    work = folder.with_name("sorting")
    work.mkdir()
    with connect() as connection:
        connection.execute(f"SET temp_directory = {quoted(str(work.absolute()))}")
        connection.execute(f"SET memory_limit = '{int(min(memory_limit(), SORTING_MEMORY))}B'")
        execute(connection, name, f"CREATE VIEW log AS SELECT * FROM {parquet_rows(paths)}")
        columns = _columns(connection, problem, by, name)
        sharding = _assign(connection, problem, by, size, name)
        _write(connection, problem, columns, work, name)
        folder.mkdir()
        checksums = []
        for shard in range(sharding.shards):
            (written,) = (work / "rows" / f"shard={shard}").iterdir()
            path = rows_file(folder, shard)
            written.replace(path)
            _check_once(connection, problem, path, paths, name)
            with path.open("rb") as file:
                checksums.append(file_digest(file, "sha256").hexdigest())
    shutil.rmtree(work)
    return sharding, tuple(checksums)


def rows_file(folder: Path, shard: int) -> Path:
    """File of a shard's rows."""
    return folder / f"{shard:05}.parquet"


def assign(by: list[Array], names: Array, rows: Ints, size: int) -> Ints:
    """Shard of each product, (products,).

    Products with the same attributes are together, in shards of about `size` products and `MOST_ROWS` rows at most; a
    group of fewer than `LEAST_PRODUCTS` joins the next ones that share all attributes except the last, then except the
    last two, and so on. Within a group products are spread over shards by a checksum of their names.

    >>> names = np.array(["a", "b", "c", "d"], dtype=object)
    >>> store = np.array(["x", "x", "y", "y"], dtype=object)
    >>> assign([store], names, np.full(4, 10), size=2).tolist()
    [0, 0, 1, 1]
    """
    groups = _groups([tuple(str(each[at]) for each in by) for at in range(len(names))], min(LEAST_PRODUCTS, size))
    digest = [sha256(str(name).encode(errors="surrogatepass")).digest() for name in names]
    shard, first = np.empty(len(names), dtype=np.int64), 0
    for members in groups:
        spread = sorted(members, key=digest.__getitem__)
        pieces = max(-(-len(spread) // size), -(-int(rows[spread].sum()) // MOST_ROWS))
        pieces = min(pieces, len(spread))
        shard[spread] = first + np.arange(len(spread)) * pieces // len(spread)
        first += pieces
    return shard


def _groups(values: list[tuple[str, ...]], least: int) -> list[list[int]]:
    """Products with equal attributes; small groups are joined with those that share the first attributes."""
    found: dict[tuple[str, ...], list[int]] = {}
    for at in sorted(range(len(values)), key=values.__getitem__):
        found.setdefault(values[at], []).append(at)
    depth = len(values[0]) if values else 0
    for shared in range(depth - 1, -1, -1):
        joined: dict[tuple[str, ...], list[int]] = {}
        for key, members in found.items():
            small = len(members) < least
            joined.setdefault(key[:shared] if small else key, []).extend(members)
        found = joined
    return list(found.values())


def _columns(connection: duckdb.DuckDBPyConnection, problem: Problem, by: tuple[str, ...], name: str) -> list[str]:
    """Columns that learning reads."""
    have = tuple(column for column, *_ in execute(connection, name, "DESCRIBE log").fetchall())
    wanted = [*problem.columns.series_parts, problem.columns.period]
    if missing := [column for column in wanted if column not in have]:
        raise LostSalesError(f"{name} must have the column {', '.join(map(repr, missing))}; it has {listed(have)}")
    if unknown := [column for column in by if column not in have]:
        named = ", ".join(map(repr, unknown))
        raise SettingError(f"--by must name columns, but {named} is none; the columns are {listed(have)}")
    return [column for column in have if column in problem.reads]


def _assign(
    connection: duckdb.DuckDBPyConnection, problem: Problem, by: tuple[str, ...], size: int, name: str
) -> Sharding:
    """Count the rows of each product, and make the table `shard_of` from its keys to its shard."""
    keys = [identifier(part) for part in problem.columns.series_parts]
    period = identifier(problem.columns.period)
    latest = [f"arg_max(CAST({identifier(each)} AS VARCHAR), {period}) AS by{at}" for at, each in enumerate(by)]
    counted = ", ".join([*keys, "count(*) AS rows", *latest])
    execute(connection, name, f"CREATE TABLE counted AS SELECT {counted} FROM log GROUP BY ALL ORDER BY ALL")
    present = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    found = execute(connection, name, f"SELECT coalesce(sum(rows), 0) FROM counted WHERE NOT ({present})").fetchall()
    execute(connection, name, f"DELETE FROM counted WHERE NOT ({present})")
    rows = fetched(connection, "SELECT rows AS c FROM counted").astype(np.int64)
    codes, texts = _labels(connection, problem, name)
    if not len(texts):
        raise LostSalesError(f"{name} must have rows of at least one product, but it has none")
    of_keys = {each: fetched(connection, f"SELECT by{at} AS c FROM counted") for at, each in enumerate(by)}
    first = np.unique(codes, return_index=True)[1]
    attributes = {each: _as_text(values[first]) for each, values in of_keys.items()}
    total = np.bincount(codes, rows).astype(np.int64)
    shard = assign(list(attributes.values()), texts, total, size)
    connection.register("assigned", {"row": np.arange(len(codes)), "shard": shard[codes]})
    numbered = "(SELECT *, row_number() OVER () - 1 AS row FROM counted)"
    sql = f"SELECT {', '.join(keys)}, shard FROM {numbered} JOIN assigned USING (row)"
    execute(connection, name, f"CREATE TABLE shard_of AS {sql}")
    order = np.lexsort((texts.astype(str), shard))
    return Sharding(
        names=texts[order],
        by={each: values[order] for each, values in attributes.items()},
        rows=total[order],
        shard=shard[order],
        nameless=int(found[0][0]),
    )


def _labels(connection: duckdb.DuckDBPyConnection, problem: Problem, name: str) -> tuple[Ints, Array]:
    """Names of the products in the table `counted`, as the reader names series."""
    findings = Findings(name)
    reader = ColumnReader(open_query(connection, name, "SELECT * FROM counted"), findings, problem.format)
    labels = reader.series(problem.columns.series_parts)
    findings.raise_if_any()
    return labels


def _write(
    connection: duckdb.DuckDBPyConnection,
    problem: Problem,
    columns: list[str],
    work: Path,
    name: str,
) -> None:
    """Write all rows, sorted; on one thread, so that every shard is one file."""
    keys = [identifier(part) for part in problem.columns.series_parts]
    order = ", ".join(["shard", *keys, identifier(problem.columns.period)])
    chosen = ", ".join(f"log.{identifier(column)}" for column in columns)
    rows = f"SELECT {chosen}, shard FROM log JOIN shard_of USING ({', '.join(keys)}) ORDER BY {order}"
    target = quoted(str((work / "rows").absolute()))
    connection.execute("SET threads = 1")
    options = "FORMAT parquet, PARTITION_BY (shard), WRITE_PARTITION_COLUMNS false"
    try:
        execute(connection, name, f"COPY ({rows}) TO {target} ({options})")
    except LostSalesError as error:
        if reason := failed_write(str(error)):
            raise LostSalesError(f"{work.parent} cannot be written: {reason}") from None
        raise


def _check_once(
    connection: duckdb.DuckDBPyConnection, problem: Problem, shard: Path, paths: tuple[Path, ...], name: str
) -> None:
    """Raise if two rows of a shard have the same product and period."""
    names = [*problem.columns.series_parts, problem.columns.period]
    columns = ", ".join(map(identifier, names))
    again = f"SELECT {columns} FROM {parquet_rows((shard,))} GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
    found = execute(connection, name, again).fetchall()
    if not found:
        return
    same = " AND ".join(f"{identifier(column)} = ?" for column in names)
    files = []
    for path in paths:
        sql = f"SELECT count(*) FROM {parquet_rows((path,))} WHERE {same}"
        files += [path.name] * connection.execute(sql, list(found[0])).fetchall()[0][0]
    row = ", ".join(f"{column}={value}" for column, value in zip(names, found[0], strict=True))
    raise LostSalesError(f"a product must have one row per period, but {row} is in {' and again in '.join(files[:2])}")


def _as_text(values: Array) -> Array:
    return np.array(["" if value is None else str(value) for value in values], dtype=object)


@dataclass(frozen=True)
class ShardRows:
    """Rows of a shard with the settings to read them, self-contained for any machine."""

    shard: int
    rows: bytes  # a Parquet file
    problem: dict[str, Any]
    least_rows: int
    drop_bad_rows: bool


@dataclass(frozen=True, eq=False)
class ShardLog:
    """Log of the learnable products, None if there are none; for the others the reason by name."""

    log: SalesLog | None
    failures: dict[str, str]
    products: int  # of the shard
    rows: int


def read_shard(given: ShardRows) -> ShardLog:
    """Read the rows of a shard; a product with bad or too few rows does not affect the others."""
    problem = checked(Problem, given.problem, "the problem of the fleet")
    with TemporaryDirectory(prefix="lostsales-") as folder:
        path = Path(folder) / f"{given.shard:05}.parquet"
        path.write_bytes(given.rows)
        table = replace(open_files((path,)), name=f"shard {given.shard}")
        try:
            log, failures = read_good_series(table, problem, drop_bad_rows=given.drop_bad_rows)
        except LogError as error:  # concerns all products
            reader = ColumnReader(table, Findings(table.name), problem.format)
            names = reader.series(problem.columns.series_parts)[1].tolist()
            log, failures = None, dict.fromkeys(names, "; ".join(error.findings))
        rows = table.rows
        table.connection.close()
    few = {} if log is None else _too_few(log, given.least_rows)
    if log is not None and few:
        kept = np.flatnonzero([name not in few for name in log.names.tolist()])
        products = len(set(log.names.tolist())) + len(failures)
        return ShardLog(series_of(log, kept) if len(kept) else None, failures | few, products, rows)
    return ShardLog(log, failures, len(failures) + (0 if log is None else len(set(log.names.tolist()))), rows)


def _too_few(log: SalesLog, least: int) -> dict[str, str]:
    """Products with fewer rows than needed, with the reason."""
    products = log.products
    counted = zip(products.names.tolist(), products.counts().tolist(), strict=True)
    return {name: f"{rows:.0f} rows, and {least} are needed" for name, rows in counted if rows < least}
