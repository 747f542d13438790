"""C-FQI, PC-FQI and fusion: fitted Q-iteration with one Q per number of stock-outs in a row (lines 524-605)."""

from dataclasses import dataclass, field, replace

import numpy as np

from lostsales.arrays import Bools, Floats
from lostsales.data.gate import Progress
from lostsales.learn.blocks import Partition
from lostsales.learn.design import ActionScaler, Design, Form, FunctionClass, Pilot, Scaler, build, with_doubt
from lostsales.learn.maps import Grid

Folds = list[tuple[Bools, Bools]]
KEPT_ROWS = 100_000  # above, what follows the rows of a depth is prepared anew in each iteration
CHUNK = 20_000


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

    form: Form
    weights: Floats
    mean: float  # targets are centred: a zero prior mean would be rosy where profits are negative
    low: float  # what profits allow, at this iteration
    high: float

    def on(self, grid: Grid) -> Floats:
        """Q on a prepared grid, (rows, actions)."""
        values = grid.values(self.weights)
        values += self.mean
        return np.clip(values, self.low, self.high, out=values)

    def values(self, block: Floats, actions: Floats) -> Floats:
        """Q of histories against actions, (rows, actions)."""
        return self.on(self.form.on_grid(block, actions))


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
    spaces = [_Space.of(part, fold, settings) for part, fold in zip(parts, folds, strict=True)]
    profits = np.concatenate([part.profit for part in parts])
    pessimism = settings.beta > 0 and settings.pessimistic_until > 0
    residuals: list[list[float]] = []
    q: list[Q] = []
    designs: list[Design] = []
    futures: list[_Future] = []
    targets = [part.profit for part in parts]
    for k in range(1, settings.iterations + 1):
        if q:
            beta = settings.beta if k - 1 <= settings.pessimistic_until else 0.0
            targets = [
                part.profit + settings.discount * ahead.value(q, beta)
                for part, ahead in zip(parts, futures, strict=True)
            ]
        if k in settings.select_at:
            former: list[Design | None] = [*designs] or [None] * len(parts)
            designs = [space.design(target, settings) for space, target in zip(spaces, targets, strict=True)]
            if pessimism:
                given = actions, settings.function, settings.seed
                designs = [with_doubt(each, *given, like) for each, like in zip(designs, former, strict=True)]
            futures = [_Future.of(part, depth, allowed[depth], actions, designs) for depth, part in enumerate(parts)]
        horizon = (1 - settings.discount**k) / (1 - settings.discount)
        low, high = float(profits.min()) * horizon, float(profits.max()) * horizon
        q = [_regress(design, target, low, high) for design, target in zip(designs, targets, strict=True)]
        residuals.append([_residual(*each) for each in zip(designs, q, targets, strict=True)])
        if progress:
            progress(k, settings.iterations)
    last_shy = pessimism and settings.iterations <= settings.pessimistic_until
    if not last_shy:
        q = [replace(each, form=replace(each.form, doubt=None, level=0.0, inside=None)) for each in q]
    return Fitted(tuple(q), last_shy, settings.beta, np.array(residuals), tuple(targets))


def _regress(design: Design, target: Floats, low: float, high: float) -> Q:
    mean = float(target.mean())
    return Q(design.form, design.fit(target - mean), mean, low, high)


@dataclass(frozen=True, eq=False)
class _Next:
    """Histories that come next, all at one depth, against the grid of actions."""

    depth: int
    block: Floats
    may: Bools | None  # (rows, actions)
    actions: Floats
    kept: tuple[Grid, Floats | None] | None  # grid and penalty at beta 1, where there are few enough to stay in memory

    @classmethod
    def of(cls, depth: int, block: Floats, may: Bools | None, actions: Floats, form: Form) -> "_Next":
        kept = None
        if len(block) <= KEPT_ROWS:
            kept = form.on_grid(block, actions), None if form.doubt is None else form.penalty(block, 1.0)
        return cls(depth, block, may, actions, kept)

    def best(self, q: Q, beta: float) -> Floats:
        """Max over allowed actions of Q, or of Q - U where the update is pessimistic, (rows,)."""
        if self.kept is not None:
            return self._best(q, beta, slice(None), *self.kept)
        found = np.empty(len(self.block))
        for start in range(0, len(found), CHUNK):
            part = slice(start, start + CHUNK)
            block = self.block[part]
            found[part] = self._best(
                q, beta, part, q.form.on_grid(block, self.actions), q.form.penalty(block, 1.0) if beta else None
            )
        return found

    def _best(self, q: Q, beta: float, part: slice, grid: Grid, penalty: Floats | None) -> Floats:
        values = q.on(grid)
        if beta and penalty is not None:
            values -= beta * penalty
        if self.may is not None:
            values[~self.may[part]] = -np.inf
        return np.asarray(values.max(axis=1, initial=-np.inf))


@dataclass(frozen=True, eq=False)
class _Future:
    """What follows the rows of a depth."""

    known: Bools  # (rows,)
    after_known: _Next
    after_hidden: _Next | None

    @classmethod
    def of(
        cls,
        part: Partition,
        depth: int,
        allowed: tuple[Bools | None, Bools | None],
        actions: Floats,
        designs: list[Design],
    ) -> "_Future":
        known = _Next.of(0, part.next_known, allowed[0], actions, designs[0].form)
        if part.next_hidden is None:
            return cls(part.known, known, None)
        below = designs[depth + 1].form
        return cls(part.known, known, _Next.of(depth + 1, part.next_hidden, allowed[1], actions, below))

    def value(self, q: list[Q], beta: float) -> Floats:
        """V^(0) after known demand, V^(i+1) after a stock-out, (rows,)."""
        after = np.empty(len(self.known))
        after[self.known] = self.after_known.best(q[0], beta)
        if self.after_hidden is not None:
            after[~self.known] = self.after_hidden.best(q[self.after_hidden.depth], beta)
        return after


def _residual(design: Design, q: Q, target: Floats) -> float:
    return float(np.sqrt(np.mean((q.mean + design.predict(q.weights) - target) ** 2)))


@dataclass(frozen=True, eq=False)
class _Space:
    """The standardised rows of a depth."""

    scaler: Scaler
    action_scaler: ActionScaler
    history: Floats
    action: Floats
    pilot: Pilot

    @classmethod
    def of(cls, part: Partition, folds: Folds, settings: FqiSettings) -> "_Space":
        scaler, action_scaler = Scaler.of(part.block), ActionScaler.of(part.action)
        history, action = scaler(part.block), action_scaler(part.action)
        pilot = Pilot.of(history, action, folds, settings.function, settings.seed)
        return cls(scaler, action_scaler, history, action, pilot)

    def design(self, targets: Floats, settings: FqiSettings) -> Design:
        choice = self.pilot.choose(targets - targets.mean())
        scalers = self.scaler, self.action_scaler
        return build(*scalers, self.history, self.action, choice, settings.function, settings.seed)
