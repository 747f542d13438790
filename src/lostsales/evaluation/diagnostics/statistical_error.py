"""Complexity of the function class: effective dimension, information gain, and the statistical error."""

import numpy as np

from lostsales.evaluation.diagnostics.action_coverage import DepthMeasurement
from lostsales.evaluation.diagnostics.diagnostic import Diagnostic
from lostsales.types import Floats

LEAST_ROWS = 10  # rows per effective dimension, below which the kernel is too complex for the rows
CONFIDENCE = 0.05  # epsilon of the bound


def dimension(measured: list[DepthMeasurement]) -> Diagnostic:
    """Effective dimension d*, the largest over the depths."""
    d_star = np.array([effective_dimension(each.eigenvalues, each.ridge) for each in measured], dtype=np.float64)
    meaning = f"the Q of {measured[0].kernel} at depth 0 has about {d_star[0]:.0f} directions that the data identify"
    crowded = any(d * LEAST_ROWS > each.rows for d, each in zip(d_star, measured, strict=True))
    advice = "a simpler kernel or a larger ridge" if crowded else "the kernel is simple enough for the rows"
    return Diagnostic("d_star", "effective dimension by depth", float(d_star.max()), d_star, False, meaning, advice)


def effective_dimension(eigenvalues: Floats, noise: float) -> int:
    """Effective dimension of a Gram matrix: least j with j >= sum over k > j of eigenvalue_k / noise (Definition 4).

    >>> effective_dimension(np.array([5.0, 1.0, 0.5, 0.1]), 1.0)
    2
    """
    tail = np.r_[np.cumsum(eigenvalues[::-1])[::-1], 0.0]
    return int(np.flatnonzero(np.arange(len(tail)) >= tail / noise)[0])


def gain_in_information(measured: list[DepthMeasurement]) -> Diagnostic:
    """Information gain of the log's rows at each depth, instead of the maximum over all sets of as many rows."""
    gain = np.array([information_gain(each.eigenvalues, each.ridge) for each in measured])
    a_row = gain[0] / max(measured[0].rows, 1)
    meaning = f"the rows of depth 0 give {gain[0]:.3g} nats about Q, {a_row:.2g} per row; at most the paper's maximum"
    advice = "new rows still add much" if a_row > 0.1 else "new rows like these add little"
    return Diagnostic("info_gain", "information gain by depth", float(gain.max()), gain, True, meaning, advice)


def information_gain(eigenvalues: Floats, noise: float) -> float:
    """Information gain: half of log det(I + Gram / noise) (Definition 5).

    >>> round(information_gain(np.array([3.0, 1.0]), 1.0), 4)
    1.0397
    """
    return float(np.log1p(eigenvalues / noise).sum() / 2)


def statistical_error(
    dimension: Diagnostic,
    coverage: Diagnostic,
    shares: Diagnostic,
    imputation: Diagnostic,
    depth: Diagnostic,
    rows: int,
) -> Diagnostic:
    """Statistical error E_stat of Theorem 2 from the other terms; a rate, as the theorem leaves out constants."""
    title = "statistical error, without constants"
    d_star, ratio, share = (each.value or 0.0 for each in (dimension, coverage, shares))
    if not share:
        return Diagnostic("e_stat", title, None, None, True, "a depth has no rows to learn from", "more series")
    leading = leading_term(d_star, max(ratio, 1.0), share * rows)
    value = leading + (imputation.value or 0.0) + (depth.value or 0.0)
    meaning = (
        f"{leading:.3g} from {rows:,} rows and d* = {d_star:.0f}; with four times the rows, the rest the same, "
        f"{leading / 2:.3g}. Compare logs and kernels by it; it is no sum of money"
    )
    advice = "more rows, or a simpler kernel" if d_star * LEAST_ROWS > share * rows else "enough rows for the kernel"
    return Diagnostic("e_stat", title, value, None, True, meaning, advice)


def leading_term(d_star: float, coverage: float, rows: float, epsilon: float = CONFIDENCE) -> float:
    """Leading term: max of d* (d* + log 1/epsilon) sqrt(C_cov / rows), sqrt(d* (d* + log 1/epsilon) (1 + d*) / rows).

    `rows` are those of the smallest depth, rho NT.
    """
    product = d_star * (d_star + np.log(1 / epsilon))
    return float(max(product * np.sqrt(coverage / rows), np.sqrt(product * (1 + d_star) / rows)))
