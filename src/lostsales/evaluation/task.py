"""A policy to judge from a ledger, and what it decides in the rows of the log."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluation.log_decisions import decisions
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.results import Estimand
from lostsales.policy.policy import Policy
from lostsales.types import Bools, Floats, Ints

START = "where each series of the log starts"


SAME = ("features", "arrival", "balance", "capacity", "capacity_rule")  # of policy and log


def check_policy(policy: Policy, log: SalesLog, horizon: int | None, start_stock: float | None = None) -> None:
    """Refuse what cannot be judged from a log."""
    for key in SAME:
        wanted, came = shown(getattr(policy.problem, key)), shown(getattr(log.problem, key))
        if wanted != came:
            advice = "fit one to this log, or give a log of its shop"
            raise SettingError(f"the policy was made for {key} {wanted}, but the log has {came}: {advice}")
    if policy.observes == "demand":
        raise LostSalesError("this policy needs true demand, which no shop sees: it can only be simulated")
    if policy.horizon is not None:
        raise LostSalesError("this policy plans a number of periods: evaluate one that decides the same in each")
    check_horizon(horizon)
    room = np.inf if log.problem.capacity is None else log.problem.capacity
    if start_stock is not None and not 0 <= start_stock <= room:
        most = "" if np.isinf(room) else f" and the capacity of {room:g}"
        raise SettingError(
            f"the stock to start with must lie between 0{most or ' and any number'}, but {start_stock:g} came"
        )


def check_horizon(horizon: int | None) -> None:
    """Refuse to look no period ahead."""
    if horizon is not None and horizon < 1:
        raise SettingError(f"horizon must be at least 1, but {horizon} came")


@dataclass(frozen=True, eq=False)
class EvaluationTask:
    """A policy to judge from a ledger."""

    policy: Policy
    ledger: PreparedLog
    estimand: Estimand
    known: Ints  # rows whose depth is known
    decided: Floats  # (draws, known, 2) what the policy does there
    opens: Ints  # the first such row of each series
    seed: int
    start_stock: float | None = None  # of every series; that of the log where it is not given
    progress: Progress | None = None  # told by estimators that take long

    @classmethod
    def of(
        cls,
        policy: Policy,
        ledger: PreparedLog,
        horizon: int | None,
        seed: int,
        start_stock: float | None = None,
        progress: Progress | None = None,
    ) -> "EvaluationTask":
        """`horizon` is the median length of a series unless given."""
        check_policy(policy, ledger.log, horizon, start_stock)
        log, runs = ledger.log, ledger.runs
        lengths = np.diff(np.r_[log.starts, len(log)])
        horizon = int(np.median(lengths)) if horizon is None else horizon
        known = np.flatnonzero(runs.depth >= 0)
        decided = decisions(policy, log, runs, known, np.random.default_rng(seed))
        at = np.unique(log.series[known], return_index=True)[1]
        start = START if start_stock is None else f"{START}, with {start_stock:g} units in stock"
        estimand = Estimand(horizon, log.problem.discount, start)
        return cls(policy, ledger, estimand, known, decided, known[at], seed, start_stock, progress)

    def contributions(self, of_start: Floats, of_row: Floats) -> Floats:
        """What each unit adds to the mean over openings of `of_start` (rows,) plus the sum of `of_row` (rows,)."""
        units = self.ledger.units
        opens: Bools = np.zeros(len(of_start), dtype=bool)
        opens[self.opens] = True
        added = np.bincount(units.of_row, of_row, len(units))
        return np.asarray(units.mean(of_start, opens) + len(units) * added)


def shown(setting: object) -> str:
    """A setting as people read it.

    >>> shown(None), shown("after"), shown(())
    ('none', 'after', 'none')
    """
    if isinstance(setting, tuple):
        return ", ".join(str(getattr(each, "name", each)) for each in setting) or "none"
    return "none" if setting is None else str(setting)
