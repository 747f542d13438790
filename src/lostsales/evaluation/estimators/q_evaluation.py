"""Linear fitted Q-evaluation with one Q per depth: values and the contribution of every row.

Each Q is linear in a map phi of (history, action). With G = Phi'Phi + ridge and C = Phi'Phi_pi, where phi_pi is the map
at the next history and the policy's action there, a step back is theta <- G^-1 (Phi'r + C theta). A row contributes the
residual of its step times its weight u'G^-1 phi, where u is carried forward from the start by u <- C'G^-1 u: the linear
estimate of the policy's visits. So value and interval both are means of contributions, one a series.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.problem import Problem
from lostsales.data.scale import series_scale, usual_price
from lostsales.demand.censoring.runs import Runs
from lostsales.evaluation.task import places
from lostsales.learn.function.feature_maps import FeatureMap, KernelMap, LinearMap, landmarks
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.q_function import ActionScaler, Scaler
from lostsales.policy.history import blocks_of_rows
from lostsales.types import Floats, Ints

MOST_LANDMARK_ROWS = 1_000  # rows from which landmarks are chosen
MOST_RAISES = 8  # of the ridge, if the backward iteration diverges
KERNEL = Kernel(kind="rbf", coefficient=0.1)  # the default coefficient of kernels


@dataclass(frozen=True)
class FqeSettings:
    """Function class of the Q of a depth."""

    kernel: Kernel | None = KERNEL  # None: linear with interactions
    ridge: float = 1.0
    rank: int = 80
    seed: int = 0


@dataclass(frozen=True, eq=False)
class RelativeRows:
    """Divisors of quantities, prices and money of rows, and traits of their products; all (rows, ...)."""

    scale: Floats
    price: Floats
    traits: Floats  # (rows, traits) relative spread of sales, unit costs relative to the usual price
    differ: bool  # False: everything is divided by 1

    @classmethod
    def of(cls, log: SalesLog) -> "RelativeRows":
        """Mean sales and median price of each series, where series differ in them."""
        scale, price = series_scale(log)[log.series], usual_price(log)[log.series]
        differ = bool((scale != 1).any() or (price != 1).any())
        if not differ or log.costs is None:
            return cls(scale, price, np.zeros((len(log), 0)), differ)
        relative = log.sales / scale
        columns = (
            relative,
            relative**2,
            *(each / price for each in (log.costs.lost, log.costs.order, log.costs.holding)),
        )
        rows = np.bincount(log.series, minlength=len(log.names))
        mean, square, *costs = (np.bincount(log.series, each, len(log.names)) / rows for each in columns)
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        return cls(scale, price, np.column_stack([spread, *costs])[log.series], True)

    @property
    def money(self) -> Floats:
        """Divisor of profits, (rows,)."""
        return self.scale * self.price

    def of_actions(self, actions: Floats, rows: Ints) -> Floats:
        """Prices and orders (..., rows, 2) of some rows, relative to their product."""
        return np.asarray(actions / np.column_stack([self.price[rows], self.scale[rows]]))


def histories(log: SalesLog, runs: Runs, rows: Ints, depth: int, units: RelativeRows | None = None) -> Floats:
    """H' of rows at `depth` or deeper: their last `depth` periods, the anchor's demand, and the true depth.

    In the units of each product, with the traits of products. Runs deeper than max_depth share its Q: leaving them
    out would select rows on their outcome.
    """
    units = RelativeRows.of(log) if units is None else units
    own = units.scale[rows], units.traits[rows], units.price[rows]
    return np.column_stack([blocks_of_rows(log, runs.anchor_demand[rows], rows, depth, *own), runs.depth[rows]])


@dataclass(frozen=True, eq=False)
class DepthSpace:
    """The feature map of one depth, with an intercept in front."""

    scaler: Scaler
    action_scaler: ActionScaler
    map: FeatureMap

    @classmethod
    def of(cls, history: Floats, action: Floats, settings: FqeSettings) -> "DepthSpace":
        """Scale and landmarks from the rows of a depth."""
        scaler, action_scaler = Scaler.of(history), ActionScaler.of(action)
        if settings.kernel is None:
            return cls(scaler, action_scaler, LinearMap())
        rng = np.random.default_rng(settings.seed)
        some = np.arange(len(history))
        if len(some) > MOST_LANDMARK_ROWS:
            some = np.sort(rng.choice(some, MOST_LANDMARK_ROWS, replace=False))
        z = scaler(history[some]), action_scaler(action[some])
        at = landmarks(settings.kernel, *z, settings.rank, rng)
        return cls(scaler, action_scaler, KernelMap.at(settings.kernel, z[0][at], z[1][at]))

    def phi(self, history: Floats, action: Floats) -> Floats:
        """The features phi, (rows, rank + 1)."""
        mapped = self.map.features(self.scaler(history), self.action_scaler(action))
        return np.column_stack([np.ones(len(mapped)), mapped])


@dataclass(frozen=True, eq=False)
class Steps:
    """Transitions from one depth to another: phi_t of the log and phi_{t+1} under the policy."""

    at: int  # depth at t
    to: int  # depth at t + 1
    rows: Ints  # (m,) of the log
    now: Floats  # (m, rank at t)
    next: Floats  # (m, rank at t + 1) mean over the policy's draws


class EpisodeStart(NamedTuple):
    """Opening rows of episodes at one depth."""

    rows: Ints  # (openings,) of the log
    share: Floats  # (openings,) of the periods that are counted; those of all depths sum to 1
    phi: Floats  # (openings, rank) under the policy, times the money of the row


@dataclass(frozen=True, eq=False)
class FqeDesign:
    """Features of a log and a policy, whatever reward is summed."""

    problem: Problem
    steps: tuple[Steps, ...]
    start: tuple["EpisodeStart", ...]  # by depth
    money: Floats  # (rows of the log,) what rewards are divided by: Q is relative to the product
    ranks: tuple[int, ...]  # by depth

    @classmethod
    def of(
        cls,
        log: DecisionLog,
        runs: Runs,
        rows: Ints,
        actions: Floats,
        opening: tuple[Ints, Floats],
        settings: FqeSettings,
    ) -> "FqeDesign":
        """Build from rows of known depth, the policy's actions (draws, rows, 2) there, and weighted opening rows."""
        units, deepest = RelativeRows.of(log), runs.max_depth
        actions = units.of_actions(actions, rows)
        level = runs.learned_depth
        place = places(rows, len(log))
        logged = units.of_actions(np.column_stack([log.price, log.order]), np.arange(len(log)))
        now: list[tuple[Ints, Floats]] = []
        ahead: list[Floats] = []  # by depth, phi under the policy
        where = np.empty(len(log), dtype=np.int64)  # row of its depth's matrix
        for depth in range(deepest + 1):
            own = rows[level[rows] == depth]
            where[own] = np.arange(len(own))
            history = histories(log, runs, own, depth, units)
            space = DepthSpace.of(history, logged[own], settings)
            now.append((own, space.phi(history, logged[own])))
            ahead.append(np.mean([space.phi(history, each[place[own]]) for each in actions], axis=0))
        steps = []
        for depth, (own, phi) in enumerate(now):
            for to in sorted({0, min(depth + 1, deepest)}):
                goes = log.has_next[own] & (level[np.minimum(own + 1, len(log) - 1)] == to)
                if goes.any():
                    source = own[goes]
                    steps.append(Steps(depth, to, source, phi[goes], ahead[to][where[source + 1]]))
        start = []
        for depth, phi in enumerate(ahead):
            at = level[opening[0]] == depth
            own = opening[0][at]
            start.append(EpisodeStart(own, opening[1][at] / opening[1].sum(), units.money[own, None] * phi[where[own]]))
        return cls(log.problem, tuple(steps), tuple(start), units.money, tuple(each.shape[1] for each in ahead))


@dataclass(frozen=True, eq=False)
class FqeValue:
    """The value of the start, and the contribution of each row of the log."""

    value: float
    of_start: Floats  # (rows,) value of an opening row, 0 elsewhere
    residual: Floats  # (rows,) weight times residual, summed over the horizon, 0 for rows without a next
    ridge: float


def fqe_values(
    design: FqeDesign,
    reward: Floats,
    horizon: int,
    discounts: tuple[float, ...],
    ridge: float,
    ratios: Floats | None = None,
) -> list[FqeValue]:
    """The expected discounted sums of `reward` (rows,) over the horizon, one for each discount.

    `ratios` (rows, horizon) are weights of the rows instead of the linear ones. If the backward iteration diverges
    (a sum outside the bounds that the rewards imply), the ridge is raised tenfold.
    """
    rows = np.concatenate([each.rows for each in design.steps])
    low, high = float(reward[rows].min()), float(reward[rows].max())
    for _ in range(MOST_RAISES):
        system = _System.of(design, reward / design.money, ridge)
        found = [system.evaluate(design, reward / design.money, horizon, discount, ratios) for discount in discounts]
        slack = high - low + 1e-3 * (1 + abs(high) + abs(low))
        periods = [horizon if discount == 1 else (1 - discount**horizon) / (1 - discount) for discount in discounts]
        allowed = [((low - slack) * n, (high + slack) * n) for n in periods]
        if all(least <= each.value <= most for each, (least, most) in zip(found, allowed, strict=True)):
            break
        ridge *= 10
    return found


@dataclass(frozen=True, eq=False)
class _System:
    """The factors of G by depth, and the step operator as one matrix over all depths."""

    offsets: Ints
    factors: list[tuple[Floats, bool]]
    drift: Floats  # (rank,) G^-1 Phi'r
    step: Floats  # (rank, rank) G^-1 C
    ridge: float

    @classmethod
    def of(cls, design: FqeDesign, reward: Floats, ridge: float) -> "_System":
        """Sum and factor the Gram matrices of the steps."""
        offsets = np.r_[0, np.cumsum(design.ranks)]
        total = int(offsets[-1])
        step, drift, factors = np.zeros((total, total)), np.zeros(total), []
        for depth, rank in enumerate(design.ranks):
            own = slice(offsets[depth], offsets[depth + 1])
            penalty = np.full(rank, ridge)
            penalty[0] = 1e-8  # the mean is free
            gram = np.diag(penalty)
            for each in design.steps:
                if each.at == depth:
                    gram += each.now.T @ each.now
                    drift[own] += each.now.T @ reward[each.rows]
                    step[own, offsets[each.to] : offsets[each.to + 1]] += each.now.T @ each.next
            factors.append(cho_factor(gram, lower=True, check_finite=False))
            step[own] = cho_solve(factors[-1], step[own], check_finite=False)
            drift[own] = cho_solve(factors[-1], drift[own], check_finite=False)
        return cls(offsets, factors, drift, step, ridge)

    def evaluate(
        self, design: FqeDesign, reward: Floats, horizon: int, discount: float, ratios: Floats | None
    ) -> FqeValue:
        """Theta backward, visits u forward, then the weighted residual of every row; `reward` is relative."""
        theta = np.zeros((horizon + 1, len(self.drift)))  # by number of periods to go
        for k in range(1, horizon + 1):
            theta[k] = self.drift + discount * (self.step @ theta[k - 1])
        visits = np.zeros(len(self.drift))
        of_start = np.zeros(len(reward))
        value = 0.0
        for depth, (rows, share, phi) in enumerate(design.start):
            own = slice(self.offsets[depth], self.offsets[depth + 1])
            of_start[rows] = phi @ theta[horizon, own]
            value += float(share @ of_start[rows])
            visits[own] += share @ phi
        carried = np.empty((horizon, len(self.drift)))  # u_t
        for t in range(horizon):
            carried[t] = visits
            visits = discount * (self.step.T @ visits)
        residual = np.zeros(len(reward))
        ahead, now = theta[horizon - 1 :: -1].T, theta[:0:-1].T  # theta of the next value and of the present one, at t
        for each in design.steps:
            own, to = (slice(self.offsets[i], self.offsets[i + 1]) for i in (each.at, each.to))
            if ratios is None:
                weight = each.now @ cho_solve(self.factors[each.at], carried[:, own].T, check_finite=False)
            else:
                weight = (design.money[each.rows, None] * ratios[each.rows]) * discount ** np.arange(horizon)
            error = reward[each.rows, None] + discount * (each.next @ ahead[to]) - each.now @ now[own]
            residual[each.rows] = np.sum(weight * error, axis=1)
        return FqeValue(value, of_start, residual, self.ridge)
