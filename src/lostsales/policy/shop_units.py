"""The wrapper between the units of the shop and those of a policy: relative rows in, decisions of the shop out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lostsales.data.candidate_grid import CandidateGrid, snapped
from lostsales.data.feature import Feature
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.product_table import ProductTable
from lostsales.data.relative import in_units, problem_in_units
from lostsales.data.scale import TINY
from lostsales.data.units import counted
from lostsales.policy.action_grid import ActionGrid, room_of
from lostsales.policy.decision import Decision
from lostsales.policy.expected import Expected
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.product_rows import ProductRows, rows_of_view
from lostsales.policy.rules import Rules, SavedRules
from lostsales.policy.view import EARLIER_PERIODS, Action, ClosedPeriod, Features, SeriesContext, View
from lostsales.policy.wrapper import PolicyWrapper
from lostsales.saved_fields import NonNegative
from lostsales.types import Floats

# Further columns of a decision, and fields of an expectation, that are quantities, and those that are money.
QUANTITIES = frozenset(
    {"last_demand", "expected_left", "expected_waste", "expected_demand", "expected_lost", "price_units"}
)
MONEY = frozenset({"price_margin", "expected_profit"})
VALUES = ("value", "penalty", "advantage")  # fields that are money
OUTCOMES = ("demand", "sales", "lost", "leftover")
EXPECTED_QUANTITIES, EXPECTED_MONEY = (*OUTCOMES, *(f"cover_{name}" for name in OUTCOMES)), ("profit", "value")
DIGITS = 10  # to which quantities of the shop are rounded


@dataclass(frozen=True, eq=False)
class ShopGrid:
    """Prices and orders of a shop whose policy decides in relative units, and the rules that hold for them."""

    candidates: CandidateGrid  # relative
    rules: SavedRules
    unit_cost: NonNegative  # of an order, its mean in the log

    def in_units(self, unit: float) -> "ShopGrid":
        """The same with quantities counted in a unit."""
        return replace(self, candidates=self.candidates.in_units(unit), rules=self.rules.in_units(unit))

    def settled(
        self, view: View, rows: ProductRows, wanted: Action, problem: Problem, asks: tuple[Feature, ...]
    ) -> Action:
        """Allowed action of the shop that is nearest to a wanted one."""
        candidates, seen, (price, order) = self.candidates, rows.seen, wanted
        if candidates.relative_prices and candidates.price_step:
            price = np.where(np.isnan(price), price, snapped(price, candidates.price_step, candidates.price_endings))
        price = np.clip(price, seen.price_floor, seen.price_ceiling)
        multiple = np.where(rows.case_size > 0, rows.case_size, candidates.order_multiple)
        multiple = self.rules.multiples(view, multiple)
        order, step = np.minimum(order, seen.order_ceiling), np.where(multiple > 0, multiple, 1.0)
        if candidates.relative_orders:
            counts = np.minimum(np.rint(order / step), np.floor(seen.order_ceiling / step + TINY))
            order = np.where(multiple > 0, step * counts, order)
        room, limit = room_of(problem), view.order_limit(problem)
        listed = not candidates.relative_prices and bool((rows.usual_price != 1).any())
        listed |= not candidates.relative_orders and bool((rows.scale != rows.unit).any())
        if self.rules == Rules() and np.isinf(room) and limit is None and not listed:
            return Action(price, order)
        rules = self.rules.of_view(view)
        prices = seen.prices_within(candidates.prices_of(rows.usual_price), rules)
        grid = ActionGrid(prices, candidates.orders_of(rows.scale, multiple), room, self.unit_cost)
        may = rules.feasible(grid, view.stock, view.last_price, view.features_by_name(asks), limit)
        may = seen.allowed(grid.price, grid.order, may)
        nearest = grid.nearest(Action(price, order), may)
        return Action(*(np.where(np.isnan(each), each, at) for each, at in zip((price, order), nearest, strict=True)))


@dataclass(frozen=True, eq=False)
class InShopUnits(PolicyWrapper[SavedPolicy]):
    """Asks the policy inside in relative units, and answers in those of the shop.

    Quantities are divided by the scale of their product, prices and unit costs by its usual price.
    """

    problem: Problem  # of the shop
    products: ProductTable
    usual_demand: NonNegative
    grid: ShopGrid | None = None  # None: the policy inside chooses among the prices and orders of the shop

    @property
    def may_recommend(self) -> CandidateGrid | None:
        """Grid of the shop."""
        if self.grid is not None:
            return self.grid.candidates
        inside = self.policy.may_recommend
        return None if inside is None else inside.in_units(1 / self.products.shop_unit)

    @cached_property
    def asks(self) -> tuple[Feature, ...]:
        """Features that the policy inside asks for, without unit costs that are the same in all rows of the shop."""
        return tuple(each for each in self.policy.asks if each.name not in self._costs)

    @cached_property
    def _costs(self) -> dict[str, float]:
        """Unit costs that the problem gives as numbers, by the name of their feature."""
        names, costs = self.problem.columns, self.problem.costs
        given = {names.lost_cost: costs.lost, names.order_cost: costs.order, names.holding_cost: costs.holding}
        return {name: cost for name, cost in given.items() if isinstance(cost, float)}

    def summary(self) -> dict[str, Any]:
        """Summary of the policy inside, and the units in which it is to be read."""
        more: dict[str, Any] = {}
        if self.grid is not None:
            more["relative"] = True
        if (self.products.unit != 1).any():
            more["unit"] = self.products.shop_unit
        return self.policy.summary() | more

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every product."""
        rows = self.rows(view)
        price, order = self.policy.decide(self.inside(view, rows), rng)
        return self._settled(view, rows, price, order)

    def explain(self, view: View) -> Decision:
        """Decision of the policy inside in the units of the shop."""
        rows = self.rows(view)
        found = self.policy.explain(self.inside(view, rows))
        money = rows.scale * rows.usual_price if found.in_money else np.ones(len(rows.scale))
        price, order = self._settled(view, rows, found.price, found.order)
        second = self._settled(view, rows, found.runner_up_price, found.runner_up_order)
        more = {
            name: _quantity(each, rows.scale) if name in QUANTITIES else each * money if name in MONEY else each
            for name, each in found.more.items()
        }
        found = replace(
            found,
            price=price,
            order=order,
            runner_up_price=second.price,
            runner_up_order=second.order,
            more=more,
            **{name: getattr(found, name) * money for name in VALUES},
        )
        if self.grid is None:
            return found
        unseen, never = rows.seen.unseen(price, order), rows.seen.never_ordered
        return replace(found, unknown_series=rows.is_unknown, unseen=unseen, never_ordered=never)

    def expect(self, view: View, action: Action, unit_cost: Floats | None = None) -> Expected | None:
        """Expectation of the policy inside in the units of the shop."""
        rows = self.rows(view)
        asked = Action(action.price / rows.usual_price, counted(action.order, rows.scale))
        cost = None if unit_cost is None else unit_cost / rows.usual_price
        found = self.policy.expect(self.inside(view, rows), asked, cost)
        if found is None:
            return None
        quantities = {name: getattr(found, name) * rows.scale for name in EXPECTED_QUANTITIES}
        money = {name: getattr(found, name) * rows.scale * rows.usual_price for name in EXPECTED_MONEY}
        return replace(found, **quantities, **money, unit_cost=found.unit_cost * rows.usual_price)

    def demand_atoms(self, view: View, price: Floats) -> Floats | None:
        """Equally likely demands of the policy inside, in the quantities of the shop."""
        rows = self.rows(view)
        atoms = self.policy.demand_atoms(self.inside(view, rows), price / rows.usual_price)
        return None if atoms is None else atoms * rows.scale[:, None]

    def demand_futures(self, view: View, price: Floats, features: Sequence[Features]) -> Floats | None:
        """Equally likely demands of the coming periods, in the quantities of the shop."""
        rows = self.rows(view)
        found = self.policy.demand_futures(self.inside(view, rows), price / rows.usual_price, features)
        return None if found is None else found * rows.scale[:, None, None]

    def counted(self, log: SalesLog) -> tuple["InShopUnits", SalesLog]:
        """The same policy and a log of the shop, with quantities counted in the units of products."""
        unit, products = self.products.shop_unit, self.products
        in_counts = replace(
            self,
            problem=problem_in_units(self.problem, unit),
            products=products.times(1 / unit, 1 / products.unit),
            grid=None if self.grid is None else self.grid.in_units(unit),
            usual_demand=self.usual_demand / unit,
        )
        units, shop_unit = self.products.units_by_name, self.products.shop_unit
        return in_counts, in_units(
            log, shop_unit, np.array([units.get(str(name), shop_unit) for name in log.products.names])
        )

    def rows(self, view: View) -> ProductRows:
        """Divisors and limits of the products of a view."""
        return rows_of_view(self.products, view)

    def inside(self, view: View, rows: ProductRows) -> View:
        """The same open period as the policy inside sees it."""
        if (rows.scale == 1).all() and (rows.usual_price == 1).all() and self.asks == self.policy.asks:
            return view
        if self.grid is None:
            return relative_view(view, rows.scale, rows.usual_price)
        market, asked, costs = {each.name for each in self.problem.features}, self.policy.asks, self._costs
        names = [each.name for each in self.asks]

        def relative(features: Features) -> Features:
            given = dict(zip(names, features, strict=True)) | costs
            return tuple(
                np.asarray(given[each.name] if each.name in market else given[each.name] / rows.usual_price)
                for each in asked
            )

        return relative_view(view, rows.scale, rows.usual_price, relative, divided=np.divide)

    def _settled(self, view: View, rows: ProductRows, price: Floats, order: Floats) -> Action:
        """Action of the shop for a relative one."""
        found = Action(price * rows.usual_price, order * rows.scale)
        if self.grid is not None:
            found = self.grid.settled(view, rows, found, self.problem, self.asks)
        return found._replace(order=_quantity(found.order, 1.0))


def relative_view(
    view: View,
    scale: Floats,
    usual_price: Floats,
    features: Callable[[Features], Features] | None = None,
    divided: Callable[[Floats, Floats], Floats] = counted,
) -> View:
    """The same open period with quantities and prices divided by those of each product, (rows,)."""
    context = view.context
    if context is not None:
        context = SeriesContext(context.attributes, context.mean_demand / scale)
    longest = int(view.depth.max(initial=0)) + EARLIER_PERIODS
    past = tuple(
        # Every closed period knows those before it as well: their pasts again would double the work with each period.
        ClosedPeriod(
            relative_view(replace(each.view, past=(), recent=None), scale, usual_price, features, divided),
            Action(each.action.price / usual_price, divided(each.action.order, scale)),
        )
        for each in view.past[-longest:]
    )
    return replace(
        view,
        features=view.features if features is None else features(view.features),
        stock=divided(view.stock, scale),
        last_sales=divided(view.last_sales, scale),
        last_demand=None if view.last_demand is None else divided(view.last_demand, scale),
        past=past,
        context=context,
        pipeline=None if view.pipeline is None else divided(view.pipeline, scale[:, None]),
        ages=None if view.ages is None else view.ages / scale[:, None],
        salvage=None if view.salvage is None else view.salvage / usual_price,
        recent=None if view.recent is None else view.recent.in_units(scale),
    )


def _quantity(counts: Floats, unit: Floats | float) -> Floats:
    return np.asarray(np.round(counts * unit, DIGITS))
