"""pi* on the tree of all histories: every possible run of stock-outs, where a scenario is small and finite."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from lostsales.data.economics import truncates
from lostsales.data.progress import Progress
from lostsales.errors import SettingError
from lostsales.lab.exact.finite_model import FiniteModel
from lostsales.lab.exact.value_iteration import Actions, Criterion, Program, ProgramSolution, Values, solve_program
from lostsales.types import Array, Bools, Floats, Ints

LIMIT = 20_000  # most decisions (history, feature state, action) that are enumerated
CERTAIN = 1e-9  # a probability below this is treated as 0


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


@dataclass(frozen=True, eq=False)
class HistoryTree:
    """All history blocks and their transitions: a finite Markov decision process."""

    profit: Floats  # (block * f * action,)
    move: csr_array  # (block * f * action) x (block * f)
    allowed: Bools  # (block, f, action)
    parents: Ints  # (stock-outs,) rising keys ((block * f + feature) * actions + action) * stocks + next stock
    children: Ints  # (stock-outs,) the block that follows

    def backup(self, value_tp1: Values, discount: float) -> tuple[Values, Actions]:
        """Q^(i)(h, a) = E[R_t + discount (1[Delta_t = 1] V^(0) + 1[Delta_t = 0] V^(i+1)) | h, a] (Equations 9, 10)."""
        value = (self.profit + discount * (self.move @ value_tp1[0].reshape(-1))).reshape(self.allowed.shape)
        value = np.where(self.allowed, value, -np.inf)
        best = value.max(axis=-1)
        alive = np.isfinite(best)  # dead ends are never reached, and must not delay convergence
        return (np.where(alive, best, best[alive].mean()),), (np.argmax(value, axis=-1).astype(np.uint16),)


def history_tree(
    model: FiniteModel, expansion: Expansion, max_depth: int | None, horizon: int | None, limit: int = LIMIT
) -> HistoryTree:
    """Enumerate up to the longest run, else up to `max_depth`, where only actions certain to end the run are allowed.

    Without either, the horizon bounds the depth. Raises `SettingError` where there are more than `limit` decisions, or
    where no policy of the class exists.
    """
    longest = model.scenario.longest_run
    bounds = [each for each in (longest, max_depth, None if horizon is None else horizon - 1) if each is not None]
    if not bounds:
        raise SettingError("histories can be enumerated only up to a longest run, a largest depth or a horizon")
    deepest = min(bounds)
    restricts = max_depth == deepest and (longest is None or max_depth < longest)
    _, stocks, demands = model.shape
    growing = _GrowingTree(
        model, [expansion.certain(stock, demand) for stock in range(stocks) for demand in range(demands)]
    )
    for block in growing.blocks:  # grows while it is iterated
        for feature, price, order in _decisions(model):
            if not model.allowed[block.stock, order]:
                growing.add(_NO_BRANCH, allowed=False, deeper=False)
                continue
            branch = expansion.expand(block, feature, price, order)
            safe = not (restricts and block.depth == deepest) or branch.risk <= CERTAIN
            growing.add(branch, allowed=safe, deeper=block.depth < deepest)
        if len(growing.blocks) * model.shape[0] * _actions(model) > limit:
            raise SettingError(
                f"scenario {model.scenario.name} has more than {limit:,} histories and actions; solve it on beliefs"
            )
    return _without_dead_ends(growing.tree(), model)


_NO_BRANCH = Branch(0.0, np.zeros(0, dtype=np.int64), np.zeros((0, 1)), [])


@dataclass
class _GrowingTree:
    """The tree under construction, decision by decision."""

    model: FiniteModel
    blocks: list[Block]
    positions: dict[Hashable, int] = field(default_factory=dict)  # of blocks, by key
    profit: list[float] = field(default_factory=list)
    allowed: list[bool] = field(default_factory=list)
    moves: list[tuple[int, int, Floats]] = field(default_factory=list)  # decision, block, P(feature states)
    stockouts: list[tuple[int, int]] = field(default_factory=list)  # key of the parent, child

    def add(self, branch: Branch, allowed: bool, deeper: bool) -> None:
        """Add the next decision; where the tree is not `deeper`, the value after a stock-out is 0."""
        row = len(self.profit)
        self.profit.append(branch.profit)
        self.allowed.append(allowed)
        self.moves += [(row, int(block), chance) for block, chance in zip(branch.observed, branch.chance, strict=True)]
        for stockout in branch.stockouts if deeper else ():
            child = self.positions.setdefault(stockout.key, len(self.blocks))
            if child == len(self.blocks):
                self.blocks.append(stockout.block)
            self.moves.append((row, child, stockout.chance))
            self.stockouts.append((row * self.model.shape[1] + stockout.block.stock, child))

    def tree(self) -> HistoryTree:
        """The tree as arrays."""
        features = self.model.shape[0]
        rows = np.repeat([row for row, _, _ in self.moves], features)
        blocks = np.array([block for _, block, _ in self.moves])
        columns = (blocks[:, None] * features + np.arange(features)).reshape(-1)
        chances = np.concatenate([chance for _, _, chance in self.moves])
        stockouts = np.array(sorted(self.stockouts), dtype=np.int64).reshape(-1, 2)
        return HistoryTree(
            profit=np.array(self.profit),
            move=csr_array((chances, (rows, columns)), shape=(len(self.profit), len(self.blocks) * features)),
            allowed=np.array(self.allowed).reshape(len(self.blocks), features, -1),
            parents=stockouts[:, 0],
            children=stockouts[:, 1],
        )


def _actions(model: FiniteModel) -> int:
    return len(model.scenario.prices) * len(model.scenario.orders)


def _decisions(model: FiniteModel) -> Iterator[tuple[int, int, int]]:
    for feature in range(model.shape[0]):
        for price in range(len(model.scenario.prices)):
            for order in range(len(model.scenario.orders)):
                yield feature, price, order


def _without_dead_ends(tree: HistoryTree, model: FiniteModel) -> HistoryTree:
    """Forbid, until a fixed point, actions that may lead to a block in which no action is allowed."""
    allowed = tree.allowed
    while True:
        dead: Bools = ~np.any(allowed, axis=-1)
        leads = (tree.move @ dead.reshape(-1).astype(np.float64) > CERTAIN).reshape(allowed.shape)
        if not (leads & allowed).any():
            break
        allowed = allowed & ~leads
    features, stocks, demands = model.shape
    observed = dead[: stocks * demands].reshape(stocks, demands, features)
    if (observed & (np.moveaxis(model.opening, 0, -1) > 0)).any():
        raise SettingError("no policy is sure to keep runs of stock-outs within this depth; give a larger one")
    return replace(tree, allowed=allowed)


def solve_histories(tree: HistoryTree, criterion: Criterion, progress: Progress | None = None) -> ProgramSolution:
    """Value and actions, each one (block, f)."""
    program = Program((np.zeros(tree.allowed.shape[:2]),), lambda value_tp1: tree.backup(value_tp1, criterion.discount))
    return solve_program(program, criterion, progress)
