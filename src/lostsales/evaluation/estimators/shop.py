"""Gain of a policy in a shop: that of its replayed periods, alone or corrected where the log shows its prices.

The doubly robust gain adds, in rows whose logged price is near that of the policy, what the demand model misses there,
weighted by how rarely the log charges such a price for that product: it corrects a response of the wrong shape.
"""

import numpy as np
from scipy.linalg import hadamard

from lostsales.data.economics import UnitCosts
from lostsales.demand.shop import RealisedDemand
from lostsales.errors import LostSalesError
from lostsales.evaluation.assortment import AssortmentGain, ProductFigures, assortment_gain
from lostsales.evaluation.concerns import is_doubtful
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.results import Estimate, Overlap
from lostsales.evaluation.sensitivity import sensitivity
from lostsales.evaluation.service import compared_service
from lostsales.evaluation.task import EvaluationTask
from lostsales.policy.shop_replay import ReplayedShop
from lostsales.types import Floats

NEAR = 0.03  # difference of the logarithm within which two prices count as the same
LEAST_SHARE = 0.5  # of the replayed rows whose price the product must have had
LEAST_EFFECTIVE = 20.0  # rows that a correction needs
ALTERNATIVES = 64  # independent errors of products are told apart by so many signs
NOTE = "demand model: level that moves, season, response to prices and features"


def shop_estimate(task: EvaluationTask, name: str) -> Estimate:
    """Gain of a policy over the log in the periods of the log, by product and in total."""
    prepared = task.prepared
    replayed = task.replayed_shop
    if not replayed.is_counted.any():
        raise LostSalesError("the series of the log are too short to replay")
    overlap, weight = _overlap(prepared, replayed)
    gain = replayed.gain
    if name == "dr":
        effective = float(weight.sum() ** 2 / max(float(np.sum(weight**2)), 1e-12))
        sentence = (
            f"the correction rests on {effective:,.0f} effective rows of {np.count_nonzero(replayed.is_counted):,}"
        )
        overlap = Overlap("price", overlap.share, effective, effective >= LEAST_EFFECTIVE, sentence)
        gain = gain + weight * _missed(prepared, replayed)
    if not overlap.enough:
        return Estimate(name, overlap, reason=overlap.sentence)
    units, counted = prepared.units, replayed.is_counted.astype(np.float64)
    own, cash = units.mean(gain, counted), units.mean(replayed.cash_gain, counted)
    value, earned_cash = float(own.mean()), units.mean(prepared.log.cash)
    doubt = abs(value) if is_doubtful(prepared) else 0.0
    by_slope, shift = _uncertainty(prepared, replayed)
    total = counted.sum()
    error = float(np.hypot(np.sqrt((by_slope**2).sum()), shift.sum()) / total)
    error = float(np.hypot(error, doubt))
    horizon, discount = task.estimand.horizon, task.estimand.discount
    periods = horizon if discount == 1 else (1 - discount**horizon) / (1 - discount)
    profit = prepared.contributions + own
    return Estimate(
        estimator=name,
        overlap=overlap,
        profit=Interval.of(profit, error),
        cash=Interval.of(earned_cash + cash, error),
        discounted=Interval.of(profit * periods, error * periods),
        gain=Interval.of(own, error),
        cash_gain=Interval.of(cash, error),
        contributions=profit,
        model_uncertainty=error,
        sensitivity=None
        if prepared.panel is None
        else sensitivity(
            prepared.panel, value, prepared.price_slope_error, np.array([-1, 1]) * shift.sum() / total, doubt
        ),
        assortment=_assortment(prepared, replayed, gain, by_slope, shift, doubt > 0),
        service=compared_service(
            prepared.log,
            replayed.flow,
            replayed.logged,
            counted,
            prepared.products_in_log or len(prepared.log.products),
        ),
        notes=(NOTE, "units are paid when they are sold: stock and orders on the way at the end count at cost"),
    )


def _demand(prepared: PreparedLog) -> RealisedDemand:
    if prepared.realised is None:
        raise LostSalesError("no demand model can be fitted")
    return prepared.realised


def _overlap(prepared: PreparedLog, replayed: ReplayedShop) -> tuple[Overlap, Floats]:
    """Overlap in prices, and weights of rows whose logged price is near that of the policy, mean 1 where all are."""
    log, shop = prepared.log, _demand(prepared).shop
    rows, product = np.flatnonzero(replayed.is_counted), log.products.of_row
    own = shop.relative_price(rows, replayed.price[rows])
    logged = shop.relative_price(np.arange(len(log)), log.price)
    is_near = np.abs(own - logged[rows]) <= NEAR
    share_near, seen = np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
    order = np.lexsort((logged, product))
    starts = np.searchsorted(product[order], np.arange(len(log.products) + 1))
    for each in range(len(log.products)):
        mine, prices = product[rows] == each, logged[order[starts[each] : starts[each + 1]]]
        low, high = (np.searchsorted(prices, own[mine] + reach) for reach in (-NEAR - 1e-9, NEAR + 1e-9))
        share_near[mine] = (high - low) / max(len(prices), 1)
        seen[mine] = (own[mine] >= prices[0] - NEAR) & (own[mine] <= prices[-1] + NEAR)
    weight = np.zeros(len(log))
    weight[rows] = is_near / np.maximum(share_near, 1.0 / max(len(rows), 1))
    share = float(seen.mean())
    sentence = f"{share:.0%} of the prices that the policy would set are within those of their product"
    if share < LEAST_SHARE:
        sentence += "; the others were never observed: try them on a few products first"
    return Overlap("price", share, share * len(rows), share >= LEAST_SHARE, sentence), weight


def _missed(prepared: PreparedLog, replayed: ReplayedShop) -> Floats:
    """Margin of the demand that the model misses in each row, (rows,)."""
    realised = _demand(prepared)
    missed = realised.demand.mean(axis=0) - realised.shop.mean
    costs: UnitCosts = prepared.log.costs
    return np.asarray((replayed.price - costs.order) * missed * replayed.is_counted)


def _uncertainty(prepared: PreparedLog, replayed: ReplayedShop) -> tuple[Floats, Floats]:
    """Standard errors of the summed gain by the elasticity of each product and by a hidden cause, each (products,)."""
    slope = np.bincount(prepared.log.products.of_row, replayed.slope, len(prepared.log.products))
    return slope * _demand(prepared).shop.price_errors, np.asarray(slope * prepared.price_slope_error)


def _assortment(
    prepared: PreparedLog, replayed: ReplayedShop, gain: Floats, by_slope: Floats, shift: Floats, doubtful: bool
) -> AssortmentGain | None:
    """Gains by product; None where the log has no products."""
    earned, log = prepared.earned_by_product, prepared.log
    if earned is None:
        return None
    rows = np.maximum(log.products.counts(replayed.is_counted), 1.0)
    own = prepared.by_product(gain, replayed.is_counted)
    products = np.arange(len(rows))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], len(rows))
    signs[:ALTERNATIVES] = 1.0
    apart = hadamard(ALTERNATIVES)[:, products % ALTERNATIVES] * signs * by_slope / rows
    own = ProductFigures(own.value, own.without, apart).with_shift(shift / rows)
    if doubtful:
        own = own.with_shift(own.value)
    earned = ProductFigures(earned.value, earned.without, np.zeros_like(own.shifts))
    profit = ProductFigures(earned.value + own.value, earned.without + own.without, own.shifts)
    units = prepared.units
    return assortment_gain(log, units.of_row, len(units), earned, profit, prepared.products_in_log)
