"""Choice of the products that a policy should decide for, and a bound on their gain that allows for the choice.

A matrix of contributions has one row a resampled unit and one column a product; the mean of a column is the gain of the
product. Products that are chosen because their gains look high look better than they are, so the gain of the choice is
cross-fitted: the products are chosen again without each fold of units, and counted on that fold alone.
"""

import numpy as np
from scipy.special import stdtr

from lostsales.data.confidence import quantile
from lostsales.evaluation.interval import Interval, degrees_of_freedom
from lostsales.types import Bools, Floats, Ints

FOLDS = 5  # of units, for the cross-fitted gain
FALSE_SHARE = 0.025  # of the products called proven that are expected not to be; the one-sided level of an interval
TINY = 1e-12  # against division by 0


def root_mean_square(shifts: Floats) -> Floats:
    """The root of the mean square over the first axis, 0 where it is empty."""
    return np.sqrt(np.mean(shifts**2, axis=0)) if len(shifts) else np.zeros(shifts.shape[1:])


def proven_products(contributions: Floats, shifts: Floats, units: Ints) -> Bools:
    """Products with a gain above zero, by Benjamini and Hochberg's procedure, (products,).

    With one product these are those whose 95 % interval lies above zero; with many, among those called proven an
    expected share of at most `FALSE_SHARE` is not. `shifts` (alternatives, products) are those under other laws of
    demand, `units` (products,) have rows of the product.
    """
    from scipy.stats import false_discovery_control

    mean, error = _mean_and_error(contributions, root_mean_square(shifts))
    degrees = np.array([degrees_of_freedom(each) for each in units.tolist()])
    chance = stdtr(degrees, -mean / np.maximum(error, TINY))  # of such a gain where there is none
    return np.asarray(false_discovery_control(chance) <= FALSE_SHARE)


def choose_products(contributions: Floats, shifts: Floats) -> Bools:
    """The products, in order of gain over its error, whose total gain has the greatest lower bound, (products,).

    None are chosen where no such bound is above zero.
    """
    units, products = contributions.shape
    mean, error = _mean_and_error(contributions, root_mean_square(shifts))
    order = np.argsort(-mean / np.maximum(error, TINY), kind="stable")
    total, total_error = _mean_and_error(
        np.cumsum(contributions[:, order], axis=1), root_mean_square(np.cumsum(shifts[:, order], axis=1))
    )
    bound = total - quantile(0.95, degrees_of_freedom(units)) * total_error
    best, chosen = int(bound.argmax()), np.zeros(products, dtype=bool)
    if bound[best] > 0:
        chosen[order[: best + 1]] = True
    return chosen


def cross_fitted_gain(contributions: Floats, shifts: Floats, chosen: Bools, weights: Floats) -> Interval:
    """The gain of choosing products, each fold of units counted for the products that the others choose.

    `chosen` is the choice from all units; `weights` (products,) multiply the gains, as for another length of time.
    """
    units = len(contributions)
    fold = np.arange(units) * min(FOLDS, units) // units
    counted = np.empty(units)
    for each in np.unique(fold):
        inside = fold == each
        counted[inside] = contributions[inside] @ (weights * choose_products(contributions[~inside], shifts))
    return Interval.of(counted, float(root_mean_square(shifts @ (weights * chosen))))


def _mean_and_error(contributions: Floats, model_uncertainty: Floats) -> tuple[Floats, Floats]:
    error = contributions.std(axis=0, ddof=1) / np.sqrt(len(contributions))
    return contributions.mean(axis=0), np.hypot(error, model_uncertainty)
