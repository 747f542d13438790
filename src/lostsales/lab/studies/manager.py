"""`calibrate --study manager`: profit that learners earn from logs of a scenario's manager, against the manager's.

From each log every method learns a policy. Policy and manager are then simulated in the same market, for the profit,
and over a time several times as long as the log, for the stock: a policy whose stock piles up is worse than its profit
over a short time says.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lostsales.data.confidence import standard_error
from lostsales.data.parallel import single_threaded
from lostsales.lab.studies.study import TRUTH_SEED, ManagerLogs, seed_of
from lostsales.learn.fit import fit_in_shop_units, learner_of
from lostsales.simulation.manager_policy import ManagerPolicy
from lostsales.simulation.simulator import evaluate_policy, simulate

METHODS = ("c-fqi", "pc-fqi")
TRUTH_EPISODES = 200  # behind the true profits
LONG = 5  # times the horizon, over which stock is watched
LONG_EPISODES = 10  # simulated over that time


@dataclass(frozen=True)
class LearnedFromLog:
    """Results learned from one log; profits are means per period in the same simulated market."""

    number: int
    manager: float  # profit of the manager
    log_error: float  # standard error of the mean profit in the log, over its series
    log_stock: float  # most in the log, with the order
    profit: dict[str, float]  # by method
    stock: dict[str, float]  # most over a long time, by method


@dataclass(frozen=True)
class MethodTable:
    """A method over the logs of a study."""

    method: str
    logs: int
    profit: float
    profit_error: float  # standard error over logs
    gain: float  # over the manager
    worst_gain: float
    above: float  # share of the logs from which it earns at least what the manager does
    above_less_error: float  # less one standard error of what the log earned
    stock_ratio: float  # most stock over a long time, in that of the log; the largest over logs


@dataclass(frozen=True)
class ManagerStudy(ManagerLogs[LearnedFromLog]):
    """Settings of the study."""

    methods: tuple[str, ...] = METHODS
    least_series: ClassVar[int] = 2
    called: ClassVar[str] = "a study of managers' logs"
    entry: ClassVar[type[LearnedFromLog]] = LearnedFromLog

    @property
    def learned(self) -> tuple[str, ...]:
        """The methods."""
        return self.methods

    def replicate(self, key: int) -> LearnedFromLog:
        """Simulate a log of the manager, learn from it by every method, and simulate what was learned."""
        seed = seed_of(self.seed, self.series, key)
        scenario, manager = self.scenario, ManagerPolicy.of(self.scenario)
        long = scenario.model_copy(update={"horizon": LONG * scenario.horizon})
        profit, stock = {}, {}
        with single_threaded(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same from every log
            log, truth = simulate(scenario, manager, self.series, seed)
            for method in self.methods:
                policy = fit_in_shop_units(learner_of(method, {"seed": seed % 1000}), log)
                profit[method] = evaluate_policy(scenario, policy, TRUTH_EPISODES, TRUTH_SEED).mean_profit
                stock[method] = float(simulate(long, policy, LONG_EPISODES, TRUTH_SEED)[0].stock.max())
            earns = evaluate_policy(scenario, manager, TRUTH_EPISODES, TRUTH_SEED).mean_profit
        by_series = truth.profit.reshape(self.series, -1).mean(axis=1)
        return LearnedFromLog(
            number=key,
            manager=earns,
            log_error=standard_error(by_series),
            log_stock=float((log.stock + log.order).max()),
            profit=profit,
            stock=stock,
        )


def manager_table(study: ManagerStudy, outcomes: Sequence[LearnedFromLog]) -> list[MethodTable]:
    """One row a method."""
    manager, error, held = (
        np.array([getattr(each, name) for each in outcomes]) for name in ("manager", "log_error", "log_stock")
    )
    table = []
    for method in study.methods:
        profit = np.array([each.profit[method] for each in outcomes])
        stock = np.array([each.stock[method] for each in outcomes])
        table.append(
            MethodTable(
                method=method,
                logs=len(outcomes),
                profit=float(profit.mean()),
                profit_error=standard_error(profit),
                gain=float((profit - manager).mean()),
                worst_gain=float((profit - manager).min()),
                above=float((profit >= manager).mean()),
                above_less_error=float((profit >= manager - error).mean()),
                stock_ratio=float((stock / np.maximum(held, 1.0)).max()),
            )
        )
    return table
