"""A policy and a log, prepared once for every estimator."""

from dataclasses import dataclass

import numpy as np

from lostsales.arrays import Bools, Floats, Ints
from lostsales.data.economics import period_profit
from lostsales.data.log import SalesLog
from lostsales.demand.impute import impute
from lostsales.demand.runs import Runs, find_runs
from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluate.results import Earned, Estimand, Interval
from lostsales.evaluate.rows import Units, decisions, units_of
from lostsales.policy.rollout import Policy

MOST_UNITS = 50
IMPUTATIONS = 20  # resamples behind the error of hidden lost sales


@dataclass(frozen=True, eq=False)
class Ledger:
    """What the rows of a log earned, hidden lost sales at their expectation, and how deep each row lies."""

    log: SalesLog
    runs: Runs
    profit: Floats  # (rows,)
    cash: Floats  # (rows,)
    imputation_error: float  # of the mean profit
    lost_by: str
    units: Units

    @classmethod
    def of(cls, log: SalesLog, seed: int) -> "Ledger":
        """Check that the log can be judged, and fill it in."""
        if log.demand_only:
            raise LostSalesError("evaluate needs stock and orders, and this log has none")
        if log.costs is None:
            raise LostSalesError("evaluate needs unit costs: give [costs] lost, order and holding in the problem")
        runs = find_runs(log)
        filled = impute(log, runs=runs, replicates=IMPUTATIONS, seed=seed)
        assert filled.profit_filled is not None
        assert filled.profit_filled_se is not None
        return cls(
            log=log,
            runs=runs,
            profit=filled.profit_filled,
            cash=log.cash,
            # Errors of rows that learn from the same neighbours go the same way, so they are not averaged out.
            imputation_error=float(np.mean(filled.profit_filled_se)),
            lost_by="Beran's estimator",
            units=units_of(log, MOST_UNITS),
        )

    def with_lost(self, lost: Floats, lost_by: str) -> "Ledger":
        """The same with other expected lost sales."""
        log, costs = self.log, self.log.costs
        assert log.order is not None
        assert costs is not None
        profit = period_profit(log.price, log.order, log.sales, lost, log.available - log.sales, costs)
        return Ledger(log, self.runs, profit, self.cash, self.imputation_error, lost_by, self.units)

    @property
    def earned(self) -> Earned:
        """The mean of a period, with intervals over units."""
        profit = self.units.mean(self.profit)
        return Earned(
            profit=Interval.of(profit, self.imputation_error),
            cash=Interval.of(self.units.mean(self.cash)),
            contributions=profit,
            imputation_error=self.imputation_error,
            lost_by=self.lost_by,
        )


@dataclass(frozen=True, eq=False)
class Case:
    """A policy to judge from a ledger."""

    policy: Policy
    ledger: Ledger
    estimand: Estimand
    known: Ints  # rows whose depth is known
    decided: Floats  # (draws, known, 2) what the policy does there
    opens: Ints  # the first such row of each series
    seed: int

    @classmethod
    def of(cls, policy: Policy, ledger: Ledger, horizon: int | None, seed: int) -> "Case":
        """`horizon` is the median length of a series unless given."""
        if policy.observes == "demand":
            raise LostSalesError("this policy needs true demand, which no shop sees: it can only be simulated")
        if getattr(policy, "horizon", None) is not None:
            raise LostSalesError("this policy plans a number of periods: evaluate one that decides the same in each")
        log, runs = ledger.log, ledger.runs
        lengths = np.diff(np.r_[log.starts, len(log)])
        horizon = int(np.median(lengths)) if horizon is None else horizon
        if horizon < 1:
            raise SettingError(f"horizon must be at least 1, but {horizon} came")
        known = np.flatnonzero(runs.depth >= 0)
        decided = decisions(policy, log, runs, known, np.random.default_rng(seed))
        at = np.unique(log.series[known], return_index=True)[1]
        start = "the first known row of each series in the log"
        estimand = Estimand(horizon, log.problem.discount, start)
        return cls(policy, ledger, estimand, known, decided, known[at], seed)

    def contributions(self, of_start: Floats, of_row: Floats) -> Floats:
        """What each unit adds to the mean over openings of `of_start` (rows,) plus the sum of `of_row` (rows,)."""
        units = self.ledger.units
        opens: Bools = np.zeros(len(of_start), dtype=bool)
        opens[self.opens] = True
        added = np.bincount(units.of_row, of_row, len(units))
        return np.asarray(units.mean(of_start, opens) + len(units) * added)
