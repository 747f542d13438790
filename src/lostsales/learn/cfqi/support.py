"""Support: the prices and orders that the log shows near a history, and the usual ones among them.

The log says nothing of an action that was never tried: where one price ruled, Q cannot depend on the price, and its
maximum over prices is a tie. So behaviour is described at each depth by a regression of the price and of the order on
the history, and by the residuals around it. A price or an order is supported where rows took it, given the history, at
least `LEAST_SHARE` as often as if all that the depth has seen were equally likely: all of a uniform log, what is near
the rule of a manager who strays from it now and then, and one price where one price ruled. No order is supported that
fills up beyond what the log ever had: a Q that rises with a stock which nobody has seen cannot let it pile up.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from lostsales.data.splits import FoldMasks
from lostsales.learn.function.depth_regression import HyperparameterSearch, build, subsample
from lostsales.learn.function.q_function import ActionScaler, FunctionClass, Hyperparameters, QFunction, Scaler
from lostsales.saved_fields import Axis, Count, NonNegative, NonNegativeOrInfinite, numbers
from lostsales.types import Bools, Floats, Ints, exceeds

LEAST_SHARE = 0.25
WINDOW = 0.05  # rows count that lie within this share of the range of what was done, or nearer than the next candidate
WINDOW_ROWS = 12  # that a window would hold at least if all were equally likely: fewer tell nothing
LEAST_EXPLAINED = 0.05  # of the absolute deviation of held-out rows, or 2 / sqrt(rows): less is chance
ROUNDS = 2  # of leaving strays aside
STRAYS_FROM = 3.7  # median absolute residuals: 2.5 standard deviations of a normal law; one of the residuals at least
ROUNDING = 1e-9  # by which actions may differ
NO_ACTION = np.zeros((1, 2))
FUNCTION = FunctionClass()


@dataclass(frozen=True, eq=False)
class ActionSpread:
    """Usual action after a history, the residuals around it, and the range of actions."""

    AXES: ClassVar[dict[str, Axis]] = {"residuals": Axis(own=True)}

    mean: QFunction
    residuals: Annotated[Floats, numbers("residuals")]  # rising
    range: NonNegative

    @classmethod
    def of(cls, histories: "HistoryRegression", taken: Floats) -> "ActionSpread":
        """Regress what was done (rows,) on the histories of a depth."""
        mean, residuals = _without_strays(histories, taken)
        return cls(mean, np.sort(residuals), float(np.ptp(taken)))

    @property
    def concentration(self) -> float:
        """0 where all that was done is as likely as the usual, 1 where little else was done."""
        even = self.range / 4  # the median distance from the middle
        return float(np.clip(1 - np.median(np.abs(self.residuals)) / even, 0, 1)) if even else 1.0

    def fixed_share(self, block: Floats, taken: Floats) -> float:
        """Share of the rows at which one value alone is supported of those that were taken (rows,)."""
        candidates = np.unique(taken)
        return float((self.supports(self.usual(block), candidates).sum(axis=1) == 1).mean())

    def usual(self, block: Floats) -> Floats:
        """Usual action after each history, (rows,)."""
        return np.asarray(self.mean.values(block, NO_ACTION)[:, 0])

    def supports(self, usual: Floats, candidates: Floats) -> Bools:
        """Supported candidates (candidates,) around usual actions (rows,), (rows, candidates); one at least."""
        if len(candidates) == 1:
            return np.ones((len(usual), 1), dtype=bool)
        apart = candidates - usual[:, None]
        gaps, total = np.diff(candidates), len(self.residuals)
        wide = max(WINDOW, WINDOW_ROWS / 2 / total) * self.range
        below, above = np.maximum(np.r_[gaps[0], gaps] / 2, wide), np.maximum(np.r_[gaps, gaps[-1]] / 2, wide)
        rows = np.searchsorted(self.residuals, apart + above) - np.searchsorted(self.residuals, apart - below)
        even = total * (below + above) / (self.range + gaps.min())
        enough = rows >= np.maximum(LEAST_SHARE * even, 1)
        nearest = np.abs(apart) == np.abs(apart).min(axis=1, keepdims=True)
        return np.asarray(np.where(enough.any(axis=1, keepdims=True), enough, nearest))


@dataclass(frozen=True, eq=False)
class HistoryRegression:
    """The histories of a depth, ready for ridge regressions on them alone: prices and orders share what they need."""

    block: Floats
    scaler: Scaler
    history: Floats  # standardised
    search: HyperparameterSearch
    seed: int

    @classmethod
    def of(cls, block: Floats, folds: FoldMasks, seed: int) -> "HistoryRegression":
        """Learn from histories (rows, coordinates) and their folds."""
        scaler = Scaler.of(block)
        history, no_action = scaler(block), np.zeros((len(block), 2))
        return cls(block, scaler, history, HyperparameterSearch.of(history, no_action, folds, FUNCTION, seed), seed)

    def fit(self, values: Floats, rows: Bools, chosen: Hyperparameters, bounds: tuple[float, float]) -> QFunction:
        """Mean of values (rows,) given the history, from some of the rows, kept within bounds."""
        no_action = np.zeros((int(rows.sum()), 2))
        scalers = self.scaler, ActionScaler.of(no_action)
        design = build(*scalers, self.history[rows], no_action, chosen, FUNCTION, self.seed)
        return design.q(values[rows], *bounds)[0]


def _without_strays(histories: HistoryRegression, taken: Floats) -> tuple[QFunction, Floats]:
    """Regression of what was done on the history, rows far from it left aside, and the residuals of all rows.

    One that explains no more than chance would is taken for a constant: it would cut the ends of a uniform log.
    """
    constant, search = taken - taken.mean(), histories.search
    chosen = search.choose(constant)
    held_out, near = search.held_out(constant, chosen), np.ones(len(taken), dtype=bool)
    by_chance = max(LEAST_EXPLAINED, 2 * len(held_out) ** -0.5)
    explains = np.abs(held_out).mean() <= (1 - by_chance) * np.abs(constant[search.rows]).mean()
    bounds = float(taken.min()), float(taken.max())
    for _ in range(ROUNDS + 1 if explains else 1):
        mean = histories.fit(taken, near, chosen, bounds)
        residuals = taken - mean.values(histories.block, NO_ACTION)[:, 0]
        # Where most rows agree exactly the median is next to nothing: rows that the regression misses are no strays.
        far = max(STRAYS_FROM * float(np.median(np.abs(residuals))), float(residuals.std()), ROUNDING)
        near = np.abs(residuals) <= far
    return (mean, residuals) if explains else (replace(mean, weights=np.zeros_like(mean.weights)), constant)


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
