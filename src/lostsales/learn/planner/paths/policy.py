"""The policy that decides price and order on sampled futures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.economics import UnitCosts, issue
from lostsales.data.parallel import MOST_WORKERS
from lostsales.data.problem import Problem
from lostsales.data.product_table import ProductTable
from lostsales.data.units import order_multiple
from lostsales.demand.model.exposure import DemandExposure
from lostsales.demand.model.moving_levels import MovingLevels
from lostsales.errors import LostSalesError
from lostsales.learn.planner.paths.allowed_orders import nearest_allowed
from lostsales.learn.planner.paths.explanation import OrderOutlook, PriceOutlook, StockOutlook
from lostsales.learn.planner.paths.markdown_loops import Season, season_prices
from lostsales.learn.planner.paths.prices import ProductPrices, planned_price
from lostsales.learn.planner.paths.product_levels import LOOK_BACK, ProductLevels
from lostsales.learn.planner.paths.roll_out_loops import FOR_EVER, Shelves
from lostsales.learn.planner.paths.search import (
    Search,
    demand_paths,
    find_actions,
    shelves_of,
    terms_of,
    values_of_orders,
)
from lostsales.learn.planner.paths.search_loops import Found, Situation
from lostsales.policy.action_grid import ActionGrid, room_of
from lostsales.policy.allocation import OrderValues
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision
from lostsales.policy.expected import Expected
from lostsales.policy.rules import Rules, SavedRules
from lostsales.policy.shelf import ShelfLives
from lostsales.policy.view import Action, Features, View
from lostsales.saved_fields import NonNegative, Share
from lostsales.types import Array, Bools, Floats, Ints

MOST_REVIEW = 1_000  # periods between order days: bounds the memory that a file can ask for
MOST_SEASON = 130  # periods before the end of a season from which on prices are planned until then: bounds time
SEASON_CANDIDATES = 21  # prices that are compared until then
CANDIDATES = 25  # orders that are valued where products share limits
AT_ONCE = 2_000  # rows whose futures are held in memory when decisions are explained
MOST_DRAWS = 3_000_000  # periods of all paths together; each takes some hundred bytes while it is drawn


class PricePlan(NamedTuple):
    """Prices and market of the open period and of those ahead."""

    at: Ints  # (rows,) entry of each product, -1 where it is unknown
    state: Ints  # (rows, periods) 1 where the product is on promotion
    price: Floats  # (rows, periods) planned
    inputs: Floats  # (rows, periods, columns) of the market
    exposure: Floats  # (rows, periods)


class SeasonEnd(NamedTuple):
    """End of the season of each row."""

    periods: Ints  # (rows,) until then, today's among them
    salvage: Floats  # (rows,) what a unit brings that is left


class _Decided(NamedTuple):
    """Decisions, and what they follow from."""

    action: Action
    found: Found
    levels: MovingLevels
    situation: Situation
    plan: PricePlan
    dates: Array | None  # (rows, periods)
    left: Floats  # (rows,) units that will be left when the season ends, NaN where it ends late or never

    @property
    def today(self) -> Array | None:
        """Date of the open period, (rows, 1)."""
        return None if self.dates is None else self.dates[:, :1]


@dataclass(frozen=True, eq=False)
class PathPolicy(PolicyBase):
    """Price and order by sampled futures of demand, on the same random numbers for all actions."""

    problem: Problem
    rules: SavedRules
    products: ProductTable
    market: DemandExposure
    levels: ProductLevels
    prices: ProductPrices
    sets_prices: bool  # False: every product keeps its last price
    caution: NonNegative  # standard errors of the elasticity by which another price is worth less
    discount: Share
    fixed_cost: NonNegative  # of an order
    counted: bool  # demand comes in whole units
    review: Annotated[
        int, Field(ge=1, le=MOST_REVIEW)
    ]  # periods from one order day to the next, where a column says which are
    usual_demand: NonNegative
    search: Search
    candidates: CandidateGrid
    goods: ShelfLives | None = None  # None where units keep for ever
    observes: Literal["history"] = "history"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        return self._decided(view).action

    def explain(self, view: View) -> Decision:
        """The decision with the reasons for it.

        Its value is the profit of the periods that were looked at, with stock and orders on the way at cost.
        """
        decided = self._decided(view)
        found, at, action = decided.found, decided.plan.at, decided.action
        stock = self._stock_outlook(view, decided)
        prices = self._price_outlook(view, decided, stock.demand)
        usual = np.r_[self.levels.usual, np.nan][at]
        has_next = np.isfinite(found.next_value)

        def words() -> dict[str, Array]:
            days = decided.situation.may_order
            orders = OrderOutlook(
                order=action.order,
                stock=stock,
                covered=np.broadcast_to(self.problem.periods_covered(view.order_phase), action.order.shape),
                to_order_day=np.where(days.any(axis=1), days.argmax(axis=1), days.shape[1]),
                is_limited=action.order >= decided.situation.limit,
                usual_demand=usual,
            )
            every = self.rules.price_every or 1
            return {"price_reason": prices.reasons(self.sets_prices, every), "order_reason": orders.reasons()}

        more = {
            "expected_demand": stock.demand,
            "demand_level": decided.levels.mean / np.where(usual > 0, usual, np.nan),
            "season_factor": self._season(decided),
            "price_units": prices.units,
            "price_margin": prices.margin,
            "stockout_chance": stock.stockout_chance,
            "expected_lost": stock.lost,
            "next_delivery": stock.next_delivery,
            "stockout_before_delivery": stock.stockout_before,
            "periods_of_cover": stock.cover,
            "expected_profit": self._expected(view, decided, action).profit,
        }
        if self.goods is not None:
            more["expected_waste"] = self._waste_today(decided, action)
        if self.problem.product.season_end is not None:
            more["expected_left"] = decided.left
        return replace(
            Decision.without_reasons(action),
            value=found.value - prices.cost * (view.stock + view.on_order),
            penalty=self._penalty(view, decided),
            runner_up_price=np.where(has_next, found.next_price, np.nan),
            runner_up_order=np.where(has_next, found.next_order, np.nan),
            advantage=np.where(has_next, found.value - np.where(has_next, found.next_value, 0.0), np.nan),
            unknown_series=at < 0,
            never_ordered=(self.products.seen.largest_order[at] == 0) & (at >= 0),
            one_price=self._has_one_price[at] & (at >= 0),
            more=more,
            reasons=words,
        )

    def _stock_outlook(self, view: View, decided: _Decided) -> StockOutlook:
        """Demand and stock until orders arrive, on the sampled futures at the decided price."""
        plan, hold = decided.plan, self.rules.of_view(view).price_every or 1
        review = terms_of(self.problem, self.review).review
        periods = min(self.problem.lead_times.longest + review, plan.price.shape[1])
        price = plan.price[:, :periods].copy()
        price[:, :hold] = decided.action.price[:, None]
        dates = None if decided.dates is None else decided.dates[:, :periods]
        exposure = self.market.exposure(plan.at, price, plan.inputs[:, :periods], dates)
        parts = []
        for low in range(0, max(len(price), 1), AT_ONCE):
            rows = np.arange(low, min(low + AT_ONCE, len(price)))
            demand = demand_paths(decided.levels.take(rows), exposure[rows], decided.situation, self.search)
            parts.append(StockOutlook.of(self.problem, view.take(rows), decided.action.order[rows], demand))
        return StockOutlook(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _price_outlook(self, view: View, decided: _Decided, demand: Floats) -> PriceOutlook:
        """Prices beside the usual ones, with the demand expected today (rows,)."""
        (at, state, planned, *_), price = decided.plan, decided.action.price
        usual = np.where(at < 0, price, self.prices.usual[state[:, 0], at])
        usual = np.where(usual > 0, usual, price)
        effect = self._effect(at, price[:, None], usual[:, None])[0][:, 0]
        return PriceOutlook(
            price=price,
            usual=usual,
            planned=planned[:, 0],
            cost=np.asarray(self._costs(view).order),
            demand=demand,
            usual_demand=demand * np.exp(-effect),
            elasticity=self.market.coefficients[at, 0],
            is_kept=self._price_is_fixed(view, self.rules.of_view(view)),
            is_unknown=at < 0,
            is_promoted=state[:, 0] == 1,
            is_only=self._has_one_price[at],
        )

    def _season(self, decided: _Decided) -> Floats:
        """Factor of the season today, (rows,)."""
        usual, at = self.market.usual_price, decided.plan.at
        inputs = np.zeros_like(decided.plan.inputs[:, :1])
        return self.market.exposure(at, usual[at][:, None], inputs, decided.today)[:, 0]

    @cached_property
    def _has_one_price(self) -> Bools:
        """Products that were sold at one price while others' varied, and keep it, (products,)."""
        found = (self.prices.floor == self.prices.ceiling).all(axis=0)
        return np.asarray(found & (self.sets_prices and not found[:-1].all() and not len(self.prices.listed)))

    @property
    def may_recommend(self) -> CandidateGrid:
        """Grid of prices and orders, relative to those of each product; its own past range limits them further."""
        return self.candidates

    def expect(self, view: View, action: Action, unit_cost: Floats | None = None) -> Expected:
        """Expectations of an action by the sampled demands of today at its price."""
        return self._expected(view, self._decided(view), action).at_cost(action.order, unit_cost)

    def _expected(self, view: View, decided: _Decided, action: Action) -> Expected:
        paths, costs = self._demands(decided, action.price), self._costs(view)
        is_own = (action.order == decided.action.order) & (action.price == decided.action.price)
        value = np.where(is_own, decided.found.value - costs.order * (view.stock + view.on_order), np.nan)

        def outlook(available: Floats) -> tuple[Floats, Floats, Floats]:
            short = np.maximum(paths - available[:, None], 0.0)
            chance = np.where(np.isnan(paths[:, 0]), np.nan, np.mean(short > 0, axis=1))
            return paths.mean(axis=1), chance, short.mean(axis=1)

        return Expected.of(view, action, outlook, self.problem, costs, value, np.isnan(paths[:, 0]))

    def demand_atoms(self, view: View, price: Floats) -> Floats:
        """Equally likely demands of today at a price, (rows, paths); NaN outside the prices that were seen."""
        return self._demands(self._decided(view), price)

    def demand_futures(self, view: View, price: Floats, features: Sequence[Features]) -> Floats:
        """Equally likely demands of the coming periods, today's as `demand_atoms` has them, (rows, paths, periods)."""
        decided, periods = self._decided(view), len(features) + 1
        later = np.stack([np.column_stack(each) for each in features], axis=1) if features else None
        inputs = self._coming_inputs(replace(view, later=later), periods)
        exposure = self.market.exposure(
            decided.plan.at, np.tile(price[:, None], periods), inputs, self._dates(view, periods)
        )
        found = demand_paths(decided.levels, exposure, decided.situation, self.search)
        found[:, :, 0] = self._demands(decided, price)
        return found

    def _penalty(self, view: View, decided: _Decided) -> Floats:
        """Caution that another price than the usual one costs, as its effect is uncertain, (rows,)."""
        plan, price = decided.plan, decided.action.price
        usual = np.where(plan.state[:, 0] == 1, plan.price[:, 0], self.prices.usual[0, plan.at])
        _, uncertain = self._effect(plan.at, price[:, None], usual[:, None])
        margin = np.abs(price - self._costs(view).order) * decided.found.mean_demand
        return np.asarray(self.caution * uncertain[:, 0] * margin if self.sets_prices else np.zeros(len(price)))

    def order_values(self, view: View) -> OrderValues:
        """Value of orders between none and the decided one, and of larger ones where a limit may ask for them."""
        decided = self._decided(view)
        rules, situation, (price, order) = self.rules.of_view(view), decided.situation, decided.action
        terms = terms_of(self.problem, self.review, hold=rules.price_every or 1, discount=self.discount)
        top = order.copy()
        if any(limit.least or limit.multiple for limit in self.problem.limits):
            covered = terms.review + self.problem.lead_times.longest
            top = np.minimum(2 * order + covered * decided.found.mean_demand, situation.limit)
        orders = top[:, None] * np.linspace(0, 1, CANDIDATES)
        step = situation.multiple[:, None]
        orders = np.where(step > 0, step * np.rint(orders / np.where(step > 0, step, 1.0)), orders)
        if self.problem.orders is not None:
            listed = np.array(self.problem.orders)
            orders = listed[np.maximum(np.searchsorted(listed, orders + 1e-9, side="right") - 1, 0)]
        orders = np.sort(np.column_stack([orders, order]), axis=1)
        is_first = np.diff(orders, axis=1, prepend=-1.0) > 0
        may = (orders == 0) | (orders >= situation.minimum[:, None]) & (orders <= situation.limit[:, None])
        planned = decided.plan.price.copy()
        planned[:, : terms.hold] = price[:, None]
        dates = self._dates(view, planned.shape[1])
        exposure = self.market.exposure(decided.plan.at, planned, decided.plan.inputs, dates)
        at_price = situation._replace(price=planned, exposure=np.ascontiguousarray(exposure))
        values = values_of_orders(decided.levels, at_price, terms, self.search, np.ascontiguousarray(orders))
        # The search ended at the decided order: what looks better by a hair is left to it.
        is_own = orders == order[:, None]
        own_value = np.where(is_own, values, -np.inf).max(axis=1, keepdims=True)
        values[:, :1] = np.minimum(values[:, :1], own_value)  # to order nothing is always possible
        is_one = is_first & (is_own | (may & (values < own_value)))
        is_one[:, 0] = True
        named = {name for limit in self.problem.limits for name in limit.attributes}
        attributes = {name: self.products.attributes.texts(name, decided.plan.at) for name in named}
        return OrderValues(orders, np.where(is_one, values, -np.inf), situation.costs.order, attributes)

    def _waste_today(self, decided: _Decided, action: Action) -> Floats:
        """Units that are expected to be thrown away when today is over, (rows,)."""
        shelves, demand = decided.situation.shelves, self._demands(decided, action.price)
        fresh = action.order if self.problem.arrival == "before" else np.zeros(len(action.order))
        units = shelves.units[:, :, None] + np.zeros((1, 1, demand.shape[1]))
        units[np.arange(len(units)), shelves.life - 1] += fresh[:, None]
        units = np.ascontiguousarray(units.transpose(1, 0, 2))
        sold = np.minimum(demand, units.sum(axis=0))
        issue(units, sold, shelves.from_oldest[:, None] * sold)
        return np.asarray(units[0].mean(axis=1))

    def _demands(self, decided: _Decided, price: Floats) -> Floats:
        """Sampled demands of today at prices, (rows, paths); NaN where nothing is known of demand at a price."""
        plan = decided.plan
        exposure = self.market.exposure(plan.at, price[:, None], plan.inputs[:, :1], decided.today)
        paths = demand_paths(decided.levels, exposure, decided.situation, self.search)[:, :, 0]
        known = price == plan.price[:, 0]
        if self.sets_prices:
            lowest, highest = self.prices.floor.min(axis=0)[plan.at], self.prices.ceiling.max(axis=0)[plan.at]
            known |= (price >= lowest) & (price <= highest)
        return np.where(known[:, None], paths, np.nan)

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

    @cached_property
    def _last(self) -> "list[tuple[tuple[View, _Decided], ...]]":
        """Last views that were decided for, and what was decided: what to expect of it is asked next."""
        return [()]

    def _decided(self, view: View) -> "_Decided":
        for seen, decided in self._last[0]:
            if seen is view:
                return decided
        found = self._decide_for(view)
        self._last[0] = (*self._last[0][1 - MOST_WORKERS :], (view, found))  # replaced as a whole: threads read it
        return found

    def _decide_for(self, view: View) -> "_Decided":
        rules = self.rules.of_view(view)
        terms = terms_of(self.problem, self.review, hold=rules.price_every or 1, discount=self.discount)
        periods = self.search.periods(self.problem.lead_times.longest, terms.review)
        dates = self._dates(view, periods)
        costs, features = self._costs(view), view.features_by_name(self.asks)
        plan, choices = self._plan(view, rules, features, costs, periods, dates)
        levels = self.levels.levels_of(view, plan.at, self.counted, self.market, self.problem.features)
        season = self._season_end(view)
        left = np.full(len(view.stock), np.nan)
        if season is not None:
            plan, choices, left = self._marked_down(view, plan, choices, levels, rules, features, costs, season)
        situation = self._situation(view, plan, choices, levels, rules, costs, terms.hold)
        if season is not None:
            situation = self._until_end(situation, season)
        found = find_actions(levels, situation, terms, self.search)
        action = nearest_allowed(
            self.problem, rules, Action(found.price, found.order), view, features, situation.multiple, costs.order
        )
        if view.settled is not None:
            action = action._replace(order=view.settled)
        return _Decided(action, found, levels, situation, plan, dates, left)

    def _season_end(self, view: View) -> "SeasonEnd | None":
        """End of the season of each row; None where products are sold for ever."""
        keys, rows = self.problem.product, len(view.stock)
        if keys.season_end is None:
            return None
        period = np.full(rows, view.period) if view.dates is None else view.dates
        end = keys.last_period(period) if view.season_end is None else view.season_end
        step = self.market.season.step if period.dtype.kind == "M" else 1
        left = np.zeros(rows, dtype=np.int64) if end is None else (end - period).astype(np.int64) // step + 1
        salvage = np.full(rows, keys.salvage or 0.0) if view.salvage is None else view.salvage
        return SeasonEnd(np.maximum(left, 0), np.asarray(salvage, dtype=np.float64))

    def _until_end(self, situation: Situation, season: "SeasonEnd") -> Situation:
        """A situation in which nothing is sold when the season is over, and no order is placed that comes too late."""
        ahead, wait = np.arange(situation.exposure.shape[1]), self._fastest
        ends = season.periods <= len(ahead)
        return situation._replace(
            exposure=np.where(ahead < season.periods[:, None], situation.exposure, 0.0),
            may_order=situation.may_order & (ahead + wait < season.periods[:, None]),
            salvage=np.where(ends, season.salvage, np.nan),
            last=season.periods,
        )

    @property
    def _fastest(self) -> int:
        """Periods after which an order can be sold at the earliest."""
        return int(np.flatnonzero(np.array(self.problem.lead_times.chances))[0])

    def _marked_down(
        self,
        view: View,
        plan: PricePlan,
        choices: Floats,
        levels: MovingLevels,
        rules: Rules,
        features: dict[str, Floats],
        costs: UnitCosts,
        season: "SeasonEnd",
    ) -> tuple[PricePlan, Floats, Floats]:
        """Planned prices and choices where seasons end soon, and the units that will then be left, (rows,)."""
        rows = np.flatnonzero((season.periods > 0) & (season.periods <= MOST_SEASON) & (plan.at >= 0))
        left = np.where(season.periods == 0, view.stock, np.nan)
        if not len(rows):
            return plan, choices, left
        some, at, ends = view.take(rows), plan.at[rows], season.periods[rows]
        own, costs, periods = rules.of_view(view, rows), costs.at(rows), int(ends.max())
        known = {name: each[rows] for name, each in features.items()}
        prices = np.empty((len(rows), 0))
        if self.sets_prices:
            prices = self.prices.candidates(at, plan.state[rows, 0], SEASON_CANDIDATES)
            prices = np.where(self._allowed_prices(prices, some, own, known, costs), prices, np.nan)
        last = np.where(np.isnan(some.last_price) & (not self.sets_prices), plan.price[rows, 0], some.last_price)
        prices = np.column_stack([prices, last])
        usual = np.broadcast_to(self.prices.usual[0, at][:, None], (len(rows), periods))
        dates = self._dates(some, periods)
        exposure = self.market.exposure(at, usual, self._coming_inputs(some, periods), dates)
        fixed, changes = self._price_is_fixed(some, own), np.full(len(rows), -1)
        if rules.most_price_changes is not None:
            changes = np.maximum(rules.most_price_changes - _price_changes(some), 0)
        may_order = (self._limit(some) > 0) & (self.products.seen.largest_order[at] > 0)
        found = Season(
            stock=some.stock + some.on_order,
            periods=ends,
            reorders=np.where(may_order, np.maximum(ends - self._fastest, 0), 0),
            price=np.ascontiguousarray(prices),
            effect=np.exp(self._effect(at, prices, usual[:, :1])[0]),
            mean=np.ascontiguousarray(levels.mean[rows][:, None] * exposure),
            spread=levels.spread[rows],
            lost_cost=costs.lost,
            order_cost=costs.order,
            holding_cost=costs.holding,
            salvage=season.salvage[rows],
            changes=changes,
            may_change=~fixed,
        )
        best, value = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows))
        remains = np.zeros(len(rows))
        season_prices(found, self.discount, self.counted, rules.markdowns_only, best, value, remains)
        price, choices, exposure = plan.price.copy(), choices.copy(), plan.exposure.copy()
        price[rows], choices[rows], left[rows] = prices[np.arange(len(rows)), best][:, None], np.nan, remains
        dates = self._dates(some, price.shape[1])
        exposure[rows] = self.market.exposure(at, price[rows], plan.inputs[rows], dates)
        return plan._replace(price=price, exposure=exposure), choices, left

    def _shelves(self, at: Ints, view: View) -> Shelves:
        """Stock by remaining life."""
        if self.goods is None:
            return FOR_EVER
        life = self.goods.life[at].astype(np.int64)
        return shelves_of(self.problem, view, life, self.goods.waste_cost[at], self.goods.from_oldest[at])

    def _dates(self, view: View, periods: int) -> Array | None:
        """Dates of today and the periods after it, (rows, periods); None where periods have no dates."""
        if view.dates is None or view.dates.dtype.kind != "M":
            return None
        return np.asarray(view.dates[:, None] + np.arange(periods) * np.timedelta64(self.market.season.step, "us"))

    def _plan(
        self,
        view: View,
        rules: Rules,
        features: dict[str, Floats],
        costs: UnitCosts,
        periods: int,
        dates: Array | None,
    ) -> tuple[PricePlan, Floats]:
        """Planned prices of today and the periods ahead, and the prices that may be charged today instead."""
        at, market, rows = self._at(view), self.market, len(view.stock)
        inputs = self._coming_inputs(view, periods)
        state = np.zeros((rows, periods), dtype=np.int64)
        if self.prices.promotion >= 0:
            column = self.prices.promotion
            state = (market.centre[column] + market.scale[column] * inputs[:, :, column] > 0.5).astype(np.int64)
        usual = self.prices.usual[state, at[:, None]]
        last = view.last_price
        is_unknown = self.prices.usual[0, at] == 0
        kept = np.where(is_unknown, np.median(self.prices.usual[0, :-1]), usual[:, 0])
        kept, unknown = np.where(np.isnan(last), kept, last), is_unknown[:, None]
        choices = np.empty((rows, 0))
        if not self.sets_prices:
            # A promotion that begins or ends brings its usual price, as far as the log has shown one.
            changes = state != state[:, :1]
            first = np.where(self._was_on(view) == state[:, 0], kept, usual[:, 0])
            price = np.where(changes & ~unknown, usual, first[:, None])
        else:
            regular = np.zeros(rows, dtype=np.int64)
            candidates = self.prices.candidates(at, regular)
            may = self._allowed_prices(candidates, view, rules, features, costs)
            regular_price = self.prices.usual[0, at]
            effect, uncertain = self._effect(at, candidates, regular_price[:, None])
            best = planned_price(candidates, may, regular_price, effect, uncertain, costs.order, self.caution)
            price = np.where(state == 1, usual, best[:, None])
            choices = self.prices.candidates(at, state[:, 0])
            may = self._allowed_prices(choices, view, rules, features, costs)
            fixed = self._price_is_fixed(view, rules) | is_unknown
            price[:, 0] = np.where(fixed, kept, price[:, 0])
            price = np.where(unknown, kept[:, None], price)
            choices = np.where(may & ~fixed[:, None], choices, np.nan)
        exposure = market.exposure(at, price, inputs, dates)
        return PricePlan(at, state, np.ascontiguousarray(price), inputs, np.ascontiguousarray(exposure)), choices

    def _effect(self, at: Ints, prices: Floats, base: Floats) -> tuple[Floats, Floats]:
        """Change of the logarithm of demand by prices (rows, prices) against others (rows, 1), and its uncertainty."""
        market, known = self.market, ~np.isnan(prices)
        effect = market.price_effect(at, prices) - market.price_effect(at, base)
        change = market.relative(at, prices) - market.relative(at, base)
        uncertain = market.price_errors[at][:, None] * np.abs(change)
        return np.where(known, effect, 0.0), np.where(known, uncertain, 0.0)

    def _coming_inputs(self, view: View, periods: int) -> Floats:
        """Columns of the market, expected or known ahead, (rows, periods, columns)."""
        features, rows = self.problem.features, len(view.stock)
        inputs = self.market.coming(self.market.inputs(features, list(view.features), rows), periods)
        if view.later is not None and len(features):
            known = min(view.later.shape[1], periods - 1)
            values = [view.later[:, :known, k].reshape(-1) for k in range(len(features))]
            given = self.market.inputs(features, values, rows * known).reshape(rows, known, -1)
            missing = np.isnan(view.later[:, :known]).any(axis=2, keepdims=True)
            inputs[:, 1 : known + 1] = np.where(missing, inputs[:, 1 : known + 1], given)
        return inputs

    def _was_on(self, view: View) -> Ints:
        """State of promotion of the last period, as today's where it is not known, (rows,)."""
        if self.prices.promotion < 0 or not view.past:
            return np.zeros(len(view.stock), dtype=np.int64)
        inputs = self.market.inputs(self.problem.features, list(view.past[-1].view.features), len(view.stock))
        column = self.prices.promotion
        value = self.market.centre[column] + self.market.scale[column] * inputs[:, column]
        return np.asarray((value > 0.5).astype(np.int64))

    def _allowed_prices(
        self, prices: Floats, view: View, rules: Rules, features: dict[str, Floats], costs: UnitCosts
    ) -> Bools:
        """Prices that pass the rules, (rows, candidates)."""
        if not rules.own and rules == Rules():
            return ~np.isnan(prices)
        none = np.zeros((len(prices), 1))
        grid = ActionGrid(np.nan_to_num(prices), none, np.inf, costs.order)
        known = ~np.isnan(prices)
        free = rules.model_copy(update={"forbidden": (), "mask": None, "minimum": None, "multiple": None})
        return known & free.feasible(grid, view.stock, view.last_price, features)

    def _price_is_fixed(self, view: View, rules: Rules) -> Bools:
        """Products whose price has changed less than `price_every` periods ago, (rows,)."""
        found = np.zeros(len(view.stock), dtype=bool)
        back = min((rules.price_every or 1) - 1, len(view.past) - 1)
        for age in range(1, back + 1):
            found |= view.past[-age].action.price != view.past[-age - 1].action.price
        return found

    def _situation(
        self,
        view: View,
        plan: PricePlan,
        choices: Floats,
        levels: MovingLevels,
        rules: Rules,
        costs: UnitCosts,
        hold: int,
    ) -> Situation:
        rows, law = len(view.stock), self.problem.lead_times
        own = np.full(rows, np.nan) if rules.multiple is None else np.broadcast_to(rules.multiple, rows)
        minimum = 0.0 if rules.minimum is None else np.nan_to_num(rules.minimum)
        effect, uncertain = self._effect(plan.at, choices, plan.price[:, :1])
        margin = np.abs(plan.price[:, :1] - costs.order[:, None]) * (levels.mean * plan.exposure[:, 0])[:, None]
        return Situation(
            stock=view.stock,
            pipeline=np.zeros((rows, 0)) if view.pipeline is None else np.ascontiguousarray(view.pipeline),
            chances=np.tile(np.array(law.chances), (rows, 1)),
            lost=np.full(rows, law.lost),
            exposure=plan.exposure,
            may_order=self._order_days(view, plan.price.shape[1]),
            price=plan.price,
            choices=np.ascontiguousarray(choices),
            effect=np.exp(effect),
            penalty=np.ascontiguousarray(self.caution * hold * uncertain * margin),
            costs=costs,
            multiple=np.where(np.isnan(own), self._multiples(view), own),
            minimum=np.broadcast_to(minimum, rows).astype(np.float64),
            limit=self._limit(view),
            shelves=self._shelves(plan.at, view),
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
        return {
            "method": "planner" if self.sets_prices else "lookahead",
            "paths": self.search.paths,
            "ahead": self.search.ahead,
        }

    def validate(self) -> None:
        """Raise where a file asks for more sampled futures than memory allows."""
        check_draws(self.problem, self.search, self.review)


def _price_changes(view: View) -> Ints:
    """Changes of the price of each row in its closed periods, (rows,)."""
    if view.recent is None or (table := view.recent.table(LOOK_BACK)).price is None:
        return np.zeros(len(view.stock), dtype=np.int64)
    known, price = ~np.isnan(table.shown), table.price
    return np.asarray((known[:, 1:] & known[:, :-1] & (price[:, 1:] != price[:, :-1])).sum(axis=1))


def check_draws(problem: Problem, search: Search, review: int) -> None:
    """Raise where the sampled futures of a series are more than memory and time allow."""
    periods = search.periods(problem.lead_times.longest, terms_of(problem, review=review).review)
    if search.paths * periods > MOST_DRAWS:
        raise LostSalesError(
            f"{search.paths:,} sampled futures of {periods:,} periods are more than the {MOST_DRAWS:,} periods that "
            "can be looked at: take fewer paths"
        )
