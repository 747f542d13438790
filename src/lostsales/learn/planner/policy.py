"""The policy of the planner: the best action by one-period lookahead on the values of the plans."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.economics import UnitCosts, units_available
from lostsales.learn.planner.belief import Belief
from lostsales.learn.planner.plan_values import PlanValues
from lostsales.learn.planner.reasons import price_facts
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision, greedy
from lostsales.policy.expected import Expected, periods_of_cover
from lostsales.policy.view import Action, View
from lostsales.types import Bools, Floats


@dataclass(frozen=True, eq=False)
class PlanPolicy(PlanValues, PolicyBase):
    """Greedy in the mean value over one or several laws of demand."""

    observes: Literal["history"] = "history"

    @property
    def may_recommend(self) -> CandidateGrid:
        """The candidates."""
        return self.candidates

    def summary(self) -> dict[str, Any]:
        """The method."""
        return {"method": "planner"}

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        scored = self.scored_actions(view, self.tracker.belief(view), self.rules)
        return scored.grid.taken(scored.values.argmax(axis=1))

    def explain(self, view: View) -> Decision:
        """The decision with its value, runner-up and warnings, the outlook of demand, and what drove the price."""
        belief = self.tracker.belief(view)
        scored = self.scored_actions(view, belief, self.rules)
        found, rows = greedy(scored.values, scored.grid), np.arange(len(scored.values))
        price, order = scored.grid.taken(found.best)
        second = scored.grid.taken(found.second)
        has_second = ~np.isnan(found.advantage)
        available = units_available(view.stock, order, self.problem.flow)
        outlook = self.tracker.outlook(view.depth.astype(np.int64), belief, price, available)
        return Decision(
            price=price,
            order=order,
            value=found.value,
            penalty=scored.penalty[rows, found.best],
            safe=view.depth >= self.safe_depth,
            runner_up_price=np.where(has_second, second.price, np.nan),
            runner_up_order=np.where(has_second, second.order, np.nan),
            advantage=found.advantage,
            unsafe=np.zeros(len(rows), dtype=bool),
            beyond=view.depth > self.learned_depth,
            outside=self._is_outside(view, belief),
            more={
                "last_demand": belief.mean,
                "expected_demand": outlook.demand,
                "stockout_chance": outlook.stockout_chance,
                "expected_lost": outlook.lost,
                "periods_of_cover": periods_of_cover(view.stock + view.on_order + order, outlook.demand),
            },
            reasons=lambda: {
                "price_reason": price_facts(self, view, belief, scored, Action(price, order), outlook).reasons()
            },
        )

    def expect(self, view: View, action: Action, unit_cost: Floats | None = None) -> Expected:
        """Expectations of an action: today by the demand model, later by the values of the plans.

        The plan stands: another unit cost, as an offer of today, moves the profit of today alone.
        """
        belief, depth = self.tracker.belief(view), view.depth.astype(np.int64)
        value = self.values_of(view, belief, action.price[:, None], action.order[:, None]).values[:, 0]

        def outlook(available: Floats) -> tuple[Floats, Floats, Floats]:
            found = self.tracker.outlook(depth, belief, action.price, available)
            return found.demand, found.stockout_chance, found.lost

        costs = UnitCosts(*self.unit_costs.tolist()).per_unit(lambda cost: np.full(len(value), cost))
        unseen = ~self.is_planned(action.price)
        found = Expected.of(view, action, outlook, self.problem, costs, value, unseen)
        return found.at_cost(action.order, unit_cost)

    def demand_atoms(self, view: View, price: Floats) -> Floats:
        """Equally likely demands of today at a price, of all laws, (rows, atoms)."""
        return self.tracker.atoms(view.depth.astype(np.int64), self.tracker.belief(view), price)

    def _is_outside(self, view: View, belief: Belief) -> Bools:
        """Rows whose z or stock lies outside the log, (rows,)."""
        state = np.column_stack([self.states.index(belief.features), view.stock])
        slack = 1e-9 * (1 + self.ranges[1] - self.ranges[0])
        return np.asarray(((state < self.ranges[0] - slack) | (state > self.ranges[1] + slack)).any(axis=1))
