"""Loops of the planner over states: dynamic programming where a stock-out run is known by the mean of its belief."""

from typing import Any, NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.learn.planner.physics import Physics
from lostsales.types import Bools, Floats, Ints


class Today(NamedTuple):
    """A state and a price: what demand can be, and what it leads to."""

    demand: Floats  # (K,) rising
    chance: Floats  # (K,)
    ahead: Floats  # (layers + 1, lags, stocks) what the next state is worth
    told: Floats  # (K, stocks) the same where the demand is known
    price: float
    layer: int


@compiled
def _at(values: Floats, place: float) -> Any:
    """A function on a grid of unit steps, linear in between and constant beyond its ends."""
    last = len(values) - 1
    if place <= 0:
        return values[0]
    if place >= last:
        return values[last]
    low = int(place)
    part = place - low
    return values[low] if part == 0 else values[low] * (1 - part) + values[low + 1] * part


@compiled
def _between(values: Floats, row: float, place: float) -> Any:
    """A function on a grid of two coordinates, linear in each."""
    last = len(values) - 1
    if row <= 0:
        return _at(values[0], place)
    if row >= last:
        return _at(values[last], place)
    low = int(row)
    part = row - low
    first = _at(values[low], place)
    return first if part == 0 else first * (1 - part) + _at(values[low + 1], place) * part


@compiled
def distinct(atoms: Floats, demand: Floats, chance: Floats) -> Any:
    """Equally likely atoms as demands with chances; whole demands repeat each other many times."""
    count = 0
    for atom in atoms:
        if count == 0 or demand[count - 1] != atom:
            demand[count], chance[count] = atom, 0.0
            count += 1
        chance[count - 1] += 1 / len(atoms)
    return count


@compiled
def order_cost(order: float, physics: Physics) -> Any:
    """What an order costs by itself."""
    return physics.order_cost * order + (physics.fixed_order_cost if order > 0 else 0.0)


@compiled
def look_ahead(
    following: Floats, node: int, part: float, layer: int, first: int, last: int, reach: int, ahead: Floats
) -> None:
    """What the next state is worth where the outlook of the market lies between two nodes, for some lags of a layer."""
    for lag in range(first, last + 1):
        for y in range(reach):
            value = following[node, layer, lag, y]
            ahead[layer, lag, y] = (
                value if part == 0 else value * (1 - part) + following[node + 1, layer, lag, y] * part
            )


@compiled
def tell(demand: Floats, known: Floats, lag_step: float, reach: int, told: Floats) -> None:
    """What the next state is worth by its stock, for each demand."""
    last = len(known) - 1
    for k in range(len(demand)):
        row = min(demand[k] / lag_step, last)
        low = min(int(row), last - 1) if last else 0
        part = row - low
        for y in range(reach):
            told[k, y] = known[low, y] if part == 0 else known[low, y] * (1 - part) + known[low + 1, y] * part


@compiled
def outlook(
    gains: Floats,
    today: Today,
    available: float,
    orders: Floats,
    physics: Physics,
    discount: float,
    steps: Floats,
) -> None:
    """Expected profit without the cost of the order, and what follows, for some orders that are yet to arrive.

    Orders that have arrived are in `available`, and then 0 is yet to come.
    """
    demand, chance, ahead, told, price, layer = today
    top, room, stock_step = told.shape[1] - 1, physics.room, steps[0]
    profit, hidden, excess = 0.0, 0.0, 0.0
    seen = 0
    gains[:] = 0.0
    for k in range(len(demand)):
        left = available - demand[k]
        if left > 0 or (left == 0 and physics.strict):
            seen += 1
            profit += chance[k] * (price * demand[k] - physics.holding_cost * left)
            for o in range(len(orders)):
                spot = min(min(left + orders[o], room) / stock_step, top)
                low = min(int(spot), top - 1)
                part = spot - low
                gains[o] += discount * chance[k] * (told[k, low] * (1 - part) + told[k, low + 1] * part)
        else:
            profit += chance[k] * price * available
            hidden += chance[k]
            excess -= chance[k] * left
    ends = physics.truncates and layer == physics.layers
    gains += profit if ends else profit - physics.lost_cost * excess
    if hidden == 0:
        return
    following = 0 if ends else min(layer + 1, physics.layers)
    for o in range(len(orders)):
        stays, beyond = hidden, excess
        next_stock = min(orders[o], room)
        if physics.after and physics.netted and not ends:
            next_stock = 0.0
            for k in range(seen, len(demand)):
                shown = available + orders[o] - demand[k]  # what is left of the order tells the demand
                if shown > 0:
                    gains[o] += discount * chance[k] * _at(told[k], min(shown, room) / stock_step)
                    stays -= chance[k]
                    beyond -= chance[k] * (demand[k] - available)
        if stays > 1e-12:
            believed = available if ends else available + beyond / stays
            gains[o] += stays * discount * _between(ahead[following], believed / steps[1], next_stock / stock_step)


@compiled
def _gain_all(
    gains: Floats,
    by_sum: Floats,
    today: Today,
    stocks: Floats,
    orders: Floats,
    physics: Physics,
    discount: float,
    steps: Floats,
) -> None:
    """The outlook of every order and stock, (orders, stocks); `by_sum` where they count by their sum."""
    points = len(stocks)
    if physics.after:
        for y in range(points):
            outlook(gains[:, y], today, stocks[y], orders, physics, discount, steps)
        return
    top = min(physics.room / steps[0], points - 1)
    at_top = _at(by_sum, top)
    for o in range(len(orders)):
        whole = int(orders[o] / steps[0])
        part = orders[o] / steps[0] - whole
        below = min(max(int(np.ceil(top)) - whole - (1 if part > 0 else 0), 0), points)
        for y in range(below):
            gains[o, y] = by_sum[y + whole] * (1 - part) + by_sum[y + whole + 1] * part
        for y in range(below, points):
            place = y + orders[o] / steps[0]
            gains[o, y] = at_top if place >= top else _at(by_sum, place)


@compiled
def _sell(gains: Floats, today: Today, physics: Physics, discount: float, steps: Floats) -> None:
    """As `outlook` where all orders have arrived, for every stock at once: a demand moves all of them by as much."""
    demand, chance, ahead, told, price, layer = today
    points, step = len(gains), steps[0]
    gains[:] = 0.0
    hidden, excess = np.zeros(points), np.zeros(points)
    for k in range(len(demand)):
        whole = int(np.ceil(demand[k] / step))
        part = whole - demand[k] / step  # of a step by which the least stock that serves it exceeds it
        serves = min(whole + 1 if part == 0 and not physics.strict else whole, points)
        to_next = 1 if part > 0 else 0
        for y in range(serves):
            hidden[y] += chance[k]
            excess[y] += chance[k] * (demand[k] - y * step)
        for y in range(serves, points):
            left = y - whole
            worth = told[k, left] * (1 - part) + told[k, left + to_next] * part
            profit = price * demand[k] - physics.holding_cost * (y * step - demand[k])
            gains[y] += chance[k] * (profit + discount * worth)
    ends = physics.truncates and layer == physics.layers
    following = 0 if ends else min(layer + 1, physics.layers)
    for y in range(points):
        if hidden[y] > 0:
            available = y * step
            believed = available if ends else available + excess[y] / hidden[y]
            lost = 0.0 if ends else physics.lost_cost * excess[y]
            worth = _between(ahead[following], believed / steps[1], 0.0)
            gains[y] += hidden[y] * (price * available + discount * worth) - lost


@compiled
def _any_of(kept: Ints, first: int, count: int) -> Any:
    for action in kept:  # noqa: SIM110, compiled code has no generators
        if first <= action < first + count:
            return True
    return False


@compiled
def _keep_better(value: Floats, kept: Ints, gain: Floats, action: int, most: float, stocks: Floats) -> None:
    """Take an action where it beats what is kept, at stocks up to `most`."""
    for y in range(len(value)):
        if gain[y] > value[y] and stocks[y] <= most + 1e-9:
            value[y] = gain[y]
            kept[y] = action


@compiled
def sweep(
    values: Floats,
    following: Floats,
    best: Ints,
    greedy: bool,
    atoms: Floats,
    cell_index: Ints,
    node: Ints,
    part: Floats,
    prices: Floats,
    orders: Floats,
    may: Bools,
    stocks: Floats,
    physics: Physics,
    discount: float,
    steps: Floats,
) -> None:
    """One sweep over all states; `greedy` looks at every action and keeps the best, else the kept one is followed.

    values (cells, layers + 1, lags, stocks) are overwritten; best the same, index of the action.
    """
    cells, layers, lags, points = values.shape[0], values.shape[1] - 1, values.shape[2], values.shape[3]
    most, count = atoms.shape[4], len(orders)
    ahead, told = np.empty((layers + 1, lags, points)), np.empty((most, points))
    demands, chances = np.empty(most), np.empty(most)
    gains, by_sum, one = np.empty((count, points)), np.empty(points), np.empty(1)
    for cell in range(cells):
        if greedy:
            values[cell] = -np.inf
        for p in range(len(prices)):
            for layer in range(layers + 1):
                look_ahead(following, node[cell, p], part[cell, p], layer, 0, lags - 1, points, ahead)
            for layer in range(layers + 1):
                for lag in range(lags):
                    value, kept, first = values[cell, layer, lag], best[cell, layer, lag], p * count
                    if not greedy and not _any_of(kept, first, count):
                        continue
                    known = distinct(atoms[min(layer, len(atoms) - 1), cell_index[cell], p, lag], demands, chances)
                    demand, chance = demands[:known], chances[:known]
                    tell(demand, ahead[0], steps[1], points, told)
                    today = Today(demand, chance, ahead, told, prices[p], layer)
                    if not physics.after:
                        _sell(by_sum, today, physics, discount, steps)
                    if greedy:
                        _gain_all(gains, by_sum, today, stocks, orders, physics, discount, steps)
                        for o in range(count):
                            if may[first + o]:
                                most_stock = physics.room - orders[o] if physics.forbids and o > 0 else np.inf
                                gain = gains[o] - order_cost(orders[o], physics)
                                _keep_better(value, kept, gain, first + o, most_stock, stocks)
                        continue
                    for y in range(points):
                        o = kept[y] - first
                        if 0 <= o < count:
                            if physics.after:
                                outlook(one, today, stocks[y], orders[o : o + 1], physics, discount, steps)
                            else:
                                one[0] = _at(by_sum, min(stocks[y] + orders[o], physics.room) / steps[0])
                            value[y] = one[0] - order_cost(orders[o], physics)
