"""Expectations of any action under a plan: today by the demand model, later by the values of the plan."""

from typing import TYPE_CHECKING

import numpy as np

from lostsales.data.economics import UnitCosts
from lostsales.learn.planner.belief import Belief
from lostsales.policy.expected import Expected
from lostsales.policy.view import Action, View
from lostsales.types import Bools, Floats

if TYPE_CHECKING:
    from lostsales.learn.planner.policy import PlanPolicy


def expected(policy: "PlanPolicy", view: View, action: Action, unit_cost: Floats | None) -> Expected:
    """Expectations of an action of each row, at another unit cost of today's order where one is given.

    The plan stands: another cost, as an offer of today, moves the profit of today and leaves what follows as it is.
    """
    belief, problem = policy.tracker.belief(view), policy.problem
    depth = view.depth.astype(np.int64)
    value = policy.values_of(view, belief, action.price[:, None], action.order[:, None]).values[:, 0]

    def outlook(available: Floats) -> tuple[Floats, Floats, Floats]:
        found = policy.tracker.outlook(depth, belief, action.price, available)
        return found.demand, found.stockout_chance, found.lost

    costs = _costs(policy, belief)
    found = Expected.of(view, action, outlook, problem, costs, value, _unseen(policy, belief, action))
    return found.at_cost(action.order, unit_cost)


def _costs(policy: "PlanPolicy", belief: Belief) -> UnitCosts:
    """Unit costs of each row: the order's is the series' own, the others are those of its group at its usual price."""
    by_group = policy.series.group_costs[belief.series.group] * belief.series.usual_price[:, None]
    return UnitCosts(by_group[:, 0], belief.series.order_cost, by_group[:, 2], policy.physics.costs.fixed_order)


def _unseen(policy: "PlanPolicy", belief: Belief, action: Action) -> Bools:
    relative = action.price / belief.series.usual_price
    beyond = ~policy.is_planned(relative)
    own = belief.series.seen
    return beyond if own is None else beyond | own.unseen(action.price, action.order)
