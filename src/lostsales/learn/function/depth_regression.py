"""Ridge regression of one depth: choice of hyperparameters, factors, and the posterior variance of the penalty."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, pairwise
from typing import Literal, TypeGuard

import numpy as np
from scipy.linalg.lapack import dlauum

from lostsales.data.parallel import in_parallel
from lostsales.learn.function.feature_maps import FeatureMap, KernelMap, LinearMap, landmarks
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.q_function import (
    ActionScaler,
    Deviations,
    FunctionClass,
    Hyperparameters,
    QBasis,
    QFunction,
    Scaler,
)
from lostsales.learn.function.ridge import CrossValidation, RidgeFactor, SpectralCrossValidation
from lostsales.types import Array, Bools, Floats, Ints

# Above so many numbers features are kept in single precision, which is safe as |phi| <= 1 (unlike kernel values, whose
# coefficients cancel), and above so many more (1.6 GB) kernels are recomputed in each iteration instead.
DOUBLE = 60_000_000
KEEP = 400_000_000
CANDIDATES = 5  # rows per landmark from which landmarks are drawn
CHUNK = 4_000
SPECTRAL_FROM = 250  # landmarks in the cross-validation from which on its factors are shared by ridges and folds
SPANS = 8  # of a long design, which threads work on
MANY_ROWS = 20_000  # from which on several threads are quicker


@dataclass(frozen=True, eq=False)
class RidgeDesign:
    """The design of a depth, constant over the iterations: factored once, solved K times."""

    basis: QBasis
    factor: RidgeFactor
    history: Floats  # (rows, coordinates) standardised
    action: Floats  # (rows, 2) standardised
    kept_phi: Array | None  # (rows, rank)

    def moment(self, targets: Floats) -> Floats:
        """Phi'y, (rank,)."""

        def of_span(span: range) -> Floats:
            parts = (slice(start, min(start + CHUNK, span.stop)) for start in span[::CHUNK])
            return np.asarray(np.sum([self._moment(part, targets[part]) for part in parts], axis=0))

        return np.asarray(np.sum(_over_spans(of_span, len(targets)), axis=0))

    def _moment(self, part: slice, targets: Floats) -> Floats:
        if self.kept_phi is None:
            return self.basis.map.moment(self.history[part], self.action[part], targets)
        return np.asarray(targets @ self.kept_phi[part].astype(np.float64, copy=False))

    def q(self, targets: Floats, low: float, high: float, mean: float | None = None) -> tuple[QFunction, float]:
        """Q of the targets by ridge regression (Equation 16), and the root mean squared residual.

        The prior mean is that of the targets by default; the paper's is 0.
        """
        mean = float(targets.mean()) if mean is None else mean
        centred = targets - mean
        moment = self.moment(centred)
        weights = self.factor.solve(moment)
        if self.kept_phi is not None and len(targets) <= MANY_ROWS:
            squares = float(np.mean((self.kept_phi @ weights - centred) ** 2))
        else:  # |y - Phi w|^2 without another pass over the rows
            explained = float(2 * weights @ moment - weights @ self.factor.gram @ weights)
            squares = max(float(centred @ centred) - explained, 0.0) / len(centred)
        return QFunction(self.basis, weights, mean, low, high), float(np.sqrt(squares))

    def scorer(
        self, block: Floats, actions: Floats, usual: Ints | None = None, known: dict[object, Deviations] | None = None
    ) -> Callable[[QFunction, float, Bools | None], Floats]:
        """Q - U of given histories against allowed actions, for any Q of this design; the paper's U where needed.

        `known` keeps the deviations of these histories, by what they are deviations of.
        """
        grid, uncertainty = self.basis.on_grid(block, actions), self.basis.uncertainty
        found = {} if known is None else known
        where_needed = usual is None and self.basis.has_penalty_of_paper
        if uncertainty is not None and uncertainty not in found:
            found[uncertainty] = Deviations.none((len(block), len(actions)))
            if not where_needed:
                found[uncertainty].least[:] = self.basis.deviation(block, actions, usual)

        def score(q: QFunction, beta: float, may: Bools | None) -> Floats:
            values = q.on(grid)
            if may is not None:
                values[~may] = -np.inf
            if not beta or uncertainty is None:
                return values
            if where_needed:
                return q.less_penalty_where_needed(block, actions, values, beta, found[uncertainty])
            return values - beta * q.basis.choice.sigma * found[uncertainty].least

        return score


@dataclass(frozen=True, eq=False)
class HyperparameterSearch:
    """Cross-validation of every kernel and ridge of a function class on a subsample of a depth, for any targets."""

    rows: Ints  # of the subsample
    kernels: tuple[Kernel | None, ...]
    ridges: tuple[float, ...]
    trials: tuple[CrossValidation | SpectralCrossValidation, ...]  # by kernel
    error: Literal["absolute", "squared"]

    @classmethod
    def of(
        cls, history: Floats, action: Floats, folds: list[tuple[Bools, Bools]], function: FunctionClass, seed: int
    ) -> "HyperparameterSearch":
        """Prepare from the standardised rows of a depth and their folds (test, train)."""
        kept = _SHARED.get()
        if kept is None:
            return cls._prepared(history, action, folds, function, seed)
        arrays = b"".join(each.tobytes() for each in (history, action, *chain(*folds)))
        key = sha256(f"{function.model_dump_json()} {seed} ".encode() + arrays).hexdigest()
        if key not in kept:
            kept[key] = cls._prepared(history, action, folds, function, seed)
        return kept[key]

    @classmethod
    def _prepared(
        cls, history: Floats, action: Floats, folds: list[tuple[Bools, Bools]], function: FunctionClass, seed: int
    ) -> "HyperparameterSearch":
        size, rank = function.pilot(len(history))
        rows = subsample(len(history), size, seed)
        history, action = history[rows], action[rows]
        parts = [(test[rows], train[rows]) for test, train in folds]
        at = subsample(len(rows), rank, seed)
        kernels: tuple[Kernel | None, ...] = function.kernels if function.kind == "kernel" else (None,)
        method = CrossValidation if len(at) < SPECTRAL_FROM else SpectralCrossValidation

        def trial_of(kernel: Kernel | None) -> CrossValidation | SpectralCrossValidation:
            if kernel is not None and method is SpectralCrossValidation and len(at) == len(rows):
                gram = kernel.between((history, action), (history, action))
                return SpectralCrossValidation.of_gram(gram, parts, function.ridges)
            mapped = _map(kernel, history[at], action[at], function)
            return method.of(_features(mapped, history, action), parts, _ridges(mapped, function.ridges, len(rows)))

        trials = tuple(map(trial_of, kernels))
        return cls(rows, kernels, function.ridges, trials, function.error)

    def choose(self, targets: Floats) -> Hyperparameters:
        """The kernel, bandwidth and ridge with the least held-out error of targets less their prior mean.

        It is absolute by default: squares would let a few rows of a heavy tail decide.
        """
        errors, sigmas = [], []
        for trial in self.trials:
            residuals = trial.residuals(targets[self.rows])
            sigmas.append(np.sqrt(np.mean(residuals**2, axis=0)))
            errors.append(sigmas[-1] if self.error == "squared" else np.mean(np.abs(residuals), axis=0))
        kernel, ridge = np.unravel_index(int(np.argmin(errors)), (len(self.kernels), len(self.ridges)))
        return Hyperparameters(self.kernels[kernel], self.ridges[ridge], float(sigmas[kernel][ridge]))

    def held_out(self, targets: Floats, chosen: Hyperparameters) -> Floats:
        """Held-out residuals of centred targets with the chosen hyperparameters, (tested rows of the subsample,)."""
        trial, ridge = self.trials[self.kernels.index(chosen.kernel)], self.ridges.index(chosen.ridge)
        return np.asarray(trial.residuals(targets[self.rows])[:, ridge])


_SHARED: ContextVar[dict[str, HyperparameterSearch] | None] = ContextVar("searches that fits share", default=None)


@contextmanager
def sharing_searches(kept: dict[str, HyperparameterSearch]) -> Iterator[None]:
    """Keep every search, and take it again where another learner has the same rows: it does not depend on targets."""
    token = _SHARED.set(kept)
    try:
        yield
    finally:
        _SHARED.reset(token)


def _map(kernel: Kernel | None, history: Floats, action: Floats, function: FunctionClass) -> FeatureMap:
    return LinearMap(function.raw) if kernel is None else KernelMap.at(kernel, history, action)


def subsample(rows: int, most: int, seed: int) -> Ints:
    """Sample of at most `most` rows, drawn without replacement, rising."""
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
    (ridge,) = _ridges(mapped, (choice.ridge,), rows)
    return RidgeDesign(basis, RidgeFactor.of(gram, ridge), history, action, kept)


def _is_exact(mapped: FeatureMap, rows: int) -> TypeGuard[KernelMap]:
    """True if every row is a landmark, in the same order: then Phi is L."""
    return isinstance(mapped, KernelMap) and len(mapped.root) == rows


def _ridges(mapped: FeatureMap, ridges: tuple[float, ...], rows: int) -> tuple[float, ...]:
    """Ridges to add to Phi'Phi: an exact one has the jitter of the root already."""
    if not _is_exact(mapped, rows):
        return ridges
    return tuple(max(ridge - mapped.jitter, ridge / 2) for ridge in ridges)


def _features(mapped: FeatureMap, history: Floats, action: Floats) -> Floats:
    """Phi of all rows, (rows, rank)."""
    if _is_exact(mapped, len(history)):
        return mapped.root
    return mapped.features(history, action)


def _moments(mapped: FeatureMap, history: Floats, action: Floats) -> tuple[Floats, Array | None]:
    """Phi'Phi, and Phi itself where it may stay in memory."""
    if _is_exact(mapped, len(history)):
        triangle, _ = dlauum(mapped.root, lower=1)  # half the work of root.T @ root
        return np.tril(triangle) + np.tril(triangle, -1).T, mapped.root
    rows, rank = len(history), mapped.features(history[:1], action[:1]).shape[1]
    kept: Array | None = None
    if rows * rank <= KEEP:
        kept = np.empty((rows, rank), dtype=np.float64 if rows * rank <= DOUBLE else np.float32)

    def of_span(span: range) -> Floats:
        gram = np.zeros((rank, rank))
        for start in span[::CHUNK]:
            part = slice(start, min(start + CHUNK, span.stop))
            phi = mapped.features(history[part], action[part])
            gram += phi.T @ phi
            if kept is not None:
                kept[part] = phi
        return gram

    return np.asarray(np.sum(_over_spans(of_span, rows), axis=0)), kept


def _over_spans(work: Callable[[range], Floats], rows: int) -> list[Floats]:
    """Results of each span of rows, on several threads where they are many; one span where they are few.

    The spans depend on the rows alone, so that sums do not depend on the number of threads.
    """
    if rows <= MANY_ROWS:
        return [work(range(rows))]
    bounds = np.linspace(0, rows, SPANS + 1).astype(np.int64).tolist()
    return in_parallel(work, [range(*pair) for pair in pairwise(bounds)])
