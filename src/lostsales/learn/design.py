"""The regression of one depth: its coordinates, its function class with the settings that predict best, its factors."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from lostsales.arrays import Bools, Floats, Ints
from lostsales.learn.doubt import Doubt, doubt_of
from lostsales.learn.kernels import Kernel
from lostsales.learn.maps import FeatureMap, Grid, KernelMap, LinearMap, landmarks
from lostsales.learn.ridge import CrossValidation, RidgeFactor

# Above so many numbers, features are computed anew in each pass rather than kept (400 MB).
KEEP = 50_000_000
TRIM = 0.01  # the data lie where all but this share of the rows on either side do
AMONG = 5  # landmarks are drawn from so many times their greatest number
CHUNK = 50_000
MOST_JUDGED = 2_000  # rows from which the level of the penalty is taken


@dataclass(frozen=True)
class FunctionClass:
    """Where a Q is sought: linear in an explicit map, or kernel ridge regression over a grid of settings."""

    kind: str = "kernel"  # "kernel" or "linear"
    kernels: tuple[Kernel, ...] = (
        *(Kernel("rbf", coefficient) for coefficient in (0.003, 0.01, 0.03, 0.1, 0.3)),
        *(Kernel("laplacian", coefficient) for coefficient in (0.03, 0.3)),
    )
    ridges: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
    raw: bool = False  # linear without squares and interactions
    exact_rows: int = 400  # up to so many rows kernel ridge regression is exact, above Nystrom's
    most_rank: int = 400  # landmarks
    by_dimension: bool = True  # fewer where the effective dimension is small
    pilot_rows: int = 400  # settings are cross-validated on at most so many rows
    pilot_rank: int = 100  # and with so many landmarks
    # What was tried is judged by a kernel of its own, the same for every log: one that predicts well where behaviour
    # hardly varies is so smooth that it believes to know what was never tried. None: by the kernel and ridge of Q.
    support_kernel: Kernel | None = Kernel("rbf", 0.1)  # noqa: RUF009, frozen
    support_ridge: float = 0.1
    support_rank: int = 100
    # Rows that stray from all others (a little exploration) cannot vouch for each other, so that the level is also at
    # most so many times what the median row has.
    spared_ratio: float = 2.5
    spared: float = 0.95  # share of the rows, each judged by the others, that no penalty meets; 0: it starts at zero


@dataclass(frozen=True, eq=False)
class Scaler:
    """Coordinates less their mean, over their standard deviation; what never varies is dropped.

    Where the range of the middle half is smaller than that it is taken instead (in a normal law it is 1.35 times as
    large): one series whose stock piled up must not press all others together.
    """

    centre: Floats
    scale: Floats
    kept: Ints

    @classmethod
    def of(cls, values: Floats) -> "Scaler":
        """From the rows of a matrix."""
        centre, deviation = values.mean(axis=0), values.std(axis=0)
        middle = np.ptp(np.quantile(values, [0.25, 0.75], axis=0), axis=0)
        scale = np.where(middle > 0, np.minimum(middle, deviation), deviation)
        kept = np.flatnonzero(scale > 1e-9 * (1 + np.abs(centre)))
        return cls(centre[kept], scale[kept], kept)

    def __call__(self, values: Floats) -> Floats:
        """Standardised."""
        return (values[:, self.kept] - self.centre) / self.scale


@dataclass(frozen=True, eq=False)
class ActionScaler:
    """Prices and orders, standardised; one that never varies becomes 0."""

    centre: Floats  # (2,)
    scale: Floats  # (2,)

    @classmethod
    def of(cls, action: Floats) -> "ActionScaler":
        """From the actions of a log."""
        scale = action.std(axis=0)
        return cls(action.mean(axis=0), np.where(scale > 1e-9, scale, np.inf))

    def __call__(self, action: Floats) -> Floats:
        """Standardised."""
        return (action - self.centre) / self.scale


@dataclass(frozen=True)
class Choice:
    """The settings of a depth."""

    kernel: Kernel | None  # None: linear
    ridge: float
    sigma: float  # held-out residual standard deviation


@dataclass(frozen=True, eq=False)
class Form:
    """The function class of a depth with its settings: all that a deployed Q needs beside its weights."""

    scaler: Scaler
    action_scaler: ActionScaler
    map: FeatureMap
    choice: Choice
    doubt: Doubt | None = None  # k_post / ridge on the grid of actions, where a penalty is asked for
    level: float = 0.0  # sqrt(k_post / ridge) up to which an action counts as tried
    inside: Floats | None = None  # (2, coordinates) between which the data lie, standardised; None: no matter

    def on_grid(self, block: Floats, actions: Floats) -> Grid:
        """Histories against actions."""
        return self.map.on_grid(self.scaler(block), self.action_scaler(actions))

    def penalty(self, block: Floats, beta: float) -> Floats:
        """U = beta sigma (sqrt(k_post / ridge) - level)^+ (lines 715 and 3538) on the grid, (rows, actions).

        What is as well supported as most rows of the log pays nothing, so that beta may be large: then the policy keeps
        to what was tried, and where everything was tried (random behaviour) it stays free. A history beyond the data is
        judged as the nearest within: far away nothing was tried, and the same penalty on every action would leave the
        choice to a Q that was never seen there. With `spared` 0 it is the paper's penalty as it stands.
        """
        if self.doubt is None:
            raise ValueError("no penalty was prepared")
        history = self.scaler(block)
        above = np.sqrt(self.doubt(history if self.inside is None else np.clip(history, *self.inside)))
        above -= self.level
        return beta * self.choice.sigma * np.maximum(above, 0.0, out=above)


@dataclass(frozen=True, eq=False)
class Design:
    """The design of a depth, which never changes over the iterations: factored once, solved K times."""

    form: Form
    factor: RidgeFactor
    history: Floats  # (rows, coordinates) standardised
    action: Floats  # (rows, 2) standardised
    kept_phi: Floats | None

    def phi(self) -> Iterator[tuple[slice, Floats]]:
        """The features, a chunk of rows at a time."""
        if self.kept_phi is not None:
            yield slice(0, len(self.history)), self.kept_phi
            return
        for start in range(0, len(self.history), CHUNK):
            part = slice(start, start + CHUNK)
            yield part, self.form.map.features(self.history[part], self.action[part])

    def fit(self, targets: Floats) -> Floats:
        """Weights of the ridge regression of centred targets (line 546)."""
        right = sum((phi.T @ targets[part] for part, phi in self.phi()), np.zeros(len(self.factor.gram)))
        return self.factor.solve(right)

    def predict(self, weights: Floats) -> Floats:
        """The fitted values of the design's own rows."""
        return np.concatenate([phi @ weights for _, phi in self.phi()])


@dataclass(frozen=True, eq=False)
class Pilot:
    """Every setting of a function class on some rows of a depth, ready to be cross-validated on any targets."""

    rows: Ints
    kernels: tuple[Kernel | None, ...]
    ridges: tuple[float, ...]
    trials: tuple[CrossValidation, ...]  # by kernel

    @classmethod
    def of(
        cls, history: Floats, action: Floats, folds: list[tuple[Bools, Bools]], function: FunctionClass, seed: int
    ) -> "Pilot":
        """From the standardised rows of a depth and their folds (test, train)."""
        rows = _some(len(history), function.pilot_rows, seed)
        history, action = history[rows], action[rows]
        parts = [(test[rows], train[rows]) for test, train in folds]
        at = _some(len(rows), function.pilot_rank, seed)
        kernels: tuple[Kernel | None, ...] = function.kernels if function.kind == "kernel" else (None,)
        phis = (_map(kernel, history[at], action[at], function).features(history, action) for kernel in kernels)
        trials = tuple(CrossValidation.of(phi, parts, function.ridges) for phi in phis)
        return cls(rows, kernels, function.ridges, trials)

    def choose(self, targets: Floats) -> Choice:
        """The kernel, bandwidth and ridge with the least mean absolute held-out error, targets centred.

        Squares would let a few rows of a heavy tail decide.
        """
        errors, sigmas = [], []
        for trial in self.trials:
            residuals = trial.residuals(targets[self.rows])
            errors.append(np.mean(np.abs(residuals), axis=0))
            sigmas.append(np.sqrt(np.mean(residuals**2, axis=0)))
        kernel, ridge = np.unravel_index(int(np.argmin(errors)), (len(self.kernels), len(self.ridges)))
        return Choice(self.kernels[kernel], self.ridges[ridge], float(sigmas[kernel][ridge]))


def _map(kernel: Kernel | None, history: Floats, action: Floats, function: FunctionClass) -> FeatureMap:
    return LinearMap(function.raw) if kernel is None else KernelMap.at(kernel, history, action)


def _some(rows: int, most: int, seed: int) -> Ints:
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


def build(
    scaler: Scaler,
    action_scaler: ActionScaler,
    history: Floats,
    action: Floats,
    choice: Choice,
    function: FunctionClass,
    seed: int,
) -> Design:
    """Map and factors for chosen settings."""
    rows, at = len(history), np.arange(len(history))
    if choice.kernel is not None and rows > function.exact_rows:
        rng = np.random.default_rng(seed)
        at = np.sort(rng.choice(rows, min(rows, AMONG * function.most_rank), replace=False))
        # The kernel matrix of all rows is about that of some, scaled up: so is the ridge, down.
        ridge = choice.ridge * len(at) / rows if function.by_dimension else 0.0
        at = at[landmarks(choice.kernel, history[at], action[at], function.most_rank, rng, ridge)]
    mapped = _map(choice.kernel, history[at], action[at], function)
    first = mapped.features(history[:CHUNK], action[:CHUNK])
    keep = rows * first.shape[1] <= KEEP
    phi = mapped.features(history, action) if keep and rows > CHUNK else first
    gram = phi.T @ phi
    if not keep:
        for start in range(CHUNK, rows, CHUNK):
            part = mapped.features(history[start : start + CHUNK], action[start : start + CHUNK])
            gram += part.T @ part
    form = Form(scaler, action_scaler, mapped, choice)
    return Design(form, RidgeFactor.of(gram, choice.ridge), history, action, phi if keep else None)


def with_doubt(
    design: Design, actions: Floats, function: FunctionClass, seed: int, like: Design | None = None
) -> Design:
    """The design with what a penalty on a grid of actions needs: who judges what was tried, and from which level on.

    Both follow from the rows alone where they are not those of Q, and are taken over from `like`, a design of the same.
    """
    form, own = design.form, design.form.choice.kernel is None or function.support_kernel is None
    if like is not None and not own:
        former = like.form
        return replace(design, form=replace(form, doubt=former.doubt, level=former.level, inside=former.inside))
    judge = design
    if not own:
        choice = Choice(function.support_kernel, function.support_ridge, form.choice.sigma)
        rank = function.support_rank
        few = replace(function, exact_rows=rank, most_rank=rank, by_dimension=False)
        judge = build(form.scaler, form.action_scaler, design.history, design.action, choice, few, seed)
    doubt = doubt_of(judge.form.map, judge.factor, form.action_scaler(actions))
    if not function.spared:
        return replace(design, form=replace(form, doubt=doubt))
    inside = np.quantile(design.history, [TRIM, 1 - TRIM], axis=0)
    level = _level(judge, function.spared, function.spared_ratio, seed)
    return replace(design, form=replace(form, doubt=doubt, level=level, inside=inside))


def _level(design: Design, share: float, at_most: float, seed: int) -> float:
    """The quantile over the rows of sqrt(k_post / ridge), had each row not been seen itself, at most so many medians.

    A row of leverage h = phi'(Phi'Phi + ridge)^-1 phi has k_post / ridge = h / (1 - h) once it is left out.
    """
    at, mapped = _some(len(design.history), MOST_JUDGED, seed), design.form.map
    history, action = design.history[at], design.action[at]
    leverage = design.factor.leverage(mapped.features(history, action))
    left_out = leverage / (1 - leverage) + mapped.left_over(history, action) / design.factor.ridge
    most, median = np.quantile(np.sqrt(left_out), [share, 0.5])
    return float(min(most, at_most * median))
