"""The service under load, generator and server on the same machine: single rows, batches by Arrow, and start-up.

The peer of each figure is the one that the service is asked to reach. `python -m benchmarks soak` runs the long one.
"""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

import lostsales
from benchmarks.load import request, run_load, served
from benchmarks.rows import Row

SERIES, BATCH = 20, 10_000
WANTED_RATE, WANTED_P99, WANTED_DECISIONS, WANTED_START = 500, 50.0, 50_000, 3.0
ARROW = "application/vnd.apache.arrow.stream"


@contextmanager
def shop() -> Iterator[Path]:
    """A folder with a log and the policy of a planner, as the demo has it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        log, _ = lostsales.simulate("released", episodes=SERIES, seed=1)
        lostsales.write_log(log, folder / "log.parquet")
        lostsales.fit(log, "planner").save(folder / "policy")
        yield folder / "policy"


def single(number: int) -> bytes:
    """A request for one row."""
    row = {"series": str(number % SERIES), "period": 50, "economy": 1, "interest": 0.0001, "stock": number % 15}
    return request("/v1/recommend", json.dumps({"rows": [row]}).encode())


def batch() -> bytes:
    """A request for many rows of products that the log never had."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "series": [f"p{number}" for number in range(BATCH)],
            "period": [50] * BATCH,
            "economy": rng.integers(0, 2, BATCH),
            "interest": np.zeros(BATCH),
            "stock": rng.integers(0, 20, BATCH),
            "last_sales": rng.integers(0, 15, BATCH),
        }
    )
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return request("/v1/recommend", sink.getvalue(), ARROW)


def run() -> list[Row]:
    with shop() as policy:
        with served(policy):
            pass  # compiled code is on disk from here on
        with served(policy) as (port, process, started):
            run_load(port, process.pid, single, 2, 16)
            ones = run_load(port, process.pid, single, 20, 32, rate=WANTED_RATE)
            body = batch()
            run_load(port, process.pid, lambda _: body, 2, 2)
            many = run_load(port, process.pid, lambda _: body, 10, 3)
    decided, p99 = BATCH * many.rate, ones.latency(99)
    own = 1000 * ones.server_seconds / len(ones.latencies)
    errors = sum(count for load in (ones, many) for status, count in load.statuses.items() if status != 200)
    what = f"single rows at {ones.rate:.0f} a second, p99 ({own:.2f} ms of the processor each)"
    return [
        Row("start-up", f"{started:.1f} s", f"{WANTED_START:g} s", started / WANTED_START, at_most=1),
        Row(what, f"{p99:.0f} ms", f"{WANTED_P99:g} ms", p99 / WANTED_P99, at_most=1),
        Row(
            f"decisions a second in batches of {BATCH:,} by Arrow",
            f"{decided:,.0f}",
            f"{WANTED_DECISIONS:,}",
            decided / WANTED_DECISIONS,
            at_least=1,
        ),
        Row("errors", str(errors), "0", float(errors), at_most=0),
    ]
