"""The twin of a public retail table: fit, evaluate and compare, and the same in units of a thousandth."""

import resource
import time
from collections.abc import Callable

from benchmarks.retail_twin import retail_twin
from benchmarks.rows import Row
from lostsales.evaluation.compare import compare
from lostsales.evaluation.evaluate import evaluate
from lostsales.learn.baselines.threshold_tuning import BaseStock
from lostsales.learn.cfqi.settings import CFQI
from lostsales.learn.fit import fit
from lostsales.learn.planner.planner import Planner

FIT_SECONDS, JUDGE_SECONDS, MOST_TIMES = 60.0, 300.0, 1.5
METHODS = "planner", "c-fqi", "base-stock"


def _timed(work: Callable[[], object]) -> tuple[object, float, str]:
    began = time.perf_counter()
    found = work()
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return found, seconds, f"{seconds:.0f} s, at most {peak:.1f} GiB so far"


def run() -> list[Row]:
    """On two free cores."""
    small = retail_twin(series=12, periods=60)
    for learner in (BaseStock(), CFQI(), Planner()):
        fit(small, learner)  # compiles
    log, large = retail_twin(), retail_twin(times=1_000)
    found = []
    for learner in (BaseStock(), CFQI(), Planner()):
        policy, seconds, shown = _timed(lambda learner=learner: fit(log, learner))  # type: ignore[misc]
        found.append(Row(f"fit {learner.method}, of 60 s", shown, "-", seconds / FIT_SECONDS, at_most=1))
        _, times, shown = _timed(lambda learner=learner: fit(large, learner))  # type: ignore[misc]
        found.append(
            Row(
                f"fit {learner.method}, quantities x 1,000",
                shown,
                f"{seconds:.0f} s",
                times / seconds,
                at_most=MOST_TIMES,
            )
        )
    _, seconds, shown = _timed(lambda: evaluate(policy, log))  # type: ignore[arg-type]
    found.append(Row("evaluate, of 300 s", shown, "-", seconds / JUDGE_SECONDS, at_most=1))
    _, seconds, shown = _timed(lambda: compare(log, METHODS))
    found.append(Row("compare 3 methods, of 300 s", shown, "-", seconds / JUDGE_SECONDS, at_most=1))
    return found
