"""The policy that orders by sampled futures and keeps the price of each series."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from lostsales.data.economics import UnitCosts
from lostsales.data.problem import Problem
from lostsales.demand.forecasting.calendar_season import CalendarSeason
from lostsales.demand.forecasting.moving_levels import MovingLevels
from lostsales.errors import LostSalesError
from lostsales.learn.lookahead.allowed_orders import nearest_allowed
from lostsales.learn.lookahead.order_loops import Found, Situation, kept_prices
from lostsales.learn.lookahead.orders import Search, demand_paths, find_actions, terms_of
from lostsales.learn.lookahead.series_facts import SeriesFacts
from lostsales.policy.action_grid import room_of
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision
from lostsales.policy.expected import Expected
from lostsales.policy.rules import Rules, SavedRules
from lostsales.policy.view import Action, View
from lostsales.saved_fields import NonNegative
from lostsales.types import Bools, Floats

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
    series: SeriesFacts
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
        decided, (at, is_unknown) = self._decided(view), self.series.rows_of(view)
        more = {"expected_demand": decided.found.mean_demand}
        return replace(
            Decision.without_reasons(decided.action),
            value=decided.found.value,
            unknown_series=is_unknown,
            never_ordered=self.series.orders[at] == 0,
            more=more,
        )

    def expect(self, view: View, action: Action, unit_cost: Floats | None = None) -> Expected:
        """What an action leads to by the sampled demands of today.

        These are of the price that is kept: nothing is known of another one, nor of the value of another order.
        """
        decided, at = self._decided(view), self.series.rows_of(view)[0]
        paths = demand_paths(decided.levels, decided.situation, self.search)
        paths = np.where((action.price == decided.action.price)[:, None], paths, np.nan)
        value = np.where(action.order == decided.action.order, decided.found.value, np.nan)

        def outlook(available: Floats) -> tuple[Floats, Floats, Floats]:
            short = np.maximum(paths - available[:, None], 0.0)
            chance = np.where(np.isnan(paths[:, 0]), np.nan, np.mean(short > 0, axis=1))
            return paths.mean(axis=1), chance, short.mean(axis=1)

        series = self.series
        costs = UnitCosts(series.lost_cost[at], series.order_cost[at], series.holding_cost[at], self.fixed_cost)
        return Expected.of(view, action, outlook, self.problem, costs, value, np.isnan(paths[:, 0])).at_cost(
            action.order, unit_cost
        )

    def _decided(self, view: View) -> "_Decided":
        at, _ = self.series.rows_of(view)
        last = view.last_price
        wanted_price = np.where(np.isnan(last), self.series.price[at], last)
        rules = self.rules.of_view(view)
        unit_cost, longest = self.series.order_cost[at], self.problem.lead_times.longest
        terms = terms_of(self.problem, self.review)
        situation = self._situation(view, wanted_price, rules, self.search.periods(longest, terms.review))
        levels = self.series.levels_of(view, self.counted, self.season)
        found = find_actions(levels, situation, terms, self.search)
        features = view.features_by_name(self.asks)
        action = nearest_allowed(
            self.problem, rules, Action(wanted_price, found.order), view, features, situation.multiple, unit_cost
        )
        return _Decided(action, found, levels, situation)

    def _situation(self, view: View, price: Floats, rules: Rules, periods: int) -> Situation:
        at, _ = self.series.rows_of(view)
        rows, law, series = len(at), self.problem.lead_times, self.series
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
            costs=UnitCosts(series.lost_cost[at], series.order_cost[at], series.holding_cost[at], self.fixed_cost),
            multiple=np.where(np.isnan(own), series.multiple[at], own),
            minimum=np.broadcast_to(minimum, rows).astype(np.float64),
            limit=self._limit(view),
        )

    def _order_days(self, view: View, periods: int) -> Bools:
        """In which of the coming periods orders may be placed, (rows, periods)."""
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
