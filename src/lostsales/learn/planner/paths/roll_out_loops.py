"""Profits of order-up-to rules on sampled futures, in compiled code: period by period, all paths at once."""

import math
from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.data.economics import (
    StockFlow,
    UnitCosts,
    carried,
    expire,
    issue,
    order_room,
    period_profit,
    stocked,
    waste_loss,
)
from lostsales.types import Bools, Floats, Ints

LOST = -1  # instead of the lead time of an order that never arrives
MIXED = -2  # instead of a lead time where paths differ
TOGETHER = 4  # rules summed together: independent sums run in parallel in the processor


class Terms(NamedTuple):
    """Terms that all series have in common."""

    discount: float
    share: float  # of an order that arrives
    flow: StockFlow
    crossing: bool
    review: int  # periods between order days
    shown: bool  # what arrives in the open period is in its stock already
    hold: int  # periods for which a price is kept once it is set


class Shelves(NamedTuple):
    """Stock of goods that perish; nothing has an entry where units keep for ever."""

    units: Floats  # (series, longest shelf life) by remaining life, those in the last period of it first
    life: Ints  # (series,) periods
    waste_cost: Floats  # (series,) of a unit thrown away
    from_oldest: Floats  # (series,) share of the units sold that are the oldest ones

    def take(self, rows: Ints) -> "Shelves":
        """Some of the series."""
        return self if self.units.shape[1] == 0 else Shelves._make(each[rows] for each in self)


FOR_EVER = Shelves(np.empty((0, 0)), np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))


class UnitShelf(NamedTuple):
    """The shelf of a series: numbers only, as compiled calls count references to arrays."""

    life: int = 0  # periods, 0 where units keep for ever
    waste_cost: float = 0.0
    from_oldest: float = 1.0


class Unit(NamedTuple):
    """A series within the search."""

    stock: float
    costs: UnitCosts
    multiple: float
    minimum: float
    arriving: float  # share of what is ordered that arrives in the mean
    shelf: UnitShelf = UnitShelf()


class Futures(NamedTuple):
    """Sampled futures of a series."""

    demand: Floats  # (periods, paths)
    price: Floats  # (periods,)
    arrivals: Floats  # (periods and more, paths) of what is on the way
    on_way: Floats  # (paths,) their sum
    lead: Ints  # (periods, paths) lead times of new orders
    common_lead: Ints  # (periods,) that of all paths, or MIXED
    cover: Floats  # (periods, paths or 1) expected demand a period, over those that an order is to cover
    may_order: Bools  # (periods,)


class Work(NamedTuple):
    """State of paths while they are rolled out."""

    held: Floats  # (paths,)
    on_way: Floats  # (paths,)
    order: Floats  # (paths,)
    goal: Floats  # (paths,) up to which is ordered
    coming: Floats  # as arrivals
    profit: Floats  # (TOGETHER, periods + 1, paths) discounted, and what is left at the end
    ages: (
        Floats  # (paths + 2, longest shelf life) stock by remaining life: of paths, at the opening, and of a reckoning
    )


@compiled
def work_of(demand: Floats, arrivals: Floats, longest_life: int) -> Work:
    """Room for futures of this shape."""
    periods, paths = demand.shape
    profit, ages = np.zeros((TOGETHER, periods + 1, paths)), np.zeros((paths + 2, longest_life))
    shape = arrivals.shape
    return Work(np.empty(paths), np.empty(paths), np.empty(paths), np.empty(paths), np.empty(shape), profit, ages)


@compiled
def open_shelf(shelves: Shelves, i: int, work: Work) -> UnitShelf:
    """The shelf of a series, whose stock by remaining life is put into `work`."""
    if shelves.units.shape[1] == 0:
        return UnitShelf(0, 0.0, 1.0)
    work.ages[-2] = shelves.units[i]
    return UnitShelf(shelves.life[i], shelves.waste_cost[i], shelves.from_oldest[i])


@compiled
def rolled_out(
    first: Floats, level: Floats, count: int, futures: Futures, unit: Unit, terms: Terms, work: Work, value: Floats
) -> None:
    """Fill `value` with the mean discounted profit of the first `count` rules.

    A rule orders `first` today, and later up to `level` times the usual demand of a period. Units that are expected to
    be thrown away before the order covers demand do not count as stock (Broekmeulen and van Donselaar, 2009).
    """
    paths = futures.demand.shape[1]
    for low in range(0, count, TOGETHER):
        some = min(TOGETHER, count - low)
        for c in range(some):
            roll_out(first[low + c], level[low + c], futures, unit, terms, work, work.profit[c])
        total = sums(work.profit)
        for c in range(some):
            value[low + c] = total[c] / paths


@compiled
def roll_out(
    first: float, level: float, futures: Futures, unit: Unit, terms: Terms, work: Work, profit: Floats
) -> None:
    """Fill `profit` (periods + 1, paths) with what each period of a path earns, and with what is left at its end."""
    periods, paths = futures.demand.shape
    held, on_way, order, coming = work.held, work.on_way, work.order, work.coming
    costs, share, flow, perishes = unit.costs, terms.share, terms.flow, unit.shelf.life > 0
    for t in range(len(coming)):
        for s in range(paths):
            coming[t, s] = futures.arrivals[t, s]
    for s in range(paths):
        held[s], on_way[s], order[s] = unit.stock, futures.on_way[s], first
    if perishes:
        for s in range(paths):
            for k in range(unit.shelf.life):
                work.ages[s, k] = work.ages[-2, k]
    worth = 1.0
    for t in range(periods):
        if t > 0:
            cover, last = futures.cover[t], futures.cover.shape[1] - 1
            for s in range(paths):
                work.goal[s] = level * cover[min(s, last)]
            if perishes:
                # The last of the periods that an order covers wastes nothing that it needs.
                ahead = len(coming) - periods - 2 + terms.review
                add_expected_waste(t, ahead, 1.0, cover, unit.shelf, work, work.goal)
            order_up_to(futures.may_order[t], unit, terms, work)
        if futures.common_lead[t] == MIXED:
            for s in range(paths):
                time = futures.lead[t, s]
                if time != LOST:
                    coming[t + time, s] += share * order[s]
                    on_way[s] += share * order[s]
        elif futures.common_lead[t] != LOST:
            later = coming[t + futures.common_lead[t]]
            for s in range(paths):
                later[s] += share * order[s]
                on_way[s] += share * order[s]
        arrived, demand, price, earned = coming[t], futures.demand[t], futures.price[t], profit[t]
        if perishes:
            sell_from_shelves(arrived, demand, price, worth, unit, flow, work, earned)
        else:
            for s in range(paths):
                on_way[s] -= arrived[s]
                available = stocked(held[s], arrived[s], flow)
                sold = min(available, demand[s])
                earned[s] = worth * period_profit(price, order[s], sold, demand[s] - sold, available - sold, costs)
                held[s] = carried(available, demand[s], flow)
        worth *= terms.discount
    # What is left saves as much of later orders, but for what will be thrown away.
    saved = profit[periods]
    for s in range(paths):
        saved[s] = worth * costs.order * (max(held[s], 0.0) + on_way[s])
    if perishes:
        loss = worth * (costs.order + unit.shelf.waste_cost)
        add_expected_waste(periods, unit.shelf.life, -loss, futures.cover[periods - 1], unit.shelf, work, saved)


@compiled
def sell_from_shelves(
    arrived: Floats, demand: Floats, price: float, worth: float, unit: Unit, flow: StockFlow, work: Work, earned: Floats
) -> None:
    """Close a period of all paths: fill `earned`, and take what is sold and what is thrown away off the shelves."""
    held, shelf, costs, life = work.held, unit.shelf, unit.costs, unit.shelf.life
    for s in range(len(demand)):
        work.on_way[s] -= arrived[s]
        available, ages = stocked(held[s], arrived[s], flow), work.ages[s, :life]
        sold = min(available, demand[s])
        ages[life - 1] += available - held[s]
        issue(ages, sold, shelf.from_oldest * sold)
        wasted = expire(ages)
        now = period_profit(price, work.order[s], sold, demand[s] - sold, available - sold, costs)
        earned[s] = worth * (now - waste_loss(wasted, shelf.waste_cost, costs))
        held[s] = carried(available, demand[s], flow) - wasted


@compiled
def add_expected_waste(
    t: int, periods: int, times: float, cover: Floats, shelf: UnitShelf, work: Work, found: Floats
) -> None:
    """Add to `found` (paths,) so many times what is thrown away from t on at the expected demands, (paths or 1,)."""
    last = len(cover) - 1
    for s in range(len(found)):
        found[s] += times * expected_waste(s, work.coming, t, s, cover[min(s, last)], periods, shelf, work)


@compiled
def expected_waste(
    row: int, arrivals: Floats, t: int, s: int, demand: float, periods: int, shelf: UnitShelf, work: Work
) -> float:
    """Units thrown away in so many periods of a constant demand: of a row of ages, and of what arrives in a path."""
    ages, units, found, stock = work.ages[row], work.ages[-1, : shelf.life], 0.0, 0.0
    for k in range(shelf.life):
        units[k] = ages[k]
        stock += ages[k]
    for k in range(t, t + periods):
        if k < len(arrivals):
            units[-1] += arrivals[k, s]
            stock += arrivals[k, s]
        sold = min(stock, demand)
        issue(units, sold, shelf.from_oldest * sold)
        wasted = expire(units)
        found += wasted
        stock -= sold + wasted
    return found


@compiled
def order_up_to(may_order: bool, unit: Unit, terms: Terms, work: Work) -> None:
    """Fill `work.order` with the orders that fill stock and orders on the way up to `work.goal`."""
    goal, held, on_way, order, arriving, multiple = (
        work.goal,
        work.held,
        work.on_way,
        work.order,
        unit.arriving,
        unit.multiple,
    )
    if not may_order:
        order[:] = 0.0
    elif unit.minimum > 0.0 or terms.flow.forbids or terms.flow.most_on_way < np.inf:
        for s in range(len(order)):
            most = order_room(max(held[s], 0.0), on_way[s], terms.flow)
            order[s] = order_of((goal[s] - held[s] - on_way[s]) / arriving, max(most, 0.0), may_order, unit)
    else:
        for s in range(len(order)):
            order[s] = max(goal[s] - held[s] - on_way[s], 0.0)
        if arriving != 1.0:  # a division takes longer than all else here
            order /= arriving
        if multiple == 1.0:
            for s in range(len(order)):
                order[s] = np.floor(order[s] + 0.5)
        elif multiple > 0.0:
            for s in range(len(order)):
                order[s] = np.floor(order[s] / multiple + 0.5) * multiple


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
def sums(profit: Floats) -> tuple[float, float, float, float]:
    """Entries of (TOGETHER, periods, paths), path by path, and within it period by period."""
    _, periods, paths = profit.shape
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for s in range(paths):
        for t in range(periods):
            a += profit[0, t, s]
            b += profit[1, t, s]
            c += profit[2, t, s]
            d += profit[3, t, s]
    return a, b, c, d
