"""Business rules: which of the joint actions a row may take."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lostsales.errors import LostSalesError, SettingError
from lostsales.policy.action_grid import ActionGrid
from lostsales.types import Bools, Floats, exceeds


@dataclass(frozen=True, eq=False)
class MaskQuery:
    """Rows for which a mask of the user's says what may be done."""

    actions: Floats  # (actions, 2) price and order
    stock: Floats  # (rows,)
    last_price: Floats  # (rows,) NaN where unknown
    features: dict[str, Floats]  # by name, each (rows,); a categorical one as the index of its level


@dataclass(frozen=True)
class Rules:
    """What a retailer will not do, on top of the grid; an infeasible action is never a target nor a recommendation."""

    order_multiple: float | None = None  # orders come in cases of so many
    order_minimum: float | None = None  # an order is none or at least this
    price_ladder: tuple[float, ...] | None = None  # only these prices of the grid
    greatest_price_change: float | None = None  # against the last period's price
    forbidden: tuple[tuple[float, float], ...] = ()  # pairs (price, order)
    order_days: str | None = None  # a feature that is 0 where no order may be placed
    mask: Callable[[MaskQuery], Bools] | None = (
        None  # (rows, actions) that may be taken; a policy with one is not saved
    )

    def standing(self, grid: ActionGrid) -> Bools:
        """Actions that are possible at all, (actions,)."""
        self._check()
        price, order = grid.pairs.T
        may = np.ones(len(grid), dtype=bool)
        if self.order_multiple is not None:
            may &= _same(order, np.rint(order / self.order_multiple) * self.order_multiple)
        if self.order_minimum is not None:
            may &= (order == 0) | ~exceeds(np.full(len(grid), self.order_minimum), order)
        if self.price_ladder is not None:
            may &= _same(price[:, None], np.array(self.price_ladder)).any(axis=1)
        for forbidden_price, forbidden_order in self.forbidden:
            may &= ~(_same(price, forbidden_price) & _same(order, forbidden_order))
        if not may.any():
            raise SettingError("no action of the grid passes the rules")
        return may

    def feasible(
        self, grid: ActionGrid, stock: Floats, last_price: Floats, features: dict[str, Floats] | None = None
    ) -> Bools:
        """Actions that each row may take, (rows, actions); a last price of NaN is unknown and binds nothing.

        Where no rung of the ladder lies within the greatest price change, the change is let go.
        """
        price, order = grid.pairs.T
        may: Bools = self.standing(grid) & (order <= grid.most_orders(stock)[:, None])
        told = features or {}
        if self.order_days is not None:
            if self.order_days not in told:
                raise SettingError(
                    f"order_days must be a feature, but {self.order_days!r} is not; there are {list(told)}"
                )
            may &= (order == 0) | (told[self.order_days] != 0)[:, None]
        if self.mask is not None:
            may &= self._masked(MaskQuery(grid.pairs, stock, last_price, told), may.shape)
        stuck = ~may.any(axis=1)
        if stuck.any():
            raise SettingError(f"the rules leave no action where the stock is {stock[stuck][0]:g}")
        if self.greatest_price_change is not None:
            near = may & ~exceeds(np.abs(price - last_price[:, None]), self.greatest_price_change)
            may = np.where(near.any(axis=1, keepdims=True), near, may)
        return may

    def saved(self) -> dict[str, Any]:
        """As JSON can hold them."""
        if self.mask is not None:
            raise LostSalesError(
                "a policy whose rules have a mask cannot be saved: the file holds numbers, never code. Say it with "
                "order_days, forbidden or the other rules, or keep this policy in memory"
            )
        return {name: value for name, value in asdict(self).items() if name != "mask"}

    @classmethod
    def of_saved(cls, keys: dict[str, Any]) -> "Rules":
        """The rules again."""
        ladder, forbidden = keys["price_ladder"], tuple(tuple(pair) for pair in keys["forbidden"])
        return cls(**keys | {"price_ladder": ladder and tuple(ladder), "forbidden": forbidden})

    def _masked(self, asked: MaskQuery, shape: tuple[int, ...]) -> Bools:
        assert self.mask is not None
        found = np.asarray(self.mask(asked))
        if found.shape != shape or found.dtype != np.bool_:
            raise SettingError(
                f"a mask must give truth values of shape {shape} (rows, actions), but {found.dtype} of shape "
                f"{found.shape} came"
            )
        return found

    def _check(self) -> None:
        for name, value, least in (
            ("order_multiple", self.order_multiple, "above 0"),
            ("order_minimum", self.order_minimum, "at least 0"),
            ("greatest_price_change", self.greatest_price_change, "at least 0"),
        ):
            if value is not None and not (value > 0 or (value == 0 and least == "at least 0")):
                raise SettingError(f"{name} must be {least}, but {value:g} came")


def _same(left: Floats, right: Floats | float) -> Bools:
    return ~exceeds(left, right) & ~exceeds(-left, -np.asarray(right))
