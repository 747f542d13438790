"""The search for an order in compiled code, one series after the other.

Order-up-to levels are rolled out on sampled paths of demand and of deliveries, and then today's order is varied with
the best of them behind it (one step of policy improvement: Bertsekas, 2022).
"""

import math
from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.demand.forecasting.moving_level_loops import LevelState, draw_paths
from lostsales.types import Bools, Floats, Ints

LEVELS = 13  # that are tried
ORDERS = 13  # that are tried around that of the best level
REACH = 1.5  # periods of demand by which they lie around it
LOST = -1  # instead of the lead time of an order that never arrives
LEAST_ARRIVING = 0.25


class Situation(NamedTuple):
    """The open period of every series, and what its coming periods bring."""

    stock: Floats  # (series,)
    pipeline: Floats  # (series, columns) column k was ordered (columns - k) periods ago
    chances: Floats  # (series, longest lead time + 1) of lead times
    lost: Floats  # (series,) chance that an order never arrives
    exposure: Floats  # (series, periods) seasonal indices
    may_order: Bools  # (series, periods)
    price: Floats  # (series,), as all that follow
    lost_cost: Floats
    order_cost: Floats
    holding_cost: Floats
    multiple: Floats  # orders are multiples of this, or any quantity where it is 0
    minimum: Floats  # an order is none or at least this
    limit: Floats  # the most that may be ordered today


class Terms(NamedTuple):
    """What all series have in common."""

    discount: float
    fixed_cost: float
    share: float  # of an order that arrives
    capacity: float
    forbids: bool  # an order must fit the capacity; else what does not fit is discarded
    most_on_way: float
    netted: bool
    crossing: bool
    review: int  # periods between order days
    shown: bool  # what arrives in the open period is in its stock already


class Draws(NamedTuple):
    """Common random numbers, each (paths, columns)."""

    chances: Floats  # of demand, by period
    errors: Floats  # the same as errors
    orders: Floats  # of the lead time of an order: those on the way, then those of the coming periods
    arrivals: Floats  # of the arrivals of a period, where orders do not cross


class Unit(NamedTuple):
    """A series within the search."""

    price: float
    lost_cost: float
    order_cost: float
    holding_cost: float
    multiple: float
    minimum: float
    arriving: float  # share of what is ordered that arrives in the mean


@compiled
def search_orders(
    state: LevelState, rates: Floats, counted: bool, at: Situation, terms: Terms, draws: Draws
) -> tuple[Floats, Floats, Floats]:
    """Order, its value and the mean demand of the open period, each (series,)."""
    n, (paths, periods) = len(at.stock), draws.chances.shape
    longest = at.chances.shape[1] - 1
    order, value, mean = np.zeros(n), np.zeros(n), np.zeros(n)
    demand, lead = np.empty((paths, periods)), np.empty((paths, periods), dtype=np.int64)
    arrivals = np.empty((paths, periods + longest + 1))
    means, cover = np.empty(periods), np.empty(periods)
    for i in range(n):
        draw_paths(state, i, at.exposure[i], draws.chances, draws.errors, rates, counted, demand)
        draw_deliveries(at.pipeline[i], at.chances[i], at.lost[i], terms, draws, arrivals, lead)
        arriving = max((1.0 - at.lost[i]) * terms.share, LEAST_ARRIVING)
        unit = Unit(
            at.price[i], at.lost_cost[i], at.order_cost[i], at.holding_cost[i], at.multiple[i], at.minimum[i], arriving
        )
        for t in range(periods):
            means[t] = demand[:, t].mean()
        for t in range(periods):
            cover[t] = means[t : t + longest + terms.review].mean()
        mean[i] = means[0]
        order[i], value[i] = best_order(
            demand, arrivals, lead, cover, at.may_order[i], at.stock[i], at.limit[i], unit, terms, longest
        )
    return order, value, mean


@compiled
def best_order(
    demand: Floats,
    arrivals: Floats,
    lead: Ints,
    cover: Floats,
    may_order: Bools,
    stock: float,
    limit: float,
    unit: Unit,
    terms: Terms,
    longest: int,
) -> tuple[float, float]:
    """The order of today with the largest profit, and that profit."""
    span = longest + terms.review
    usual = max(cover[0], 1e-12)
    spread = demand[:, : min(span, demand.shape[1])].std() / usual
    top = span + 3.0 * max(1.0, spread * math.sqrt(span))
    on_way = arrivals.sum() / len(arrivals)
    best, value, level = 0.0, -np.inf, 0.0
    for c in range(LEVELS):
        tried = top * c / (LEVELS - 1)
        wanted = order_of((tried * cover[0] - stock - on_way) / unit.arriving, limit, may_order[0], unit)
        found = rolled_out(wanted, tried, demand, arrivals, lead, cover, may_order, stock, unit, terms)
        if found > value:
            best, value, level = wanted, found, tried
    reach = REACH * max(cover[0] * terms.review, 1.0 if unit.multiple == 1.0 else 0.0, unit.multiple)
    low = max(best - reach, 0.0)
    step = (best + reach - low) / (ORDERS - 1)
    before = -1.0
    for c in range(ORDERS):
        wanted = order_of(low + c * step, limit, may_order[0], unit)
        if wanted == before:
            continue
        before = wanted
        found = rolled_out(wanted, level, demand, arrivals, lead, cover, may_order, stock, unit, terms)
        if found > value:
            best, value = wanted, found
    return best, value


@compiled
def order_of(wanted: float, limit: float, may_order: bool, unit: Unit) -> float:
    """The nearest quantity that may be ordered."""
    if not may_order or wanted <= 0.0:
        return 0.0
    if unit.minimum > 0.0 and wanted < unit.minimum:
        wanted = unit.minimum if wanted >= 0.5 * unit.minimum else 0.0
    if unit.multiple > 0.0:
        wanted = math.floor(wanted / unit.multiple + 0.5) * unit.multiple
    if wanted > limit:
        wanted = limit if unit.multiple <= 0.0 else math.floor(limit / unit.multiple + 1e-9) * unit.multiple
        if wanted < unit.minimum:
            wanted = 0.0
    return wanted


@compiled
def rolled_out(
    first: float,
    level: float,
    demand: Floats,
    arrivals: Floats,
    lead: Ints,
    cover: Floats,
    may_order: Bools,
    stock: float,
    unit: Unit,
    terms: Terms,
) -> float:
    """Mean discounted profit of ordering `first` today, and later up to `level` times the usual demand of a period."""
    paths, periods = demand.shape
    total = 0.0
    coming = np.empty(arrivals.shape[1])
    for s in range(paths):
        coming[:] = arrivals[s]
        on_way, held, worth = coming.sum(), stock, 1.0
        for t in range(periods):
            if t == 0:
                order = first
            else:
                most = terms.most_on_way - on_way
                if terms.forbids:
                    most = min(most, terms.capacity - max(held, 0.0) - on_way)
                wanted = (level * cover[t] - held - on_way) / unit.arriving
                order = order_of(wanted, max(most, 0.0), may_order[t], unit)
            if lead[s, t] != LOST:
                coming[t + lead[s, t]] += terms.share * order
                on_way += terms.share * order
            on_way -= coming[t]
            held = min(max(held + coming[t], 0.0), terms.capacity)
            sold = min(held, demand[s, t])
            short = demand[s, t] - sold
            held -= sold
            profit = unit.price * sold - unit.lost_cost * short - unit.holding_cost * held - unit.order_cost * order
            total += worth * (profit - (terms.fixed_cost if order > 0.0 else 0.0))
            worth *= terms.discount
            if terms.netted:
                held -= short
        # What is left saves as much of later orders.
        total += worth * unit.order_cost * (max(held, 0.0) + on_way)
    return float(total / paths)


@compiled
def draw_deliveries(
    pipeline: Floats, chances: Floats, lost: float, terms: Terms, draws: Draws, arrivals: Floats, lead: Ints
) -> None:
    """Fill `arrivals` with what is on the way, and `lead` with the times of new orders, both (paths, periods)."""
    columns = len(pipeline)
    arrivals[:] = 0.0
    for s in range(len(arrivals)):
        for k in range(columns):
            if pipeline[k] <= 0.0:
                continue
            waited = columns - k
            least = waited + (1 if terms.shown else 0)
            time = lead_time(chances, lost, least, -waited, s, draws.orders[s, k], draws, terms.crossing)
            if time != LOST:
                arrivals[s, time - waited] += terms.share * pipeline[k]
        for t in range(lead.shape[1]):
            draw = draws.orders[s, columns + t]
            lead[s, t] = lead_time(chances, lost, 0, t, s, draw, draws, terms.crossing)


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
