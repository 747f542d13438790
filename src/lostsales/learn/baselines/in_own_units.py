"""Learners with one ladder for all series, where series differ: each series in its own units of quantity and price.

The learner sees a log in which every series is divided by its scale and its usual price. What it decides is multiplied
back, rounded to the orders and prices of the shop, and kept within its rules, within the prices of the series and
within twice its largest order.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lostsales.data.economics import UnitCosts
from lostsales.data.feature import Feature
from lostsales.data.ladders import Ladders, snapped
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.progress import Progress
from lostsales.data.scale import TINY
from lostsales.data.units import QUANTITIES
from lostsales.learn.baselines.behaviour import BehaviourPolicy
from lostsales.learn.baselines.series_coordinates import SeriesCoordinates, ViewCoordinates
from lostsales.learn.learner import Learner
from lostsales.learn.training_data import candidates
from lostsales.policy.action_grid import ActionGrid, room_of
from lostsales.policy.decision import Decision
from lostsales.policy.own_range import has_own_ranges
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.rules import Rules, SavedRules
from lostsales.policy.view import Action, ClosedPeriod, Features, SeriesContext, View
from lostsales.policy.wrapper import PolicyWrapper
from lostsales.saved_fields import NonNegative
from lostsales.types import Floats

# Rules whose numbers are the same in every unit; the others are applied to what is recommended.
UNITLESS_RULES = ("least_margin", "greatest_price_change_percent", "order_days")
PRICE_FIRST = 1e9  # the nearest allowed price counts before the nearest allowed order


@dataclass(frozen=True, eq=False)
class InOwnUnits(PolicyWrapper[SavedPolicy]):
    """Asks the policy inside in the units of each series, and answers in those of the shop."""

    problem: Problem  # of the shop
    rules: SavedRules
    ladders: Ladders  # relative
    coordinates: SeriesCoordinates
    unit_cost: NonNegative  # of an order, its mean in the log
    usual_demand: NonNegative

    @property
    def may_recommend(self) -> Ladders:
        """The relative ladders."""
        return self.ladders

    @property
    def asks(self) -> tuple[Feature, ...]:
        """Features that the policy inside asks for, without unit costs that are the same in all rows of the shop."""
        return tuple(each for each in self.policy.asks if each.name not in self._costs)

    @property
    def _costs(self) -> dict[str, float]:
        """The unit costs that the problem gives as numbers, by the name of their feature."""
        names, costs = self.problem.columns, self.problem.costs
        given = {names.lost_cost: costs.lost, names.order_cost: costs.order, names.holding_cost: costs.holding}
        return {name: cost for name, cost in given.items() if isinstance(cost, float)}

    def summary(self) -> dict[str, Any]:
        """That of the policy inside, whose quantities and prices are shares of those of a series."""
        return self.policy.summary() | {"relative": True}

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every series."""
        own = self.coordinates.of_view(view)
        return self._settled(view, own, self.policy.decide(self._view(view, own), rng))

    def explain(self, view: View) -> Decision:
        """The decision of the policy inside."""
        own = self.coordinates.of_view(view)
        found = self.policy.explain(self._view(view, own))
        price, order = self._settled(view, own, Action(found.price, found.order))
        second = self._settled(view, own, Action(found.runner_up_price, found.runner_up_order))
        money = 1.0 if isinstance(self.policy, BehaviourPolicy) else own.scale * own.usual_price
        return replace(
            found,
            price=price,
            order=order,
            runner_up_price=second.price,
            runner_up_order=second.order,
            value=found.value * money,
            penalty=found.penalty * money,
            advantage=found.advantage * money,
            unknown_series=own.is_unknown,
            unseen=None if own.own_range is None else own.own_range.unseen(price, order),
            never_ordered=None if own.own_range is None else own.own_range.never_ordered,
        )

    def inside(self, view: View) -> tuple[View, Floats]:
        """The view as the policy inside sees it, and what 1 of its money is in that of the shop, (rows,)."""
        own = self.coordinates.of_view(view)
        return self._view(view, own), own.scale * own.usual_price

    def _view(self, view: View, own: ViewCoordinates) -> View:
        """The same open period in shares of each series."""
        seen, market = _view(view, own), {each.name for each in self.problem.features}

        def shares(features: Features) -> Features:
            given = dict(zip((each.name for each in self.asks), features, strict=True)) | self._costs
            return tuple(
                np.asarray(given[each.name] / (1.0 if each.name in market else own.usual_price))
                for each in self.policy.asks
            )

        past = tuple(each._replace(view=replace(each.view, features=shares(each.view.features))) for each in seen.past)
        return replace(seen, features=shares(seen.features), past=past)

    def _settled(self, view: View, own: ViewCoordinates, wanted: Action) -> Action:
        """The action of the shop that is nearest to a relative one and allowed."""
        price, order = wanted.price * own.usual_price, wanted.order * own.scale
        ladders = self.ladders
        if ladders.relative_prices and ladders.price_step:
            price = np.where(np.isnan(price), price, snapped(price, ladders.price_step, ladders.price_endings))
        multiple, most = np.full(len(order), ladders.order_multiple), np.full(len(order), np.inf)
        if own.own_range is not None:
            price = np.clip(price, own.own_range.least_price, own.own_range.most_price)
            most = own.own_range.most_order
            multiple = np.where(own.own_range.unit > 0, own.own_range.unit, multiple)
        multiple = self.rules.multiples(view, multiple)
        order, step = np.minimum(order, most), np.where(multiple > 0, multiple, 1.0)
        if ladders.relative_orders:
            counts = np.minimum(np.rint(order / step), np.floor(most / step + TINY))
            order = np.where(multiple > 0, step * counts, order)
        room = room_of(self.problem)
        limit = view.order_limit(self.problem)
        listed = not ladders.relative_prices and bool((own.usual_price != 1).any())
        listed |= not ladders.relative_orders and bool((own.scale != 1).any())
        if self.rules == Rules() and np.isinf(room) and limit is None and not listed:
            return Action(price, order)
        orders = ladders.orders_of(own.scale, multiple)
        grid = ActionGrid(ladders.prices_of(own.usual_price), orders, room, self.unit_cost)
        features = view.features_by_name(self.asks)
        rules = self.rules.of_view(view)
        if own.own_range is not None:
            grid = replace(grid, prices=own.own_range.prices_within(grid.prices, rules))
        may = rules.feasible(grid, view.stock, view.last_price, features, limit)
        if own.own_range is not None:
            may = own.own_range.allowed(grid, may)
        far = PRICE_FIRST * np.abs(grid.price - price[:, None]) + np.abs(grid.order - order[:, None])
        nearest = grid.taken(np.where(may, np.nan_to_num(far), np.inf).argmin(axis=1))
        return Action(*(np.where(np.isnan(each), each, at) for each, at in zip((price, order), nearest, strict=True)))


def fit_in_own_units(learner: Learner, log: SalesLog, progress: Progress | None = None) -> SavedPolicy:
    """Fit a learner that has one grid for all series, in the units of each where series differ."""
    if log.order is None or log.costs is None:
        return learner.fit(log, progress)  # which refuses it
    rules = learner.rules.over(log.problem.rules).of_log(log)
    ladders = candidates(log, rules).coarse()
    shares = _shares(log, rules, ladders)
    if not (shares.relative or has_own_ranges(log)):
        return learner.fit(log, progress)
    coordinates = SeriesCoordinates.of(log, rules)
    # What a setting says of the quantities of any series holds for that of the smallest scale.
    inner = learner.in_units(float(coordinates.scale.min())).model_copy(update={"rules": _unitless(rules)})
    policy = inner.fit(relative_log(log, coordinates, shares, rules), progress)
    shown = log.sales[~log.censored]
    usual = float(np.median(shown)) if len(shown) else float(np.median(log.sales))
    unit_cost = float(log.costs.mean().order)
    return InOwnUnits(policy, log.problem, rules, ladders, coordinates, unit_cost, usual)


def _shares(log: SalesLog, rules: Rules, ladders: Ladders) -> Ladders:
    """The grid of the learner: in shares of each series also where the problem lists prices or orders for all."""
    problem = log.problem.model_copy(update={"prices": None, "orders": None})
    free = rules.model_copy(update={"price_ladder": None})
    shares = candidates(replace(log, problem=problem), free).coarse()
    prices = shares.prices if shares.relative_prices else ladders.prices
    orders = shares.orders if shares.relative_orders else ladders.orders
    return replace(shares, prices=prices, orders=orders)


def relative_log(log: SalesLog, coordinates: SeriesCoordinates, shares: Ladders, rules: Rules) -> SalesLog:
    """The log with quantities relative to the scale and money relative to the usual price of each series."""
    assert log.costs is not None  # or it had been fitted as it is
    scale, usual = coordinates.scale[log.series], coordinates.usual_price[log.series]
    columns: dict[str, Any] = {
        name: each / scale for name in QUANTITIES if name != "last_sales" and (each := getattr(log, name)) is not None
    }
    if log.pipeline is not None:
        columns["pipeline"] = log.pipeline / scale[:, None]
    costs = log.costs
    fixed = float(np.mean(costs.fixed_order / (scale * usual)))
    return replace(
        log,
        problem=_inside(log.problem, rules, tuple(shares.prices.tolist()), tuple(shares.orders.tolist())),
        price=log.price / usual,
        last_sales=log.last_sales / coordinates.scale,
        costs=UnitCosts(_share(costs.lost, usual), _share(costs.order, usual), _share(costs.holding, usual), fixed),
        **columns,
    )


def _share(cost: Floats | float, usual: Floats) -> Floats | float:
    """A unit cost relative to the usual price; one that is the same in all rows remains a number."""
    same = np.ndim(cost) == 0 and (cost == 0 or bool((usual == 1).all()))
    return cost if same else np.asarray(cost / usual)


def _inside(problem: Problem, rules: Rules, prices: tuple[float, ...], orders: tuple[float, ...]) -> Problem:
    """The problem in shares; capacities and lots, which are in units of the shop, limit what is recommended."""
    supply = problem.supply.model_copy(update={"capacity": None, "multiple": None, "minimum": None})
    update = {"prices": prices, "orders": orders, "capacity": None, "rules": _unitless(rules), "supply": supply}
    return problem.model_copy(update=update)


def _unitless(rules: Rules) -> Rules:
    return Rules(**{name: getattr(rules, name) for name in UNITLESS_RULES if name in rules.model_fields_set})


def _view(view: View, own: ViewCoordinates) -> View:
    """The same open period in shares of each series, but for its features."""
    scale, context = own.scale, view.context
    if context is not None:
        context = SeriesContext(context.attributes, context.mean_demand / scale)
    past = tuple(
        # Every closed period knows those before it as well: their pasts again would double the work with each period.
        ClosedPeriod(
            _view(replace(each.view, past=()), own),
            Action(each.action.price / own.usual_price, each.action.order / scale),
        )
        for each in view.past[-max(int(view.depth.max(initial=0)), 1) :]  # as far back as the longest censored run
    )
    return replace(
        view,
        stock=view.stock / scale,
        last_sales=view.last_sales / scale,
        last_demand=None if view.last_demand is None else view.last_demand / scale,
        past=past,
        context=context,
        pipeline=None if view.pipeline is None else view.pipeline / scale[:, None],
        recent=None if view.recent is None else view.recent.in_units(scale),
    )
