"""`calibrate --study manager`: what learners earn from logs of a scenario's manager, against the manager himself.

From each log every method learns a policy. Policy and manager are then simulated in the same market, for the profit,
and over a time several times as long as the log, for the stock: a policy whose stock piles up is worse than its profit
over a short time says.
"""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from lostsales.data.journal import Run, fingerprint, open_journal
from lostsales.data.parallel import single_threaded
from lostsales.data.progress import Progress
from lostsales.errors import SettingError
from lostsales.learn.fit import fit_in_shop_units, learner_of
from lostsales.simulation.manager_policy import ManagerPolicy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate

METHODS = ("c-fqi", "pc-fqi")
TRUTH_EPISODES = 200  # behind the true profits
TRUTH_SEED = 1  # the same customers for every policy
LONG = 5  # times the horizon, over which stock is watched
LONG_EPISODES = 10  # simulated over that time


@dataclass(frozen=True)
class ManagerStudy:
    """Settings of the study: logs by the manager of a scenario."""

    scenario: Scenario
    methods: tuple[str, ...] = METHODS
    series: int = 8
    replications: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        if self.replications < 1 or self.series < 2:
            raise SettingError("replications must be at least 1, and the number of series at least 2")
        for method in self.methods:
            learner_of(method, {})
        ManagerPolicy.of(self.scenario)

    @property
    def fingerprint(self) -> str:
        """Checksum of all settings that determine a replication."""
        asked = {key: value for key, value in asdict(self).items() if key != "replications"}
        return fingerprint(asked | {"scenario": self.scenario.model_dump(mode="json", by_alias=True)})


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


def manager_table(study: ManagerStudy, outcomes: Sequence[LearnedFromLog]) -> list[MethodTable]:
    """One row a method."""
    manager, error, held = (
        np.array([getattr(each, name) for each in outcomes]) for name in ("manager", "log_error", "log_stock")
    )
    table = []
    for method in study.methods:
        profit = np.array([each.profit[method] for each in outcomes])
        stock = np.array([each.stock[method] for each in outcomes])
        spread = float(profit.std(ddof=1) / np.sqrt(len(profit))) if len(profit) > 1 else np.nan
        table.append(
            MethodTable(
                method=method,
                logs=len(outcomes),
                profit=float(profit.mean()),
                profit_error=spread,
                gain=float((profit - manager).mean()),
                worst_gain=float((profit - manager).min()),
                above=float((profit >= manager).mean()),
                above_less_error=float((profit >= manager - error).mean()),
                stock_ratio=float((stock / np.maximum(held, 1.0)).max()),
            )
        )
    return table


def learned_from_log(study: ManagerStudy, number: int) -> LearnedFromLog:
    """Simulate a log of the manager, learn from it by every method, and simulate what was learned."""
    seed = int(np.random.SeedSequence([study.seed, study.series, number]).generate_state(1)[0])
    scenario, manager = study.scenario, ManagerPolicy.of(study.scenario)
    long = scenario.model_copy(update={"horizon": LONG * scenario.horizon})
    profit, stock = {}, {}
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same from every log
        log, truth = simulate(scenario, manager, study.series, seed)
        for method in study.methods:
            policy = fit_in_shop_units(learner_of(method, {"seed": seed % 1000}), log)
            profit[method] = evaluate_policy(scenario, policy, TRUTH_EPISODES, TRUTH_SEED).mean_profit
            stock[method] = float(np.max(np.asarray(simulate(long, policy, LONG_EPISODES, TRUTH_SEED)[0].stock)))
        earns = evaluate_policy(scenario, manager, TRUTH_EPISODES, TRUTH_SEED).mean_profit
    by_series = truth.profit.reshape(study.series, -1).mean(axis=1)
    return LearnedFromLog(
        number=number,
        manager=earns,
        log_error=float(by_series.std(ddof=1) / np.sqrt(study.series)),
        log_stock=float(np.max(np.asarray(log.stock) + np.asarray(log.order))),
        profit=profit,
        stock=stock,
    )


def run_manager_study(
    study: ManagerStudy, partial_file: Path | None = None, workers: int = 1, progress: Progress | None = None
) -> list[LearnedFromLog]:
    """All outcomes; those in the `partial_file` of the same study are not repeated."""
    run = Run("a study of managers' logs", LearnedFromLog, study.fingerprint)
    with open_journal(partial_file, run) as journal:
        done = {each.number: each for each in journal.entries}
        work, numbers = partial(learned_from_log, study), range(study.replications)
        return journal.complete(numbers, done, lambda each: each.number, work, workers, progress)
