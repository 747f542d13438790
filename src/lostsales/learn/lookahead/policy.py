"""The policy that orders by sampled futures and keeps the price of each series."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from lostsales.data.economics import UnitCosts
from lostsales.data.problem import Problem
from lostsales.data.product_table import ProductTable
from lostsales.data.units import order_multiple
from lostsales.demand.forecasting.calendar_season import CalendarSeason
from lostsales.demand.forecasting.moving_levels import MovingLevels
from lostsales.errors import LostSalesError
from lostsales.learn.lookahead.allowed_orders import nearest_allowed
from lostsales.learn.lookahead.order_loops import Found, Situation, kept_prices
from lostsales.learn.lookahead.orders import Search, demand_paths, find_actions, terms_of
from lostsales.learn.lookahead.product_levels import ProductLevels
from lostsales.policy.action_grid import room_of
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision
from lostsales.policy.expected import Expected
from lostsales.policy.rules import Rules, SavedRules
from lostsales.policy.view import Action, View
from lostsales.saved_fields import NonNegative
from lostsales.types import Bools, Floats, Ints

KIND = "lookahead"
MOST_REVIEW = 1_000
MOST_DRAWS = 3_000_000  # periods of all paths together; each takes some hundred bytes while it is drawn


class _Decided(NamedTuple):
    """Decisions, and what they follow from."""

    action: Action
    found: Found
    levels: MovingLevels
    situation: Situation


@dataclass(frozen=True, eq=False)
class LookaheadPolicy(PolicyBase):
    """Orders by sampled futures; the price stays as it was, as far as the rules allow it."""

    problem: Problem
    rules: SavedRules
    products: ProductTable
    levels: ProductLevels
    season: CalendarSeason
    fixed_cost: NonNegative  # of an order
    counted: bool  # demand comes in whole units
    review: Annotated[
        int, Field(ge=1, le=MOST_REVIEW)
    ]  # periods from one order day to the next, where a column says which are
    usual_demand: NonNegative
    search: Search
    observes: Literal["history"] = "history"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        return self._decided(view).action

    def explain(self, view: View) -> Decision:
        """The decision; its value is the profit of the periods that were looked at."""
        decided, at = self._decided(view), self._at(view)
        more = {"expected_demand": decided.found.mean_demand}
        return replace(
            Decision.without_reasons(decided.action),
            value=decided.found.value,
            unknown_series=at < 0,
            never_ordered=(self.products.seen.largest_order[at] == 0) & (at >= 0),
            more=more,
        )

    def expect(self, view: View, action: Action, unit_cost: Floats | None = None) -> Expected:
        """Expectations of an action by the sampled demands of today.

        These are of the price that is kept: nothing is known of another one, nor of the value of another order.
        """
        decided = self._decided(view)
        paths = demand_paths(decided.levels, decided.situation, self.search)
        paths = np.where((action.price == decided.action.price)[:, None], paths, np.nan)
        value = np.where(action.order == decided.action.order, decided.found.value, np.nan)

        def outlook(available: Floats) -> tuple[Floats, Floats, Floats]:
            short = np.maximum(paths - available[:, None], 0.0)
            chance = np.where(np.isnan(paths[:, 0]), np.nan, np.mean(short > 0, axis=1))
            return paths.mean(axis=1), chance, short.mean(axis=1)

        found = Expected.of(view, action, outlook, self.problem, self._costs(view), value, np.isnan(paths[:, 0]))
        return found.at_cost(action.order, unit_cost)

    def _at(self, view: View) -> Ints:
        """Entry of each product of a view, -1 where it is unknown, (rows,)."""
        return self.products.attributes.places(view.names, len(view.stock))

    def _usual(self, values: Floats, view: View) -> Floats:
        """A column of the product table for a view; an unknown product has the median, (rows,)."""
        return np.asarray(np.r_[values, np.median(values)][self._at(view)])

    def _costs(self, view: View) -> UnitCosts:
        products = self.products
        lost, order, holding = (
            self._usual(each, view) for each in (products.lost_cost, products.order_cost, products.holding_cost)
        )
        return UnitCosts(lost, order, holding, self.fixed_cost)

    def _decided(self, view: View) -> "_Decided":
        last = view.last_price
        wanted_price = np.where(np.isnan(last), self._usual(self.products.price, view), last)
        rules = self.rules.of_view(view)
        terms, longest = terms_of(self.problem, self.review), self.problem.lead_times.longest
        situation = self._situation(view, wanted_price, rules, self.search.periods(longest, terms.review))
        levels = self.levels.levels_of(view, self._at(view), self.counted, self.season)
        found = find_actions(levels, situation, terms, self.search)
        features, unit_cost = view.features_by_name(self.asks), self._usual(self.products.order_cost, view)
        action = nearest_allowed(
            self.problem, rules, Action(wanted_price, found.order), view, features, situation.multiple, unit_cost
        )
        return _Decided(action, found, levels, situation)

    def _situation(self, view: View, price: Floats, rules: Rules, periods: int) -> Situation:
        rows, law = len(view.stock), self.problem.lead_times
        own = np.full(rows, np.nan) if rules.multiple is None else np.broadcast_to(rules.multiple, rows)
        minimum = 0.0 if rules.minimum is None else np.nan_to_num(rules.minimum)
        return Situation(
            stock=view.stock,
            pipeline=np.zeros((rows, 0)) if view.pipeline is None else np.ascontiguousarray(view.pipeline),
            chances=np.tile(np.array(law.chances), (rows, 1)),
            lost=np.full(rows, law.lost),
            exposure=np.ones((rows, periods)) if view.dates is None else self.season.coming(view.dates, periods),
            may_order=self._order_days(view, periods),
            **kept_prices(price, periods),
            costs=self._costs(view),
            multiple=np.where(np.isnan(own), self._multiples(view), own),
            minimum=np.broadcast_to(minimum, rows).astype(np.float64),
            limit=self._limit(view),
        )

    def _multiples(self, view: View) -> Floats:
        """Multiples of orders: those of the list of the problem, else case sizes; 1 for an unknown product's counts."""
        if self.problem.orders is not None:
            return np.full(len(view.stock), order_multiple(np.array(self.problem.orders)))
        cases = self.products.case_size
        in_counts = (cases > 0).all() and (cases == np.rint(cases)).all()
        return np.asarray(np.r_[cases, 1.0 if in_counts else 0.0][self._at(view)])

    def _order_days(self, view: View, periods: int) -> Bools:
        """Coming periods in which orders may be placed, (rows, periods)."""
        rows, ahead = len(view.stock), np.arange(periods)
        if view.order_phase is not None:
            cycle = np.array(self.problem.supply.order_cycle)
            return np.ascontiguousarray(cycle[(view.order_phase[:, None] + ahead) % len(cycle)])
        days = np.tile(ahead % self.review == 0, (rows, 1))
        if self.rules.order_days is not None:
            features = view.features_by_name(self.asks)
            if self.rules.order_days in features:
                days[:, 0] = features[self.rules.order_days] != 0
        return days

    def _limit(self, view: View) -> Floats:
        """The most that may be ordered today, (rows,)."""
        room, limit = room_of(self.problem), view.order_limit(self.problem)
        most = np.inf if self.problem.orders is None else self.problem.orders[-1]
        found = np.minimum(np.maximum(room - view.stock, 0.0), most)
        return found if limit is None else np.minimum(found, limit)

    def summary(self) -> dict[str, Any]:
        """Method, and how futures are looked at."""
        return {"method": KIND, "paths": self.search.paths, "ahead": self.search.ahead}

    def validate(self) -> None:
        """Raise where a file asks for more sampled futures than memory allows."""
        check_draws(self.problem, self.search, self.review)


def check_draws(problem: Problem, search: Search, review: int) -> None:
    """Raise where the sampled futures of a series are more than memory and time allow."""
    periods = search.periods(problem.lead_times.longest, terms_of(problem, review=review).review)
    if search.paths * periods > MOST_DRAWS:
        raise LostSalesError(
            f"{search.paths:,} sampled futures of {periods:,} periods are more than the {MOST_DRAWS:,} periods that "
            "can be looked at: take fewer paths"
        )
