"""Support: the prices and orders that the log shows near a history.

The log says nothing of an action that was never tried: where one price ruled, Q cannot depend on the price, and its
maximum over prices is a tie. So behaviour is described at each depth by a regression of the price and of the order on
the history, and by the held-out residuals around it. A price or an order is supported where rows took it, given the
history, at least `LEAST_SHARE` as often as if all that the depth has seen were equally likely: all of a uniform log,
what is near the rule of a manager who strays from it now and then, and one price where one price ruled.
"""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.splits import FoldMasks
from lostsales.learn.function.depth_regression import HyperparameterSearch, build, subsample
from lostsales.learn.function.q_function import ActionScaler, FunctionClass, QFunction, Scaler
from lostsales.types import Bools, Floats

LEAST_SHARE = 0.25
WINDOW = 0.05  # rows count that lie within this share of the range of what was done, or nearer than the next rung
WINDOW_ROWS = 12  # that a window would hold at least if all were equally likely: fewer tell nothing
LEAST_EXPLAINED = 0.05  # of the absolute deviation of held-out rows, or 2 / sqrt(rows): less is chance
MOST_ROWS = 2_000  # to which behaviour is fitted
NO_ACTION = np.zeros((1, 2))


@dataclass(frozen=True, eq=False)
class Spread:
    """A price or an order given the history: its mean, the residuals around it, and the range of what was done."""

    mean: QFunction
    residuals: Floats  # (rows,) rising
    range: float

    @classmethod
    def of(cls, block: Floats, taken: Floats, folds: FoldMasks, seed: int) -> "Spread":
        """Of the actions (rows,) that followed the histories of a depth."""
        scaler, no_action = Scaler.of(block), np.zeros((len(block), 2))
        action_scaler, function = ActionScaler.of(no_action), FunctionClass()
        history, middle = scaler(block), float(taken.mean())
        search = HyperparameterSearch.of(history, no_action, folds, function, seed)
        chosen = search.choose(taken - middle)
        bounds = float(taken.min()), float(taken.max())
        mean = build(scaler, action_scaler, history, no_action, chosen, function, seed).q(taken, *bounds)[0]
        constant, residuals = taken[search.rows] - middle, search.held_out(taken - middle, chosen)
        by_chance = max(LEAST_EXPLAINED, 2 * len(residuals) ** -0.5)
        if np.abs(residuals).mean() > (1 - by_chance) * np.abs(constant).mean():
            mean, residuals = replace(mean, weights=np.zeros_like(mean.weights)), constant
        return cls(mean, np.sort(residuals), bounds[1] - bounds[0])

    def supports(self, block: Floats, rungs: Floats) -> Bools:
        """Which of the rungs (rungs,) are supported near each history, (rows, rungs); one at least."""
        if len(rungs) == 1:
            return np.ones((len(block), 1), dtype=bool)
        apart = rungs - self.mean.values(block, NO_ACTION)
        gaps, total = np.diff(rungs), len(self.residuals)
        wide = max(WINDOW, WINDOW_ROWS / 2 / total) * self.range
        below, above = np.maximum(np.r_[gaps[0], gaps] / 2, wide), np.maximum(np.r_[gaps, gaps[-1]] / 2, wide)
        rows = np.searchsorted(self.residuals, apart + above) - np.searchsorted(self.residuals, apart - below)
        even = total * (below + above) / (self.range + gaps.min())
        enough = rows >= np.maximum(LEAST_SHARE * even, 1)
        nearest = np.abs(apart) == np.abs(apart).min(axis=1, keepdims=True)
        return np.asarray(np.where(enough.any(axis=1, keepdims=True), enough, nearest))


@dataclass(frozen=True, eq=False)
class Support:
    """The supported prices and orders of one depth."""

    price: Spread
    order: Spread
    histories: Floats  # (2, coordinates) least and most in the log, to which histories are clipped
    stock_at: int  # the coordinate of today's stock

    @classmethod
    def of(cls, block: Floats, action: Floats, folds: FoldMasks, stock_at: int, seed: int) -> "Support":
        """Of the histories and actions (rows, 2) of a depth."""
        at = subsample(len(block), MOST_ROWS, seed)
        parts = [(test[at], train[at]) for test, train in folds]
        price, order = (Spread.of(block[at], each, parts, seed) for each in action[at].T)
        return cls(price, order, np.array([block.min(axis=0), block.max(axis=0)]), stock_at)

    def mask(self, block: Floats, feasible: Bools, actions: Floats, n_orders: int) -> tuple[Bools, Bools]:
        """Feasible actions that are supported, (rows, actions), and rows with one price or one order only, (rows,).

        `actions` are the coordinates of the actions, (actions, 2), prices outermost. With more stock than the log ever
        had, smaller orders than the supported ones are candidates too. Where no supported action is feasible, those
        of a supported price are, or else all.
        """
        prices, orders = actions[::n_orders, 0], actions[:n_orders, 1]
        inside = np.clip(block, *self.histories)
        price, order = self.price.supports(inside, prices), self.order.supports(inside, orders)
        overstocked = block[:, self.stock_at] > self.histories[1, self.stock_at]
        if overstocked.any():
            largest = np.where(order, orders, -np.inf).max(axis=1, keepdims=True)
            order |= overstocked[:, None] & (orders <= largest)
        by_price = feasible & np.repeat(price, n_orders, axis=1)
        both = by_price & np.tile(order, len(prices))
        some = np.where(by_price.any(axis=1, keepdims=True), by_price, feasible)
        one_price = (len(prices) > 1) & (price.sum(axis=1) == 1)
        one_order = (len(orders) > 1) & (order.sum(axis=1) == 1)
        return np.where(both.any(axis=1, keepdims=True), both, some), np.asarray(one_price | one_order)
