"""The prices that explain a decision of a plan: the best without a rule, without the penalty, and at another stock."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lostsales.learn.planner.belief import Belief, Outlook
from lostsales.learn.planner.reasons import PriceFacts
from lostsales.policy.action_grid import ActionGrid, room_of
from lostsales.policy.expected import periods_of_cover
from lostsales.policy.rules import Rules
from lostsales.policy.view import Action, View
from lostsales.types import Floats

if TYPE_CHECKING:
    from lostsales.learn.planner.policy import PlanPolicy


@dataclass(frozen=True, eq=False)
class ScoredActions:
    """Rows of a view against the actions of each."""

    grid: ActionGrid  # one a row
    values: Floats  # (rows, actions) less the penalty; -inf where an action was found not allowed
    penalty: Floats  # (rows, actions) of pessimism


def price_facts(
    policy: "PlanPolicy", view: View, belief: Belief, scored: ScoredActions, action: Action, outlook: Outlook
) -> PriceFacts:
    """The price of each row, and those that it is compared with."""
    depth, rows = view.depth.astype(np.int64), np.arange(len(view.stock))
    rungs = policy.ladders.coarse().prices_of(belief.series.usual_price).copy()
    at = np.abs(rungs - action.price[:, None]).argmin(axis=1)
    rungs[rows, at] = action.price
    orders = policy.ladders.coarse().orders_of(belief.series.scale, belief.series.order_multiple)
    grid = ActionGrid(rungs, orders, room_of(policy.problem), belief.series.order_cost)
    allowed = policy.allowed(view, grid, belief.series, policy.rules)
    may = np.asarray(allowed.reshape(*rungs.shape, orders.shape[1]).any(axis=2))
    may[rows, at] = True
    demand = [policy.tracker.outlook(depth, belief, price, view.stock).demand for price in rungs.T]
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
        rungs=np.where(may, rungs, np.nan),
        demand=np.stack(demand, axis=1),
        unit_cost=belief.series.order_cost,
        is_safe=depth >= policy.safe_depth,
    )


def _price_at_usual_stock(policy: "PlanPolicy", view: View, belief: Belief, action: Action, outlook: Outlook) -> Floats:
    """The best price if the stock just covered today, where less stock raises and more stock lowers the price.

    Where an order arrives before sales, it covers today, and only a stock that needs no order moves the price.
    """
    flow = policy.physics.flow
    enough = np.zeros(len(view.stock)) if flow.before else np.minimum(outlook.high, flow.capacity)
    best = _best_price(policy, replace(view, stock=enough), belief, policy.rules)
    moves = np.sign(best - action.price) == np.sign(view.stock - enough)
    return np.where(moves & ((action.order == 0) | (not flow.before)), best, action.price)


def _best_price(policy: "PlanPolicy", view: View, belief: Belief, rules: Rules) -> Floats:
    scored = policy.scored_actions(view, belief, rules)
    return scored.grid.taken(scored.values.argmax(axis=1)).price
