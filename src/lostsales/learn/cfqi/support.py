"""Support: the prices and orders that the log shows near a history, and the usual ones among them.

The log says nothing of an action that was never tried: where one price ruled, Q cannot depend on the price, and its
maximum over prices is a tie. So behaviour is described at each depth by a regression of the price and of the order on
the history, and by the residuals around it. A price or an order is supported where rows took it, given the history, at
least `LEAST_SHARE` as often as if all that the depth has seen were equally likely: all of a uniform log, what is near
the rule of a manager who strays from it now and then, and one price where one price ruled. No order is supported that
fills up beyond what the log ever had: a Q that rises with a stock which nobody has seen cannot let it pile up.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lostsales.data.splits import FoldMasks
from lostsales.learn.cfqi.spread import ActionSpread, HistoryRegression
from lostsales.learn.function.depth_regression import subsample
from lostsales.saved_fields import Count, NonNegativeOrInfinite, numbers
from lostsales.types import Bools, Floats, Ints, exceeds

MOST_ROWS = 2_000  # to which behaviour is fitted
LEAST_WEIGHT = 0.3  # of the penalty on gains, where behaviour explores all alike


@dataclass(frozen=True, eq=False)
class Support:
    """The usual and the supported prices and orders of one depth."""

    price: ActionSpread
    order: ActionSpread
    histories: Annotated[
        Floats, numbers(2, "?")
    ]  # (2, coordinates) least and most in the log, to which histories are clipped
    stock_at: Count  # the coordinate of today's stock
    on_order: Count = 0  # so many coordinates behind it have what is on the way
    most: NonNegativeOrInfinite = np.inf  # to which orders filled up

    @classmethod
    def of(
        cls, block: Floats, action: Floats, folds: FoldMasks, stock_at: int, seed: int, on_order: int = 0
    ) -> "Support":
        """Support of the histories and actions (rows, 2) of a depth."""
        at = subsample(len(block), MOST_ROWS, seed)
        parts = [(test[at], train[at]) for test, train in folds]
        position = block[:, stock_at : stock_at + 1 + on_order].sum(axis=1)
        regression = HistoryRegression.of(block[at], parts, seed)
        price, order = (ActionSpread.of(regression, each) for each in action[at].T)
        histories, most = np.array([block.min(axis=0), block.max(axis=0)]), float((position + action[:, 1]).max())
        return cls(price, order, histories, stock_at, on_order, most)

    @property
    def gain_weight(self) -> float:
        """Share of the penalty on gains that counts: all where behaviour hardly leaves the usual price or order."""
        return LEAST_WEIGHT + (1 - LEAST_WEIGHT) * max(self.price.concentration, self.order.concentration)

    def mask(self, block: Floats, feasible: Bools, actions: Floats, n_orders: int) -> tuple[Bools, Bools]:
        """Feasible actions that are supported, (rows, actions), and rows with one price or one order only, (rows,).

        `actions` are the coordinates of the actions, (actions, 2), prices outermost. With more stock than the log ever
        had, smaller orders than the supported ones are candidates too. If no supported action is feasible, those
        of a supported price are, or else all.
        """
        prices, orders = actions[::n_orders, 0], actions[:n_orders, 1]
        usual = self._usual(block)
        price, order = self.price.supports(usual[0], prices), self.order.supports(usual[1], orders)
        overstocked = block[:, self.stock_at] > self.histories[1, self.stock_at]
        if overstocked.any():
            largest = np.where(order, orders, -np.inf).max(axis=1, keepdims=True)
            order |= overstocked[:, None] & (orders <= largest)
        one_price = (len(prices) > 1) & (price.sum(axis=1) == 1)
        one_order = (len(orders) > 1) & (order.sum(axis=1) == 1)
        feasible = self._not_beyond(block, feasible, orders, len(prices))
        by_price = feasible & np.repeat(price, n_orders, axis=1)
        both = by_price & np.tile(order, len(prices))
        some = np.where(by_price.any(axis=1, keepdims=True), by_price, feasible)
        return np.where(both.any(axis=1, keepdims=True), both, some), np.asarray(one_price | one_order)

    def usual_action(self, block: Floats, may: Bools | None, actions: Floats) -> Ints:
        """The index of the allowed action (rows, actions) nearest to the usual price and order, (rows,)."""
        apart = np.zeros((len(block), len(actions)))
        for usual, candidates in zip(self._usual(block), actions.T, strict=True):
            apart += np.abs(candidates - usual[:, None]) / (np.ptp(candidates) or 1.0)
        return np.asarray((apart if may is None else np.where(may, apart, np.inf)).argmin(axis=1))

    def _usual(self, block: Floats) -> tuple[Floats, Floats]:
        inside = np.clip(block, *self.histories)
        return self.price.usual(inside), self.order.usual(inside)

    def _not_beyond(self, block: Floats, feasible: Bools, orders: Floats, n_prices: int) -> Bools:
        """Feasible actions that do not fill up beyond what the log had; the smallest orders where all do."""
        position = block[:, self.stock_at : self.stock_at + 1 + self.on_order].sum(axis=1, keepdims=True)
        beyond = exceeds(position + orders, self.most)
        if not beyond.any():
            return feasible
        within = feasible & ~np.tile(beyond, n_prices)
        order = np.tile(orders, n_prices)
        least = np.where(feasible, order, np.inf).min(axis=1, keepdims=True)
        return np.where(within.any(axis=1, keepdims=True), within, feasible & (order <= least))
