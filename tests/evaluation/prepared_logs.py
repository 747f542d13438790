"""Prepared logs, made once for all tests of a run."""

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


def epsilon_greedy_policy(name: str) -> EpsilonGreedy:
    """Base-stock with level 18 and a fifth of uniform actions."""
    problem = scenario(name).problem
    return EpsilonGreedy(BaseStockRule(problem, 18, float(ActionGrid.of(problem).prices[1])), 0.2)


@cache
def epsilon_greedy_log(name: str) -> PreparedLog:
    """The log of such a behaviour."""
    return PreparedLog.of(simulate(scenario(name), epsilon_greedy_policy(name), 20, 5)[0])


@cache
def uniform_log(name: str, episodes: int = 20, seed: int = 8) -> PreparedLog:
    """The log of uniform behaviour."""
    return PreparedLog.of(small_log(name, episodes, seed))


def without_model(asked: SalesLog) -> PreparedLog:
    """A log without a demand model, in which lost sales cost nothing: quick, and nothing in it is imputed."""
    log = asked.decisions("evaluate")
    return PreparedLog(log, find_runs(log), units_of(log, 20), log.cash, None, "not asked for")


@cache
def log_with_true_profit(name: str, policy: Policy | None, episodes: int, seed: int) -> PreparedLog:
    """A log with the true profit of every row, so that only the estimator is tested."""
    log, truth = simulate(scenario(name), policy, episodes, seed)
    return PreparedLog(log, find_runs(log), units_of(log, 20), truth.profit, None, "not asked for")
