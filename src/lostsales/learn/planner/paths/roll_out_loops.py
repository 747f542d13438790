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
    worth: float  # of a unit that is left in the end
    periods: int  # until the end: those of the futures, or until the season ends
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
def roll_out(
    first: float, level: float, futures: Futures, unit: Unit, terms: Terms, work: Work, profit: Floats
) -> None:
    """Fill `profit` (periods + 1, paths) with what each period of a path earns, and with what is left at its end."""
    periods, paths = futures.demand.shape
    held, on_way, order, coming = work.held, work.on_way, work.order, work.coming
    costs, share, flow = unit.costs, terms.share, terms.flow
    for t in range(len(coming)):
        for s in range(paths):
            coming[t, s] = futures.arrivals[t, s]
    for s in range(paths):
        held[s], on_way[s], order[s] = unit.stock, futures.on_way[s], first
    worth = 1.0
    for t in range(min(periods, unit.periods)):
        if t > 0:
            cover, last = futures.cover[t], futures.cover.shape[1] - 1
            for s in range(paths):
                work.goal[s] = level * cover[min(s, last)]
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
        for s in range(paths):
            on_way[s] -= arrived[s]
            available = stocked(held[s], arrived[s], flow)
            sold = min(available, demand[s])
            earned[s] = worth * period_profit(price, order[s], sold, demand[s] - sold, available - sold, costs)
            held[s] = carried(available, demand[s], flow)
        worth *= terms.discount
    profit[min(periods, unit.periods) : periods] = 0.0
    # What is left saves as much of later orders, or is salvage.
    saved = profit[periods]
    for s in range(paths):
        saved[s] = worth * unit.worth * (max(held[s], 0.0) + on_way[s])


@compiled
def roll_out_shelves(
    first: float, level: float, futures: Futures, unit: Unit, terms: Terms, work: Work, profit: Floats
) -> None:
    """The same as `roll_out` with stock by age: in one function, both would take a quarter longer where goods keep."""
    periods, paths = futures.demand.shape
    held, on_way, order, coming, ages = work.held, work.on_way, work.order, work.coming, work.ages[:, : unit.shelf.life]
    costs, shelf, last, worth = unit.costs, unit.shelf, futures.cover.shape[1] - 1, 1.0
    wait = len(coming) - periods - 2 + terms.review  # periods before the last one that an order covers
    coming[:], held[:], on_way[:], order[:], ages[:-2] = futures.arrivals, unit.stock, futures.on_way, first, ages[-2]
    for t in range(min(periods, unit.periods)):
        if t > 0:
            for s in range(paths):
                cover = futures.cover[t, min(s, last)]
                work.goal[s] = level * cover + expected_waste(s, coming, t, s, cover, wait, shelf, work)
            order_up_to(futures.may_order[t], unit, terms, work)
        for s in range(paths):
            if futures.lead[t, s] != LOST:
                coming[t + futures.lead[t, s], s] += terms.share * order[s]
                on_way[s] += terms.share * order[s]
            on_way[s] -= coming[t, s]
            available, demand = stocked(held[s], coming[t, s], terms.flow), futures.demand[t, s]
            sold = min(available, demand)
            ages[s, -1] += available - held[s]
            issue(ages[s], sold, shelf.from_oldest * sold)
            wasted = expire(ages[s])
            now = period_profit(futures.price[t], order[s], sold, demand - sold, available - sold, costs)
            profit[t, s] = worth * (now - waste_loss(wasted, shelf.waste_cost, costs))
            held[s] = carried(available, demand, terms.flow) - wasted
        worth *= terms.discount
    profit[min(periods, unit.periods) : periods] = 0.0
    # What is left saves as much of later orders, but for what will be thrown away.
    for s in range(paths):
        wasted = expected_waste(
            s, coming, periods, s, futures.cover[periods - 1, min(s, last)], shelf.life, shelf, work
        )
        saved = unit.worth * (max(held[s], 0.0) + on_way[s]) - (unit.worth + shelf.waste_cost) * wasted
        profit[periods, s] = worth * saved


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
            if unit.shelf.life > 0:
                roll_out_shelves(first[low + c], level[low + c], futures, unit, terms, work, work.profit[c])
            else:
                roll_out(first[low + c], level[low + c], futures, unit, terms, work, work.profit[c])
        total = sums(work.profit)
        for c in range(some):
            value[low + c] = total[c] / paths
