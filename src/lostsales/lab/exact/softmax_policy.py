"""A stochastic policy that sees true demand: softmax over the exact oracle's Q."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError, SettingError
from lostsales.lab.exact.finite_model import FiniteModel, Resolution
from lostsales.lab.exact.oracle import oracle_pair_value, solve_oracle
from lostsales.lab.exact.solve import criterion_of
from lostsales.policy.base import PolicyBase
from lostsales.policy.view import Action, View
from lostsales.simulation.scenario import Scenario
from lostsales.types import Floats


@dataclass(frozen=True, eq=False)
class SoftmaxPolicy(PolicyBase):
    """Draws an action a with probability proportional to exp(Q(s, a) / temperature), Q that of the oracle.

    So every decision explores a little around the best one, and more where little is lost by it.
    """

    model: FiniteModel
    values: tuple[Floats, ...]  # by depth (f, d, p, j), of prices and supply pairs before the cost of the order
    temperature: float
    observes: Literal["demand"] = "demand"

    @classmethod
    def of(cls, scenario: Scenario, temperature: float) -> "SoftmaxPolicy":
        """Solve the oracle of a scenario, infinite horizon at its discount."""
        if not temperature > 0:
            raise SettingError(f"temperature must be above 0, but {temperature:g} came")
        criterion = criterion_of(scenario, None, None)
        model = FiniteModel.of(scenario, Resolution())
        value = solve_oracle(model, criterion).value
        lagged = model.pmf[:, :, model.lags]
        values = [oracle_pair_value(model, lagged, value, depth, criterion.discount) for depth in range(len(value))]
        return cls(model, tuple(values), temperature)

    @property
    def problem(self) -> Problem:
        """Problem of the scenario."""
        return self.model.scenario.problem

    def chances(self, view: View) -> Floats:
        """Probabilities of all actions, prices outermost, (rows, actions)."""
        if view.last_demand is None:
            raise LostSalesError("this policy decides on the true last demand, but it was not shown")
        model = self.model
        feature, stock = model.state_of(view), model.position(view.stock)
        lags = self.values[0].shape[1]  # one where demand has no memory
        demand = np.clip(view.last_demand, 0, lags - 1).astype(np.int64)
        depth = np.minimum(view.depth, len(self.values) - 1)
        of_pairs = np.empty((len(stock), *self.values[0].shape[2:]))
        for each in np.unique(depth):
            at = depth == each
            of_pairs[at] = self.values[each][feature[at], demand[at]]
        score = np.take_along_axis(of_pairs, model.pair_of[stock][:, None, :], axis=2) - model.order_cost
        score = np.where(model.allowed[stock][:, None, :], score, -np.inf).reshape(len(stock), -1)
        weight = np.exp((score - score.max(axis=1, keepdims=True)) / self.temperature)
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Draw price and order of every series."""
        up_to = np.cumsum(self.chances(view), axis=1)
        drawn = rng.random((len(view.stock), 1)) * up_to[:, -1:]
        return Action(*self.model.decode((up_to <= drawn).sum(axis=1)))
