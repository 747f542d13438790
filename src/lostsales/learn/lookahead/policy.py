"""The policy that orders by sampled futures and keeps the price of each series."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from lostsales.data.calendar.grid import DAY
from lostsales.data.economics import UnitCosts
from lostsales.data.problem import Problem
from lostsales.data.settings import StrictSettings, checked_json
from lostsales.demand.forecasting.calendar_season import INDEX_RANGE, WEEKDAYS, WEEKS, CalendarSeason
from lostsales.errors import LostSalesError
from lostsales.learn.lookahead.allowed_orders import nearest_allowed
from lostsales.learn.lookahead.order_loops import Situation
from lostsales.learn.lookahead.orders import FoundOrders, Search, find_orders, terms_of
from lostsales.learn.lookahead.series_facts import SeriesFacts
from lostsales.policy.action_grid import room_of
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision
from lostsales.policy.file_content import Content, Header, NonNegative, numbers
from lostsales.policy.file_format import Artefact
from lostsales.policy.rules import Rules, SavedRules
from lostsales.policy.view import Action, View
from lostsales.types import Bools, Floats

KIND = "lookahead"
MOST_PATHS, MOST_AHEAD, MOST_REVIEW = 10_000, 200, 1_000
MOST_DRAWS = 3_000_000  # periods of all paths together; each takes some hundred bytes while it is drawn


class LookaheadSettings(StrictSettings):
    """The settings in a policy file."""

    rules: SavedRules
    fixed_cost: NonNegative
    counted: bool
    step: Annotated[int, Field(ge=0, le=WEEKDAYS * DAY)]
    review: Annotated[int, Field(ge=1, le=MOST_REVIEW)]
    usual_demand: NonNegative
    paths: Annotated[int, Field(ge=1, le=MOST_PATHS)]
    ahead: Annotated[int, Field(ge=1, le=MOST_AHEAD)]
    seed: Annotated[int, Field(ge=0)]


@dataclass(frozen=True, eq=False)
class LookaheadPolicy(PolicyBase):
    """Orders by sampled futures; the price stays as it was, as far as the rules allow it."""

    problem: Problem
    rules: Rules
    series: SeriesFacts
    season: CalendarSeason
    fixed_cost: float  # of an order
    counted: bool  # demand comes in whole units
    review: int  # periods from one order day to the next, where a column says which are
    usual_demand: float
    search: Search
    observes: Literal["history"] = "history"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        return self._decided(view)[0]

    def explain(self, view: View) -> Decision:
        """The decision; its value is the profit of the periods that were looked at."""
        action, found, is_unknown = self._decided(view)
        decision = Decision.without_reasons(action)
        more = {"expected_demand": found.mean_demand}
        return replace(decision, value=found.value, unknown_series=is_unknown, more=more)

    def _decided(self, view: View) -> tuple[Action, FoundOrders, Bools]:
        at, is_unknown = self.series.rows_of(view)
        last = view.last_price
        wanted_price = np.where(np.isnan(last), self.series.price[at], last)
        rules = self.rules.of_view(view)
        unit_cost, longest = self.series.order_cost[at], self.problem.lead_times.longest
        terms = terms_of(self.problem, self.review)
        situation = self._situation(view, wanted_price, rules, self.search.periods(longest, terms.review))
        levels = self.series.levels_of(view, self.counted, self.season)
        found = find_orders(levels, situation, terms, self.search)
        features = view.features_by_name(self.asks)
        action = nearest_allowed(
            self.problem, rules, Action(wanted_price, found.order), view, features, situation.multiple, unit_cost
        )
        return action, found, is_unknown

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
            price=price,
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

    @classmethod
    def content(cls, header: Header) -> Content:
        """What a file of this kind may hold."""
        saved = checked_json(LookaheadSettings, header.settings, "its settings")
        check_draws(header.problem, Search(saved.paths, saved.ahead), saved.review)
        least, most = INDEX_RANGE
        season = {
            name: numbers(size, least=least, most=most) for name, size in (("weekday", WEEKDAYS), ("week", WEEKS))
        }
        return Content(SeriesFacts.content() | season)

    def to_artefact(self) -> Artefact:
        """The content of a policy file."""
        settings = {
            "rules": self.rules.saved(),
            "fixed_cost": self.fixed_cost,
            "counted": self.counted,
            "step": self.season.step,
            "review": self.review,
            "usual_demand": self.usual_demand,
            "paths": self.search.paths,
            "ahead": self.search.ahead,
            "seed": self.search.seed,
        }
        arrays = self.series.to_arrays() | {"weekday": self.season.weekday, "week": self.season.week}
        return Artefact(KIND, self.observes, None, self.problem, settings, arrays)

    @classmethod
    def from_artefact(cls, artefact: Artefact) -> "LookaheadPolicy":
        """The policy of a file."""
        saved = checked_json(LookaheadSettings, artefact.settings, "its settings")
        return cls(
            problem=artefact.problem,
            rules=saved.rules,
            series=SeriesFacts.from_arrays(artefact.arrays),
            season=CalendarSeason(saved.step, artefact.arrays["weekday"], artefact.arrays["week"]),
            fixed_cost=saved.fixed_cost,
            counted=saved.counted,
            review=saved.review,
            usual_demand=saved.usual_demand,
            search=Search(saved.paths, saved.ahead, saved.seed),
        )


def check_draws(problem: Problem, search: Search, review: int) -> None:
    """Raise where the sampled futures of a series are more than memory and time allow."""
    periods = search.periods(problem.lead_times.longest, terms_of(problem, review=review).review)
    if search.paths * periods > MOST_DRAWS:
        raise LostSalesError(
            f"{search.paths:,} sampled futures of {periods:,} periods are more than the {MOST_DRAWS:,} periods that "
            "can be looked at: take fewer paths"
        )
