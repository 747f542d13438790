"""Tables of real size: time and memory of each verb against what a person may be asked to wait for.

Every verb runs in a process of its own, whose time (without start-up and reading) and peak of memory are taken. The
ratio is the larger of time over allowed time and memory over allowed memory.
"""

import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import lostsales
from benchmarks.retail_twin import retail_twin
from benchmarks.rows import Row

LONG, SHORT = "1 series of 100,000 periods", "10,000 series of 5 periods"
METHODS = ("planner", "c-fqi", "base-stock")
MINUTE = 60.0


def run() -> list[Row]:
    once, thousand = _measured("twin planner"), _measured("thousand planner")
    return [
        _row("twin, fit with the planner", once, MINUTE, 2.0),
        _row("twin, fit with C-FQI", _measured("twin c-fqi"), MINUTE, 4.0),
        _row("twin, evaluate", _measured("twin evaluate"), 5 * MINUTE, 8.0),
        _row(f"twin, compare {', '.join(METHODS)}", _measured("twin compare"), 5 * MINUTE, 8.0),
        Row(
            "twin, planner, all quantities times 1,000",
            f"{thousand[0]:.1f} s",
            f"{once[0]:.1f} s as it is",
            thousand[0] / once[0],
            at_most=1.5,
        ),
        *(
            _row(f"{shape}, {verb}", _measured(f"{name} {verb}"), MINUTE, 4.0)
            for name, shape in (("long", LONG), ("short", SHORT))
            for verb in ("audit", "impute", "demand")
        ),
    ]


def _row(what: str, measured: tuple[float, float], seconds: float, gibibytes: float) -> Row:
    took, peak = measured
    ratio = max(took / seconds, peak / gibibytes)
    return Row(what, f"{took:.1f} s, {peak:.2f} GiB", f"{seconds:.0f} s, {gibibytes:g} GiB allowed", ratio, at_most=1.0)


def _measured(work: str) -> tuple[float, float]:
    """Seconds and peak of memory in GiB of some work in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.bench_tables", *work.split()]
    found = subprocess.run(command, capture_output=True, check=True)  # noqa: S603
    seconds, peak = json.loads(found.stdout)
    return seconds, peak


def _work(table: str, verb: str) -> Callable[[], object]:
    if table in ("long", "short"):
        horizon, episodes = (100_000, 1) if table == "long" else (5, 10_000)
        log, _ = lostsales.simulate(
            lostsales.Scenario.load("steady", (f"horizon={horizon}",)), episodes=episodes, seed=1
        )
        if verb == "audit":
            return lambda: lostsales.audit(log)
        return lambda: lostsales.impute(log) if verb == "impute" else lostsales.fit_demand(log)
    twin = retail_twin(times=1_000.0 if table == "thousand" else 1.0)
    if verb == "evaluate":
        policy = lostsales.fit(twin, "base-stock")
        return lambda: lostsales.evaluate(policy, twin)
    return lambda: lostsales.compare(twin, METHODS) if verb == "compare" else lostsales.fit(twin, verb)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    work = _work(*sys.argv[1:])
    began = time.perf_counter()
    work()
    took = time.perf_counter() - began
    print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20]))
