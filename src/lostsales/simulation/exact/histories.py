"""pi* by enumerating histories: every run of stock-outs that can happen, where a scenario is small and finite."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from lostsales.data.reading.gate import Progress
from lostsales.errors import SettingError
from lostsales.simulation.exact.expansion import Block, Branch, Expansion
from lostsales.simulation.exact.iterate import Actions, Criterion, Values, solve_backups
from lostsales.simulation.exact.world import World
from lostsales.types import Bools, Floats, Ints

LIMIT = 20_000  # decisions (history, feature state, action) beyond which a scenario is not small
CERTAIN = 1e-9  # a chance below this is none


@dataclass(frozen=True, eq=False)
class HistoryTree:
    """All blocks with what every decision in them leads to: a finite decision process."""

    profit: Floats  # (block * f * action,)
    move: csr_array  # (block * f * action) x (block * f)
    allowed: Bools  # (block, f, action)
    parents: Ints  # (stock-outs,) rising keys ((block * f + feature) * actions + action) * stocks + next stock
    children: Ints  # (stock-outs,) the block that follows

    def backup(self, value_tp1: Values, discount: float) -> tuple[Values, Actions]:
        """Q^(i)(h, a) = E[R_t + discount (1[Delta_t = 1] V^(0) + 1[Delta_t = 0] V^(i+1)) | h, a] (lines 368, 375)."""
        value = (self.profit + discount * (self.move @ value_tp1[0].reshape(-1))).reshape(self.allowed.shape)
        value = np.where(self.allowed, value, -np.inf)
        best = value.max(axis=-1)
        alive = np.isfinite(best)  # what cannot be reached only must not hold up convergence
        return (np.where(alive, best, best[alive].mean()),), (np.argmax(value, axis=-1).astype(np.uint16),)


def history_tree(
    world: World, expansion: Expansion, max_depth: int | None, horizon: int | None, limit: int = LIMIT
) -> HistoryTree:
    """Unfold a world up to its longest run, else up to `max_depth`, where only actions sure to end the run are allowed.

    Without either the horizon bounds the runs. Raises `SettingError` where there are more than `limit` decisions, or
    where no policy of the class exists.
    """
    longest = world.scenario.longest_run
    bounds = [each for each in (longest, max_depth, None if horizon is None else horizon - 1) if each is not None]
    if not bounds:
        raise SettingError("histories can be enumerated only up to a longest run, a largest depth or a horizon")
    deepest = min(bounds)
    restricts = max_depth == deepest and (longest is None or max_depth < longest)
    _, stocks, demands = world.shape
    unfolding = _Unfolding(
        world, [expansion.certain(stock, demand) for stock in range(stocks) for demand in range(demands)]
    )
    for block in unfolding.blocks:  # grows as it is walked through
        for feature, price, order in _decisions(world):
            if not world.allowed[block.stock, order]:
                unfolding.add(_NOTHING, allowed=False, deeper=False)
                continue
            branch = expansion.expand(block, feature, price, order)
            safe = not (restricts and block.depth == deepest) or branch.risk <= CERTAIN
            unfolding.add(branch, allowed=safe, deeper=block.depth < deepest)
        if len(unfolding.blocks) * world.shape[0] * _actions(world) > limit:
            raise SettingError(
                f"scenario {world.scenario.name} has more than {limit:,} histories and actions; solve it on beliefs"
            )
    return _without_dead_ends(unfolding.tree(), world)


_NOTHING = Branch(0.0, np.zeros(0, dtype=np.int64), np.zeros((0, 1)), [])


@dataclass
class _Unfolding:
    """The tree while it grows, decision by decision."""

    world: World
    blocks: list[Block]
    places: dict[Hashable, int] = field(default_factory=dict)
    profit: list[float] = field(default_factory=list)
    allowed: list[bool] = field(default_factory=list)
    moves: list[tuple[int, int, Floats]] = field(default_factory=list)  # decision, block, chance of each feature state
    births: list[tuple[int, int]] = field(default_factory=list)  # key of the parent, child

    def add(self, branch: Branch, allowed: bool, deeper: bool) -> None:
        """Add the next decision; where the tree goes no deeper what follows a stock-out counts nothing."""
        row = len(self.profit)
        self.profit.append(branch.profit)
        self.allowed.append(allowed)
        self.moves += [(row, int(place), chance) for place, chance in zip(branch.known, branch.chance, strict=True)]
        for hidden in branch.hidden if deeper else ():
            place = self.places.setdefault(hidden.key, len(self.blocks))
            if place == len(self.blocks):
                self.blocks.append(hidden.block)
            self.moves.append((row, place, hidden.chance))
            self.births.append((row * self.world.shape[1] + hidden.block.stock, place))

    def tree(self) -> HistoryTree:
        """The tree as arrays."""
        features = self.world.shape[0]
        rows = np.repeat([row for row, _, _ in self.moves], features)
        columns = (np.array([place for _, place, _ in self.moves])[:, None] * features + np.arange(features)).reshape(
            -1
        )
        chances = np.concatenate([chance for _, _, chance in self.moves])
        births = np.array(sorted(self.births), dtype=np.int64).reshape(-1, 2)
        return HistoryTree(
            profit=np.array(self.profit),
            move=csr_array((chances, (rows, columns)), shape=(len(self.profit), len(self.blocks) * features)),
            allowed=np.array(self.allowed).reshape(len(self.blocks), features, -1),
            parents=births[:, 0],
            children=births[:, 1],
        )


def _actions(world: World) -> int:
    return len(world.scenario.prices) * len(world.scenario.orders)


def _decisions(world: World) -> Iterator[tuple[int, int, int]]:
    for feature in range(world.shape[0]):
        for price in range(len(world.scenario.prices)):
            for order in range(len(world.scenario.orders)):
                yield feature, price, order


def _without_dead_ends(tree: HistoryTree, world: World) -> HistoryTree:
    """Forbid what may lead to a block in which no action is allowed, until nothing does."""
    allowed = tree.allowed
    while True:
        dead: Bools = ~np.any(allowed, axis=-1)
        leads = (tree.move @ dead.reshape(-1).astype(np.float64) > CERTAIN).reshape(allowed.shape)
        if not (leads & allowed).any():
            break
        allowed = allowed & ~leads
    features, stocks, demands = world.shape
    known = dead[: stocks * demands].reshape(stocks, demands, features)
    if (known & (np.moveaxis(world.opening, 0, -1) > 0)).any():
        raise SettingError("no policy is sure to keep runs of stock-outs within this depth; give a larger one")
    return replace(tree, allowed=allowed)


def solve_histories(
    tree: HistoryTree, criterion: Criterion, progress: Progress | None = None
) -> tuple[list[Values], list[Actions]]:
    """Values and actions, each one (block, f), of every period of the horizon, or of one that stands for all."""
    zero = (np.zeros(tree.allowed.shape[:2]),)
    return solve_backups(lambda value_tp1: tree.backup(value_tp1, criterion.discount), zero, criterion, progress)
