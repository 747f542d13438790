"""Effects of series, shrunk towards their group, and of groups, shrunk towards a common effect (empirical Bayes)."""

import math
from dataclasses import dataclass

import numpy as np

from lostsales.types import Floats, Ints

WIDE = 1.0  # prior precision of the common effects of columns of variance 1
FIRST_VARIANCE = 0.01  # of effects between groups before it is estimated, a quarter of it between series of a group
LEAST_VARIANCE = 1e-6  # of effects, against division by 0
PRIOR_EFFECTS = 2.0  # weight of the first variance in the estimated one, in effects


@dataclass(frozen=True, eq=False)
class Pooled:
    """Effects at three levels, and their posterior covariances."""

    common: Floats  # (effects,)
    by_group: Floats  # (groups, effects)
    by_series: Floats  # (series, effects)
    common_covariance: Floats  # (effects, effects)
    group_covariance: Floats  # (groups, effects, effects)
    covariance: Floats  # (series, effects, effects)
    group_spread: Floats  # (groups, effects) posterior variance of the deviations from the common effects
    series_spread: Floats  # (series, effects) posterior variance of the deviations from the effects of the group


@dataclass(frozen=True, eq=False)
class Variances:
    """Variances of effects between groups and between series of a group, each (effects,)."""

    groups: Floats
    series: Floats

    @classmethod
    def first(cls, effects: int) -> "Variances":
        """Starting values."""
        return cls(np.full(effects, FIRST_VARIANCE), np.full(effects, FIRST_VARIANCE / 4))


def pool(information: Floats, score: Floats, group: Ints, variances: Variances, shared: tuple[float, float]) -> Pooled:
    """Posterior of effects b_s ~ N(b_g, series), b_g ~ N(b, groups), given information A_s and score A_s b_s.

    `shared` are design effects: the factors by which shocks that series of a group, and those that all groups share in
    a period reduce the information of their sums.
    """
    p = information.shape[1]
    within, between = np.diag(1.0 / variances.series), np.diag(1.0 / variances.groups)
    of_series = _marginal(information, score, within)
    group_information, group_score = (sums_by_group(each, group) / shared[0] for each in of_series)
    of_groups = _marginal(group_information, group_score, between)
    common_covariance = np.linalg.inv(of_groups[0].sum(axis=0) / shared[1] + WIDE * np.eye(p))
    common = common_covariance @ of_groups[1].sum(axis=0) / shared[1]
    by_group, group_covariance, group_spread = _posterior(
        group_information, group_score, between, common, common_covariance
    )
    by_series, covariance, series_spread = _posterior(
        information, score, within, by_group[group], group_covariance[group]
    )
    return Pooled(
        common, by_group, by_series, common_covariance, group_covariance, covariance, group_spread, series_spread
    )


def sums_by_group(values: Floats, group: Ints) -> Floats:
    """Sums of values (series, ...) over groups, (groups, ...)."""
    from scipy.sparse import csr_array

    members = csr_array((np.ones(len(group)), (group, np.arange(len(group)))))
    flat = values.reshape(len(group), math.prod(values.shape[1:]))
    return np.asarray(members @ flat).reshape(members.shape[0], *values.shape[1:])


def updated_variances(found: Pooled, group: Ints) -> Variances:
    """Variances by a step of expectation-maximisation."""
    return Variances(
        _variance(found.by_group - found.common, found.group_spread),
        _variance(found.by_series - found.by_group[group], found.series_spread),
    )


def _variance(deviation: Floats, uncertain: Floats) -> Floats:
    n = len(deviation)
    total = (deviation**2 + uncertain).sum(axis=0) + PRIOR_EFFECTS * FIRST_VARIANCE / 4
    return np.asarray(np.maximum(total / (n + PRIOR_EFFECTS), LEAST_VARIANCE))


def _marginal(information: Floats, score: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Information P (A + P)^-1 A on the mean of effects with this prior precision, and its score P (A + P)^-1 s."""
    p = len(precision)
    both = np.concatenate([information, score[..., None]], axis=2)
    found = precision @ np.linalg.solve(information + precision, both)
    return found[..., :p], found[..., p]


def _posterior(
    information: Floats, score: Floats, precision: Floats, mean: Floats, covariance: Floats
) -> tuple[Floats, Floats, Floats]:
    """Posterior mean and covariance of effects whose prior mean is uncertain, and variances of the deviations."""
    own = np.linalg.inv(information + precision)
    pull = own @ precision
    found = (own @ (score + mean @ precision)[..., None])[..., 0]
    away = pull - np.eye(len(precision))
    spread = np.diagonal(own + away @ covariance @ np.swapaxes(away, -1, -2), axis1=1, axis2=2)
    return found, own + pull @ covariance @ np.swapaxes(pull, -1, -2), spread
