"""Loops of the planner over decisions: the belief of the last demand, and each action's value one period ahead."""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.learn.planner.bellman_loops import Today, distinct, look_ahead, order_cost, outlook, tell
from lostsales.learn.planner.physics import Physics
from lostsales.types import Floats, Ints


class Reading(NamedTuple):
    """How a latent reads as a demand."""

    multiplicative: bool
    integer: bool
    demand_max: float
    scale: float


@compiled
def _demand_at(
    latents: Floats, layer: int, z_place: float, p: int, lag_place: float, reading: Reading, atoms: Floats
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
        value = min(max(np.exp(low) if reading.multiplicative else low, 0.0), reading.demand_max) * reading.scale
        atoms[k] = np.rint(value) if reading.integer else value


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
    physics: Physics,
    discount: float,
    steps: Floats,
    reading: Reading,
) -> None:
    """Value of every action, (rows, actions), by looking one period ahead; w_place is (rows, prices)."""
    layers, lags, points = following.shape[1] - 1, following.shape[2], following.shape[3]
    most, nodes = latents.shape[4], following.shape[0]
    ahead, told = np.zeros((layers + 1, lags, points)), np.empty((most, points))
    atoms, demands, chances, none = np.empty(most), np.empty(most), np.empty(most), np.zeros(1)
    for row in range(len(stock)):
        layer = min(layer_of[row], layers)
        next_layer = min(layer + 1, layers)
        reach = min(int((stock[row] + orders[len(orders) - 1]) / steps[0]) + 2, points)
        for p in range(len(prices)):
            _demand_at(latents, layer, z_place[row], p, lag[row] / steps[1], reading, atoms)
            count = distinct(atoms, demands, chances)
            demand, chance = demands[:count], chances[:count]
            place = min(max(w_place[row, p], 0.0), nodes - 1.0)
            node = min(int(place), max(nodes - 2, 0))
            first = 0 if physics.truncates and layer == layers else min(int(demand[0] / steps[1]), lags - 1)
            last = min(int(demand[count - 1] / steps[1]) + 1, lags - 1)
            look_ahead(following, node, place - node, 0, first, last, reach, ahead)
            if next_layer > 0:
                look_ahead(following, node, place - node, next_layer, first, last, reach, ahead)
            tell(demand, ahead[0], steps[1], reach, told)
            gains = scores[row, p * len(orders) : (p + 1) * len(orders)]
            today = Today(demand, chance, ahead, told, prices[p], layer)
            if physics.after:
                outlook(gains, today, stock[row], orders, physics, discount, steps)
            for o in range(len(orders)):
                order = orders[o]
                if not physics.after:
                    available = min(stock[row] + order, physics.room)
                    outlook(gains[o : o + 1], today, available, none, physics, discount, steps)
                gains[o] -= order_cost(order, physics)


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
    steps: Floats,
    reading: Reading,
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
        _demand_at(latents, layer_of[row], z_place[row], p, spot, reading, low)
        if part > 0:
            _demand_at(latents, layer_of[row], z_place[row], p + 1, spot, reading, high)
            low = low * (1 - part) + high * part
        total, hidden = 0.0, 0
        for k in range(count):
            if low[k] > available[row] or (not strict and low[k] >= available[row]):
                total += low[k]
                hidden += 1
        # Where the law calls the stock-out impossible, demand was hardly more than what was there.
        means[row] = total / hidden if hidden else available[row] + (low[count - 1] - low[0]) / count
