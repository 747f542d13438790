"""Estimates of time and memory against what is measured, within a factor of two."""

import time
import tracemalloc
from collections.abc import Callable

import pytest

from lostsales.data.budget import Cost, slowness
from lostsales.data.log import SalesLog
from lostsales.demand.audit.audit import audit
from lostsales.demand.costs import audit_cost, demand_cost, impute_cost
from lostsales.demand.law.price_response import price_response
from lostsales.demand.law.selection import fit_demand
from lostsales.demand.survival.imputation import impute
from tests.learn.small import small_log

Verb = tuple[Callable[[SalesLog], Cost], Callable[[SalesLog], object]]
VERBS: dict[str, Verb] = {
    "audit": (audit_cost, audit),
    "impute": (impute_cost, impute),
    "demand": (demand_cost, lambda log: price_response(log, fit_demand(log))),
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_time_is_estimated_within_a_factor_of_two(verb: str) -> None:
    """Of the processor, on all threads, and against the speed of this machine: what else it does hardly matters."""
    cost, run = VERBS[verb]
    run(small_log("steady", 12))  # compiles
    log = small_log("steady", 200)
    slowness.cache_clear()
    estimated = cost(log).seconds * slowness()
    began = time.process_time()
    run(log)
    assert 0.5 < estimated / (time.process_time() - began) < 2


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["audit", "impute"])
def test_memory_is_estimated_within_a_factor_of_two(verb: str) -> None:
    cost, run = VERBS[verb]
    run(small_log("steady", 12))
    log = small_log("steady", 1_000)
    tracemalloc.start()
    run(log)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 < cost(log).memory / peak < 2


def test_cost_is_bounded_where_rows_are_sampled() -> None:
    """Ten times the rows need at most ten times the time, and fits of laws no more than a little."""
    small, large = small_log("steady", 2_000, horizon=5), small_log("steady", 20_000, horizon=5)
    assert audit_cost(large).seconds < 3 * audit_cost(small).seconds
    assert impute_cost(large).seconds < 11 * impute_cost(small).seconds
    assert demand_cost(large).seconds < 3 * demand_cost(small).seconds


def test_nothing_hidden_costs_nothing_to_impute() -> None:
    log = small_log("steady", 12)
    shown = impute_cost(log).seconds
    assert shown > 1.0
    assert audit_cost(log).seconds < 10
