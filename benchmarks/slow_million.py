"""C-FQI on a million rows: time, growth, memory, and the error of landmarks against exact kernel ridge regression."""

import resource
import time

import numpy as np

from benchmarks.rows import Row
from lostsales.learn.cfqi.learn import CFQI, CfqiResult, learn
from lostsales.learn.function.q_function import FunctionClass
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

MINUTES, GIGABYTES = 4.0, 4.0
PERIODS = 50


def run() -> list[Row]:
    _, small = _learned(100_000)
    _, large = _learned(1_000_000)  # with the defaults of `fit`
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [
        _landmarks(),
        Row("C-FQI, 1,000,000 rows", f"{large:.0f} s", f"{MINUTES * 60:.0f} s", large / (MINUTES * 60), at_most=1),
        Row("10 times the rows", f"{large:.0f} s", f"{small:.0f} s, 100,000 rows", large / small, at_most=12),
        Row("memory, 1,000,000 rows", f"{peak:.1f} GiB", f"{GIGABYTES:g} GiB", peak / GIGABYTES, at_most=1),
    ]


def _learned(rows: int, function: FunctionClass | None = None) -> tuple[CfqiResult, float]:
    log, _ = simulate(Scenario.load("steady"), episodes=rows // PERIODS, seed=1)
    began = time.perf_counter()
    learned = learn(log, CFQI(function=function or FunctionClass()))
    return learned, time.perf_counter() - began


def _landmarks() -> Row:
    """Q at depth 0 with as many landmarks as the effective dimension requires, against every row a landmark."""
    ours, seconds = _learned(5_000)
    exact, slow = _learned(5_000, FunctionClass(exact_rows=5_000))
    block, pairs = exact.parts[0].block, exact.policy.grid.pairs
    near, truth = (each.policy.q[0].values(block, pairs) for each in (ours, exact))
    error = float(np.sqrt(np.mean((near - truth) ** 2)) / truth.std())
    same = float(np.mean(near.argmax(axis=1) == truth.argmax(axis=1)))
    what = f"5,000 rows, landmarks: Q is off by {error:.2%} of its spread, {same:.0%} of the decisions are the same"
    return Row(what, f"{seconds:.1f} s", f"{slow:.1f} s, every row", slow / seconds)
