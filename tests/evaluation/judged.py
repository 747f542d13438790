"""Logs with their ledgers, learned once for all tests of a run."""

from functools import cache

from lostsales.data.log import SalesLog
from lostsales.data.splits import units_of
from lostsales.demand.censoring.runs import find_runs
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.policy import Policy
from lostsales.policy.simple import BaseStockRule, EpsilonGreedy
from lostsales.simulation.simulator import simulate
from tests.learn.small import scenario, small_log


def exploring(name: str) -> EpsilonGreedy:
    """A shop that fills up to 18 and tries something else every fifth time."""
    problem = scenario(name).problem
    return EpsilonGreedy(BaseStockRule(problem, 18, float(ActionGrid.of(problem).prices[1])), 0.2)


@cache
def explored(name: str) -> PreparedLog:
    """What is learned from such a shop."""
    return PreparedLog.of(simulate(scenario(name), exploring(name), 20, 5)[0])


@cache
def tried(name: str, episodes: int = 20, seed: int = 8) -> PreparedLog:
    """What is learned from a shop that tries everything."""
    return PreparedLog.of(small_log(name, episodes, seed))


def seen_only(log: SalesLog) -> PreparedLog:
    """A ledger without a demand model, in which lost sales cost nothing: quick, and nothing in it is imputed."""
    return PreparedLog(log, find_runs(log), units_of(log, 20), log.cash, None, "not asked for")


@cache
def simulated(name: str, policy: Policy | None, episodes: int, seed: int) -> PreparedLog:
    """A ledger that knows the true profit of every row, so that only the estimator is tried."""
    log, truth = simulate(scenario(name), policy, episodes, seed)
    return PreparedLog(log, find_runs(log), units_of(log, 20), truth.profit, None, "not asked for")
