"""Ridge regression of one depth: choice of hyperparameters, factors, and the posterior variance of the penalty."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from lostsales.learn.function.feature_maps import FeatureMap, KernelMap, LinearMap, landmarks
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.q_function import ActionScaler, FunctionClass, Hyperparameters, QBasis, QFunction, Scaler
from lostsales.learn.function.ridge import CrossValidation, RidgeFactor
from lostsales.types import Bools, Floats, Ints

# Above so many numbers (2 GB), features are recomputed in each pass rather than kept.
KEEP = 250_000_000
CANDIDATES = 5  # rows per landmark from which landmarks are drawn
CHUNK = 20_000


@dataclass(frozen=True, eq=False)
class RidgeDesign:
    """The design of a depth, constant over the iterations: factored once, solved K times."""

    basis: QBasis
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
            yield part, self.basis.map.features(self.history[part], self.action[part])

    def fit(self, targets: Floats) -> Floats:
        """Weights of the ridge regression of centred targets (Equation 16)."""
        right = sum((phi.T @ targets[part] for part, phi in self.phi()), np.zeros(len(self.factor.gram)))
        return self.factor.solve(right)

    def q(self, targets: Floats, low: float, high: float) -> tuple[QFunction, float]:
        """Q of the targets, and the root mean squared residual."""
        mean = float(targets.mean())
        weights = self.fit(targets - mean)
        fitted = np.concatenate([phi @ weights for _, phi in self.phi()])
        return QFunction(self.basis, weights, mean, low, high), float(np.sqrt(np.mean((mean + fitted - targets) ** 2)))

    def scorer(self, block: Floats, actions: Floats) -> Callable[[QFunction, float], Floats]:
        """Q - U of given histories against actions, for any Q of this design."""
        grid = self.basis.on_grid(block, actions)
        penalty = None if self.basis.uncertainty is None else self.basis.penalty(block, actions, 1.0)

        def score(q: QFunction, beta: float) -> Floats:
            values = q.on(grid)
            return values - beta * penalty if beta and penalty is not None else values

        return score


@dataclass(frozen=True, eq=False)
class HyperparameterSearch:
    """Cross-validation of every kernel and ridge of a function class on a subsample of a depth, for any targets."""

    rows: Ints  # of the subsample
    kernels: tuple[Kernel | None, ...]
    ridges: tuple[float, ...]
    trials: tuple[CrossValidation, ...]  # by kernel

    @classmethod
    def of(
        cls, history: Floats, action: Floats, folds: list[tuple[Bools, Bools]], function: FunctionClass, seed: int
    ) -> "HyperparameterSearch":
        """From the standardised rows of a depth and their folds (test, train)."""
        rows = subsample(len(history), function.pilot_rows, seed)
        history, action = history[rows], action[rows]
        parts = [(test[rows], train[rows]) for test, train in folds]
        at = subsample(len(rows), function.pilot_rank, seed)
        kernels: tuple[Kernel | None, ...] = function.kernels if function.kind == "kernel" else (None,)
        phis = (_map(kernel, history[at], action[at], function).features(history, action) for kernel in kernels)
        trials = tuple(CrossValidation.of(phi, parts, function.ridges) for phi in phis)
        return cls(rows, kernels, function.ridges, trials)

    def choose(self, targets: Floats) -> Hyperparameters:
        """The kernel, bandwidth and ridge with the least mean absolute held-out error, targets centred.

        Squares would let a few rows of a heavy tail decide.
        """
        errors, sigmas = [], []
        for trial in self.trials:
            residuals = trial.residuals(targets[self.rows])
            errors.append(np.mean(np.abs(residuals), axis=0))
            sigmas.append(np.sqrt(np.mean(residuals**2, axis=0)))
        kernel, ridge = np.unravel_index(int(np.argmin(errors)), (len(self.kernels), len(self.ridges)))
        return Hyperparameters(self.kernels[kernel], self.ridges[ridge], float(sigmas[kernel][ridge]))

    def held_out(self, targets: Floats, chosen: Hyperparameters) -> Floats:
        """Held-out residuals of centred targets with the chosen hyperparameters, (tested rows of the subsample,)."""
        trial, ridge = self.trials[self.kernels.index(chosen.kernel)], self.ridges.index(chosen.ridge)
        return np.asarray(trial.residuals(targets[self.rows])[:, ridge])


def _map(kernel: Kernel | None, history: Floats, action: Floats, function: FunctionClass) -> FeatureMap:
    return LinearMap(function.raw) if kernel is None else KernelMap.at(kernel, history, action)


def subsample(rows: int, most: int, seed: int) -> Ints:
    """At most `most` of the rows, drawn without replacement, rising."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


def build(
    scaler: Scaler,
    action_scaler: ActionScaler,
    history: Floats,
    action: Floats,
    choice: Hyperparameters,
    function: FunctionClass,
    seed: int,
) -> RidgeDesign:
    """Feature map and factors for the chosen hyperparameters."""
    rows, at = len(history), np.arange(len(history))
    if choice.kernel is not None and rows > function.exact_rows:
        rng = np.random.default_rng(seed)
        at = np.sort(rng.choice(rows, min(rows, CANDIDATES * function.most_rank), replace=False))
        # The kernel matrix of all rows is about that of the candidates, scaled up: so the ridge is scaled down.
        ridge = choice.ridge * len(at) / rows if function.by_dimension else 0.0
        at = at[landmarks(choice.kernel, history[at], action[at], function.most_rank, rng, ridge)]
    mapped = _map(choice.kernel, history[at], action[at], function)
    gram, kept = _moments(mapped, history, action)
    basis = QBasis(scaler, action_scaler, mapped, choice)
    return RidgeDesign(basis, RidgeFactor.of(gram, choice.ridge), history, action, kept)


def _moments(mapped: FeatureMap, history: Floats, action: Floats) -> tuple[Floats, Floats | None]:
    """Phi'Phi, and Phi itself where it may stay in memory."""
    if isinstance(mapped, KernelMap) and len(mapped.root) == len(history):
        return mapped.root.T @ mapped.root, mapped.root  # on the landmarks themselves Phi is L
    rows, rank = len(history), mapped.features(history[:1], action[:1]).shape[1]
    gram, kept = np.zeros((rank, rank)), np.empty((rows, rank)) if rows * rank <= KEEP else None
    for start in range(0, rows, CHUNK):
        part = mapped.features(history[start : start + CHUNK], action[start : start + CHUNK])
        gram += part.T @ part
        if kept is not None:
            kept[start : start + CHUNK] = part
    return gram, kept
