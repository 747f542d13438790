"""Business rules: which of the joint actions a row may take."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field, PlainSerializer

from lostsales.data.business_rules import OWN_RULES, BusinessRules, OwnRules
from lostsales.data.log import SalesLog
from lostsales.errors import LostSalesError, SettingError
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.view import View
from lostsales.types import Array, Bools, Floats, Ints, exceeds


@dataclass(frozen=True, eq=False)
class MaskQuery:
    """The arguments of a mask: actions, and the state of each row."""

    actions: Floats  # (actions, 2) price and order; (rows, actions, 2) where each row has a grid of its own
    stock: Floats  # (rows,)
    last_price: Floats  # (rows,) NaN where unknown
    features: dict[str, Floats]  # by name, each (rows,); a categorical one as the index of its level


class Rules(BusinessRules):
    """Business rules: limits on actions, on top of the grid of prices and orders.

    An action that the rules forbid is never in the maximum of a target nor a recommendation.

    Parameters
    ----------
    multiple : float, optional
        Orders come in cases of so many.
    minimum : float, optional
        An order is none or at least this.
    least_margin : float, optional
        Least gross margin as a share of the price; waived where no price reaches it.
    greatest_price_change, greatest_price_change_percent : float, optional
        Against the price of the period before; waived where no price of the grid lies within it.
    price_endings : tuple of float, optional
        What prices end in, such as (0.99, 0.49).
    price_ladder : tuple of float, optional
        Only these prices of the grid.
    markdowns_only : bool
        Prices may stay or fall; waived where all prices of the grid are higher.
    most_price_changes : int, optional
        Price changes of a product until its season ends.
    price_beyond : float
        Share by which prices may leave the range at which a product was sold.
    forbidden : tuple of (price, order)
        Pairs that are not allowed.
    order_days : str, optional
        A feature that is 0 where no order may be placed.
    own : tuple of OwnRules
        Rules of some products, by attribute or name, which win over those of all.
    mask : callable, optional
        Takes a `MaskQuery` and returns the allowed actions, (rows, actions); a policy with one cannot be saved.

    Examples
    --------
    >>> Rules(multiple=6, minimum=12).standing(ActionGrid(np.array([4.0]), np.array([0.0, 6.0, 12.0]), np.inf))
    array([ True, False,  True])

    """

    mask: Callable[[MaskQuery], Bools] | None = Field(None, exclude=True)

    def over(self, other: BusinessRules) -> "Rules":
        """These rules, and for what they leave open those of a problem."""
        mine = {name: getattr(self, name) for name in self.model_fields_set}
        theirs = {name: getattr(other, name) for name in other.model_fields_set}
        return Rules(**theirs | mine)

    @property
    def limits_changes(self) -> bool:
        """True where the last price matters."""
        named = [{"greatest_price_change", "greatest_price_change_percent"} & set(each.given) for each in self.own]
        return (
            self.markdowns_only
            or self.greatest_price_change is not None
            or self.greatest_price_change_percent is not None
            or any(named)
        )

    def of_log(self, log: SalesLog) -> "Rules":
        """These rules, those of some products by the names of their series in a log."""
        return self.model_copy(update={"own": tuple(_resolved(each, log) for each in self.own)})

    def of_view(self, view: View, rows: Ints | slice = slice(None)) -> "Rules":
        """The rules of rows of a view; a series that the log never had has those of its attributes."""
        given = {} if view.context is None else view.context.attributes
        names = None if view.names is None else view.names[rows]
        return self.of_names(names, {name: texts[rows] for name, texts in given.items()})

    def multiples(self, view: View, shown: Floats) -> Floats:
        """Multiples of the orders of the rows of a view, (rows,): those of the rules, else those that the log shows."""
        said = self.of_view(view).multiple
        return shown if said is None else np.where(np.isnan(said), shown, said)

    def of_names(self, names: Array | None, attributes: dict[str, Array] | None = None) -> "Rules":
        """The rules of rows of series: what some have of their own is an array, (rows,), NaN where a row has none.

        After `of_log` rules name series, and beside them the attributes by which a series that is not named has them.
        """
        if not self.own or names is None:
            return self
        update: dict[str, Floats] = {}
        for name in OWN_RULES:
            if any(name in each.given for each in self.own):
                common = getattr(self, name)
                update[name] = np.full(len(names), np.nan if common is None else common)
        for each in self.own:
            rows = np.isin(names.astype(str), each.where["series"]) | _has(each, attributes or {}, len(names))
            for name, value in each.given.items():
                update[name][rows] = value
        return self.model_copy(update=update)

    def standing(self, grid: ActionGrid) -> Bools:
        """Actions that are possible at all, (..., actions)."""
        price, order = grid.price, grid.order
        may = np.ones(np.broadcast_shapes(price.shape, order.shape), dtype=bool)
        if self.multiple is not None:
            multiple = _by_row(self.multiple)
            may = may & (np.isnan(multiple) | _same(order, np.rint(order / multiple) * multiple))
        if self.minimum is not None:
            may = may & ~((order > 0) & exceeds(_by_row(self.minimum), order))
        if self.price_ladder is not None:
            may &= _is_one_of(price, self.price_ladder)
        if self.price_endings is not None:
            may &= _is_one_of(price % 1, self.price_endings)
        if self.least_margin is not None:
            least = np.asarray(grid.unit_cost)[..., None] / (1 - _by_row(self.least_margin))
            enough = may & ~exceeds(least, price)  # NaN exceeds nothing
            may = np.where(enough.any(axis=-1, keepdims=True), enough, may)
        for forbidden_price, forbidden_order in self.forbidden:
            may &= ~(_same(price, forbidden_price) & _same(order, forbidden_order))
        if not may.any(axis=-1).all():
            raise SettingError("no action of the grid passes the rules")
        return may

    def feasible(
        self,
        grid: ActionGrid,
        stock: Floats,
        last_price: Floats,
        features: dict[str, Floats] | None = None,
        limit: Floats | None = None,
    ) -> Bools:
        """Actions that each row may take, (rows, actions); a last price of NaN is unknown and binds nothing.

        `limit` is the most that the supply lets each row order (`View.order_limit`). If no candidate of
        the grid lies within the greatest price change, that change is waived.
        """
        price, order = grid.price, grid.order
        may: Bools = self.standing(grid) & (order <= grid.most_orders(stock, limit)[:, None])
        given = features or {}
        if self.order_days is not None:
            if self.order_days not in given:
                raise SettingError(
                    f"order_days must be a feature, but {self.order_days!r} is not; there are {list(given)}"
                )
            may &= (order == 0) | (given[self.order_days] != 0)[:, None]
        if self.mask is not None:
            may &= self._masked(self.mask, MaskQuery(grid.pairs, stock, last_price, given), may.shape)
        stuck = ~may.any(axis=1)
        if stuck.any():
            raise SettingError(f"the rules leave no action where the stock is {stock[stuck][0]:g}")
        if self.markdowns_only:
            lower = may & ~exceeds(price, last_price[:, None])  # an unknown price binds nothing
            may = np.where(lower.any(axis=1, keepdims=True), lower, may)
        for most in self._greatest_changes(last_price):
            near = may & ~exceeds(np.abs(price - last_price[:, None]), most[:, None])
            may = np.where(near.any(axis=1, keepdims=True), near, may)
        return may

    def _greatest_changes(self, last_price: Floats) -> list[Floats]:
        """Largest change of the price of each row, (rows,), for each such rule."""
        found = []
        if self.greatest_price_change is not None:
            found.append(np.broadcast_to(np.asarray(self.greatest_price_change), last_price.shape))
        if self.greatest_price_change_percent is not None:
            found.append(last_price * (np.asarray(self.greatest_price_change_percent) / 100))
        return found

    def saved(self) -> dict[str, Any]:
        """The rules in a policy file."""
        if self.mask is not None:
            raise LostSalesError(
                "a policy whose rules have a mask cannot be saved: the file holds numbers, never code. Say it with "
                "order_days, forbidden or the other rules, or keep this policy in memory"
            )
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    def _masked(self, mask: Callable[[MaskQuery], Bools], query: MaskQuery, shape: tuple[int, ...]) -> Bools:
        found = np.asarray(mask(query))
        if found.shape != shape or found.dtype != np.bool_:
            raise SettingError(
                f"a mask must give truth values of shape {shape} (rows, actions), but {found.dtype} of shape "
                f"{found.shape} came"
            )
        return found


def _savable(rules: Rules) -> Rules:
    rules.saved()  # or they have a mask
    if any("series" not in each.where for each in rules.own):
        raise ValueError("the rules of some products must name their series")
    return rules


# In a policy file, where `of_log` has added the names of series.
SavedRules = Annotated[Rules, AfterValidator(_savable), PlainSerializer(Rules.saved)]


def _by_row(rule: float) -> Floats:
    """A rule of all rows, or of each, against the actions of rows."""
    return np.asarray(rule, dtype=np.float64)[..., None]


def _resolved(rules: OwnRules, log: SalesLog) -> OwnRules:
    """The same rules with the names of the series that they mean.

    Rules by attributes alone keep these, for series that come later.
    """
    meant = np.ones(len(log.names), dtype=bool)
    for key, values in rules.where.items():
        known = log.names.astype(str) if key == "series" else log.attributes.get(key)
        if known is None:
            there = ", ".join(["series", *log.attributes])
            raise SettingError(
                f"where of [[rules.own]] names {key!r}, which is no attribute of the log; there are {there}"
            )
        absent = [value for value in values if value not in known]
        if absent:
            raise SettingError(f"where of [[rules.own]] names {key} {absent[0]!r}, which no row of the log has")
        meant &= np.isin(known.astype(str), values)
    later = {} if "series" in rules.where else rules.where
    names = tuple(sorted(set(log.names[meant].astype(str).tolist())))
    return rules.model_copy(update={"where": {"series": names} | later})


def _has(rules: OwnRules, attributes: dict[str, Array], rows: int) -> Bools:
    """Rows that have all attributes by which rules are given, (rows,); none where they are given by name alone."""
    by = {key: values for key, values in rules.where.items() if key != "series"}
    if not by or not set(by) <= set(attributes):
        return np.zeros(rows, dtype=bool)
    return np.asarray(np.all([np.isin(attributes[key].astype(str), values) for key, values in by.items()], axis=0))


def _is_one_of(values: Floats, options: tuple[float, ...]) -> Bools:
    """True where a value is one of some options."""
    if not options:
        return np.zeros(values.shape, dtype=bool)
    rising = np.unique(options)
    above = np.searchsorted(rising, values)
    below = np.maximum(above - 1, 0)
    return _same(values, rising[below]) | _same(values, rising[np.minimum(above, len(rising) - 1)])


def _same(left: Floats, right: Floats | float) -> Bools:
    return np.asarray(~exceeds(left, right) & ~exceeds(-left, -np.asarray(right)))
