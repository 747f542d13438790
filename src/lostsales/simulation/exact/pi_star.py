"""pi*: dynamic programming on the belief about hidden demand, where only sales are seen."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from lostsales.data.reading.gate import Progress
from lostsales.simulation.exact.beliefs import BeliefGrid, tail_moments
from lostsales.simulation.exact.iterate import Actions, Criterion, Values, solve_backups
from lostsales.simulation.exact.oracle import after_known, after_truncation
from lostsales.simulation.exact.world import Resolution, World
from lostsales.types import Bools, Floats, Ints

SAFE = 1e-3  # at the largest depth an action is safe when it leaves a stock-out no more than this chance


@dataclass(frozen=True, eq=False)
class BeliefWorld:
    """A world seen through sales: layer 0 holds known demands, layer i >= 1 beliefs after i censored periods.

    The last layer goes on into itself, unless the truncation rule of the scenario ends every run there.
    """

    world: World
    beliefs: BeliefGrid
    layers: int  # how deep runs are told apart
    max_depth: int | None  # from this depth on only the safest actions are allowed, UP^(n) of line 310

    @classmethod
    def of(cls, world: World, grid: Resolution, max_depth: int | None) -> "BeliefWorld":
        """Runs are told apart up to the scenario's longest, else up to `max_depth`, else not at all."""
        layers = world.scenario.longest_run or max_depth or 1
        widest = _widest(world, layers if world.scenario.longest_run else 10)
        widths = np.linspace(0.0, widest, grid.widths)
        beliefs = BeliefGrid.of(world.shape[2] - 1, widths, step=widest / grid.means)
        return cls(world, beliefs, layers, max_depth)

    def truncates(self, layer: int) -> bool:
        """Whether demand above what is available does not come in this layer."""
        return layer == self.world.scenario.longest_run

    def restricts(self, layer: int) -> bool:
        """Whether only the safest actions are allowed in this layer."""
        return self.max_depth is not None and layer >= self.max_depth and not self.truncates(layer)

    @cached_property
    def hidden_above(self) -> Ints:
        """(j,) the demand above which a plan hides it; a netted stock that is left gives demand back (line 192)."""
        world = self.world
        netted = world.scenario.balance == "netted"
        return world.available + (np.maximum(world.arriving - 1, 0) if netted else 0)

    @cached_property
    def stocks(self) -> Ints:
        """Stocks with which a period after a censored one can open."""
        censored = np.unique(self.world.next_stock.T[self.world.censors])
        return censored if len(censored) else np.zeros(1, dtype=np.int64)

    @cached_property
    def restock(self) -> Ints:
        """(j,) position in `stocks` of the stock that follows a hidden demand."""
        world = self.world
        after = 0 * world.arriving if world.scenario.balance == "netted" else world.arriving
        return np.minimum(np.searchsorted(self.stocks, np.minimum(after, world.shape[1] - 1)), len(self.stocks) - 1)

    @cached_property
    def plan_of(self) -> Ints:
        """(y, o) plans of these stocks, as positions in `plans`."""
        return np.searchsorted(self.plans, self.world.plan_of[self.stocks])

    @cached_property
    def plans(self) -> Ints:
        """The plans that a period after a censored one can have."""
        return np.unique(self.world.plan_of[self.stocks])

    @cached_property
    def laws(self) -> tuple[Floats, Floats]:
        """P(D_t = D | X_t, P_t, belief), (f, p, belief, D): of known demands, and of the grid; see `World.lags`."""
        known, lags = self.world.pmf, self.world.lags
        return known[:, :, lags], (self.beliefs.pmf @ known)[:, :, lags]

    @cached_property
    def hides(self) -> tuple[csr_array, csr_array]:
        """Chance of a stock-out times weights on the grid of the belief after it, (f p belief cut) x (f p belief)."""
        return self._hides(self.laws[0], self.cuts[0]), self._hides(self.laws[1], self.cuts[1])

    @cached_property
    def cuts(self) -> tuple[Ints, Ints]:
        """The different demands above which plans hide: all plans, and those after a censored period."""
        return np.unique(self.hidden_above), np.unique(self.hidden_above[self.plans])

    def _hides(self, law: Floats, cuts: Ints) -> csr_array:
        chance, mean, variance = (each[..., np.minimum(cuts, law.shape[-1] - 1)] for each in tail_moments(law))
        position, weight = self.beliefs.locate(mean, variance)
        weight *= chance[..., None]
        features, prices = law.shape[:2]
        block = np.arange(features * prices).reshape(features, prices, 1, 1, 1) * len(self.beliefs.pmf)
        rows = np.arange(0, weight.size + 1, 4)
        shape = (weight.size // 4, features * prices * len(self.beliefs.pmf))
        return csr_array((weight.reshape(-1), (position + block).reshape(-1), rows), shape=shape)

    def after_hidden(self, value_tp1: Floats, layer: int, hides: csr_array | None = None) -> Floats:
        """P(hidden) E[V(X_{t+1}, belief after, Y_{t+1})], (f, p, belief, j), from a layer with the given value next."""
        known = layer == 0
        plans = np.arange(len(self.world.available)) if known else self.plans
        cuts = self.cuts[int(not known)]
        expected = self.world.expected(value_tp1)  # (f, p, belief, y)
        following = (self.hides[int(not known)] if hides is None else hides) @ expected.reshape(-1, len(self.stocks))
        following = following.reshape(*expected.shape[:2], -1, len(cuts), len(self.stocks))
        return following[:, :, :, np.searchsorted(cuts, self.hidden_above[plans]), self.restock[plans]]

    def gain(self, value_tp1: Values, layer: int, discount: float) -> Floats:
        """Profit and what follows where the demand comes to be known, (f, p, D, j); zero follows where it is hidden."""
        world = self.world
        plans = np.arange(len(world.available)) if layer == 0 else self.plans
        if self.truncates(layer):
            return (world.truncated_profit + discount * after_truncation(world, value_tp1[0]))[..., plans]
        follows = np.where(world.censors, 0.0, after_known(world, value_tp1[0]))
        if world.scenario.balance == "netted":
            follows += self._given_back(value_tp1[self.deeper(layer)])
        return (world.profit + discount * follows)[..., plans]

    def _given_back(self, value_tp1: Floats) -> Floats:
        """What follows a stock-out whose demand the next stock gives back: a certain belief, one period deeper."""
        world = self.world
        demands = np.arange(world.shape[2])[:, None]
        position, weight = self.beliefs.locate(demands[:, 0].astype(np.float64), np.zeros(len(demands)))
        certain = np.einsum("fpdky,dk->fpdy", world.expected(value_tp1)[:, :, position], weight)
        stock = np.searchsorted(self.stocks, world.next_stock.T) % len(self.stocks)
        return np.where(world.censors & (demands <= self.hidden_above), certain[:, :, demands, stock], 0.0)

    def deeper(self, layer: int) -> int:
        """The layer after one more censored period."""
        return min(layer + 1, self.layers)

    def backup(self, value_tp1: Values, discount: float) -> tuple[Values, Actions]:
        """V^(i)(h) = max_a E[R_t + discount (1[Delta_t = 1] V^(0) + 1[Delta_t = 0] V^(i+1)) | h, a] (line 368)."""
        values, actions = [], []
        for layer in range(self.layers + 1):
            law = self.laws[int(layer > 0)]
            plan_value = law @ self.gain(value_tp1, layer, discount)  # (f, p, belief, j)
            if not self.truncates(layer):
                plan_value += discount * self.after_hidden(value_tp1[self.deeper(layer)], layer)
            plan_of, allowed = self.world.plan_of, self.world.allowed
            if layer > 0:
                plan_of, allowed = self.plan_of, allowed[self.stocks]
            if self.restricts(layer):
                allowed = self.safest(law, allowed)
            value, action = self.world.best(np.swapaxes(plan_value, 1, 2), plan_of, allowed)
            values.append(np.broadcast_to(value, value_tp1[layer].shape))
            actions.append(np.broadcast_to(action, value_tp1[layer].shape))
        return tuple(values), tuple(actions)

    def opening(self, value_tp1: Values, discount: float) -> Floats:
        """E[R_0 + discount V] of plans and prices of the first period, the cost of the order aside, (f, d, p, j)."""
        law = self.world.first_pmf
        plan_value = law @ self.gain(value_tp1, 0, discount)
        plan_value += discount * self.after_hidden(value_tp1[1], 0, self._hides(law, self.cuts[0]))
        return np.swapaxes(plan_value, 1, 2)

    def safest(self, law: Floats, allowed: Bools) -> Bools:
        """The allowed actions whose chance of a stock-out is within `SAFE` of the least, (f, belief, p, y, o)."""
        risk = law @ self.world.censors[:, self.plans].astype(np.float64)
        risk = np.swapaxes(risk, 1, 2)[..., self.plan_of]
        risk[..., ~allowed] = np.inf
        least = risk.min(axis=(2, 4), keepdims=True)
        return np.asarray(risk <= np.where(least <= SAFE, SAFE, least))


def _widest(world: World, periods: int) -> float:
    """The standard deviation to which a known demand spreads over the longest run."""
    law = np.eye(world.shape[2])[world.shape[2] // 2]
    demand = np.arange(world.shape[2])
    for _ in range(periods):
        law = np.einsum("d,fpdD->fpD", law, world.pmf).reshape(-1, len(law))
        spread = np.sqrt(np.maximum(law @ demand**2 - (law @ demand) ** 2, 0.0))
        law = law[np.argmax(spread)]
    return max(float(spread.max()), 0.5)


def solve_pi_star(
    seen: BeliefWorld, criterion: Criterion, progress: Progress | None = None
) -> tuple[list[Values], list[Actions]]:
    """Values and actions of every period of the horizon, or of one that stands for all."""
    features, stocks, demands = seen.world.shape
    zero = [np.zeros((features, demands, stocks))]
    zero += [np.zeros((features, len(seen.beliefs.pmf), len(seen.stocks))) for _ in range(seen.layers)]
    return solve_backups(lambda value_tp1: seen.backup(value_tp1, criterion.discount), tuple(zero), criterion, progress)
