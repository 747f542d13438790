"""The exact belief filter through a run of stock-outs, and the greedy decision for a belief."""

from typing import Protocol

import numpy as np

from lostsales.lab.exact.beliefs import conditioned, tail_moments
from lostsales.lab.exact.pi_star import SAFE, BeliefModel
from lostsales.lab.exact.value_iteration import Values
from lostsales.policy.view import Action, View
from lostsales.types import Array, Bools, Floats, Ints


class Filtered(Protocol):
    """A model, as the filter needs it."""

    def law(self, period: int) -> Floats:
        """P(D_t = D | X_t, P_t, D_{t-1}) of a period, (f, p, d, D)."""
        ...

    def outcome(self, past: View, action: Action, after: View, rows: Ints) -> Ints:
        """Facts that a closed period showed: feature state, price, and what `hidden` needs, (facts, rows)."""
        ...

    def hidden(self, outcome: Ints) -> Bools:
        """True for the demands that a stock-out with these facts may have hidden, (rows, D)."""
        ...


def beliefs_of_runs(model: Filtered, view: View, rows: Ints) -> tuple[Floats, Ints]:
    """P(D_{t-1} = D | history block since the anchor) of series in a run: distinct beliefs, and the index of each row.

    Filtered from the anchor's demand: the law of demand, conditioned on demand above what was available (Appendix C).
    """
    depth = view.depth[rows]
    demands = model.law(view.period).shape[3]
    certain = np.eye(demands)
    beliefs, which = certain, np.zeros(len(rows), dtype=np.int64)
    for back in range(int(depth.max()), 0, -1):
        past, action = view.past[-back]
        anchored = depth == back
        which[anchored] = np.clip(past.last_sales[rows[anchored]], 0, demands - 1).astype(np.int64)
        running = np.flatnonzero(depth >= back)
        outcome = model.outcome(past, action, view if back == 1 else view.past[1 - back].view, rows[running])
        cells, of_cell = np.unique(np.vstack([which[running], outcome]), axis=1, return_inverse=True)
        drawn = _predicted(model.law(past.period), beliefs[cells[0]], cells[1], cells[2])
        beliefs = np.concatenate([certain, conditioned(drawn, model.hidden(cells[1:]))])
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
