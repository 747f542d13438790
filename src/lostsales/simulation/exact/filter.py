"""What a retailer believes about hidden demand in the middle of a run of stock-outs, and the best decision on it."""

import numpy as np

from lostsales.policy.view import View
from lostsales.simulation.exact.beliefs import conditioned, tail_moments
from lostsales.simulation.exact.iterate import Values
from lostsales.simulation.exact.pi_star import SAFE, BeliefWorld
from lostsales.simulation.exact.world import World
from lostsales.types import Array, Floats, Ints


def beliefs_of_runs(world: World, view: View, rows: Ints) -> tuple[Floats, Ints]:
    """P(D_{t-1} = D | history block since the anchor) of series in a run: the different ones, and which is whose.

    From the anchor's demand, period by period: the law of demand, cut above what was available (line 1104).
    """
    depth = view.depth[rows]
    certain = np.eye(world.shape[2])
    beliefs, which = certain, np.zeros(len(rows), dtype=np.int64)
    for back in range(int(depth.max()), 0, -1):
        seen, action = view.past[-back]
        stock_tp1 = view.stock if back == 1 else view.past[1 - back].view.stock
        anchored = depth == back
        which[anchored] = _position(seen.last_sales[rows[anchored]], world.shape[2])
        running = np.flatnonzero(depth >= back)
        at = rows[running]
        plan = world.plan_of[world.position(seen.stock[at]), np.searchsorted(world.scenario.orders, action.order[at])]
        price = np.searchsorted(world.scenario.prices, action.price[at])
        cell = np.stack([which[running], world.state_of(seen)[at], price, plan, world.position(stock_tp1[at])])
        different, of_cell = np.unique(cell, axis=1, return_inverse=True)
        law = world.first_pmf if seen.period == 0 else world.pmf
        drawn = _predicted(law, beliefs[different[0]], different[1], different[2])
        stocked_out = world.censors.T[different[3]] & (world.next_stock[different[3]] == different[4, :, None])
        beliefs = np.concatenate([certain, conditioned(drawn, stocked_out)])
        which[running] = len(certain) + of_cell.reshape(-1)
    return beliefs, which


def _predicted(pmf: Floats, belief: Floats, feature: Ints, price: Ints) -> Floats:
    """P(D_t = D | X_t, P_t, belief) row by row, (rows, D)."""
    law = np.empty_like(belief)
    cell = feature * pmf.shape[1] + price
    for each in np.unique(cell):
        rows = np.flatnonzero(cell == each)
        law[rows] = belief[rows] @ pmf[each // pmf.shape[1], each % pmf.shape[1]]
    return law


def decide_on_belief(
    seen: BeliefWorld, following: Values, discount: float, layer: int, belief: Floats, feature: Ints, stock: Ints
) -> Array:
    """The action that is best for a belief, (rows,): exact one step ahead but for the value after a stock-out."""
    action = np.empty(len(belief), dtype=np.int64)
    gain = seen.gain(following, layer, discount)  # (f, p, D, j)
    hides = not seen.truncates(layer)
    after = seen.world.expected(following[seen.deeper(layer)]) if hides else None  # (f, p, belief, y)
    place = np.minimum(np.searchsorted(seen.stocks, stock), len(seen.stocks) - 1)
    prices = np.arange(len(seen.world.scenario.prices))[:, None, None]
    for state in np.unique(feature):
        rows = np.flatnonzero(feature == state)
        plan = seen.plan_of[place[rows]]  # (rows, o)
        law = belief[rows] @ seen.world.pmf[state]  # (p, rows, D)
        value = (law @ gain[state])[prices, np.arange(len(rows))[:, None], plan]  # (p, rows, o)
        value -= seen.world.order_cost
        allowed = np.broadcast_to(seen.world.allowed[seen.stocks[place[rows]]], value.shape)
        if after is not None:
            cut = np.minimum(seen.hidden_above[seen.plans[plan]], law.shape[-1] - 1)
            chance, mean, variance = (each[prices, np.arange(len(rows))[:, None], cut] for each in tail_moments(law))
            position, weight = seen.beliefs.locate(mean, variance)
            follows = after[state][prices[..., None], position, seen.restock[seen.plans[plan]][..., None]]
            value += discount * chance * (weight * follows).sum(axis=-1)
            if seen.restricts(layer):
                risk = np.where(allowed, chance, np.inf)
                least = risk.min(axis=(0, 2), keepdims=True)
                allowed = allowed & (risk <= np.maximum(least, SAFE))
        value = np.moveaxis(np.where(allowed, value, -np.inf), 0, 1).reshape(len(rows), -1)
        action[rows] = np.argmax(value, axis=1)
    return action


def _position(demand: Floats, demands: int) -> Ints:
    return np.minimum(demand, demands - 1).astype(np.int64)
