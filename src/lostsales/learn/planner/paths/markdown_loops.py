"""Prices until a season ends, in compiled code: a dynamic program over stock, price and changes left.

Gallego and van Ryzin (1994), Optimal Dynamic Pricing of Inventories with Stochastic Demand over Finite Horizons. Stock
that can still be reordered is worth at most its order cost; later, what the prices until the end make of it.
"""

import math
from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.types import Bools, Floats, Ints

STOCKS = 240  # steps of the stock at most: larger quantities are counted in lots
LEAST_EXCESS = 1e-9  # of the variance over the mean of a count, below which it is Poisson


class Season(NamedTuple):
    """Open periods of series whose season ends."""

    stock: Floats  # (series,) with what is on the way
    periods: Ints  # (series,) until the season ends, today's among them
    reorders: Ints  # (series,) periods from today on in which an order still arrives in time
    price: Floats  # (series, prices) rising, NaN where there are fewer; the last is the price of the period before
    effect: Floats  # (series, prices) factor of demand at a price
    mean: Floats  # (series, longest season) mean demand of a period where the factor is 1
    spread: Floats  # (series,) variance beyond Poisson's relative to the squared mean
    lost_cost: Floats  # (series,) as all that follow
    order_cost: Floats
    holding_cost: Floats
    salvage: Floats
    changes: Ints  # price changes that are left, -1 for any number
    may_change: Bools  # of the price today


@compiled
def demand_chances(mean: float, variance: float, chances: Floats) -> None:
    """Fill `chances` with the probabilities of 0, 1, ... units, the last one of that many or more.

    Negative binomial where the variance exceeds the mean, else normal between half units.
    """
    last, left = len(chances) - 1, 1.0
    if variance >= mean * (1.0 - 1e-9):
        excess = max(variance / max(mean, 1e-12) - 1.0, LEAST_EXCESS)
        chance = math.exp(-mean * math.log1p(excess) / excess)
        for k in range(last):
            chances[k] = min(chance, left)
            left -= chances[k]
            chance *= (mean / (1.0 + excess) + k * excess / (1.0 + excess)) / (k + 1.0)
    else:
        below = 0.0
        for k in range(last):
            reached = 0.5 * math.erfc((mean - k - 0.5) / math.sqrt(2.0 * max(variance, 1e-12)))
            chances[k] = max(reached - below, 0.0)
            below, left = reached, left - chances[k]
    chances[last] = max(left, 0.0)


@compiled
def season_prices(
    season: Season, discount: float, counted: bool, markdowns_only: bool, best: Ints, value: Floats, left: Floats
) -> None:
    """Fill today's best price (its column), its value, and the units expected to be left at the end, (series,)."""
    n_prices = season.price.shape[1]
    for i in range(len(season.stock)):
        order_cost, periods = season.order_cost[i], season.periods[i]
        most = season.stock[i]
        if season.reorders[i] > 0:
            reach = min(periods, 1 + periods - season.reorders[i] + 2)
            demand = season.mean[i, :reach].sum() * np.nanmax(season.effect[i])
            most = max(most, demand + 3.0 * math.sqrt(demand))
        lot = max(most / STOCKS, 1e-9) if not counted else float(max(math.ceil(most / STOCKS), 1))
        n = math.ceil(most / lot - 1e-9) + 1
        layers = 1 if season.changes[i] < 0 else season.changes[i] + 1
        later, units = np.empty((layers, n_prices, n)), np.empty((layers, n_prices, n))
        for y in range(n):
            later[:, :, y], units[:, :, y] = season.salvage[i] * lot * y, lot * y
        q, kept, chances = np.empty((layers, n_prices, n)), np.empty((layers, n_prices, n)), np.empty(n + 1)
        for t in range(periods - 1, -1, -1):
            for p in range(n_prices):
                price = season.price[i, p]
                if math.isnan(price):
                    q[:, p] = -np.inf
                    continue
                mean = season.mean[i, t] * season.effect[i, p]
                variance = (mean if counted else 0.0) + season.spread[i] * mean * mean
                demand_chances(mean / lot, variance / lot / lot, chances)
                expected = mean / lot
                for y in range(n):
                    sold, short, above = 0.0, 0.0, 1.0
                    for k in range(y):
                        sold += chances[k] * k
                        above -= chances[k]
                    sold += max(above, 0.0) * y
                    short = max(expected - sold, 0.0)
                    now = price * sold - season.lost_cost[i] * short - season.holding_cost[i] * (y - sold)
                    for c in range(layers):
                        follows, remains = max(above, 0.0) * later[c, p, 0], max(above, 0.0) * units[c, p, 0]
                        for k in range(y):
                            follows += chances[k] * later[c, p, y - k]
                            remains += chances[k] * units[c, p, y - k]
                        q[c, p, y], kept[c, p, y] = lot * now + discount * follows, remains
            if t == 0:
                break
            for c in range(layers):
                spends = c if season.changes[i] < 0 else c - 1
                for p in range(n_prices):
                    for y in range(n):
                        found, at_end = q[c, p, y], kept[c, p, y]
                        if spends >= 0:
                            for other in range(n_prices):
                                cheaper = season.price[i, other] <= season.price[i, p]
                                if q[spends, other, y] > found and (cheaper or not markdowns_only):
                                    found, at_end = q[spends, other, y], kept[spends, other, y]
                        later[c, p, y], units[c, p, y] = found, at_end
                    if t < season.reorders[i]:
                        for y in range(n - 2, -1, -1):
                            if later[c, p, y + 1] - order_cost * lot > later[c, p, y]:
                                later[c, p, y] = later[c, p, y + 1] - order_cost * lot
                                units[c, p, y] = units[c, p, y + 1]
        place = min(season.stock[i] / lot, n - 1.0)
        low = min(int(place), n - 1)
        high, share = min(low + 1, n - 1), place - low
        last, top = n_prices - 1, layers - 1
        best[i], value[i] = last, (1.0 - share) * q[top, last, low] + share * q[top, last, high]
        left[i] = (1.0 - share) * kept[top, last, low] + share * kept[top, last, high]
        is_first = math.isnan(season.price[i, last])
        if is_first:
            value[i], left[i] = -np.inf, 0.0
        below = top if season.changes[i] < 0 or is_first else top - 1
        if season.may_change[i] and below >= 0:
            for p in range(last):
                if math.isnan(season.price[i, p]) or (markdowns_only and season.price[i, p] > season.price[i, last]):
                    continue
                found = (1.0 - share) * q[below, p, low] + share * q[below, p, high]
                if found > value[i] + 1e-9:
                    best[i], value[i] = p, found
                    left[i] = (1.0 - share) * kept[below, p, low] + share * kept[below, p, high]
