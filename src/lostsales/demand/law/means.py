"""Means of demand given the market, the price and the last demand, behind one protocol and by name.

`MEANS` finds ours and those of other packages (entry points "lostsales.means").
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Annotated, Any, Protocol

import numpy as np

from lostsales.data.parallel import single_threaded
from lostsales.errors import SettingError
from lostsales.registry import Registry
from lostsales.saved_fields import NOT_SAVED, POSITIVE, NonNegative, Number, numbers
from lostsales.types import Floats

LANDMARKS = 60  # of the kernel approximation: bounds time and memory
COEFFICIENTS = (0.03, 0.1, 0.3, 1.0)  # of the kernel, over the number of inputs
RIDGES = (0.01, 0.1, 1.0, 10.0, 100.0)  # candidates, chosen with the coefficients
UNDERSMOOTHED = (1.0, 10.0)  # coefficient and ridge
# Steps in which the variance of slopes with a prior is found, and the most by which it is divided.
PRIOR_STEPS, MOST_SHRUNK = 20, 1e4
# Draws that trees are fitted to, at most.
MOST_BOOSTED = 200_000


# The library sets and resets the filters of warnings while it fits, which are those of all threads.
_ONE_AT_A_TIME = Lock()


class Mean(Protocol):
    """A regression of the latent demand: inputs (rows, inputs) in, its mean out."""

    def __call__(self, inputs: Floats) -> Floats:
        """The mean of every row."""
        ...

    def refit(self, inputs: Floats, latent: Floats, weights: Floats) -> "Mean":
        """Refit with the same hyperparameters to other data."""
        ...

    def extrapolate(self, other: Any, step: float) -> "Mean":
        """The mean plus `step` times the difference from another of its kind; `other` if that is not possible."""
        ...


FitMean = Callable[[Floats, Floats, Floats], Mean]  # of inputs (rows, inputs), latent (rows,) and weights (rows,)
MEANS = Registry[FitMean]("lostsales.means", "demand mean", first=("linear", "kernel", "undersmoothed", "boosted"))


@dataclass(frozen=True, eq=False)
class LinearMean:
    """Least squares, with a normal prior around 0 for some slopes; a column that never varies has slope 0."""

    intercept: Number
    slopes: Annotated[Floats, numbers("inputs")]
    # (inputs,) standard deviation of each slope before the data, infinite where it is free
    prior: Annotated[Floats | None, NOT_SAVED] = None

    def __call__(self, inputs: Floats) -> Floats:
        """The mean of every row."""
        return self.intercept + inputs @ self.slopes

    def refit(self, inputs: Floats, latent: Floats, weights: Floats) -> "LinearMean":
        """Least squares on other data."""
        return fit_linear(inputs, latent, weights, self.prior)

    def extrapolate(self, other: "LinearMean", step: float) -> "LinearMean":
        """The mean plus `step` times the difference from another."""
        slopes = self.slopes + step * (other.slopes - self.slopes)
        return LinearMean(self.intercept + step * (other.intercept - self.intercept), slopes, other.prior)


def fit_linear(inputs: Floats, latent: Floats, weights: Floats, prior: Floats | None = None) -> LinearMean:
    """Weighted least squares on standardised columns; slopes with a finite `prior` are at their posterior mode.

    `prior` (inputs,) is the most that the standard deviation of a slope may be before the data. How much less it is, by
    one factor for all, follows from the data: as much as makes them likeliest (empirical Bayes).

    >>> fit_linear(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0]), np.ones(3)).slopes
    array([2.])
    """
    total = weights.sum()
    centre = weights @ inputs / total
    scale = np.sqrt(weights @ (inputs - centre) ** 2 / total)
    varies = scale > 1e-12 * (1 + np.abs(centre))
    design = (inputs - centre)[:, varies] / scale[varies]
    middle = float(weights @ latent / total)
    gram = design.T @ (design * weights[:, None])
    right = design.T @ (weights * (latent - middle))
    slopes = np.zeros(inputs.shape[1])
    # Collinear columns (all levels of a category) share their effect: the least-norm solution.
    solved = np.linalg.lstsq(gram, right, rcond=1e-10)[0]
    if prior is not None and np.isfinite(prior[varies]).any():
        noise = float(weights @ (latent - middle - design @ solved) ** 2 / total)
        penalty = _likeliest_penalty(gram, right, noise, noise / (prior * scale)[varies] ** 2)
        solved = np.linalg.lstsq(gram + np.diag(penalty), right, rcond=1e-10)[0]
    slopes[varies] = solved / scale[varies]
    return LinearMean(middle - float(centre @ slopes), slopes, prior)


def _likeliest_penalty(gram: Floats, right: Floats, noise: float, least: Floats) -> Floats:
    """The penalties of a ridge regression, `least` times the factor of at least 1 that makes the data likeliest.

    By MacKay's fixed point: the variance of slopes is their sum of squares over how many of them the data determine.
    """
    some = np.flatnonzero(least)
    factor, tiny = 1.0, 1e-9 * np.trace(gram) / len(gram) * np.eye(len(gram))
    for _ in range(PRIOR_STEPS):
        penalty = factor * least
        inverse = np.linalg.inv(gram + np.diag(penalty) + tiny)
        determined = float(len(some) - np.diag(inverse)[some] @ penalty[some])
        squares = float((inverse @ right)[some] ** 2 @ least[some])
        before, factor = factor, float(np.clip(determined * noise / max(squares, 1e-300), 1.0, MOST_SHRUNK))
        if abs(factor - before) < 0.01 * before:
            break
    return factor * least


@dataclass(frozen=True, eq=False)
class KernelMean:
    """Least squares plus kernel ridge regression of its residuals, in the span of some landmarks."""

    linear: LinearMean
    centre: Annotated[Floats, numbers("inputs")]
    scale: Annotated[Floats, numbers("inputs", least=POSITIVE, infinite=True)]
    landmarks: Annotated[Floats, numbers("landmarks", "inputs")]  # standardised
    root: Annotated[Floats, numbers("landmarks", "rank")]  # kernel to features
    coefficient: NonNegative
    ridge: NonNegative
    weights: Annotated[Floats, numbers("rank")]

    def __call__(self, inputs: Floats) -> Floats:
        """The mean of every row."""
        return self.linear(inputs) + self._kernel(inputs) @ (self.root @ self.weights)

    def refit(self, inputs: Floats, latent: Floats, weights: Floats) -> "KernelMean":
        """Refit with the same landmarks and hyperparameters to other data."""
        linear = self.linear.refit(inputs, latent, weights)
        phi = self._kernel(inputs) @ self.root
        gram = phi.T @ (phi * weights[:, None]) + self.ridge * np.eye(phi.shape[1])
        solved = np.asarray(np.linalg.solve(gram, phi.T @ (weights * (latent - linear(inputs)))), dtype=np.float64)
        return KernelMean(
            linear, self.centre, self.scale, self.landmarks, self.root, self.coefficient, self.ridge, solved
        )

    def extrapolate(self, other: "KernelMean", step: float) -> "KernelMean":
        """The mean plus `step` times the difference from another on the same landmarks."""
        weights = self.weights + step * (other.weights - self.weights)
        return replace(other, linear=self.linear.extrapolate(other.linear, step), weights=weights)

    def _kernel(self, inputs: Floats) -> Floats:
        return _rbf((inputs - self.centre) / self.scale, self.landmarks, self.coefficient)


def _rbf(left: Floats, right: Floats, coefficient: float) -> Floats:
    power = left @ (2 * coefficient * right).T  # in place: the array is large, and memory is the bottleneck
    power -= coefficient * (left**2).sum(axis=1)[:, None]
    power -= coefficient * (right**2).sum(axis=1)
    return np.asarray(np.exp(np.minimum(power, 0.0, out=power), out=power))


def fit_undersmoothed(inputs: Floats, latent: Floats, weights: Floats) -> KernelMean:
    """An under-smoothed kernel mean: sums over many periods need less bias than the best prediction of one has."""
    return fit_kernel(inputs, latent, weights, coefficients=UNDERSMOOTHED[:1], ridges=UNDERSMOOTHED[1:])


def fit_kernel(
    inputs: Floats,
    latent: Floats,
    weights: Floats,
    seed: int = 0,
    coefficients: tuple[float, ...] = COEFFICIENTS,
    ridges: tuple[float, ...] = RIDGES,
    prior: Floats | None = None,
) -> KernelMean:
    """Bandwidth and ridge by the least leave-one-out error, from one factorisation for each bandwidth."""
    rng = np.random.default_rng(seed)
    centre, scale = inputs.mean(axis=0), inputs.std(axis=0)
    scale = np.where(scale > 1e-12 * (1 + np.abs(centre)), scale, np.inf)
    standard = (inputs - centre) / scale
    chosen = rng.choice(len(inputs), min(LANDMARKS, len(inputs)), replace=False)
    landmarks = np.unique(standard[np.sort(chosen)], axis=0)
    linear = fit_linear(inputs, latent, weights, prior)
    left = latent - linear(inputs)
    best: tuple[float, KernelMean] | None = None
    for coefficient in coefficients:
        steep = coefficient / max(int(np.isfinite(scale).sum()), 1)
        values, vectors = np.linalg.eigh(_rbf(landmarks, landmarks, steep))
        kept = values > 1e-8 * values[-1]
        root = vectors[:, kept] / np.sqrt(values[kept])
        phi = _rbf(standard, landmarks, steep) @ root
        spectrum, basis = np.linalg.eigh(phi.T @ (phi * weights[:, None]))
        turned = phi @ basis
        right = turned.T @ (weights * left)
        for ridge in ridges:
            shrunk = 1 / (np.maximum(spectrum, 0) + ridge)
            leverage = np.minimum((turned**2 * shrunk).sum(axis=1) * weights, 0.999)
            error = float(weights @ ((left - turned @ (shrunk * right)) / (1 - leverage)) ** 2)
            if best is None or error < best[0]:
                model = KernelMean(linear, centre, scale, landmarks, root, steep, ridge, basis @ (shrunk * right))
                best = error, model
    assert best is not None
    return best[1]


@dataclass(frozen=True, eq=False)
class BoostedMean:
    """Least squares plus gradient-boosted trees of its residuals, by scikit-learn."""

    linear: LinearMean
    trees: Any = field(repr=False)

    def __call__(self, inputs: Floats) -> Floats:
        """The mean of every row."""
        if not len(inputs):  # which scikit-learn refuses
            return np.zeros(0)
        with single_threaded():  # small trees: threads cost more than they gain
            return np.asarray(self.linear(inputs) + self.trees.predict(inputs))

    def refit(self, inputs: Floats, latent: Floats, weights: Floats) -> "BoostedMean":
        """New trees on other data."""
        return fit_boosted(inputs, latent, weights, prior=self.linear.prior)

    def extrapolate(self, other: "BoostedMean", step: float) -> "BoostedMean":  # noqa: ARG002
        """The other: trees cannot be extrapolated."""
        return other


def fit_boosted(
    inputs: Floats, latent: Floats, weights: Floats, seed: int = 0, prior: Floats | None = None
) -> BoostedMean:
    """Small trees with a low learning rate, as rows are usually few."""
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ImportError:
        raise SettingError("boosted means need scikit-learn: pip install 'lostsales[learners]'") from None
    linear = fit_linear(inputs, latent, weights, prior)
    left = latent - linear(inputs)
    at = np.arange(len(inputs))
    if len(at) > MOST_BOOSTED:
        at = np.sort(np.random.default_rng(seed).choice(len(at), MOST_BOOSTED, replace=False))
    trees = HistGradientBoostingRegressor(
        max_iter=60, learning_rate=0.1, max_leaf_nodes=8, min_samples_leaf=max(20, len(at) // 100), random_state=seed
    )
    with _ONE_AT_A_TIME, single_threaded():
        return BoostedMean(linear, trees.fit(inputs[at], left[at], sample_weight=weights[at]))
