"""Safe actions, which end a censored run at max_depth (Section 3.2)."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.splits import FoldMasks, Holdout, folds_of
from lostsales.demand.censoring.runs import Runs
from lostsales.learn.cfqi.iteration import FqiSettings
from lostsales.learn.cfqi.partition import blocks_at_depth
from lostsales.learn.cfqi.targets import ActionValueFunction
from lostsales.learn.function.depth_regression import HyperparameterSearch, build
from lostsales.learn.function.q_function import ActionScaler, FunctionClass, QFunction, Scaler
from lostsales.policy.action_grid import keep_largest
from lostsales.saved_fields import Depth, OneOf, Share, numbers
from lostsales.types import Bools, Floats

Safe = Literal["learned", "paper"]
ROUNDING = 1e-9  # by which actions and chances may differ
NEVER = 1_000_000  # a depth that no run reaches


@dataclass(frozen=True, eq=False)
class SafeActions:
    """Actions that are allowed where a run must end (Section 3.2): at the depth of the longest run of the log."""

    kind: Safe
    chance: Annotated[
        ActionValueFunction | None, OneOf(QFunction)
    ]  # estimated probability that the run ends; None where every learned run did
    eps: Share
    depth: Depth  # from which on a run must end
    arrival: Literal[
        "before", "after", "later"
    ]  # "before", "after", or "later" where lead times are longer than a period
    ends_by_rule: bool = False  # the shop's rule (`longest_run`) ends a run at that depth, whatever the action
    # least and most price and order where runs had to end; None: not known
    tried: Annotated[Floats | None, numbers(2, 2, least=0, infinite=True)] = None

    @classmethod
    def never(cls, kind: Safe, eps: float, arrival: Literal["before", "after", "later"]) -> "SafeActions":
        """No run has to end."""
        return cls(kind, None, eps, NEVER, arrival)

    def mask(self, depth: int, block: Floats, feasible: Bools, actions: Floats) -> tuple[Bools, Bools]:
        """Feasible actions that are safe at a depth, (rows, actions), and rows at which none is safe enough, (rows,).

        `actions` are the coordinates of the actions, (actions, 2).

        The paper's: the highest price with the largest order. The learned: those that end the run with probability at
        least 1 - eps, else the likeliest, of those within the range that was tried at such a depth (all, where none of
        these is feasible); the paper's where no learned run went on, which is so by definition at the depth of the
        longest run and tells nothing of what ends one.

        An order that arrives after sales cannot end today's run. So the learned order is the largest a period earlier
        too (but not before a run has begun), and where no action is safe enough. One that takes longer is left as it
        is: a run will have ended before it arrives.
        """
        no_row = np.zeros(len(feasible), dtype=bool)
        price, order = actions.T
        ends_at = max(self.depth, 1)  # where no run was seen any is too long
        by_rule, earlier = self.kind == "learned" and self.ends_by_rule, self.kind == "learned"
        if earlier and self.arrival == "after" and 1 <= depth == ends_at - 1 and not by_rule:
            return keep_largest(feasible, order), no_row
        if depth < ends_at or (by_rule and depth == self.depth):
            return feasible, no_row
        if self.kind == "paper" or self.chance is None:
            return keep_largest(keep_largest(feasible, order), price), no_row
        if self.tried is not None:
            near = ((actions >= self.tried[0] - ROUNDING) & (actions <= self.tried[1] + ROUNDING)).all(axis=1)
            feasible = np.where((feasible & near).any(axis=1, keepdims=True), feasible & near, feasible)
        chance = np.where(feasible, self.chance.values(block, actions), -np.inf)
        enough: Bools = chance >= 1 - self.eps
        none = np.asarray(~enough.any(axis=1))
        likeliest = feasible & (chance >= chance.max(axis=1, keepdims=True) - ROUNDING)
        if self.arrival == "after":
            likeliest = keep_largest(likeliest, order)
        return np.where(none[:, None], likeliest, enough), none


def fit_safe_actions(
    log: SalesLog,
    runs: Runs,
    holdout: Holdout,
    settings: FqiSettings,
    kind: Safe,
    eps: float,
    lags: int = 1,
) -> SafeActions:
    """Estimate the probability that a run ends from every row at max_depth and beyond."""
    chance: QFunction | None = None
    tried: Floats | None = None
    learned, rule = runs.max_depth, log.problem.longest_run
    depth = min(runs.longest, runs.cap) if runs.pools else learned
    deep = runs.depth >= max(learned, 1) if runs.pools else (runs.depth == learned) & (learned > 0)
    rows = np.flatnonzero(deep & log.has_next)
    ends = runs.observed.is_observed[rows].astype(np.float64)
    if kind == "learned" and len(rows) and not ends.all():
        block = blocks_at_depth(log, runs, rows, learned, lags)
        # An order that arrives after sales cannot end the run: an effect of it would be noise.
        order = np.asarray(log.order)[rows] if log.problem.arrival == "before" else np.zeros(len(rows))
        action = np.column_stack([log.price[rows], order])
        chance = _chance_to_end(block, action, ends, folds_of(holdout, rows), settings)
        tried = np.array([action.min(axis=0), action.max(axis=0)])
        if log.problem.arrival != "before":
            tried[:, 1] = 0.0, np.inf
    return SafeActions(kind, chance, eps, depth, arrival_of(log.problem), rule is not None and rule <= depth, tried)


def arrival_of(problem: Problem) -> Literal["before", "after", "later"]:
    """Period in which an order can end a run: before today's sales, in the next period, or later."""
    return "later" if problem.lead_times.longest > 1 else problem.arrival


def _chance_to_end(block: Floats, action: Floats, ends: Floats, folds: FoldMasks, settings: FqiSettings) -> QFunction:
    """Regression of whether a run ended, kept within [0, 1]."""
    scaler, action_scaler, mean = Scaler.of(block), ActionScaler.of(action), float(ends.mean())
    history, acted = scaler(block), action_scaler(action)
    function = settings.function if isinstance(settings.function, FunctionClass) else FunctionClass()
    chosen = HyperparameterSearch.of(history, acted, folds, function, settings.seed).choose(ends - mean)
    return build(scaler, action_scaler, history, acted, chosen, function, settings.seed).q(ends, 0.0, 1.0)[0]
