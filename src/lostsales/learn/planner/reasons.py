"""Reasons for the price of a plan, in words: rules, pessimism, the stock, today's demand, or its consequences.

Each case is computed: the best price without a rule, without the penalty, at a stock that just covers today, and for
today alone (the greatest price above unit cost times expected demand). The texts hold prices, chances and periods of
cover, which are the same in any unit of quantity.
"""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.learn.planner.belief import Belief, Outlook
from lostsales.learn.planner.paths.explanation import money
from lostsales.learn.planner.plan_values import PlanValues, ScoredActions
from lostsales.policy.action_grid import ActionGrid, room_of
from lostsales.policy.expected import periods_of_cover
from lostsales.policy.rules import Rules
from lostsales.policy.view import Action, View
from lostsales.types import Array, Bools, Floats, Ints

INELASTIC = -1.0  # above this elasticity a higher price brings in more money


@dataclass(frozen=True, eq=False)
class PriceFacts:
    """The price of each row, and those that it is compared with; every array is (rows,) unless said."""

    price: Floats
    without_rule: dict[str, Floats]  # the best price without a rule, by the name of the rule
    unpenalised: Floats  # the best price without the penalty
    usual_stock: Floats  # the best price if the stock just covered today; the price where the stock does not matter
    usual_stock_chance: Floats  # of a stock-out at that price with the stock of today
    cover: Floats  # periods of expected demand on hand
    candidates: Floats  # (rows, prices) of the grid that the row may take, NaN where it may not
    demand: Floats  # (rows, prices) expected today
    unit_cost: Floats
    is_safe: Bools  # the safe action was taken

    def reasons(self) -> Array:
        """Reason for each price, (rows,) text."""
        # The first that holds for a row is told.
        cases: list[tuple[Bools, list[str]]] = [
            (self.is_safe, ["the safe action after a long run of stock-outs"] * len(self.price)),
        ]
        for rule, free in self.without_rule.items():
            cases.append((free != self.price, [f"limited by rules.{rule}: {money(each)} without it" for each in free]))
        only = (~np.isnan(self.candidates)).sum(axis=1) == 1
        cases.append((only, ["the only price that may be charged"] * len(self.price)))
        cautious = [f"cautious: {money(each)} if its effect on demand were certain" for each in self.unpenalised]
        cases.append((self.unpenalised != self.price, cautious))
        pairs = list(zip(self.usual_stock.tolist(), self.cover.tolist(), self.usual_stock_chance.tolist(), strict=True))
        lowered = [f"lowered from {money(usual)}: {cover:.1f} periods of cover on hand" for usual, cover, _ in pairs]
        raised = [
            f"raised from {money(usual)}: a stock-out at that price has a chance of {chance:.0%}"
            for usual, _, chance in pairs
        ]
        cases += [(self.price < self.usual_stock, lowered), (self.price > self.usual_stock, raised)]
        cases.append((np.ones(len(self.price), dtype=bool), self._by_demand()))
        chosen = np.argmax([holds for holds, _ in cases], axis=0)
        return np.array([cases[case][1][row] for row, case in enumerate(chosen.tolist())], dtype=object)

    def _by_demand(self) -> list[str]:
        """Reasons that lie in demand: the best price for that of today is taken, or another for all that counts."""
        profit = np.where(np.isnan(self.candidates), -np.inf, (self.candidates - self.unit_cost[:, None]) * self.demand)
        rows, today = np.arange(len(self.price)), profit.argmax(axis=1)
        at = np.nanargmin(np.abs(self.candidates - self.price[:, None]), axis=1)
        elasticity = self._elasticity(at)
        lowest, highest = (
            (self.price <= np.nanmin(self.candidates, axis=1)),
            (self.price >= np.nanmax(self.candidates, axis=1)),
        )
        return [
            _demand_reason(*each)
            for each in zip(
                np.sign(at - today).tolist(),
                self.candidates[rows, today].tolist(),
                elasticity.tolist(),
                (highest.astype(int) - lowest).tolist(),
                strict=True,
            )
        ]

    def _elasticity(self, at: Ints) -> Floats:
        """Elasticity of demand between the next lower and higher candidate of each price, NaN where it is not known."""
        rows, own = np.arange(len(at)), self.price[:, None]
        below, above = (
            np.where(holds, self.candidates, np.nan) for holds in (self.candidates < own, self.candidates > own)
        )
        low = np.where(np.isnan(below).all(axis=1), at, np.where(np.isnan(below), -np.inf, below).argmax(axis=1))
        high = np.where(np.isnan(above).all(axis=1), at, np.where(np.isnan(above), np.inf, above).argmin(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = [np.log(each[rows, high] / each[rows, low]) for each in (self.demand, self.candidates)]
            elasticity = steps[0] / steps[1]
        return np.where(np.isfinite(elasticity), elasticity, np.nan)


def _demand_reason(side: int, best_today: float, elasticity: float, end: int) -> str:
    """`side` of the best price for today alone: 1 above, -1 below; `end` of the grid: 1 highest, -1 lowest."""
    known = "" if elasticity != elasticity else f" (elasticity {round(elasticity, 1) + 0.0:.1f})"
    place = {1: "highest of the grid: ", 0: "", -1: "lowest of the grid: "}[end]
    if side:
        than = f"{'above' if side > 0 else 'below'} {money(best_today)}"
        return f"{than}, the best for today alone: later periods and stock costs count"
    if end > 0 and elasticity > INELASTIC:
        falls = "does not fall" if elasticity > -0.05 else "falls little"
        return f"{place}demand {falls} with the price{known}"
    if end < 0 and elasticity < INELASTIC:
        return f"{place}demand falls much with the price{known}"
    return f"{place}best profit at today's demand{known}"


def price_facts(
    policy: PlanValues, view: View, belief: Belief, scored: ScoredActions, action: Action, outlook: Outlook
) -> PriceFacts:
    """The price of each row, and those that it is compared with."""
    depth, rows = view.depth.astype(np.int64), np.arange(len(view.stock))
    every, coarse = np.ones(len(rows)), policy.candidates.coarse()
    candidates = coarse.prices_of(every).copy()
    at = np.abs(candidates - action.price[:, None]).argmin(axis=1)
    candidates[rows, at] = action.price
    cost = float(policy.unit_costs[1])
    grid = ActionGrid(candidates, coarse.orders_of(every), room_of(policy.problem), cost)
    allowed = policy.allowed(view, grid, policy.rules)
    may = np.asarray(allowed.reshape(*candidates.shape, grid.orders.shape[1]).any(axis=2))
    may[rows, at] = True
    demand = [policy.tracker.outlook(depth, belief, price, view.stock).demand for price in candidates.T]
    usual_stock = _price_at_usual_stock(policy, view, belief, action, outlook)
    return PriceFacts(
        price=action.price,
        without_rule={
            name: _best_price(policy, view, belief, policy.rules.model_copy(update={name: None}))
            for name in ("greatest_price_change", "greatest_price_change_percent", "least_margin")
            if getattr(policy.rules, name) is not None
        },
        unpenalised=scored.grid.taken((scored.values + scored.penalty).argmax(axis=1)).price,
        usual_stock=usual_stock,
        usual_stock_chance=policy.tracker.outlook(depth, belief, usual_stock, view.stock).stockout_chance,
        cover=periods_of_cover(view.stock, outlook.demand),
        candidates=np.where(may, candidates, np.nan),
        demand=np.stack(demand, axis=1),
        unit_cost=cost * every,
        is_safe=depth >= policy.safe_depth,
    )


def _price_at_usual_stock(policy: PlanValues, view: View, belief: Belief, action: Action, outlook: Outlook) -> Floats:
    """The best price if the stock just covered today, where less stock raises and more stock lowers the price.

    If an order arrives before sales, it covers today, and only a stock that needs no order moves the price.
    """
    flow = policy.physics.flow
    enough = np.zeros(len(view.stock)) if flow.before else np.minimum(outlook.high, flow.capacity)
    best = _best_price(policy, replace(view, stock=enough), belief, policy.rules)
    moves = np.sign(best - action.price) == np.sign(view.stock - enough)
    return np.where(moves & ((action.order == 0) | (not flow.before)), best, action.price)


def _best_price(policy: PlanValues, view: View, belief: Belief, rules: Rules) -> Floats:
    scored = policy.scored_actions(view, belief, rules)
    return scored.grid.taken(scored.values.argmax(axis=1)).price
