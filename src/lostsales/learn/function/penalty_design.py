"""The penalty of a design: the support kernel that measures uncertainty, and the threshold from which it counts."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lostsales.learn.function.depth_regression import RidgeDesign, build, subsample
from lostsales.learn.function.penalty import Uncertainty
from lostsales.learn.function.posterior_variance import posterior_variance_of
from lostsales.learn.function.q_function import FunctionClass, Hyperparameters, QBasis
from lostsales.types import Floats, Ints

TRIM = 0.01  # share of rows on either side outside the range of the histories
THRESHOLD_ROWS = 2_000  # rows from which the threshold of the penalty is taken
NOMINAL = 1.645  # standard deviations within which 90 % of a normal law lie


def with_penalty(design: RidgeDesign, function: FunctionClass, seed: int, former: QBasis | None = None) -> RidgeDesign:
    """The design with the posterior variance and the threshold of the penalty.

    With a support kernel both depend on the rows alone and are taken over from `former`.
    """
    basis, own = design.basis, design.basis.choice.kernel is None or function.support_kernel is None
    if former is not None and not own:
        return replace(design, basis=replace(basis, uncertainty=former.uncertainty))
    support = design
    if not own:
        choice = Hyperparameters(function.support_kernel, function.support_ridge, basis.choice.sigma)
        rank = function.support_rank
        low_rank = function.model_copy(update={"exact_rows": rank, "most_rank": rank, "by_dimension": False})
        support = build(basis.scaler, basis.action_scaler, design.history, design.action, choice, low_rank, seed)
    variance = posterior_variance_of(support.basis.map, support.factor, support.basis.choice.ridge, len(design.history))
    if not function.unpenalized_share:
        return replace(design, basis=replace(basis, uncertainty=Uncertainty(variance)))
    history_range = np.quantile(design.history, [TRIM, 1 - TRIM], axis=0)
    threshold = _penalty_threshold(support, function.unpenalized_share, function.unpenalized_ratio, seed)
    return replace(design, basis=replace(basis, uncertainty=Uncertainty(variance, threshold, history_range)))


def _penalty_threshold(design: RidgeDesign, share: float, at_most: float, seed: int) -> float:
    """The quantile of leave-one-out sqrt(k_post / ridge) over the rows, at most `at_most` times their median."""
    most, median = np.quantile(_left_out(design, seed).deviation, [share, 0.5])
    return float(min(most, at_most * median))


def calibrated_margin(design: RidgeDesign, targets: Floats, seed: int) -> float:
    """1.645 sigma times the mean over rows of leave-one-out sqrt(k_post / ridge) under Q's own kernel.

    That is half the width of the 90 % interval of Q at a new history, on average. Added to a U on gains, which is 0 for
    the usual action, it covers the error there; the same everywhere, it leaves decisions as they are. sigma is of the
    left-out residuals of these targets: at the iteration that chose the kernel they varied less.
    """
    rows, (q, _) = _left_out(design, seed), design.q(targets, -np.inf, np.inf)
    residual = (targets[rows.at] - q.mean - rows.phi @ q.weights) / (1 - rows.leverage)
    return float(NOMINAL * np.sqrt(np.mean(residual**2)) * rows.deviation.mean())


class _LeftOut(NamedTuple):
    """Rows of a design, or some of them, each left out in turn."""

    at: Ints  # (rows,)
    phi: Floats  # (rows, rank)
    leverage: Floats  # (rows,) h = phi'(Phi'Phi + ridge)^-1 phi
    deviation: Floats  # (rows,) sqrt(k_post / ridge), which without the row is sqrt(h / (1 - h))


def _left_out(design: RidgeDesign, seed: int) -> _LeftOut:
    at, mapped = subsample(len(design.history), THRESHOLD_ROWS, seed), design.basis.map
    history, action = design.history[at], design.action[at]
    phi = mapped.features(history, action)
    leverage = design.factor.leverage(phi)
    variance = leverage / (1 - leverage) + mapped.left_over(history, action) / design.factor.ridge
    return _LeftOut(at, phi, leverage, np.sqrt(variance))
