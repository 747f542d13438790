"""The search for price and order in compiled code, one series after the other.

Order-up-to levels are rolled out on sampled paths of demand and of deliveries at the planned prices, and then today's
order and price are varied with the best of them behind it (one step of policy improvement: Bertsekas, 2022). All
actions are compared on the same random numbers.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.data.economics import UnitCosts
from lostsales.demand.model.moving_level_loops import LevelState, draw_paths
from lostsales.learn.planner.paths.roll_out_loops import (
    FOR_EVER,
    LOST,
    MIXED,
    Futures,
    Shelves,
    Terms,
    Unit,
    Work,
    expected_waste,
    open_shelf,
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
    price: Floats  # (series, periods) planned
    choices: Floats  # (series, choices) prices that may be charged today instead of the planned one
    effect: Floats  # (series, choices) factor of demand at such a price, relative to the planned one
    penalty: Floats  # (series, choices) subtracted from the value of such a price
    costs: UnitCosts  # each (series,), as all that follow but the fixed cost
    multiple: Floats  # orders are multiples of this, or any quantity where it is 0
    minimum: Floats  # an order is none or at least this
    limit: Floats  # the most that may be ordered today
    shelves: Shelves = FOR_EVER
    # Where seasons end, (series,): value of a unit that is left then, NaN where one ends later, and periods until then.
    salvage: Floats = np.empty(0)
    last: Ints = np.empty(0, dtype=np.int64)


def kept_prices(price: Floats, periods: int) -> dict[str, Any]:
    """Fields of a situation in which prices (series,) are kept: no other price may be charged."""
    none = np.empty((len(price), 0))
    planned = np.ascontiguousarray(np.broadcast_to(price[:, None], (len(price), periods)))
    return {"price": planned, "choices": none, "effect": none, "penalty": none}


class Draws(NamedTuple):
    """Common random numbers, each (paths, columns)."""

    chances: Floats  # of demand, by period
    errors: Floats  # the same as errors
    orders: Floats  # of the lead time of an order: those on the way, then those of the coming periods
    arrivals: Floats  # of the arrivals of a period, where orders do not cross


class Found(NamedTuple):
    """Best actions, and the best at another price; at another order where the price is the only one. Each (series,)."""

    price: Floats
    order: Floats
    value: Floats
    mean_demand: Floats  # of the open period at that price
    next_price: Floats  # NaN where there is no other action
    next_order: Floats
    next_value: Floats  # -inf where there is no other action


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
def fill_cover(demand: Floats, span: int, means: Floats, cover: Floats) -> None:
    """Fill `means` (periods,) and `cover` (periods, 1) with the mean demand of each period and of those of an order."""
    for t in range(len(means)):
        means[t] = demand[t].mean()
    for t in range(len(means)):
        cover[t, 0] = means[t : t + span].mean()


@compiled
def doomed_today(futures: Futures, unit: Unit, span: int, work: Work) -> float:
    """Units of stock and orders on the way that are thrown away before the last period that an order covers."""
    paths, found = futures.demand.shape[1], 0.0
    if unit.shelf.life > 0:
        for s in range(paths):
            found += expected_waste(-2, futures.arrivals, 0, s, futures.cover[0, 0], span - 1, unit.shelf, work)
    return float(found / paths)


@compiled
def order_up_to_level(level: float, futures: Futures, limit: float, unit: Unit, doomed: float) -> float:
    """Order of today that fills stock and orders on the way up to a level, in periods of demand."""
    on_way = futures.arrivals.T.sum() / futures.demand.shape[1]
    wanted = (level * futures.cover[0, 0] + doomed - unit.stock - on_way) / unit.arriving
    return float(order_of(wanted, limit, futures.may_order[0], unit))


@compiled
def best_level(
    futures: Futures, limit: float, unit: Unit, terms: Terms, longest: int, work: Work
) -> tuple[float, float, float]:
    """Order-up-to level with the largest profit, in periods of demand, the order that reaches it, and that profit."""
    by_path, span = futures.demand.T, longest + terms.review
    spread = by_path[:, : min(span, by_path.shape[1])].std() / max(futures.cover[0, 0], 1e-12)
    top = span + 3.0 * max(1.0, spread * math.sqrt(span))
    tried, level, earned = np.empty(LEVELS), np.empty(LEVELS), np.empty(LEVELS)
    doomed = doomed_today(futures, unit, span, work)
    for c in range(LEVELS):
        level[c] = top * c / (LEVELS - 1)
        tried[c] = order_up_to_level(level[c], futures, limit, unit, doomed)
    rolled_out(tried, level, len(tried), futures, unit, terms, work, earned)
    best, value, behind = 0.0, -np.inf, 0.0
    for c in range(LEVELS):
        if earned[c] > value:
            best, value, behind = tried[c], earned[c], level[c]
    return behind, best, value


@compiled
def improved(
    start: float,
    value: float,
    level: float,
    limit: float,
    futures: Futures,
    unit: Unit,
    terms: Terms,
    work: Work,
) -> tuple[float, float, float, float]:
    """Best of the orders of today around `start`, each continued by a level, and its profit; then the second best.

    `start` itself has that `value`; it is tried as well where that is not known (-inf).
    """
    cover, may_order = futures.cover[0, 0], futures.may_order[0]
    reach = REACH * max(cover * terms.review, 1.0 if unit.multiple == 1.0 else 0.0, unit.multiple)
    low = max(start - reach, 0.0)
    step = (start + reach - low) / (ORDERS - 1)
    tried, levels, earned = np.empty(ORDERS + 1), np.full(ORDERS + 1, level), np.empty(ORDERS + 1)
    count = 0
    if value == -np.inf:
        tried[0], count = start, 1
    for c in range(ORDERS):
        wanted = order_of(low + c * step, limit, may_order, unit)
        if wanted != start and (count == 0 or wanted != tried[count - 1]):
            tried[count], count = wanted, count + 1
    rolled_out(tried, levels, count, futures, unit, terms, work, earned)
    best, second, behind = start, start, -np.inf
    for c in range(count):
        if earned[c] > value:
            second, behind = best, value
            best, value = tried[c], earned[c]
        elif earned[c] > behind:
            second, behind = tried[c], earned[c]
    return best, value, second, behind


@compiled
def opened(
    i: int,
    at: Situation,
    terms: Terms,
    draws: Draws,
    demand: Floats,
    lead: Ints,
    arrivals: Floats,
    common_lead: Ints,
    means: Floats,
    cover: Floats,
    on_way: Floats,
    work: Work,
) -> tuple[Futures, Unit]:
    """Futures of a series at its planned prices, in the room that is given for them, and the series."""
    columns, longest = at.pipeline.shape[1], at.chances.shape[1] - 1
    if i == 0 or at.lost[i] != at.lost[i - 1] or (at.chances[i] != at.chances[i - 1]).any():
        draw_lead_times(at.chances[i], at.lost[i], columns, terms, draws, lead)
        for t in range(len(common_lead)):
            times = lead[columns + t]
            common_lead[t] = times[0] if (times == times[0]).all() else MIXED
    put_on_way(at.pipeline[i], lead, terms.share, arrivals, on_way)
    arriving = max((1.0 - at.lost[i]) * terms.share, LEAST_ARRIVING)
    costs = UnitCosts(at.costs.lost[i], at.costs.order[i], at.costs.holding[i], at.costs.fixed_order)
    worth, last, shelf = at.costs.order[i], len(common_lead), open_shelf(at.shelves, i, work)
    if len(at.last) > 0 and not math.isnan(at.salvage[i]):
        worth, last = at.salvage[i], at.last[i]
    unit = Unit(at.stock[i], costs, at.multiple[i], at.minimum[i], arriving, worth, last, shelf)
    fill_cover(demand, longest + terms.review, means, cover)
    futures = Futures(demand, at.price[i], arrivals, on_way, lead[columns:], common_lead, cover, at.may_order[i])
    return futures, unit


@compiled
def order_values(
    state: LevelState, rates: Floats, counted: bool, at: Situation, terms: Terms, draws: Draws, orders: Floats
) -> Floats:
    """Value of orders of today at the planned prices, each continued by the best level, (series, orders)."""
    n, (paths, periods), columns = len(at.stock), draws.chances.shape, at.pipeline.shape[1]
    longest, value, level = at.chances.shape[1] - 1, np.empty(orders.shape), np.empty(orders.shape[1])
    demand, lead = np.empty((periods, paths)), np.empty((columns + periods, paths), dtype=np.int64)
    arrivals, common_lead = np.zeros((periods + longest + 1, paths)), np.empty(periods, dtype=np.int64)
    means, cover, on_way = np.empty(periods), np.empty((periods, 1)), np.empty(paths)
    work = work_of(demand, arrivals, at.shelves.units.shape[1])
    for i in range(n):
        draw_paths(state, i, at.exposure[i], draws.chances, draws.errors, rates, counted, demand)
        futures, unit = opened(i, at, terms, draws, demand, lead, arrivals, common_lead, means, cover, on_way, work)
        level[:] = best_level(futures, at.limit[i], unit, terms, longest, work)[0]
        rolled_out(orders[i], level, orders.shape[1], futures, unit, terms, work, value[i])
    return value


@compiled
def search_actions(state: LevelState, rates: Floats, counted: bool, at: Situation, terms: Terms, draws: Draws) -> Found:
    """Find price and order of every series."""
    n, (paths, periods), columns = len(at.stock), draws.chances.shape, at.pipeline.shape[1]
    longest = at.chances.shape[1] - 1
    found = Found(
        at.price[:, 0].copy(),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.full(n, np.nan),
        np.full(n, np.nan),
        np.full(n, -np.inf),
    )
    demand, lead = np.empty((periods, paths)), np.empty((columns + periods, paths), dtype=np.int64)
    varied, varied_price, varied_exposure = np.empty((periods, paths)), np.empty(periods), np.empty(periods)
    arrivals, common_lead = np.zeros((periods + longest + 1, paths)), np.empty(periods, dtype=np.int64)
    means, cover, varied_cover = np.empty(periods), np.empty((periods, 1)), np.empty((periods, 1))
    on_way, work = np.empty(paths), work_of(demand, arrivals, at.shelves.units.shape[1])
    for i in range(n):
        draw_paths(state, i, at.exposure[i], draws.chances, draws.errors, rates, counted, demand)
        futures, unit = opened(i, at, terms, draws, demand, lead, arrivals, common_lead, means, cover, on_way, work)
        level, order, value = best_level(futures, at.limit[i], unit, terms, longest, work)
        order, value, second, behind = improved(order, value, level, at.limit[i], futures, unit, terms, work)
        found.order[i], found.value[i], found.mean_demand[i] = order, value, means[0]
        for c in range(at.choices.shape[1]):
            if at.choices[i, c] == at.price[i, 0] or math.isnan(at.choices[i, c]):
                continue
            varied_price[:], varied_exposure[:] = at.price[i], at.exposure[i]
            for t in range(min(terms.hold, periods)):
                varied_price[t] = at.choices[i, c]
                varied_exposure[t] *= at.effect[i, c]
            draw_paths(state, i, varied_exposure, draws.chances, draws.errors, rates, counted, varied)
            fill_cover(varied, longest + terms.review, means, varied_cover)
            other = Futures(
                varied, varied_price, arrivals, on_way, lead[columns:], common_lead, varied_cover, at.may_order[i]
            )
            start = order_up_to_level(
                level, other, at.limit[i], unit, doomed_today(other, unit, longest + terms.review, work)
            )
            order, value, _, _ = improved(start, -np.inf, level, at.limit[i], other, unit, terms, work)
            value -= at.penalty[i, c]
            if value > found.value[i]:
                found.next_price[i], found.next_order[i] = found.price[i], found.order[i]
                found.next_value[i] = found.value[i]
                found.price[i], found.order[i], found.value[i] = at.choices[i, c], order, value
                found.mean_demand[i] = means[0]
            elif value > found.next_value[i]:
                found.next_price[i], found.next_order[i], found.next_value[i] = at.choices[i, c], order, value
        if found.next_value[i] == -np.inf and behind > -np.inf:
            found.next_price[i], found.next_order[i], found.next_value[i] = found.price[i], second, behind
    return found
