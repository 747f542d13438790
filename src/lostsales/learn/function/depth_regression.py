"""The regression of one depth: the settings that predict best, and its factors."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from lostsales.learn.function.feature_maps import FeatureMap, KernelMap, LinearMap, landmarks
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.posterior_variance import posterior_variance_of
from lostsales.learn.function.q_function import ActionScaler, FunctionClass, Hyperparameters, QBasis, QFunction, Scaler
from lostsales.learn.function.ridge import CrossValidation, RidgeFactor
from lostsales.types import Bools, Floats, Ints

# Above so many numbers, features are computed anew in each pass rather than kept (2 GB).
KEEP = 250_000_000
TRIM = 0.01  # the data lie where all but this share of the rows on either side do
AMONG = 5  # landmarks are drawn from so many times their greatest number
CHUNK = 20_000
MOST_JUDGED = 2_000  # rows from which the level of the penalty is taken


@dataclass(frozen=True, eq=False)
class RidgeDesign:
    """The design of a depth, which never changes over the iterations: factored once, solved K times."""

    form: QBasis
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

    def q(self, targets: Floats, low: float, high: float) -> tuple[QFunction, float]:
        """Q of these targets, and the root mean squared residual."""
        mean = float(targets.mean())
        weights = self.fit(targets - mean)
        fitted = np.concatenate([phi @ weights for _, phi in self.phi()])
        return QFunction(self.form, weights, mean, low, high), float(np.sqrt(np.mean((mean + fitted - targets) ** 2)))

    def scorer(self, block: Floats, actions: Floats) -> Callable[[QFunction, float], Floats]:
        """Q - beta U of given histories against actions, for any Q of this design."""
        grid = self.form.on_grid(block, actions)
        penalty = None if self.form.doubt is None else self.form.penalty(block, actions, 1.0)

        def score(q: QFunction, beta: float) -> Floats:
            values = q.on(grid)
            return values - beta * penalty if beta and penalty is not None else values

        return score


@dataclass(frozen=True, eq=False)
class HyperparameterSearch:
    """Every setting of a function class on some rows of a depth, ready to be cross-validated on any targets."""

    rows: Ints
    kernels: tuple[Kernel | None, ...]
    ridges: tuple[float, ...]
    trials: tuple[CrossValidation, ...]  # by kernel

    @classmethod
    def of(
        cls, history: Floats, action: Floats, folds: list[tuple[Bools, Bools]], function: FunctionClass, seed: int
    ) -> "HyperparameterSearch":
        """From the standardised rows of a depth and their folds (test, train)."""
        rows = _some(len(history), function.pilot_rows, seed)
        history, action = history[rows], action[rows]
        parts = [(test[rows], train[rows]) for test, train in folds]
        at = _some(len(rows), function.pilot_rank, seed)
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
    choice: Hyperparameters,
    function: FunctionClass,
    seed: int,
) -> RidgeDesign:
    """Map and factors for chosen settings."""
    rows, at = len(history), np.arange(len(history))
    if choice.kernel is not None and rows > function.exact_rows:
        rng = np.random.default_rng(seed)
        at = np.sort(rng.choice(rows, min(rows, AMONG * function.most_rank), replace=False))
        # The kernel matrix of all rows is about that of some, scaled up: so is the ridge, down.
        ridge = choice.ridge * len(at) / rows if function.by_dimension else 0.0
        at = at[landmarks(choice.kernel, history[at], action[at], function.most_rank, rng, ridge)]
    mapped = _map(choice.kernel, history[at], action[at], function)
    gram, kept = _moments(mapped, history, action)
    form = QBasis(scaler, action_scaler, mapped, choice)
    return RidgeDesign(form, RidgeFactor.of(gram, choice.ridge), history, action, kept)


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


def with_posterior_variance(
    design: RidgeDesign, function: FunctionClass, seed: int, former: QBasis | None = None
) -> RidgeDesign:
    """The design with what a penalty needs: who judges what was tried, and from which level on.

    Both follow from the rows alone where they are not those of Q, and are taken over from a former form of the same.
    """
    form, own = design.form, design.form.choice.kernel is None or function.support_kernel is None
    if former is not None and not own:
        return replace(design, form=replace(form, doubt=former.doubt, level=former.level, inside=former.inside))
    judge = design
    if not own:
        choice = Hyperparameters(function.support_kernel, function.support_ridge, form.choice.sigma)
        rank = function.support_rank
        few = replace(function, exact_rows=rank, most_rank=rank, by_dimension=False)
        judge = build(form.scaler, form.action_scaler, design.history, design.action, choice, few, seed)
    doubt = posterior_variance_of(judge.form.map, judge.factor)
    if not function.spared:
        return replace(design, form=replace(form, doubt=doubt))
    inside = np.quantile(design.history, [TRIM, 1 - TRIM], axis=0)
    level = _level(judge, function.spared, function.spared_ratio, seed)
    return replace(design, form=replace(form, doubt=doubt, level=level, inside=inside))


def _level(design: RidgeDesign, share: float, at_most: float, seed: int) -> float:
    """The quantile over the rows of sqrt(k_post / ridge), had each row not been seen itself, at most so many medians.

    A row of leverage h = phi'(Phi'Phi + ridge)^-1 phi has k_post / ridge = h / (1 - h) once it is left out.
    """
    at, mapped = _some(len(design.history), MOST_JUDGED, seed), design.form.map
    history, action = design.history[at], design.action[at]
    leverage = design.factor.leverage(mapped.features(history, action))
    left_out = leverage / (1 - leverage) + mapped.left_over(history, action) / design.factor.ridge
    most, median = np.quantile(np.sqrt(left_out), [share, 0.5])
    return float(min(most, at_most * median))
