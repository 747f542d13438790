"""Beran's estimator at every stock-out of 100,000 rows, and the depth of 10 million, against their peers.

`python -m benchmarks.bench_beran ours|library` is one measurement in a process of its own, printed as JSON.
"""

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.rows import Row, best_seconds
from lostsales.data.log import SalesLog
from lostsales.data.splits import hold_out
from lostsales.demand.censoring.runs import depth_of_rows, find_runs
from lostsales.demand.survival.beran import fit_neighbourhood
from lostsales.demand.survival.depth_groups import depth_groups
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.demand.survival.tail import Bound
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

ROWS = 100_000
LIBRARY_ROWS = 20  # the library is timed on so many stock-outs and extrapolated to all
DEPTH_ROWS = 10_000_000
MOST_SECONDS, MOST_BYTES = 60, 2 * 1024**3
LIBRARY = Path(".venv-studies/bin/python")


def run() -> list[Row]:
    ours = _probe(sys.executable, "ours")
    rows = [
        Row(
            f"{ours['filled']:,.0f} stock-outs of {ROWS:,} rows, time",
            f"{ours['seconds']:.1f} s",
            f"{MOST_SECONDS} s, the goal",
            ours["seconds"] / MOST_SECONDS,
            at_most=1,
        ),
        Row(
            "the same, peak memory",
            f"{ours['peak'] / 2**20:.0f} MiB",
            f"{MOST_BYTES / 2**20:.0f} MiB, the goal",
            ours["peak"] / MOST_BYTES,
            at_most=1,
        ),
    ]
    if LIBRARY.is_file():
        looped = _probe(str(LIBRARY), "library")["row_seconds"] * ours["filled"]
        peer = f"{looped:.0f} s, lifelines in a loop (from {LIBRARY_ROWS} rows)"
        rows.append(
            Row("the same, times faster", f"{ours['seconds']:.1f} s", peer, looped / ours["seconds"], at_least=10)
        )
    return [*rows, _depth()]


def _depth() -> Row:
    import pandas as pd

    rng = np.random.default_rng(0)
    censored, series = rng.random(DEPTH_ROWS) < 0.5, np.repeat(np.arange(DEPTH_ROWS // 50), 50)
    starts = np.arange(0, DEPTH_ROWS, 50)

    def by_pandas() -> object:
        frame = pd.DataFrame({"series": series, "censored": censored})
        run_number = (~frame["censored"]).groupby(frame["series"]).cumsum()
        ended = frame["censored"].groupby([frame["series"], run_number]).cumsum()
        return ended.groupby(frame["series"]).shift(fill_value=0)

    np.testing.assert_array_equal(depth_of_rows(censored, starts), by_pandas())
    ours = best_seconds(lambda: depth_of_rows(censored, starts))
    peer = best_seconds(by_pandas, repeats=1)
    return Row("depth of 10 million rows", f"{ours:.2f} s", f"{peer:.2f} s, pandas", peer / ours, at_least=5)


def _probe(python: str, how: str) -> dict[str, float]:
    command = [python, "-m", "benchmarks.bench_beran", how]
    found: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)  # noqa: S603
    return found


def _log(rows: int) -> SalesLog:
    world = Scenario.load("released")
    return simulate(world, episodes=rows // world.horizon)[0]


def _ours() -> dict[str, float]:
    impute_by_curves(_log(2_000), replicates=0)  # the loops are compiled
    log = _log(ROWS)
    began = time.perf_counter()
    filled = impute_by_curves(log, replicates=0)
    seconds = time.perf_counter() - began
    status = Path("/proc/self/status").read_text()
    peak = 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return {"seconds": seconds, "filled": float(filled.hidden.sum()), "peak": float(peak)}


def _library() -> dict[str, float]:
    """Weights by numpy, then the library's weighted Kaplan-Meier curve, row by row."""
    from lifelines import KaplanMeierFitter

    log = _log(ROWS)
    runs = find_runs(log)
    group = depth_groups(log, runs)[0]
    bound = Bound(float(log.sales.max()), "to_max", True)
    near = fit_neighbourhood(group, runs.observed, hold_out(log, 1), bound, 0)
    rows = group.fill[:LIBRARY_ROWS]
    sample, points = near.sample.rows, near.metric(group.covariates(rows))
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    for point, least in zip(points, runs.observed.available[rows], strict=True):
        weight = 1 - ((sample.points - point) ** 2).sum(axis=1) / near.bandwidth**2
        kept = weight > 0
        moved = np.rint((point - sample.points[kept]).sum(axis=1))
        curve = KaplanMeierFitter().fit(sample.demand[kept] + moved, sample.is_event[kept], weights=weight[kept])
        levels = np.arange(least, bound.demand_max)
        np.sum(curve.survival_function_at_times(levels)) / curve.predict(least)
    return {"row_seconds": (time.perf_counter() - began) / len(rows)}


if __name__ == "__main__":
    print(json.dumps({"ours": _ours, "library": _library}[sys.argv[1]]()))
