"""Reading and checking 10 million rows of Parquet, against fetching them with no checks."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.rows import Row
from lostsales.data.writing import write_log
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

ROWS = 10_000_000
REPEATS = 3


def run() -> list[Row]:
    world = Scenario.load("released")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        write_log(simulate(world, episodes=ROWS // world.horizon)[0], path)
        # In turn, so that a busy machine slows both.
        runs = [(_probe("raw", path), _probe("log", path)) for _ in range(REPEATS)]
    raw, log = (min((pair[index] for pair in runs), key=lambda found: found["seconds"]) for index in (0, 1))
    peak = max(pair[1]["peak"] for pair in runs)
    return [
        Row(
            "10 million rows, time",
            f"{log['seconds']:.2f} s",
            f"{raw['seconds']:.2f} s, DuckDB to numpy",
            log["seconds"] / raw["seconds"],
            at_most=3,
        ),
        Row(
            "10 million rows, peak memory",
            f"{peak / 1e6:.0f} MB",
            f"{raw['table'] / 1e6:.0f} MB, the columns",
            peak / raw["table"],
            at_most=3,
        ),
    ]


def _probe(how: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.probe_reading", how, str(path)]
    found: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)  # noqa: S603
    return found
