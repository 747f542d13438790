"""The regression of one depth: its coordinates, its function class with the settings that predict best, its factors."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lostsales.arrays import Bools, Floats, Ints
from lostsales.learn.kernels import Kernel
from lostsales.learn.maps import FeatureMap, Grid, KernelMap, LinearMap, landmarks
from lostsales.learn.ridge import RidgeFactor, cross_validate

# Above so many numbers, features are computed anew in each pass rather than kept (400 MB).
KEEP = 50_000_000
CHUNK = 50_000


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
        """Histories against all actions of the grid."""
        return self.map.on_grid(self.scaler(block), self.action_scaler(actions))


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
