"""Targets of service: the cost of a lost sale under which a learned policy reaches them.

Service rises with the cost of a lost sale. The policy of a cost is replayed in the demand that is estimated from the
log, on the same random numbers for every cost, and a bracketing search finds the cost of each group of products. Where
more is served than wanted although a lost sale costs nothing but its margin, holding a unit is made dearer instead.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lostsales.data.assortment import is_shop
from lostsales.data.economics import UnitCosts
from lostsales.data.log import DecisionLog
from lostsales.data.progress import Progress, stages
from lostsales.data.targets import OTHER, Targets
from lostsales.demand.censoring.runs import find_runs
from lostsales.demand.shop import RealisedDemand, ShopDemand
from lostsales.errors import SettingError, warn
from lostsales.learn.learner import Learner
from lostsales.learn.replay.replayed_market import ReplayedMarket
from lostsales.policy.period import Flow
from lostsales.policy.policy import Policy, SavedPolicy
from lostsales.policy.provenance import MetTarget, with_met_targets
from lostsales.policy.rollout import play
from lostsales.policy.shop_replay import replay_shop
from lostsales.types import Floats, Ints

ALL = "all products"
TOLERANCE = 0.002  # of a share that is reached
MOST_TRIALS = 12  # of costs
FARTHEST = 8.0  # e ** so much times its price is the dearest lost sale that is tried
HELD_SHARE = 0.02  # of its price that holding a unit is made dearer by, at the first step below 0
MOST_REPLAYED = 30_000  # rows of a shop
EPISODES, SETTLES, PERIODS = 200, 20, 60  # of a market that is no shop: periods that settle, and those that count

Fit = Callable[[DecisionLog], SavedPolicy]


class TargetGroups(NamedTuple):
    """Groups of rows that share a target, and the target of each."""

    of_row: Ints  # (rows,)
    names: tuple[str, ...]
    target: Floats  # (groups,)


def fit_to_targets(learner: Learner, log: DecisionLog, fit: Fit, progress: Progress | None = None) -> SavedPolicy:
    """Fit at the costs of a lost sale that reach the targets of the log's problem.

    The policy knows these costs (`met_targets`). Limits that products share are left out of the search: they may keep
    a target from being met, whatever a lost sale costs.
    """
    unlimited = replace(log, problem=log.problem.model_copy(update={"limits": ()}))
    targets = log.problem.targets
    groups = groups_of(targets, log)
    scale = _scale(log, groups)
    measure = _measure(log, groups, targets, learner.seed)
    ticks = iter(stages(progress, [1.0] * (MOST_TRIALS + 1)))

    def priced(position: Floats, log: DecisionLog = unlimited) -> DecisionLog:
        lost, held = costs_at(position, scale)
        return replace(log, costs=_added(log.costs, lost[groups.of_row], held[groups.of_row], len(groups.names)))

    def reached(position: Floats) -> Floats:
        found = measure(fit(priced(position)))
        next(ticks)(1, 1)
        return found

    search = _Search.of(reached, groups.target)
    lost, held = costs_at(search.position, scale)
    far = np.abs(search.reached - groups.target) > 5 * TOLERANCE
    if far.any():
        at = int(np.flatnonzero(far)[0])
        warn(
            f"a {targets.measure.replace('_', ' ')} of {groups.target[at]:.1%} was not reached for {groups.names[at]}: "
            f"{search.reached[at]:.1%} came nearest, by what may be ordered and how demand varies"
        )
    policy = fit(priced(search.position, log))
    return with_met_targets(
        policy,
        tuple(
            MetTarget(of=name, measure=targets.measure, target=target, reached=own, lost_cost=cost, holding_cost=dearer)
            for name, target, own, cost, dearer in zip(
                groups.names,
                groups.target.tolist(),
                search.reached.tolist(),
                lost.tolist(),
                held.tolist(),
                strict=True,
            )
        ),
    )


def groups_of(targets: Targets, log: DecisionLog) -> TargetGroups:
    """Rows of a log by the target that they share; raises where a value of `by` has none."""
    if targets.by is None:
        assert isinstance(targets.wanted, float)
        return TargetGroups(np.zeros(len(log), dtype=np.int64), (ALL,), np.array([targets.wanted]))
    if targets.by == "series":
        names, of_row = log.products.names.astype(str), log.products.of_row
    else:
        names, of_series = np.unique(log.attributes[targets.by].astype(str), return_inverse=True)
        of_row = of_series[log.series]
    wanted = targets.wanted if isinstance(targets.wanted, dict) else dict.fromkeys(names.tolist(), targets.wanted)
    missing = [each for each in names.tolist() if each not in wanted and OTHER not in wanted]
    if missing:
        some = ", ".join(missing[:3]) + (f" and {len(missing) - 3:,} more" if len(missing) > 3 else "")
        raise SettingError(f"targets.{targets.measure} must have a value for {targets.by} {some}, or one for `{OTHER}`")
    target = np.array([wanted.get(each, wanted.get(OTHER)) for each in names.tolist()], dtype=np.float64)
    return TargetGroups(of_row, tuple(names.tolist()), target)


def costs_at(position: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Cost of a lost sale above 0, further cost of holding a unit below, on a scale of prices.

    >>> costs_at(np.array([np.log(2.0), 0.0, -np.log(2.0)]), np.array([5.0]))
    (array([5., 0., 0.]), array([0. , 0. , 0.1]))
    """
    size = np.expm1(np.abs(position)) * scale
    return np.where(position > 0, size, 0.0), HELD_SHARE * np.where(position < 0, size, 0.0)


@dataclass(eq=False)
class _Search:
    """Search for positions at which shares, which rise with them, reach their targets; each array is (groups,)."""

    target: Floats
    position: Floats  # nearest to the target so far
    reached: Floats
    low: Floats  # position below the target, -inf where none is known
    high: Floats
    low_value: Floats
    high_value: Floats

    @classmethod
    def of(cls, reached: Callable[[Floats], Floats], target: Floats) -> "_Search":
        """Search until every target is reached, or no further trial is allowed."""
        none, start = np.full(len(target), np.inf), np.zeros(len(target))
        search = cls(target, start, np.full(len(target), -np.inf), -none, none, start.copy(), start.copy())
        trial = start
        for _ in range(MOST_TRIALS):
            search._learn(trial, reached(trial))
            done = np.abs(search.reached - target) <= TOLERANCE
            done |= (search.position >= FARTHEST) & (search.reached < target)
            if done.all():
                break
            trial = np.where(done, search.position, search._next())
        return search

    def _learn(self, trial: Floats, value: Floats) -> None:
        nearer = np.abs(value - self.target) < np.abs(self.reached - self.target)
        self.position, self.reached = np.where(nearer, trial, self.position), np.where(nearer, value, self.reached)
        below = (value < self.target) & (trial > self.low)
        above = (value >= self.target) & (trial < self.high)
        self.low, self.low_value = np.where(below, trial, self.low), np.where(below, value, self.low_value)
        self.high, self.high_value = np.where(above, trial, self.high), np.where(above, value, self.high_value)

    def _next(self) -> Floats:
        """A step outwards where there is no bracket yet; in one, where a line between log-odds meets the target."""
        up = np.minimum(np.maximum(2 * self.low, self.low + 1), FARTHEST)
        down = np.maximum(np.minimum(2 * self.high, self.high - 1), -FARTHEST)
        low, high, wanted = (_log_odds(each) for each in (self.low_value, self.high_value, self.target))
        with np.errstate(invalid="ignore"):
            share = np.clip((wanted - low) / np.maximum(high - low, 1e-9), 0.1, 0.9)
            inside = self.low + share * (self.high - self.low)
        return np.where(np.isinf(self.high), up, np.where(np.isinf(self.low), down, inside))


def _log_odds(share: Floats) -> Floats:
    held = np.clip(share, 1e-4, 1 - 1e-4)
    return np.asarray(np.log(held / (1 - held)))


def _scale(log: DecisionLog, groups: TargetGroups) -> Floats:
    """Mean price of each group; what a unit costs where prices are 0."""
    costs = log.costs
    value = log.price if log.price.any() else np.broadcast_to(costs.order + costs.holding, len(log))
    found = np.bincount(groups.of_row, value) / np.bincount(groups.of_row)
    return np.where(found > 0, found, 1.0)


def _added(costs: UnitCosts, lost: Floats, held: Floats, groups: int) -> UnitCosts:
    """Costs with those of a lost sale, and of holding added; constants where all rows are one group."""
    if groups > 1:
        return costs._replace(lost=lost, holding=costs.holding + held)
    return costs._replace(lost=float(lost[0]), holding=costs.holding + float(held[0]))


def _measure(log: DecisionLog, groups: TargetGroups, targets: Targets, seed: int) -> Callable[[Policy], Floats]:
    """Shares that a policy reaches in the demand estimated from a log, by group."""
    count = len(groups.names)

    def share(flow: Flow, group: Ints, counted: Floats) -> Floats:
        """Service of each group, from sums over its rows."""
        if targets.measure == "fill_rate":
            met, of = flow.sales, flow.demand
        else:
            met, of = counted - flow.stockout, counted
        total = np.bincount(group, of, count)
        return np.asarray(np.bincount(group, met, count) / np.where(total > 0, total, 1.0))

    if is_shop(log):
        realised: RealisedDemand = ShopDemand.of(log, find_runs(log).observed).realised(1, seed)
        segments = len(log.starts)
        horizon = max(MOST_REPLAYED // segments, 2)

        def in_shop(policy: Policy) -> Floats:
            found = replay_shop(policy, realised, seed, horizon)
            return share(found.flow, groups.of_row, found.is_counted.astype(np.float64))

        return in_shop
    market = ReplayedMarket.of_law(log, EPISODES, seed)

    def in_market(policy: Policy) -> Floats:
        rngs = (np.random.default_rng((seed, each)) for each in (1, 2))
        total, free = [np.zeros(len(log)) for _ in range(5)], UnitCosts(0.0, 0.0, 0.0)
        now = replace(market)
        for step in play(policy, now, log.problem, free, SETTLES + PERIODS, EPISODES, *rngs):
            if step.view.period >= SETTLES:
                # `next_features` has moved on: rows of a product follow each other, and so share its group.
                for column, values in zip(total, (*Flow.of(step.outcome), np.ones(EPISODES)), strict=True):
                    np.add.at(column, now.log_rows, values)
        return share(Flow(*total[:4]), groups.of_row, total[4])

    return in_market
