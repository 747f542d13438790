"""Threshold policies (s, S, p): at a position of s or less order up to S, and charge a price.

The position is stock and what is on the way. Of the projected inventory level it is the stock that can be expected when
an order of today arrives (van Jaarsveld and Arts, 2024).
"""

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError
from lostsales.policy.action_grid import ActionGrid, action_sizes
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision
from lostsales.policy.rules import Rules, SavedRules
from lostsales.policy.view import Action, View
from lostsales.saved_fields import AsJson, Axis, NonNegative, Number, numbers
from lostsales.types import RELATIVE_TOLERANCE, Floats


@dataclass(frozen=True)
class Thresholds:
    """(s, S, p): a number each, or one a series. Base-stock where s = S, constant orders where S is never reached."""

    order_at: Annotated[Floats | float, AsJson(Number)]  # s
    order_up_to: Annotated[Floats | float, AsJson(Number)]  # S
    price: Annotated[Floats | float, AsJson(NonNegative)]  # where it orders
    waiting_price: Annotated[Floats | float, AsJson(NonNegative)]  # where it does not
    most_order: Annotated[Floats | float | None, AsJson(NonNegative | None)] = (
        None  # the cap of an order, None where there is none
    )

    def act(
        self,
        grid: ActionGrid,
        rules: Rules,
        stock: Floats,
        last_price: Floats,
        features: dict[str, Floats] | None = None,
        position: Floats | None = None,
        limit: Floats | None = None,
    ) -> Action:
        """The wanted action, or the nearest that the grid and the rules allow; of two orders as near the smaller.

        `position` is by default the stock; `limit` the most that the supply lets each row order.

        >>> grid = ActionGrid(np.array([4.0, 5.0]), np.array([0.0, 5.0, 10.0]), np.inf)
        >>> rule, stock = Thresholds(3, 9, price=5, waiting_price=4), np.array([0.0, 3.0, 4.0])
        >>> rule.act(grid, Rules(), stock, stock)
        Action(price=array([5, 5, 4]), order=array([10.,  5.,  0.]))
        """
        position = stock if position is None else position
        orders = position <= self.order_at
        wanted = np.where(orders, np.maximum(self.order_up_to - position, 0.0), 0.0)
        if self.most_order is not None:
            wanted = np.minimum(wanted, self.most_order)
        price = np.where(orders, self.price, self.waiting_price)
        if not rules.own and rules == Rules():
            nearest = np.searchsorted((grid.orders[1:] + grid.orders[:-1]) / 2, wanted)
            left = grid.room - stock + RELATIVE_TOLERANCE * (1 + grid.room)
            left = left if limit is None else np.minimum(left, limit + RELATIVE_TOLERANCE * (1 + grid.orders[-1]))
            fits = np.searchsorted(grid.orders, left, side="right") - 1
            return Action(price, grid.orders[np.minimum(nearest, np.maximum(fits, 0))])
        may = rules.feasible(grid, stock, last_price, features, limit)
        return grid.nearest(Action(price, wanted), may)


def position_of(view: View, paths: Floats | None) -> Floats:
    """Stock and what is on the way, (series,); with paths of demand, the stock to expect when an order arrives.

    `paths` are (paths, periods) demands, or (paths, periods, series).

    >>> none = np.zeros(1)
    >>> view = View(0, (), none + 4, none, none > 0, none, None, pipeline=np.array([[5.0]]))
    >>> position_of(view, None), position_of(view, np.array([[6.0, 1.0], [1.0, 1.0]]))
    (array([9.]), array([5.5]))
    """
    if paths is None:
        return view.stock + view.on_order
    stock = np.broadcast_to(view.stock, (len(paths), len(view.stock)))
    pipeline = np.zeros((len(view.stock), 0)) if view.pipeline is None else view.pipeline
    for period in range(paths.shape[1]):
        demand = paths[:, period, None] if paths.ndim == 2 else paths[:, period]
        arrives = pipeline[:, period] if period < pipeline.shape[1] else 0.0
        stock = np.maximum(stock - demand, 0.0) + arrives
    return np.asarray(stock.mean(axis=0))


@dataclass(frozen=True, eq=False)
class ThresholdPolicy(PolicyBase):
    """Thresholds that were tuned on a log; `value` is their profit a period in the simulation of the tuning."""

    AXES: ClassVar[dict[str, Axis]] = {"periods": Axis(least=0)}

    problem: Problem
    rules: SavedRules
    thresholds: Thresholds
    value: Number
    most_stock: NonNegative  # in the log
    usual_demand: NonNegative
    method: str
    paths: Annotated[Floats | None, numbers("paths", "periods", least=0)] = (
        None  # (paths, lead time) of demand, of the projected inventory level
    )
    observes: Literal["history"] = "history"

    @cached_property
    def grid(self) -> ActionGrid:
        """The actions."""
        return ActionGrid.of(self.problem)

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        return self._act(view)

    def _act(self, view: View) -> Action:
        features = view.features_by_name(self.asks)
        rules = self.rules.of_view(view)
        position, limit = position_of(view, self.paths), view.order_limit(self.problem)
        return self.thresholds.act(self.grid, rules, view.stock, view.last_price, features, position, limit)

    def explain(self, view: View) -> Decision:
        """The decision; a rule has no runner-up, and its value is the same for every row."""
        value, outside = np.full(len(view.stock), self.value), view.stock > self.most_stock
        return replace(Decision.without_reasons(self._act(view)), value=value, outside=outside)

    def summary(self) -> dict[str, Any]:
        """Method and thresholds."""
        rule = asdict(self.thresholds)
        return {"method": self.method, **{name: each for name, each in rule.items() if each is not None}}

    @classmethod
    def axis_sizes(cls, saved: dict[str, Any]) -> dict[str, int]:
        """The grid of the problem."""
        return action_sizes(saved["problem"])

    def validate(self) -> None:
        """Raise where it has a price that its problem does not have."""
        if strange := {self.thresholds.price, self.thresholds.waiting_price} - set(self.problem.prices or ()):
            raise LostSalesError(f"its prices are not among those of its problem: {min(strange):g}")
