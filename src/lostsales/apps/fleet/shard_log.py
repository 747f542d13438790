"""Log of a shard, and the products that cannot be learned from."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.files import open_files
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.gate import read_good_series
from lostsales.data.settings import checked
from lostsales.data.sublogs import series_of
from lostsales.errors import LogError


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
