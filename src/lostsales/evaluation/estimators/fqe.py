"""Fitted Q-evaluation: one Q per depth, backward over the periods, factored once.

Each Q is linear in a map phi of (history, action). With G = Phi'Phi + ridge and C = Phi'Phi_pi, where phi_pi is the map
at the next history and the action that the policy takes there, a step back is theta <- G^-1 (Phi'r + C theta). What a
row adds to the value is the residual of its step times its weight u'G^-1 phi, where u is carried forward from the start
by u <- C'G^-1 u: the linear estimate of how often the policy comes by. So value and interval both are means of
contributions, one a series.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.demand.censoring.runs import Runs
from lostsales.learn.function.feature_maps import FeatureMap, KernelMap, LinearMap, landmarks
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.q_function import ActionScaler, Scaler
from lostsales.policy.history import blocks_of_rows
from lostsales.types import Array, Floats, Ints

MOST_LANDMARK_ROWS = 1_000
MOST_RAISES = 8


@dataclass(frozen=True)
class FqeSettings:
    """Where the Q of a depth is sought."""

    kernel: Kernel | None = Kernel(kind="rbf", coefficient=0.1)  # noqa: RUF009, frozen; None: linear with interactions
    ridge: float = 1.0
    rank: int = 80
    seed: int = 0


def histories(log: SalesLog, runs: Runs, rows: Ints, depth: int) -> Floats:
    """H' of rows that are at `depth` or deeper: their last `depth` periods, the anchor's demand, and the true depth.

    Deeper runs than can be told apart share one Q, so that none is left out by how it ended.
    """
    return np.column_stack([blocks_of_rows(log, runs.anchor_demand[rows], rows, depth), runs.depth[rows]])


@dataclass(frozen=True, eq=False)
class DepthSpace:
    """The map of one depth, 1 in front."""

    scaler: Scaler
    action_scaler: ActionScaler
    map: FeatureMap

    @classmethod
    def of(cls, history: Floats, action: Floats, settings: FqeSettings) -> "DepthSpace":
        """From the rows of a depth."""
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
        """(rows, rank + 1)."""
        mapped = self.map.features(self.scaler(history), self.action_scaler(action))
        return np.column_stack([np.ones(len(mapped)), mapped])


@dataclass(frozen=True, eq=False)
class Steps:
    """Rows of one depth that go on to another: phi now, phi under the policy next."""

    at: int  # index of the depth now
    to: int  # index of the depth next
    rows: Ints  # (m,) of the log
    now: Floats  # (m, rank now)
    next: Floats  # (m, rank next) mean over the policy's draws


@dataclass(frozen=True, eq=False)
class FqeDesign:
    """Everything about a log and a policy that does not depend on what is summed."""

    problem: Problem
    steps: tuple[Steps, ...]
    start: tuple[tuple[Ints, Floats], ...]  # by depth, rows that open and phi under the policy there
    ranks: tuple[int, ...]  # by depth

    @classmethod
    def of(
        cls, log: SalesLog, runs: Runs, known: Ints, decided: Floats, opens: Ints, settings: FqeSettings
    ) -> "FqeDesign":
        """`known` are the rows whose depth is, `decided` (draws, known, 2) what the policy does there."""
        deepest = runs.max_depth
        level = np.minimum(runs.depth, deepest)
        place = np.full(len(log), -1)
        place[known] = np.arange(len(known))
        action = np.column_stack([log.price, np.asarray(log.order)])
        spaces: list[DepthSpace] = []
        now: list[tuple[Ints, Floats]] = []
        ahead: list[Floats] = []  # by depth, phi under the policy
        where = np.empty(len(log), dtype=np.int64)  # row of its depth's matrix
        for depth in range(deepest + 1):
            rows = known[level[known] == depth]
            where[rows] = np.arange(len(rows))
            history = histories(log, runs, rows, depth)
            space = DepthSpace.of(history, action[rows], settings)
            spaces.append(space)
            now.append((rows, space.phi(history, action[rows])))
            ahead.append(np.mean([space.phi(history, each[place[rows]]) for each in decided], axis=0))
        steps = []
        for depth, (rows, phi) in enumerate(now):
            for to in sorted({0, min(depth + 1, deepest)}):
                may = log.has_next[rows] & (level[np.minimum(rows + 1, len(log) - 1)] == to)
                if may.any():
                    source = rows[may]
                    steps.append(Steps(depth, to, source, phi[may], ahead[to][where[source + 1]]))
        start = tuple((rows, ahead[depth][where[rows]]) for depth, rows in _by_depth(opens, level, deepest))
        return cls(log.problem, tuple(steps), start, tuple(each.shape[1] for each in ahead))


def _by_depth(rows: Ints, level: Array, deepest: int) -> list[tuple[int, Ints]]:
    return [(depth, rows[level[rows] == depth]) for depth in range(deepest + 1)]


@dataclass(frozen=True, eq=False)
class FqeValue:
    """The value of a start, and what each row of the log added to it."""

    value: float
    of_start: Floats  # (rows,) value of the opening of a row, 0 elsewhere
    residual: Floats  # (rows,) weight times residual, summed over the steps, 0 for rows without a next
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

    `ratios` (rows, horizon) are weights of the rows in place of the linear ones. A ridge under which the sums leave
    what the rewards allow does not hold the iterations, and is raised tenfold.
    """
    rows = np.concatenate([each.rows for each in design.steps])
    low, high = float(reward[rows].min()), float(reward[rows].max())
    for _ in range(MOST_RAISES):
        system = _System.of(design, reward, ridge)
        found = [system.evaluate(design, reward, horizon, discount, ratios) for discount in discounts]
        slack = high - low + 1e-3 * (1 + abs(high) + abs(low))
        periods = [horizon if discount == 1 else (1 - discount**horizon) / (1 - discount) for discount in discounts]
        allowed = [((low - slack) * n, (high + slack) * n) for n in periods]
        if all(least <= each.value <= most for each, (least, most) in zip(found, allowed, strict=True)):
            break
        ridge *= 10
    return found


@dataclass(frozen=True, eq=False)
class _System:
    """G by depth, factored; the step operator as one matrix over all depths."""

    offsets: Ints
    factors: list[tuple[Floats, bool]]
    drift: Floats  # (rank,) G^-1 Phi'r
    step: Floats  # (rank, rank) G^-1 C
    ridge: float

    @classmethod
    def of(cls, design: FqeDesign, reward: Floats, ridge: float) -> "_System":
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
        theta = np.zeros((horizon + 1, len(self.drift)))  # with k periods to go
        for k in range(1, horizon + 1):
            theta[k] = self.drift + discount * (self.step @ theta[k - 1])
        starts = sum(len(rows) for rows, _ in design.start)
        visits = np.zeros(len(self.drift))
        of_start = np.zeros(len(reward))
        for depth, (rows, phi) in enumerate(design.start):
            own = slice(self.offsets[depth], self.offsets[depth + 1])
            of_start[rows] = phi @ theta[horizon, own]
            visits[own] += phi.sum(axis=0) / starts
        carried = np.empty((horizon, len(self.drift)))  # u_t
        for t in range(horizon):
            carried[t] = visits
            visits = discount * (self.step.T @ visits)
        residual = np.zeros(len(reward))
        ahead, now = theta[horizon - 1 :: -1].T, theta[:0:-1].T  # with one period fewer to go, and as many, at t
        for each in design.steps:
            own, to = (slice(self.offsets[i], self.offsets[i + 1]) for i in (each.at, each.to))
            if ratios is None:
                weight = each.now @ cho_solve(self.factors[each.at], carried[:, own].T, check_finite=False)
            else:
                weight = ratios[each.rows] * discount ** np.arange(horizon)
            error = reward[each.rows, None] + discount * (each.next @ ahead[to]) - each.now @ now[own]
            residual[each.rows] = np.sum(weight * error, axis=1)
        return FqeValue(float(of_start.sum() / starts), of_start, residual, self.ridge)
