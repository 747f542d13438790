"""Most profitable prices of products if stock suffices: of demand alone, so also for tables without stock."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.assortment import periods_a_week
from lostsales.data.confidence import margin
from lostsales.data.log import SalesLog
from lostsales.demand.model.exposure import DemandExposure
from lostsales.errors import LostSalesError
from lostsales.types import Array, Floats

CANDIDATES = 25  # prices from the lowest to the highest at which a product was sold


@dataclass(frozen=True, eq=False)
class BestPrices:
    """Best price of each product within those at which it was sold, and what it gains over the logged prices.

    Gains are of margin (price minus order cost), per week, or per period where periods are plain numbers; their 95 %
    band is that of the elasticity.
    """

    names: Array  # (products,)
    usual: Floats  # (products,)
    price: Floats  # (products,)
    gain: Floats  # (products,)
    low: Floats  # (products,)
    high: Floats  # (products,)
    per: str  # week or period


def best_prices(log: SalesLog, market: DemandExposure, mean: Floats, errors: Floats) -> BestPrices:
    """Find them, given the demand of every row (rows,) and the errors of the elasticities (products,)."""
    if log.costs is None:
        raise LostSalesError("the best price of a product depends on its cost: set [costs] order in the problem")
    product, count = log.products.of_row, len(log.products)
    lowest, highest = np.full(count, np.inf), np.zeros(count)
    np.minimum.at(lowest, product, log.price)
    np.maximum.at(highest, product, log.price)
    step = np.linspace(0.0, 1.0, CANDIDATES)
    candidates = np.round(lowest[:, None] + (highest - lowest)[:, None] * step, 2)
    candidates = np.clip(candidates, lowest[:, None], highest[:, None])
    logged = log.price[:, None]
    cost = np.broadcast_to(log.costs.order, len(log))[:, None]
    before = (log.price - cost[:, 0]) * mean
    periods = periods_a_week(log)
    scale = (1.0 if periods is None else periods) / np.bincount(product, minlength=count)

    def gains(price: Floats, shift: Floats | float = 0.0) -> Floats:
        """Gain of each product at prices of its rows (rows, prices), (products, prices)."""
        effect = market.price_effect(product, price) - market.price_effect(product, logged)
        found = (price - cost) * mean[:, None] * np.exp(effect + shift) - before[:, None]
        return np.array([np.bincount(product, each, count) * scale for each in found.T]).T

    at = gains(candidates[product]).argmax(axis=1)
    price = candidates[np.arange(count), at]
    own = price[product][:, None]
    shift = margin(errors)[product][:, None] * (market.relative(product, own) - market.relative(product, logged))
    gain, *ends = (gains(own, side * shift)[:, 0] for side in (0.0, -1.0, 1.0))
    usual = market.usual_price[:count]
    per = "period" if periods is None else "week"
    return BestPrices(log.products.names, usual, price, gain, np.minimum(*ends), np.maximum(*ends), per)
