"""Branches of the history tree: expected profit, observed and censored outcomes of a decision in a history block."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from lostsales.data.economics import truncates
from lostsales.lab.exact.finite_model import FiniteModel
from lostsales.types import Array, Floats, Ints


class Block(NamedTuple):
    """A history block H'_{(t-i):t} (Section 3.2) without the features: depth, stock, and the belief about demand."""

    depth: int
    stock: int
    belief: Array  # of the censored demand, in the form of the expansion


class StockOut(NamedTuple):
    """A stock-out: the block that follows, and its probability for every next feature state."""

    block: Block
    key: Hashable  # equal for equal blocks
    chance: Floats  # (f,)


class Branch(NamedTuple):
    """Outcomes of a decision."""

    profit: float  # expected
    observed: Ints  # (outcomes,) positions stock * demands + demand of uncensored outcomes
    chance: Floats  # (outcomes, f)
    stockouts: list[StockOut]

    @property
    def risk(self) -> float:
        """Probability of a stock-out."""
        return float(sum(each.chance.sum() for each in self.stockouts))


class Expansion(Protocol):
    """Computes branches: by exact probabilities, or by draws from the simulator."""

    def certain(self, stock: int, demand: int) -> Block:
        """The block of an observed demand."""
        ...

    def expand(self, block: Block, feature: int, price: int, order: int) -> Branch:
        """The branch of a decision."""
        ...


@dataclass(frozen=True)
class ExactExpansion:
    """Beliefs as probability vectors over the demands of the model."""

    model: FiniteModel

    def certain(self, stock: int, demand: int) -> Block:
        """A point mass."""
        return Block(0, stock, np.eye(self.model.shape[2])[demand])

    def expand(self, block: Block, feature: int, price: int, order: int) -> Branch:
        """Sum over demand; a stock-out reveals only what was available and the next stock."""
        model = self.model
        pair = model.pair_of[block.stock, order]
        law = block.belief @ model.pmf[feature, price]
        move = model.chain.move[price, feature]
        truncated = truncates(block.depth, model.scenario.flow)
        profit = (model.truncated_profit if truncated else model.profit)[price, :, pair]
        censored = model.censors[:, pair]
        demand = np.minimum(np.arange(len(law)), model.available[pair] if truncated else len(law))
        is_observed = (law > 0) & (truncated | ~censored)
        observed = model.next_stock[pair, demand[is_observed]] * model.shape[2] + demand[is_observed]
        stockouts = []
        for stock in np.unique(model.next_stock[pair, censored & (law > 0)] if not truncated else []):
            rest = np.where(censored & (model.next_stock[pair] == stock), law, 0.0)
            chance = rest.sum()
            after = Block(block.depth + 1, int(stock), rest / chance)
            key = (after.depth, after.stock, (np.round(after.belief, 12) + 0.0).tobytes())
            stockouts.append(StockOut(after, key, chance * move))
        gain = float(law @ profit - model.order_cost[order])
        return Branch(gain, observed, law[is_observed, None] * move, stockouts)
