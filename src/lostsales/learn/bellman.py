"""Loops of the planner over states: dynamic programming where a stock-out run is known by the mean of its belief."""

from typing import Any

import numpy as np

from lostsales.arrays import Array, Bools, Floats, Ints
from lostsales.demand.compiled import compiled


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
def _outlook(
    atoms: Floats,
    above: Floats,
    ahead: Floats,
    available: float,
    order: float,
    price: float,
    layer: int,
    layers: int,
    after: bool,
    netted: bool,
    strict: bool,
    truncates: bool,
    room: float,
    costs: Floats,
    discount: float,
    steps: Floats,
    told: Floats,
) -> Any:
    """Expected profit without the cost of the order, and what follows, for one action in one state.

    `atoms` (K,) are equally likely demands, rising; `above` their sums from each on; `ahead` (layers + 1, lags, stocks)
    what the next state is worth; `told` (K, stocks) the same where the demand is the atom and known.
    """
    count = len(atoms)
    lost_cost, holding_cost = costs[0], costs[2]
    stock_step, lag_step = steps[0], steps[1]
    total = 0.0
    seen = 0
    for k in range(count):
        demand = atoms[k]
        hidden = demand > available if strict else demand >= available
        if hidden:
            break
        seen += 1
        left = available - demand
        next_stock = left
        if after:
            next_stock = min(left + order, room)
        total += price * demand - holding_cost * left + discount * _at(told[k], next_stock / stock_step)
    hidden_count = count - seen
    if hidden_count == 0:
        return total / count
    excess = above[seen] - hidden_count * available
    next_stock = min(order, room) if after else 0.0
    if truncates and layer == layers:
        row = available / lag_step
        total += hidden_count * (price * available + discount * _between(ahead[0], row, next_stock / stock_step))
        return total / count
    total += hidden_count * price * available - lost_cost * excess
    if after and netted:
        for k in range(seen, count):
            shown = available + order - atoms[k]
            if shown > 0:
                total += discount * _at(told[k], min(shown, room) / stock_step)
                hidden_count -= 1
                excess -= atoms[k] - available
        next_stock = 0.0
        if hidden_count == 0:
            return total / count
    mean = available + excess / hidden_count
    following = layer + 1 if layer < layers else layers
    total += hidden_count * discount * _between(ahead[following], mean / lag_step, next_stock / stock_step)
    return total / count


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
def _look_ahead(
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
def _tell(atoms: Floats, known: Floats, lag_step: float, reach: int, told: Floats) -> None:
    """What the next state is worth by its stock, for each atom of demand."""
    last = len(known) - 1
    for k in range(len(atoms)):
        row = min(atoms[k] / lag_step, last)
        low = min(int(row), last - 1) if last else 0
        part = row - low
        for y in range(reach):
            told[k, y] = known[low, y] if part == 0 else known[low, y] * (1 - part) + known[low + 1, y] * part


@compiled
def _sums_above(atoms: Floats, above: Floats) -> None:
    above[len(atoms)] = 0.0
    for k in range(len(atoms) - 1, -1, -1):
        above[k] = above[k + 1] + atoms[k]


@compiled
def sweep(
    values: Floats,
    following: Floats,
    best: Array,
    greedy: bool,
    atoms: Floats,
    cell_index: Ints,
    node: Ints,
    part: Floats,
    prices: Floats,
    orders: Floats,
    may: Bools,
    stocks: Floats,
    after: bool,
    netted: bool,
    strict: bool,
    truncates: bool,
    room: float,
    forbids: bool,
    costs: Floats,
    discount: float,
    steps: Floats,
) -> None:
    """One sweep over all states; `greedy` looks at every action and keeps the best, else the kept one is followed.

    values (cells, layers + 1, lags, stocks) are overwritten; best the same, index of the action.
    """
    cells, layers, lags, points = values.shape[0], values.shape[1] - 1, values.shape[2], values.shape[3]
    count = atoms.shape[4]
    ahead = np.empty((layers + 1, lags, points))
    told = np.empty((count, points))
    above = np.empty(count + 1)
    gain = np.empty(points)
    for cell in range(cells):
        if greedy:
            values[cell] = -np.inf
        for p in range(len(prices)):
            for layer in range(layers + 1):
                _look_ahead(following, node[cell, p], part[cell, p], layer, 0, lags - 1, points, ahead)
            for layer in range(layers + 1):
                for lag in range(lags):
                    if not greedy:
                        wanted = False
                        for y in range(points):
                            if best[cell, layer, lag, y] // len(orders) == p:
                                wanted = True
                                break
                        if not wanted:
                            continue
                    demand = atoms[min(layer, len(atoms) - 1), cell_index[cell], p, lag]
                    _sums_above(demand, above)
                    _tell(demand, ahead[0], steps[1], points, told)
                    if greedy and not after:
                        for y in range(points):
                            gain[y] = _outlook(
                                demand,
                                above,
                                ahead,
                                stocks[y],
                                0.0,
                                prices[p],
                                layer,
                                layers,
                                after,
                                netted,
                                strict,
                                truncates,
                                room,
                                costs,
                                discount,
                                steps,
                                told,
                            )
                    for y in range(points):
                        for o in range(len(orders)):
                            action = p * len(orders) + o
                            if greedy:
                                if not may[action] or (forbids and o > 0 and stocks[y] + orders[o] > room + 1e-9):
                                    continue
                            elif best[cell, layer, lag, y] != action:
                                continue
                            order = orders[o]
                            if greedy and not after:
                                value = _at(gain, min(stocks[y] + order, room) / steps[0])
                            else:
                                # As the greedy sweep has it: between two points of the grid.
                                there = stocks[y] if after else min(stocks[y] + order, room)
                                spot = min(there / steps[0], points - 1.0)
                                low = int(spot)
                                value = _outlook(
                                    demand,
                                    above,
                                    ahead,
                                    stocks[low],
                                    order,
                                    prices[p],
                                    layer,
                                    layers,
                                    after,
                                    netted,
                                    strict,
                                    truncates,
                                    room,
                                    costs,
                                    discount,
                                    steps,
                                    told,
                                )
                                if spot > low:
                                    value *= 1 - (spot - low)
                                    value += (spot - low) * _outlook(
                                        demand,
                                        above,
                                        ahead,
                                        stocks[low + 1],
                                        order,
                                        prices[p],
                                        layer,
                                        layers,
                                        after,
                                        netted,
                                        strict,
                                        truncates,
                                        room,
                                        costs,
                                        discount,
                                        steps,
                                        told,
                                    )
                            value -= costs[1] * order + (costs[3] if order > 0 else 0.0)
                            if not greedy:
                                values[cell, layer, lag, y] = value
                            elif value > values[cell, layer, lag, y]:
                                values[cell, layer, lag, y] = value
                                best[cell, layer, lag, y] = action


@compiled
def _demand_at(
    latents: Floats,
    layer: int,
    z_place: float,
    p: int,
    lag_place: float,
    multiplicative: bool,
    integer: bool,
    demand_max: float,
    scale: float,
    atoms: Floats,
) -> None:
    """The atoms of demand between the nodes of market and lag."""
    z_last, lag_last = latents.shape[1] - 1, latents.shape[3] - 1
    z_place, lag_place = min(max(z_place, 0.0), z_last), min(max(lag_place, 0.0), lag_last)
    z, lag = min(int(z_place), max(z_last - 1, 0)), min(int(lag_place), max(lag_last - 1, 0))
    z_part, lag_part = z_place - z, lag_place - lag
    z_next, lag_next = min(z + 1, z_last), min(lag + 1, lag_last)
    kind = min(layer, len(latents) - 1)
    for k in range(len(atoms)):
        low = latents[kind, z, p, lag, k] * (1 - lag_part) + latents[kind, z, p, lag_next, k] * lag_part
        if z_part > 0:
            high = latents[kind, z_next, p, lag, k] * (1 - lag_part) + latents[kind, z_next, p, lag_next, k] * lag_part
            low = low * (1 - z_part) + high * z_part
        value = min(max(np.exp(low) if multiplicative else low, 0.0), demand_max) * scale
        atoms[k] = np.rint(value) if integer else value


@compiled
def score(
    scores: Floats,
    latents: Floats,
    following: Floats,
    z_place: Floats,
    w_place: Floats,
    layer_of: Ints,
    lag: Floats,
    stock: Floats,
    prices: Floats,
    orders: Floats,
    after: bool,
    netted: bool,
    strict: bool,
    truncates: bool,
    room: float,
    costs: Floats,
    discount: float,
    steps: Floats,
    multiplicative: bool,
    integer: bool,
    demand_max: float,
    scale: float,
) -> None:
    """Value of every action, (rows, actions), by looking one period ahead; w_place is (rows, prices)."""
    layers, lags, points = following.shape[1] - 1, following.shape[2], following.shape[3]
    count, nodes = latents.shape[4], following.shape[0]
    ahead = np.zeros((layers + 1, lags, points))
    told, atoms, above = np.empty((count, points)), np.empty(count), np.empty(count + 1)
    for row in range(len(stock)):
        layer = min(layer_of[row], layers)
        next_layer = min(layer + 1, layers)
        reach = min(int((stock[row] + orders[len(orders) - 1]) / steps[0]) + 2, points)
        for p in range(len(prices)):
            _demand_at(
                latents, layer, z_place[row], p, lag[row] / steps[1], multiplicative, integer, demand_max, scale, atoms
            )
            place = min(max(w_place[row, p], 0.0), nodes - 1.0)
            node = min(int(place), max(nodes - 2, 0))
            first = 0 if truncates and layer == layers else min(int(atoms[0] / steps[1]), lags - 1)
            last = min(int(atoms[count - 1] / steps[1]) + 1, lags - 1)
            _look_ahead(following, node, place - node, 0, first, last, reach, ahead)
            _look_ahead(following, node, place - node, next_layer, first, last, reach, ahead)
            _sums_above(atoms, above)
            _tell(atoms, ahead[0], steps[1], reach, told)
            for o in range(len(orders)):
                order = orders[o]
                available = stock[row] if after else min(stock[row] + order, room)
                value = _outlook(
                    atoms,
                    above,
                    ahead,
                    available,
                    order,
                    prices[p],
                    layer,
                    layers,
                    after,
                    netted,
                    strict,
                    truncates,
                    room,
                    costs,
                    discount,
                    steps,
                    told,
                )
                scores[row, p * len(orders) + o] = value - costs[1] * order - (costs[3] if order > 0 else 0.0)


@compiled
def believe(
    means: Floats,
    latents: Floats,
    z_place: Floats,
    price_place: Floats,
    layer_of: Ints,
    lag: Floats,
    available: Floats,
    strict: bool,
    multiplicative: bool,
    integer: bool,
    demand_max: float,
    scale: float,
    steps: Floats,
) -> None:
    """E[D | D above what was available], the mean of the belief after one more stock-out, (rows,).

    price_place is a float index into the price grid, so that a price between two of them is answered between.
    """
    count = latents.shape[4]
    low, high = np.empty(count), np.empty(count)
    last = latents.shape[2] - 1
    for row in range(len(means)):
        place = min(max(price_place[row], 0.0), last)
        p = min(int(place), max(last - 1, 0))
        part = place - p
        spot = lag[row] / steps[1]
        _demand_at(latents, layer_of[row], z_place[row], p, spot, multiplicative, integer, demand_max, scale, low)
        if part > 0:
            _demand_at(
                latents, layer_of[row], z_place[row], p + 1, spot, multiplicative, integer, demand_max, scale, high
            )
            low = low * (1 - part) + high * part
        total, hidden = 0.0, 0
        for k in range(count):
            if low[k] > available[row] or (not strict and low[k] >= available[row]):
                total += low[k]
                hidden += 1
        # Where the law calls the stock-out impossible, demand was hardly more than what was there.
        means[row] = total / hidden if hidden else available[row] + (low[count - 1] - low[0]) / count
