"""The paper's Monte Carlo solution of pi* (Section 5): the same recursion, with averages of simulated periods."""

from dataclasses import dataclass

import numpy as np

from lostsales.lab.exact.finite_model import FiniteModel
from lostsales.lab.exact.history_tree import Block, Branch, StockOut
from lostsales.policy.period import transition
from lostsales.policy.view import Action
from lostsales.types import Floats


@dataclass(frozen=True, eq=False)
class SampledExpansion:
    """Beliefs as draws of the censored demand, by the functions of the simulator alone."""

    model: FiniteModel
    draws: int
    rng: np.random.Generator

    def certain(self, stock: int, demand: int) -> Block:
        """Every draw is the observed demand."""
        return Block(0, stock, np.full(self.draws, float(demand)))

    def expand(self, block: Block, feature: int, price: int, order: int) -> Branch:
        """Average over one simulated period from every draw; the stock-outs among them become the next belief."""
        scenario, chain = self.model.scenario, self.model.chain
        features = tuple(np.full(self.draws, each[feature]) for each in chain.values())
        action = Action(self._full(scenario.prices[price]), self._full(scenario.orders[order]))
        drawn = scenario.demand(1, features, action.price, block.belief, self.rng)
        depth = np.full(self.draws, block.depth)
        outcome = transition(self._full(block.stock), depth, action, drawn, scenario.flow, scenario.unit_costs)
        states, demands = self.model.shape[0], self.model.shape[2]
        after = scenario.next_features(features, action.price, self.rng)
        state_tp1 = chain.nearest(after) if features else np.zeros(self.draws, dtype=np.int64)
        where = (outcome.stock_tp1 * demands + outcome.demand).astype(np.int64) * states + state_tp1
        observed, count = np.unique(where[~outcome.stockout], return_counts=True)
        chance = np.zeros((len(observed), states))
        chance[np.arange(len(observed)), observed % states] = count / self.draws
        stockouts = []
        for stock in np.unique(outcome.stock_tp1[outcome.stockout]):
            these = outcome.stockout & (outcome.stock_tp1 == stock)
            belief = self.rng.choice(outcome.demand[these], self.draws)
            following = Block(block.depth + 1, int(stock), belief)
            probability = np.bincount(state_tp1[these], minlength=states) / self.draws
            stockouts.append(StockOut(following, object(), probability))
        return Branch(float(outcome.profit.mean()), observed // states, chance, stockouts)

    def _full(self, value: float) -> Floats:
        return np.full(self.draws, float(value))
