"""Ridge regression of one depth: choice of hyperparameters, factors, and the posterior variance of the penalty."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from lostsales.learn.function.feature_maps import FeatureMap, KernelMap, LinearMap, landmarks
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.posterior_variance import Uncertainty, posterior_variance_of
from lostsales.learn.function.q_function import ActionScaler, FunctionClass, Hyperparameters, QBasis, QFunction, Scaler
from lostsales.learn.function.ridge import CrossValidation, RidgeFactor
from lostsales.types import Bools, Floats, Ints

# Above so many numbers (2 GB), features are recomputed in each pass rather than kept.
KEEP = 250_000_000
TRIM = 0.01  # share of rows on either side outside the range of the histories
CANDIDATES = 5  # rows per landmark from which landmarks are drawn
CHUNK = 20_000
THRESHOLD_ROWS = 2_000  # rows from which the threshold of the penalty is taken


@dataclass(frozen=True, eq=False)
class RidgeDesign:
    """The design of a depth, constant over the iterations: factored once, solved K times."""

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
        """Weights of the ridge regression of centred targets (Equation 16)."""
        right = sum((phi.T @ targets[part] for part, phi in self.phi()), np.zeros(len(self.factor.gram)))
        return self.factor.solve(right)

    def q(self, targets: Floats, low: float, high: float) -> tuple[QFunction, float]:
        """Q of the targets, and the root mean squared residual."""
        mean = float(targets.mean())
        weights = self.fit(targets - mean)
        fitted = np.concatenate([phi @ weights for _, phi in self.phi()])
        return QFunction(self.form, weights, mean, low, high), float(np.sqrt(np.mean((mean + fitted - targets) ** 2)))

    def scorer(self, block: Floats, actions: Floats) -> Callable[[QFunction, float], Floats]:
        """Q - beta U of given histories against actions, for any Q of this design."""
        grid = self.form.on_grid(block, actions)
        penalty = None if self.form.uncertainty is None else self.form.penalty(block, actions, 1.0)

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
        rows = _subsample(len(history), function.pilot_rows, seed)
        history, action = history[rows], action[rows]
        parts = [(test[rows], train[rows]) for test, train in folds]
        at = _subsample(len(rows), function.pilot_rank, seed)
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


def _subsample(rows: int, most: int, seed: int) -> Ints:
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
    """The design with the posterior variance and the threshold of the penalty.

    With a support kernel both depend on the rows alone and are taken over from `former`.
    """
    form, own = design.form, design.form.choice.kernel is None or function.support_kernel is None
    if former is not None and not own:
        return replace(design, form=replace(form, uncertainty=former.uncertainty))
    support = design
    if not own:
        choice = Hyperparameters(function.support_kernel, function.support_ridge, form.choice.sigma)
        rank = function.support_rank
        low_rank = function.model_copy(update={"exact_rows": rank, "most_rank": rank, "by_dimension": False})
        support = build(form.scaler, form.action_scaler, design.history, design.action, choice, low_rank, seed)
    variance = posterior_variance_of(support.form.map, support.factor)
    if not function.unpenalized_share:
        return replace(design, form=replace(form, uncertainty=Uncertainty(variance)))
    history_range = np.quantile(design.history, [TRIM, 1 - TRIM], axis=0)
    threshold = _penalty_threshold(support, function.unpenalized_share, function.unpenalized_ratio, seed)
    return replace(design, form=replace(form, uncertainty=Uncertainty(variance, threshold, history_range)))


def _penalty_threshold(design: RidgeDesign, share: float, at_most: float, seed: int) -> float:
    """The quantile of leave-one-out sqrt(k_post / ridge) over the rows, at most `at_most` times their median.

    A row of leverage h = phi'(Phi'Phi + ridge)^-1 phi has k_post / ridge = h / (1 - h) when it is left out.
    """
    at, mapped = _subsample(len(design.history), THRESHOLD_ROWS, seed), design.form.map
    history, action = design.history[at], design.action[at]
    leverage = design.factor.leverage(mapped.features(history, action))
    left_out = leverage / (1 - leverage) + mapped.left_over(history, action) / design.factor.ridge
    most, median = np.quantile(np.sqrt(left_out), [share, 0.5])
    return float(min(most, at_most * median))
