"""The penalty of a design: the support kernel that measures uncertainty, and the threshold from which it counts."""

from dataclasses import replace

import numpy as np

from lostsales.errors import SettingError
from lostsales.learn.function.depth_regression import RidgeDesign, build, subsample
from lostsales.learn.function.penalty import Uncertainty
from lostsales.learn.function.posterior_variance import posterior_variance_of
from lostsales.learn.function.q_function import FunctionClass, Hyperparameters, QBasis
from lostsales.types import Floats

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
    variance = posterior_variance_of(support.basis.map, support.factor)
    if not function.unpenalized_share:
        return replace(design, basis=replace(basis, uncertainty=Uncertainty(variance)))
    history_range = np.quantile(design.history, [TRIM, 1 - TRIM], axis=0)
    threshold = _penalty_threshold(support, function.unpenalized_share, function.unpenalized_ratio, seed)
    return replace(design, basis=replace(basis, uncertainty=Uncertainty(variance, threshold, history_range)))


def _penalty_threshold(design: RidgeDesign, share: float, at_most: float, seed: int) -> float:
    """The quantile of leave-one-out sqrt(k_post / ridge) over the rows, at most `at_most` times their median."""
    most, median = np.quantile(_left_out(design, seed), [share, 0.5])
    return float(min(most, at_most * median))


def calibrated_margin(design: object, seed: int) -> float:
    """1.645 sigma times the mean over rows of leave-one-out sqrt(k_post / ridge) under Q's own kernel.

    That is half the width of the 90 % interval of Q at a new history, on average. Added to a U on gains, which is 0 for
    the usual action, it covers the error there; the same everywhere, it leaves decisions as they are.
    """
    if not isinstance(design, RidgeDesign):
        raise SettingError('penalty = "calibrated" needs a kernel or linear function: it has a posterior variance')
    return float(NOMINAL * design.basis.choice.sigma * _left_out(design, seed).mean())


def _left_out(design: RidgeDesign, seed: int) -> Floats:
    """sqrt(k_post / ridge) of rows, or of some of them, each left out in turn.

    A row of leverage h = phi'(Phi'Phi + ridge)^-1 phi has k_post / ridge = h / (1 - h) when it is left out.
    """
    at, mapped = subsample(len(design.history), THRESHOLD_ROWS, seed), design.basis.map
    history, action = design.history[at], design.action[at]
    leverage = design.factor.leverage(mapped.features(history, action))
    return np.asarray(np.sqrt(leverage / (1 - leverage) + mapped.left_over(history, action) / design.factor.ridge))
