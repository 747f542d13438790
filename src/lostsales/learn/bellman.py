"""Loops of the planner over states: dynamic programming where a stock-out run is known by the mean of its belief."""

from typing import Any

import numpy as np

from lostsales.arrays import Bools, Floats, Ints
from lostsales.demand.compiled import compiled
from lostsales.learn.physics import Physics


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
    demand: Floats,
    chance: Floats,
    ahead: Floats,
    told: Floats,
    available: float,
    orders: Floats,
    price: float,
    layer: int,
    physics: Physics,
    discount: float,
    steps: Floats,
) -> None:
    """Expected profit without the cost of the order, and what follows, for some orders that are yet to arrive.

    `demand` (K,) rises; `ahead` (layers + 1, lags, stocks) is what the next state is worth; `told` (K, stocks) the same
    where the demand is known. Orders that have arrived are in `available`, and then 0 is yet to come.
    """
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
    kept: Ints,
    first: int,
    demand: Floats,
    chance: Floats,
    ahead: Floats,
    told: Floats,
    stocks: Floats,
    orders: Floats,
    price: float,
    layer: int,
    physics: Physics,
    discount: float,
    steps: Floats,
) -> None:
    """The outlook of every stock and order, (stocks, orders), or only of the `kept` actions from number `first` on."""
    greedy, points, count = len(kept) == 0, len(stocks), len(orders)
    if physics.after:
        for y in range(points):
            low, high = 0, count
            if not greedy:
                low = kept[y] - first
                high = low + 1
                if low < 0 or low >= count:
                    continue
            outlook(
                gains[y, low:high], demand, chance, ahead, told, stocks[y], orders[low:high], price, layer, physics,
                discount, steps,
            )  # fmt: skip
        return
    # Orders have arrived, so stock and order count by their sum.
    by_sum, none = np.full(points, np.nan), np.zeros(1)
    for y in range(points):
        for o in range(count):
            if not greedy and kept[y] - first != o:
                continue
            spot = min(min(stocks[y] + orders[o], physics.room) / steps[0], points - 1)
            low = min(int(spot), points - 2)
            part = spot - low
            for at in range(low, low + 2 if part > 0 else low + 1):
                if np.isnan(by_sum[at]):
                    outlook(
                        by_sum[at : at + 1], demand, chance, ahead, told, stocks[at], none, price, layer, physics,
                        discount, steps,
                    )  # fmt: skip
            gains[y, o] = by_sum[low] if part == 0 else by_sum[low] * (1 - part) + by_sum[low + 1] * part


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
    demands, chances, gains = np.empty(most), np.empty(most), np.empty((points, count))
    for cell in range(cells):
        if greedy:
            values[cell] = -np.inf
        for p in range(len(prices)):
            for layer in range(layers + 1):
                look_ahead(following, node[cell, p], part[cell, p], layer, 0, lags - 1, points, ahead)
            for layer in range(layers + 1):
                for lag in range(lags):
                    value, kept, first = values[cell, layer, lag], best[cell, layer, lag], p * count
                    if not greedy and not ((kept >= first) & (kept < first + count)).any():
                        continue
                    known = distinct(atoms[min(layer, len(atoms) - 1), cell_index[cell], p, lag], demands, chances)
                    demand, chance = demands[:known], chances[:known]
                    tell(demand, ahead[0], steps[1], points, told)
                    _gain_all(
                        gains, kept[: 0 if greedy else points], first, demand, chance, ahead, told, stocks, orders,
                        prices[p], layer, physics, discount, steps,
                    )  # fmt: skip
                    for o in range(count):
                        cost = physics.order_cost * orders[o] + (physics.fixed_order_cost if orders[o] > 0 else 0.0)
                        if greedy and may[first + o]:
                            for y in range(points):
                                fits = not physics.forbids or o == 0 or stocks[y] + orders[o] <= physics.room + 1e-9
                                if fits and gains[y, o] - cost > value[y]:
                                    value[y] = gains[y, o] - cost
                                    kept[y] = first + o
                        elif not greedy:
                            for y in range(points):
                                if kept[y] == first + o:
                                    value[y] = gains[y, o] - cost
