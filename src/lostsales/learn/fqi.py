"""C-FQI, PC-FQI and fusion: fitted Q-iteration with one Q per number of stock-outs in a row (lines 524-605)."""

from dataclasses import dataclass, field, replace

import numpy as np

from lostsales.arrays import Bools, Floats
from lostsales.data.gate import Progress
from lostsales.learn.blocks import Partition
from lostsales.learn.design import ActionScaler, Design, FunctionClass, Scaler, build, choose, with_support
from lostsales.learn.maps import Grid

Folds = list[tuple[Bools, Bools]]


@dataclass(frozen=True)
class FqiSettings:
    """What the learner may be told."""

    iterations: int = 10
    discount: float = 0.9
    beta: float = 10.0  # scale of the penalty
    pessimistic_until: int = 0  # iterations whose update is pessimistic, counted from the first; K for PC-FQI
    function: FunctionClass = field(default_factory=FunctionClass)
    select_at: tuple[int, ...] = (1, 3)  # iterations at which kernel, bandwidth and ridge are chosen
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Q:
    """One fitted Q^(i), and the penalty U^(i) that goes with it."""

    design: Design
    weights: Floats
    mean: float  # targets are centred: a zero prior mean would be rosy where profits are negative
    low: float  # what profits allow, at this iteration
    high: float

    def on(self, grid: Grid) -> Floats:
        """Q on a prepared grid, (rows, actions)."""
        return np.clip(self.mean + grid.values(self.weights), self.low, self.high)

    def values(self, block: Floats, actions: Floats) -> Floats:
        """Q of histories against actions, (rows, actions)."""
        return self.on(self.design.on_grid(block, actions))

    def penalty(self, block: Floats, actions: Floats, beta: float) -> Floats:
        """U of histories against actions, (rows, actions)."""
        return penalty_on(self.design, self.design.on_grid(block, actions), beta)


def penalty_on(design: Design, grid: Grid, beta: float) -> Floats:
    """U = beta sigma (sqrt(k_post / ridge) - level)^+ (lines 715 and 3538) on a prepared grid.

    What is as well supported as most rows of the log pays nothing, so that beta may be large: then the policy keeps to
    what was tried, and where everything was tried (random behaviour) it stays free. With level 0 the paper's penalty.
    """
    judge = (design.support or design).factor
    uncertainty = np.sqrt(grid.quadratic(judge.inverse(), judge.ridge))
    return beta * design.choice.sigma * np.maximum(uncertainty - design.level, 0.0)


@dataclass(frozen=True, eq=False)
class Fitted:
    """What the iterations leave behind."""

    q: tuple[Q, ...]  # by depth
    pessimistic: bool  # the last update was
    beta: float
    residuals: Floats  # (iterations, depths) root mean squared Bellman residual of each update
    targets: tuple[Floats, ...]  # by depth, of the last iteration


def iterate(
    parts: list[Partition],
    folds: list[Folds],
    actions: Floats,
    allowed: list[tuple[Bools | None, Bools | None]],
    settings: FqiSettings,
    progress: Progress | None = None,
) -> Fitted:
    """K iterations (line 538).

    A row with known demand continues with Q^(0), a censored one with Q^(i+1). `allowed` gives, for each depth, the
    actions that may be maximised over after its known and after its censored rows, (rows, actions) or None for all.
    """
    spaces = [_Space.of(part, fold) for part, fold in zip(parts, folds, strict=True)]
    profits = np.concatenate([part.profit for part in parts])
    pessimism = settings.beta > 0 and settings.pessimistic_until > 0
    residuals: list[list[float]] = []
    q: list[Q] = []
    designs: list[Design] = []
    futures: list[_Future] = []
    targets = [part.profit for part in parts]
    for k in range(1, settings.iterations + 1):
        if q:
            shy = pessimism and k - 1 <= settings.pessimistic_until
            targets = [
                part.profit + settings.discount * ahead.value(q, depth, shy, allowed[depth])
                for depth, (part, ahead) in enumerate(zip(parts, futures, strict=True))
            ]
        if k in settings.select_at:
            former: list[Design | None] = [*designs] or [None] * len(parts)
            designs = [space.design(target, settings) for space, target in zip(spaces, targets, strict=True)]
            if pessimism:
                given = settings.function, settings.seed
                designs = [with_support(each, *given, like) for each, like in zip(designs, former, strict=True)]
            futures = [_Future.of(part, depth, designs, actions) for depth, part in enumerate(parts)]
            if pessimism:
                futures = [ahead.with_penalty(designs, depth, settings.beta) for depth, ahead in enumerate(futures)]
        horizon = (1 - settings.discount**k) / (1 - settings.discount)
        low, high = float(profits.min()) * horizon, float(profits.max()) * horizon
        q = [_regress(design, target, low, high) for design, target in zip(designs, targets, strict=True)]
        residuals.append([_residual(each, target) for each, target in zip(q, targets, strict=True)])
        if progress:
            progress(k, settings.iterations)
    last_shy = pessimism and settings.iterations <= settings.pessimistic_until
    if not last_shy:
        q = [replace(each, design=replace(each.design, level=0.0, support=None)) for each in q]
    return Fitted(tuple(q), last_shy, settings.beta, np.array(residuals), tuple(targets))


def _regress(design: Design, target: Floats, low: float, high: float) -> Q:
    mean = float(target.mean())
    return Q(design, design.fit(target - mean), mean, low, high)


@dataclass(frozen=True, eq=False)
class _Future:
    """What follows the rows of a depth, prepared on the grid of actions."""

    known: Bools  # (rows,)
    after_known: Grid
    after_hidden: Grid | None
    penalty_known: Floats | None = None
    penalty_hidden: Floats | None = None

    @classmethod
    def of(cls, part: Partition, depth: int, designs: list[Design], actions: Floats) -> "_Future":
        hidden = None if part.next_hidden is None else designs[depth + 1].on_grid(part.next_hidden, actions)
        return cls(part.known, designs[0].on_grid(part.next_known, actions), hidden)

    def with_penalty(self, designs: list[Design], depth: int, beta: float) -> "_Future":
        hidden = None if self.after_hidden is None else penalty_on(designs[depth + 1], self.after_hidden, beta)
        return replace(self, penalty_known=penalty_on(designs[0], self.after_known, beta), penalty_hidden=hidden)

    def value(self, q: list[Q], depth: int, shy: bool, allowed: tuple[Bools | None, Bools | None]) -> Floats:
        """V^(0) after known demand, V^(i+1) after a stock-out, (rows,)."""
        after = np.empty(len(self.known))
        after[self.known] = _best(q[0], self.after_known, self.penalty_known if shy else None, allowed[0])
        if self.after_hidden is not None:
            penalty = self.penalty_hidden if shy else None
            after[~self.known] = _best(q[depth + 1], self.after_hidden, penalty, allowed[1])
        return after


def _best(q: Q, grid: Grid, penalty: Floats | None, may: Bools | None) -> Floats:
    """Max over allowed actions of Q, or of Q - U where the update is pessimistic."""
    values = q.on(grid)
    if penalty is not None:
        values -= penalty
    if may is not None:
        values[~may] = -np.inf
    return np.asarray(values.max(axis=1, initial=-np.inf))


def _residual(q: Q, target: Floats) -> float:
    return float(np.sqrt(np.mean((q.mean + q.design.predict(q.weights) - target) ** 2)))


@dataclass(frozen=True, eq=False)
class _Space:
    """The standardised rows of a depth."""

    scaler: Scaler
    action_scaler: ActionScaler
    history: Floats
    action: Floats
    folds: Folds

    @classmethod
    def of(cls, part: Partition, folds: Folds) -> "_Space":
        scaler, action_scaler = Scaler.of(part.block), ActionScaler.of(part.action)
        return cls(scaler, action_scaler, scaler(part.block), action_scaler(part.action), folds)

    def design(self, targets: Floats, settings: FqiSettings) -> Design:
        centred = targets - targets.mean()
        choice = choose(self.history, self.action, centred, self.folds, settings.function, settings.seed)
        scalers = self.scaler, self.action_scaler
        return build(*scalers, self.history, self.action, choice, settings.function, settings.seed)
