"""The regression of one depth: its coordinates, its function class with the settings that predict best, its factors."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from lostsales.arrays import Bools, Floats, Ints
from lostsales.learn.kernels import Kernel
from lostsales.learn.maps import FeatureMap, Grid, KernelMap, LinearMap, SupportedGrid, landmarks
from lostsales.learn.ridge import RidgeFactor, cross_validate

# Above so many numbers, features are computed anew in each pass rather than kept (400 MB).
KEEP = 50_000_000
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
    most_rank: int = 300
    pilot_rows: int = 400  # settings are cross-validated on at most so many rows
    # What was tried is judged by a kernel of its own, the same for every log: one that predicts well where behaviour
    # hardly varies is so smooth that it believes to know what was never tried. None: by the kernel and ridge of Q.
    support_kernel: Kernel | None = Kernel("rbf", 0.1)  # noqa: RUF009, frozen
    support_ridge: float = 0.1
    spared: float = 0.9  # share of the rows, each judged by the others, that no penalty meets; 0: it starts at zero


@dataclass(frozen=True, eq=False)
class Scaler:
    """Coordinates less their mean, over their standard deviation; what never varies is dropped."""

    centre: Floats
    scale: Floats
    kept: Ints

    @classmethod
    def of(cls, values: Floats) -> "Scaler":
        """From the rows of a matrix."""
        centre, scale = values.mean(axis=0), values.std(axis=0)
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
class Design:
    """The design of a depth, which never changes over the iterations: factored once, solved K times."""

    scaler: Scaler
    action_scaler: ActionScaler
    map: FeatureMap
    choice: Choice
    factor: RidgeFactor
    history: Floats  # (rows, coordinates) standardised
    action: Floats  # (rows, 2) standardised
    kept_phi: Floats | None
    level: float = 0.0  # sqrt(k_post / ridge) up to which an action counts as tried
    support: "Design | None" = None  # judges what was tried; None: this design itself

    def phi(self) -> Iterator[tuple[slice, Floats]]:
        """The features, a chunk of rows at a time."""
        if self.kept_phi is not None:
            yield slice(0, len(self.history)), self.kept_phi
            return
        for start in range(0, len(self.history), CHUNK):
            part = slice(start, start + CHUNK)
            yield part, self.map.features(self.history[part], self.action[part])

    def fit(self, targets: Floats) -> Floats:
        """Weights of the ridge regression of centred targets (line 546)."""
        right = sum((phi.T @ targets[part] for part, phi in self.phi()), np.zeros(len(self.factor.gram)))
        return self.factor.solve(right)

    def predict(self, weights: Floats) -> Floats:
        """The fitted values of the design's own rows."""
        return np.concatenate([phi @ weights for _, phi in self.phi()])

    def on_grid(self, block: Floats, actions: Floats) -> Grid:
        """Histories against all actions of the grid; its uncertainty is that of the support."""
        at = self.scaler(block), self.action_scaler(actions)
        grid = self.map.on_grid(*at)
        return grid if self.support is None else SupportedGrid(grid, self.support.map.on_grid(*at))


def choose(
    history: Floats,
    action: Floats,
    targets: Floats,
    folds: list[tuple[Bools, Bools]],
    function: FunctionClass,
    seed: int,
) -> Choice:
    """The kernel, bandwidth and ridge with the least held-out squared error."""
    pilot = _pilot(len(targets), function.pilot_rows, seed)
    history, action, targets = history[pilot], action[pilot], targets[pilot]
    parts = [(test[pilot], train[pilot]) for test, train in folds]
    best: tuple[float, Kernel | None, float] | None = None
    candidates: tuple[Kernel | None, ...] = function.kernels if function.kind == "kernel" else (None,)
    for kernel in candidates:
        if kernel is None:
            phi = LinearMap(function.raw).features(history, action)
        else:
            phi = KernelMap.at(kernel, history, action).features(history, action)
        errors, rows = cross_validate(phi, targets, parts, function.ridges)
        index = int(np.argmin(errors))
        if best is None or errors[index] < best[0]:
            best = errors[index], kernel, function.ridges[index]
    assert best is not None
    return Choice(best[1], best[2], float(np.sqrt(best[0] / max(rows[0], 1.0))))


def _pilot(rows: int, most: int, seed: int) -> Ints:
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
    rows = len(history)
    mapped: FeatureMap
    if choice.kernel is None:
        mapped = LinearMap(function.raw)
    else:
        at = np.arange(rows)
        if rows > function.exact_rows:
            rng = np.random.default_rng(seed)
            among = np.sort(rng.choice(rows, min(rows, 5 * function.most_rank), replace=False))
            at = among[landmarks(choice.kernel, history[among], action[among], function.most_rank)]
        mapped = KernelMap.at(choice.kernel, history[at], action[at])
    first = mapped.features(history[:CHUNK], action[:CHUNK])
    keep = rows * first.shape[1] <= KEEP
    phi = mapped.features(history, action) if keep and rows > CHUNK else first
    gram = phi.T @ phi
    if not keep:
        for start in range(CHUNK, rows, CHUNK):
            part = mapped.features(history[start : start + CHUNK], action[start : start + CHUNK])
            gram += part.T @ part
    factor = RidgeFactor.of(gram, choice.ridge)
    return Design(scaler, action_scaler, mapped, choice, factor, history, action, phi if keep else None)


def with_support(design: Design, function: FunctionClass, seed: int, like: Design | None = None) -> Design:
    """The design with what a penalty needs: who judges what was tried, and from which level on.

    Both follow from the rows alone where they are not those of Q, and are taken over from `like`, a design of the same.
    """
    if like is not None and like.support is not None:
        return replace(design, level=like.level, support=like.support)
    if design.choice.kernel is None or function.support_kernel is None:
        return replace(design, level=_level(design, function.spared, seed))
    choice = Choice(function.support_kernel, function.support_ridge, design.choice.sigma)
    given = design.scaler, design.action_scaler, design.history, design.action
    judge = build(*given, choice, function, seed)
    level = _level(judge, function.spared, seed)
    none = np.zeros((0, 0))
    return replace(design, level=level, support=replace(judge, history=none, action=none, kept_phi=None))


def _level(design: Design, share: float, seed: int) -> float:
    """The quantile over the rows of sqrt(k_post / ridge), had each row not been seen itself.

    A row of leverage h = phi'(Phi'Phi + ridge)^-1 phi has k_post / ridge = h / (1 - h) once it is left out.
    """
    if not share:
        return 0.0
    at = _pilot(len(design.history), MOST_JUDGED, seed)
    history, action = design.history[at], design.action[at]
    leverage = design.factor.leverage(design.map.features(history, action))
    left_out = leverage / (1 - leverage) + design.map.left_over(history, action) / design.factor.ridge
    return float(np.quantile(np.sqrt(left_out), share))
