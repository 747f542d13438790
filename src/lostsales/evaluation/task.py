"""An evaluation task: a policy, a prepared log, the estimand, and the policy's actions in the rows of the log."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError
from lostsales.evaluation.policy_on_log import check_policy, decisions
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.results import Estimand
from lostsales.policy.policy import Policy
from lostsales.policy.shop_replay import ReplayedShop, replay_shop
from lostsales.types import Bools, Floats, Ints

START = "where each series of the log starts"
# The most periods to look ahead by default: a policy has settled long before (docs/decisions/evaluation.md).
# Longer series are cut into episodes, so that all their periods count.
MOST_HORIZON = 100


@dataclass(frozen=True, eq=False)
class EvaluationTask:
    """Input of an estimator."""

    policy: Policy
    prepared: PreparedLog
    estimand: Estimand
    rows: Ints  # (rows,) rows of the log whose depth is known
    actions: Floats  # (draws, rows, 2) price and order of the policy there
    opening_rows: Ints  # (episodes,) the first such row of each
    opening_weight: Floats  # (episodes,) its periods: a mean over periods counts long ones more
    seed: int
    start_stock: float | None = None  # of every series; that of the log where it is not given
    progress: Progress | None = None  # called by estimators that take long

    @classmethod
    def of(
        cls,
        policy: Policy,
        prepared: PreparedLog,
        horizon: int | None,
        seed: int,
        start_stock: float | None = None,
        progress: Progress | None = None,
    ) -> "EvaluationTask":
        """`horizon` is by default the median length of a series, at most `MOST_HORIZON`: then long ones are cut."""
        check_policy(policy, prepared.log, horizon, start_stock)
        log = prepared.log
        lengths = np.diff(np.r_[log.starts, len(log)])
        usual = int(np.median(lengths))
        if horizon is None and prepared.realised is not None:
            horizon = int(lengths.max())  # the periods of a shop are replayed as they were
        restarts = horizon is None and usual > MOST_HORIZON
        horizon = min(usual, MOST_HORIZON) if horizon is None else horizon
        start = f"every {horizon} periods of each series of the log" if restarts else START
        start = start if start_stock is None else f"{start}, with {start_stock:g} units in stock"
        estimand = Estimand(horizon, log.problem.discount, start, restarts)
        return cls._of(policy, prepared, estimand, seed, start_stock, progress)

    def on(self, prepared: PreparedLog, opens: Bools) -> "EvaluationTask":
        """Move the task to another log, on which episodes open in some of the series (series,) only."""
        task = self._of(self.policy, prepared, self.estimand, self.seed, self.start_stock, None)
        kept = opens[prepared.log.series[task.opening_rows]]
        return replace(task, opening_rows=task.opening_rows[kept], opening_weight=task.opening_weight[kept])

    @classmethod
    def _of(
        cls,
        policy: Policy,
        prepared: PreparedLog,
        estimand: Estimand,
        seed: int,
        start_stock: float | None,
        progress: Progress | None,
    ) -> "EvaluationTask":
        log, runs = prepared.log, prepared.runs
        rows = np.flatnonzero(runs.depth >= 0)
        actions = decisions(policy, log, runs, rows, np.random.default_rng(seed))
        episodes = episodes_of(log.series[rows], estimand.horizon if estimand.restarts else None)
        first, length = np.unique(episodes, return_index=True, return_counts=True)[1:]
        weight = np.minimum(length, estimand.horizon).astype(np.float64)
        return cls(policy, prepared, estimand, rows, actions, rows[first], weight, seed, start_stock, progress)

    @cached_property
    def logged_actions(self) -> Floats:
        """Price and order of the log, (rows, 2)."""
        log = self.prepared.log
        return np.column_stack([log.price[self.rows], log.order[self.rows]])

    @cached_property
    def replayed_shop(self) -> ReplayedShop:
        """The periods of a shop under the policy."""
        if self.prepared.realised is None or self.start_stock is not None:
            raise LostSalesError("the periods of a shop are replayed from their logged stock, not from another")
        return replay_shop(self.policy, self.prepared.realised, self.seed, self.estimand.horizon, self.progress)

    @cached_property
    def place(self) -> Ints:
        """Position of every row of the log in `rows`, -1 where its depth is unknown."""
        return places(self.rows, len(self.prepared.log))

    def contributions(self, of_start: Floats, of_row: Floats) -> Floats:
        """Contributions of units to the mean of `of_start` over opening rows plus the sum of `of_row`."""
        units = self.prepared.units
        weight = np.zeros(len(of_start))
        weight[self.opening_rows] = self.opening_weight
        added = np.bincount(units.of_row, of_row, len(units))
        return np.asarray(units.mean(of_start, weight) + len(units) * added)


def episodes_of(series: Ints, horizon: int | None) -> Ints:
    """A number for each episode of rows in order of their series: one a series, or one every `horizon` rows of it.

    >>> episodes_of(np.array([0, 0, 0, 1]), 2)
    array([0, 0, 1, 2])
    """
    starts = np.r_[True, np.diff(series) != 0][: len(series)]
    place = np.arange(len(series)) - np.maximum.accumulate(np.where(starts, np.arange(len(series)), 0))
    return np.asarray(np.cumsum(starts if horizon is None else place % horizon == 0) - 1)


def places(rows: Ints, size: int) -> Ints:
    """The inverse of an index: the position in `rows` of each of `size` numbers, -1 where it is not among them.

    >>> places(np.array([2, 0]), 4)
    array([ 1, -1,  0, -1])
    """
    found = np.full(size, -1)
    found[rows] = np.arange(len(rows))
    return found
