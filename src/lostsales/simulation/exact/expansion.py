"""How a decision in the middle of a history unfolds: what is earned, what comes to be known, what stays hidden."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from lostsales.simulation.exact.world import World
from lostsales.types import Array, Floats, Ints


class Block(NamedTuple):
    """A history block H'_{(t-i):t} (line 285), features aside: depth of the run, stock, and what is believed."""

    depth: int
    stock: int
    belief: Array  # whatever the expansion keeps of the hidden demand


class Hidden(NamedTuple):
    """A stock-out: the block that follows and its chance for every next feature state."""

    block: Block
    key: Hashable  # blocks of one key are the same
    chance: Floats  # (f,)


class Branch(NamedTuple):
    """What a decision leads to."""

    profit: float
    known: Ints  # (outcomes,) positions stock * demands + demand
    chance: Floats  # (outcomes, f)
    hidden: list[Hidden]

    @property
    def risk(self) -> float:
        """The chance of a stock-out."""
        return float(sum(each.chance.sum() for each in self.hidden))


class Expansion(Protocol):
    """How a decision in a block unfolds: by exact probabilities, or by draws from the simulator."""

    def certain(self, stock: int, demand: int) -> Block:
        """The block of a known demand."""
        ...

    def expand(self, block: Block, feature: int, price: int, order: int) -> Branch:
        """The branch of a decision."""
        ...


@dataclass(frozen=True)
class ExactExpansion:
    """Beliefs as probabilities of the world's demand."""

    world: World

    def certain(self, stock: int, demand: int) -> Block:
        """A belief of probability one."""
        return Block(0, stock, np.eye(self.world.shape[2])[demand])

    def expand(self, block: Block, feature: int, price: int, order: int) -> Branch:
        """Sum over demand; a stock-out tells no more than what was available and the stock that follows."""
        world = self.world
        plan = world.plan_of[block.stock, order]
        law = block.belief @ world.pmf[feature, price]
        move = world.chain.move[price, feature]
        truncated = block.depth == world.scenario.longest_run
        profit = (world.truncated_profit if truncated else world.profit)[price, :, plan]
        censored = world.censors[:, plan]
        demand = np.minimum(np.arange(len(law)), world.available[plan] if truncated else len(law))
        seen = (law > 0) & (truncated | ~censored)
        known = world.next_stock[plan, demand[seen]] * world.shape[2] + demand[seen]
        hidden = []
        for stock in np.unique(world.next_stock[plan, censored & (law > 0)] if not truncated else []):
            rest = np.where(censored & (world.next_stock[plan] == stock), law, 0.0)
            chance = rest.sum()
            after = Block(block.depth + 1, int(stock), rest / chance)
            key = (after.depth, after.stock, (np.round(after.belief, 12) + 0.0).tobytes())
            hidden.append(Hidden(after, key, chance * move))
        gain = float(law @ profit - world.order_cost[order])
        return Branch(gain, known, law[seen, None] * move, hidden)
