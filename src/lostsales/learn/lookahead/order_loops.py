"""The search for an order in compiled code, one series after the other.

Order-up-to levels are rolled out on sampled paths of demand and of deliveries, and then today's order is varied with
the best of them behind it (one step of policy improvement: Bertsekas, 2022).
"""

import math
from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.data.economics import UnitCosts
from lostsales.demand.forecasting.moving_level_loops import LevelState, draw_paths
from lostsales.learn.lookahead.roll_out_loops import (
    LOST,
    MIXED,
    Futures,
    Terms,
    Unit,
    Work,
    order_of,
    rolled_out,
    work_of,
)
from lostsales.types import Bools, Floats, Ints

LEVELS = 13  # that are tried
ORDERS = 13  # that are tried around that of the best level
REACH = 1.5  # periods of demand by which they lie around it
LEAST_ARRIVING = 0.25  # share of an order that arrives, below which orders are not raised any further


class Situation(NamedTuple):
    """The open period of every series, and what its coming periods bring."""

    stock: Floats  # (series,)
    pipeline: Floats  # (series, columns) column k was ordered (columns - k) periods ago
    chances: Floats  # (series, longest lead time + 1) of lead times
    lost: Floats  # (series,) chance that an order never arrives
    exposure: Floats  # (series, periods) seasonal indices
    may_order: Bools  # (series, periods)
    price: Floats  # (series,), as all that follow but the fixed cost
    costs: UnitCosts  # each (series,)
    multiple: Floats  # orders are multiples of this, or any quantity where it is 0
    minimum: Floats  # an order is none or at least this
    limit: Floats  # the most that may be ordered today


class Draws(NamedTuple):
    """Common random numbers, each (paths, columns)."""

    chances: Floats  # of demand, by period
    errors: Floats  # the same as errors
    orders: Floats  # of the lead time of an order: those on the way, then those of the coming periods
    arrivals: Floats  # of the arrivals of a period, where orders do not cross


@compiled
def search_orders(
    state: LevelState, rates: Floats, counted: bool, at: Situation, terms: Terms, draws: Draws
) -> tuple[Floats, Floats, Floats]:
    """Order, its value and the mean demand of the open period, each (series,)."""
    n, (paths, periods), columns = len(at.stock), draws.chances.shape, at.pipeline.shape[1]
    longest = at.chances.shape[1] - 1
    order, value, mean = np.zeros(n), np.zeros(n), np.zeros(n)
    demand, lead = np.empty((periods, paths)), np.empty((columns + periods, paths), dtype=np.int64)
    arrivals, common_lead = np.zeros((periods + longest + 1, paths)), np.empty(periods, dtype=np.int64)
    means, cover, on_way, work = np.empty(periods), np.empty(periods), np.empty(paths), work_of(demand, arrivals)
    for i in range(n):
        draw_paths(state, i, at.exposure[i], draws.chances, draws.errors, rates, counted, demand.T)
        if i == 0 or at.lost[i] != at.lost[i - 1] or (at.chances[i] != at.chances[i - 1]).any():
            draw_lead_times(at.chances[i], at.lost[i], columns, terms, draws, lead)
            for t in range(periods):
                times = lead[columns + t]
                common_lead[t] = times[0] if (times == times[0]).all() else MIXED
        put_on_way(at.pipeline[i], lead, terms.share, arrivals, on_way)
        arriving = max((1.0 - at.lost[i]) * terms.share, LEAST_ARRIVING)
        unit = Unit(
            at.stock[i],
            at.price[i],
            UnitCosts(at.costs.lost[i], at.costs.order[i], at.costs.holding[i], at.costs.fixed_order),
            at.multiple[i],
            at.minimum[i],
            arriving,
        )
        for t in range(periods):
            means[t] = demand[t].mean()
        for t in range(periods):
            cover[t] = means[t : t + longest + terms.review].mean()
        mean[i] = means[0]
        futures = Futures(demand, arrivals, on_way, lead[columns:], common_lead, cover, at.may_order[i])
        order[i], value[i] = best_order(futures, at.limit[i], unit, terms, longest, work)
    return order, value, mean


@compiled
def best_order(
    futures: Futures, limit: float, unit: Unit, terms: Terms, longest: int, work: Work
) -> tuple[float, float]:
    """The order of today with the largest profit, and that profit."""
    by_path, cover, may_order = futures.demand.T, futures.cover[0], futures.may_order[0]
    span = longest + terms.review
    usual = max(cover, 1e-12)
    spread = by_path[:, : min(span, by_path.shape[1])].std() / usual
    top = span + 3.0 * max(1.0, spread * math.sqrt(span))
    on_way = futures.arrivals.T.sum() / len(by_path)
    tried, level, earned = np.empty(max(LEVELS, ORDERS)), np.empty(max(LEVELS, ORDERS)), np.empty(max(LEVELS, ORDERS))
    for c in range(LEVELS):
        level[c] = top * c / (LEVELS - 1)
        tried[c] = order_of((level[c] * cover - unit.stock - on_way) / unit.arriving, limit, may_order, unit)
    rolled_out(tried, level, LEVELS, futures, unit, terms, work, earned)
    best, value, behind = 0.0, -np.inf, 0.0
    for c in range(LEVELS):
        if earned[c] > value:
            best, value, behind = tried[c], earned[c], level[c]
    reach = REACH * max(cover * terms.review, 1.0 if unit.multiple == 1.0 else 0.0, unit.multiple)
    low = max(best - reach, 0.0)
    step = (best + reach - low) / (ORDERS - 1)
    count = 0
    for c in range(ORDERS):
        wanted = order_of(low + c * step, limit, may_order, unit)
        if wanted != best and (count == 0 or wanted != tried[count - 1]):
            tried[count], count = wanted, count + 1
    level[:] = behind
    rolled_out(tried, level, count, futures, unit, terms, work, earned)
    for c in range(count):
        if earned[c] > value:
            best, value = tried[c], earned[c]
    return best, value


@compiled
def draw_lead_times(chances: Floats, lost: float, columns: int, terms: Terms, draws: Draws, lead: Ints) -> None:
    """Fill `lead` (orders, paths) with lead times: of orders on the way in so many columns, then of new ones."""
    for s in range(lead.shape[1]):
        for k in range(columns):
            waited = columns - k
            least = waited + (1 if terms.shown else 0)
            lead[k, s] = lead_time(chances, lost, least, -waited, s, draws.orders[s, k], draws, terms.crossing)
        for t in range(len(lead) - columns):
            draw = draws.orders[s, columns + t]
            lead[columns + t, s] = lead_time(chances, lost, 0, t, s, draw, draws, terms.crossing)


@compiled
def put_on_way(pipeline: Floats, lead: Ints, share: float, arrivals: Floats, on_way: Floats) -> None:
    """Fill `arrivals` (periods, paths) with what is on the way, and `on_way` (paths,) with its sum."""
    columns = len(pipeline)
    arrivals[:] = 0.0
    for k in range(columns):
        if pipeline[k] > 0.0:
            for s in range(arrivals.shape[1]):
                if lead[k, s] != LOST:
                    arrivals[lead[k, s] - (columns - k), s] += share * pipeline[k]
    on_way[:] = 0.0
    for each in arrivals:
        on_way += each


@compiled
def lead_time(
    chances: Floats, lost: float, least: int, placed: int, s: int, draw: float, draws: Draws, crossing: bool
) -> int:
    """The lead time of an order that was placed so, given that it is at least `least`."""
    possible = lost + chances[least:].sum()
    if possible <= 0.0:
        return LOST
    if crossing:
        reached, draw = 0.0, draw * possible
        for time in range(least, len(chances)):
            reached += chances[time]
            if draw < reached:
                return time
        return LOST if lost > 0.0 else len(chances) - 1
    if draw * possible < lost:
        return LOST
    waiting = chances[least:].sum()
    for time in range(least, len(chances)):
        # All orders that have waited long enough arrive together, by one draw a period.
        if draws.arrivals[s, placed + time] * waiting < chances[time]:
            return time
        waiting -= chances[time]
    return len(chances) - 1
