"""The log of a shard, and the products of it that cannot be learned from."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.gate import read_good_series
from lostsales.data.reading.opening import open_files
from lostsales.data.settings import checked
from lostsales.data.sublogs import series_of
from lostsales.errors import LogError


@dataclass(frozen=True)
class ShardRows:
    """The rows of a shard with all that says how to read them: the same on every machine."""

    shard: int
    rows: bytes  # a Parquet file
    problem: dict[str, Any]
    least_rows: int
    drop_bad_rows: bool


@dataclass(frozen=True, eq=False)
class ShardLog:
    """The log of the products that can be learned from, None where there are none; of the others the reason by name."""

    log: SalesLog | None
    failures: dict[str, str]
    products: int  # of the shard
    rows: int


def read_shard(given: ShardRows) -> ShardLog:
    """Read the rows of a shard; a product with bad rows or with too few leaves the others alone."""
    problem = checked(Problem, given.problem, "the problem of the fleet")
    with TemporaryDirectory(prefix="lostsales-") as folder:
        path = Path(folder) / f"{given.shard:05}.parquet"
        path.write_bytes(given.rows)
        table = replace(open_files((path,)), name=f"shard {given.shard}")
        try:
            log, failures = read_good_series(table, problem, drop_bad_rows=given.drop_bad_rows)
        except LogError as error:  # about all of them
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
    """Products with fewer rows than are needed."""
    products = log.products
    counted = zip(products.names.tolist(), products.counts().tolist(), strict=True)
    return {name: f"{rows:.0f} rows, and {least} are needed" for name, rows in counted if rows < least}
