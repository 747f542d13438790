"""Audit, imputation and law of demand of one series of 100,000 periods, and of 10,000 series of 5 periods."""

import resource
import time
from collections.abc import Callable

from benchmarks.rows import Row
from lostsales.data.log import SalesLog
from lostsales.demand.audit.audit import audit
from lostsales.demand.costs import audit_cost, demand_cost, impute_cost
from lostsales.demand.law.price_response import price_response
from lostsales.demand.law.selection import fit_demand
from lostsales.demand.survival.imputation import impute
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

MOST_SECONDS = 60.0
SHAPES = {"1 x 100,000": (100_000, 1), "10,000 x 5": (5, 10_000)}
VERBS: dict[str, Callable[[SalesLog], object]] = {
    "audit": audit,
    "impute": impute,
    "demand": lambda log: price_response(log, fit_demand(log)),
}
COSTS = {"audit": audit_cost, "impute": impute_cost, "demand": demand_cost}


def run() -> list[Row]:
    """Seconds of the processor, on all threads: a busy machine does not count."""
    found = []
    for name in ("released", "steady", "nonlinear"):
        for shape, (horizon, episodes) in SHAPES.items():
            scenario = Scenario.load(name, (f"horizon={horizon}",))
            log, _ = simulate(scenario, episodes=episodes, seed=7)
            for verb, work in VERBS.items():
                began = time.process_time()
                work(log)
                seconds = time.process_time() - began
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
                estimated = f"estimated {COSTS[verb](log).seconds:.0f} s"
                shown = f"{seconds:.0f} s, {peak:.1f} GiB", estimated
                found.append(Row(f"{verb}, {name} {shape}, of 60 s", *shown, seconds / MOST_SECONDS, at_most=1))
    return found
