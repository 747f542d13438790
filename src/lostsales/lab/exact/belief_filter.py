"""The exact belief filter through a run of stock-outs, and the greedy decision for a belief."""

import numpy as np

from lostsales.lab.exact.beliefs import conditioned, tail_moments
from lostsales.lab.exact.finite_model import FiniteModel
from lostsales.lab.exact.pi_star import SAFE, BeliefModel
from lostsales.lab.exact.value_iteration import Values
from lostsales.policy.view import View
from lostsales.types import Array, Floats, Ints


def beliefs_of_runs(model: FiniteModel, view: View, rows: Ints) -> tuple[Floats, Ints]:
    """P(D_{t-1} = D | history block since the anchor) of series in a run: distinct beliefs, and the index of each row.

    Filtered from the anchor's demand: the law of demand, conditioned on demand above what was available (Appendix C).
    """
    depth = view.depth[rows]
    certain = np.eye(model.shape[2])
    beliefs, which = certain, np.zeros(len(rows), dtype=np.int64)
    for back in range(int(depth.max()), 0, -1):
        past, action = view.past[-back]
        stock_tp1 = view.stock if back == 1 else view.past[1 - back].view.stock
        anchored = depth == back
        which[anchored] = _position(past.last_sales[rows[anchored]], model.shape[2])
        running = np.flatnonzero(depth >= back)
        at = rows[running]
        pair = model.pair_of[model.position(past.stock[at]), np.searchsorted(model.scenario.orders, action.order[at])]
        price = np.searchsorted(model.scenario.prices, action.price[at])
        cell = np.stack([which[running], model.state_of(past)[at], price, pair, model.position(stock_tp1[at])])
        cells, of_cell = np.unique(cell, axis=1, return_inverse=True)
        law = model.first_pmf if past.period == 0 else model.pmf
        drawn = _predicted(law, beliefs[cells[0]], cells[1], cells[2])
        stocked_out = model.censors.T[cells[3]] & (model.next_stock[cells[3]] == cells[4, :, None])
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
    belief_model: BeliefModel,
    following: Values,
    discount: float,
    layer: int,
    belief: Floats,
    feature: Ints,
    stock: Ints,
) -> Array:
    """Greedy actions for exact beliefs, (rows,); the grid enters only through the value after a stock-out."""
    action = np.empty(len(belief), dtype=np.int64)
    gain = belief_model.gain(following, layer, discount)  # (f, p, D, j)
    hides = not belief_model.truncates(layer)
    after = belief_model.model.expected(following[belief_model.deeper(layer)]) if hides else None  # (f, p, belief, y)
    place = np.minimum(np.searchsorted(belief_model.stocks, stock), len(belief_model.stocks) - 1)
    prices = np.arange(len(belief_model.model.scenario.prices))[:, None, None]
    for state in np.unique(feature):
        rows = np.flatnonzero(feature == state)
        pair = belief_model.pair_of[place[rows]]  # (rows, o)
        law = belief[rows] @ belief_model.model.pmf[state]  # (p, rows, D)
        value = (law @ gain[state])[prices, np.arange(len(rows))[:, None], pair]  # (p, rows, o)
        value -= belief_model.model.order_cost
        allowed = np.broadcast_to(belief_model.model.allowed[belief_model.stocks[place[rows]]], value.shape)
        if after is not None:
            supply = belief_model.pairs[pair]
            cut = np.minimum(belief_model.hidden_above[supply], law.shape[-1] - 1)
            chance, mean, variance = (each[prices, np.arange(len(rows))[:, None], cut] for each in tail_moments(law))
            position, weight = belief_model.beliefs.locate(mean, variance)
            follows = after[state][
                prices[..., None], position, belief_model.restock[belief_model.pairs[pair]][..., None]
            ]
            value += discount * chance * (weight * follows).sum(axis=-1)
            if belief_model.restricts(layer):
                risk = np.where(allowed, chance, np.inf)
                least = risk.min(axis=(0, 2), keepdims=True)
                allowed = allowed & (risk <= np.maximum(least, SAFE))
        value = np.moveaxis(np.where(allowed, value, -np.inf), 0, 1).reshape(len(rows), -1)
        action[rows] = np.argmax(value, axis=1)
    return action


def _position(demand: Floats, demands: int) -> Ints:
    return np.minimum(demand, demands - 1).astype(np.int64)
