"""pi*: dynamic programming on the belief about censored demand, where only sales are observed."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from lostsales.data.economics import truncates
from lostsales.data.progress import Progress
from lostsales.lab.exact.beliefs import BeliefGrid, tail_moments, widest_belief
from lostsales.lab.exact.chains import refuse_large
from lostsales.lab.exact.finite_model import FiniteModel, Resolution
from lostsales.lab.exact.oracle import after_observed, after_truncation
from lostsales.lab.exact.value_iteration import Actions, Criterion, Program, ProgramSolution, Values, solve_program
from lostsales.types import Bools, Floats, Ints

MOST_SWEEPS = 20  # over the largest law of demand, to find how wide beliefs become
SAFE = 1e-3  # at `max_depth` an action is safe where the probability of a stock-out is at most this


@dataclass(frozen=True, eq=False)
class BeliefModel:
    """The belief MDP of a model: layer 0 holds observed demands, layer i >= 1 beliefs after i censored periods.

    The last layer leads to itself, unless the truncation rule of the scenario ends every run there.
    """

    model: FiniteModel
    beliefs: BeliefGrid
    layers: int  # depths that are distinguished
    max_depth: int | None  # from this depth on only the safest actions are allowed, UP^(n) of Section 3.2

    @classmethod
    def of(cls, model: FiniteModel, grid: Resolution, max_depth: int | None) -> "BeliefModel":
        """One layer a depth up to the scenario's longest run, else up to `max_depth`, else a single one."""
        layers = model.scenario.longest_run or max_depth or 1
        refuse_large(model.scenario, model.pmf.size * layers / MOST_SWEEPS)
        widest = widest_belief(model.pmf, layers if model.scenario.longest_run else 10)
        widths = np.linspace(0.0, widest, grid.widths)
        refuse_large(model.scenario, model.shape[2] ** 2 / (widest / grid.means) * grid.widths)
        beliefs = BeliefGrid.of(model.shape[2] - 1, widths, step=widest / grid.means)
        return cls(model, beliefs, layers, max_depth)

    def truncates(self, layer: int) -> bool:
        """True if demand is cut to what is available in this layer."""
        return bool(truncates(layer, self.model.scenario.flow))

    def restricts(self, layer: int) -> bool:
        """True if only the safest actions are allowed in this layer."""
        return self.max_depth is not None and layer >= self.max_depth and not self.truncates(layer)

    @cached_property
    def hidden_above(self) -> Ints:
        """(j,) the demand above which it is censored; a positive netted stock reveals demand (Section 2.1)."""
        model = self.model
        netted = model.scenario.balance == "netted"
        return model.available + (np.maximum(model.arriving - 1, 0) if netted else 0)

    @cached_property
    def stocks(self) -> Ints:
        """Stocks with which a period after a censored one can open."""
        censored = np.unique(self.model.next_stock.T[self.model.censors])
        return censored if len(censored) else np.zeros(1, dtype=np.int64)

    @cached_property
    def restock(self) -> Ints:
        """(j,) position in `stocks` of the stock that follows a censored demand."""
        model = self.model
        after = 0 * model.arriving if model.scenario.balance == "netted" else model.arriving
        return np.minimum(np.searchsorted(self.stocks, np.minimum(after, model.shape[1] - 1)), len(self.stocks) - 1)

    @cached_property
    def pair_of(self) -> Ints:
        """(y, o) supply pairs of `stocks`, as positions in `pairs`."""
        return np.searchsorted(self.pairs, self.model.pair_of[self.stocks])

    @cached_property
    def pairs(self) -> Ints:
        """The supply pairs possible after a censored period."""
        return np.unique(self.model.pair_of[self.stocks])

    @cached_property
    def laws(self) -> tuple[Floats, Floats]:
        """P(D_t = D | X_t, P_t, belief), (f, p, belief, D), of observed demands and grid; see `FiniteModel.lags`."""
        pmf, lags = self.model.pmf, self.model.lags
        return pmf[:, :, lags], (self.beliefs.pmf @ pmf)[:, :, lags]

    @cached_property
    def hides(self) -> tuple[csr_array, csr_array]:
        """P(stock-out) times grid weights of the belief after it, (f p belief cut) x (f p belief)."""
        return self._hides(self.laws[0], self.cuts[0]), self._hides(self.laws[1], self.cuts[1])

    @cached_property
    def cuts(self) -> tuple[Ints, Ints]:
        """Distinct values of `hidden_above`: of all supply pairs, and of `pairs`."""
        return np.unique(self.hidden_above), np.unique(self.hidden_above[self.pairs])

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
        """P(censored) E[V(X_{t+1}, next belief, Y_{t+1})], (f, p, belief, j), from a layer with next value V."""
        at = int(layer > 0)
        pairs = self.pairs if at else np.arange(len(self.model.available))
        cuts = self.cuts[at]
        expected = self.model.expected(value_tp1)  # (f, p, belief, y)
        following = (self.hides[at] if hides is None else hides) @ expected.reshape(-1, len(self.stocks))
        following = following.reshape(*expected.shape[:2], -1, len(cuts), len(self.stocks))
        return following[:, :, :, np.searchsorted(cuts, self.hidden_above[pairs]), self.restock[pairs]]

    def gain(self, value_tp1: Values, layer: int, discount: float) -> Floats:
        """R_t + discount V^(0) where demand is observed, R_t where it is censored, (f, p, D, j)."""
        model = self.model
        pairs = np.arange(len(model.available)) if layer == 0 else self.pairs
        if self.truncates(layer):
            return (model.truncated_profit + discount * after_truncation(model, value_tp1[0]))[..., pairs]
        follows = np.where(model.censors, 0.0, after_observed(model, value_tp1[0]))
        if model.scenario.balance == "netted":
            follows += self._revealed(value_tp1[self.deeper(layer)])
        return (model.profit + discount * follows)[..., pairs]

    def _revealed(self, value_tp1: Floats) -> Floats:
        """Value after a stock-out whose demand the next netted stock reveals: a point mass, one period deeper."""
        model = self.model
        demands = np.arange(model.shape[2])[:, None]
        position, weight = self.beliefs.locate(demands[:, 0].astype(np.float64), np.zeros(len(demands)))
        certain = np.einsum("fpdky,dk->fpdy", model.expected(value_tp1)[:, :, position], weight)
        stock = np.searchsorted(self.stocks, model.next_stock.T) % len(self.stocks)
        return np.where(model.censors & (demands <= self.hidden_above), certain[:, :, demands, stock], 0.0)

    def deeper(self, layer: int) -> int:
        """The layer after one more censored period."""
        return min(layer + 1, self.layers)

    def backup(self, value_tp1: Values, discount: float) -> tuple[Values, Actions]:
        """V^(i)(h) = max_a E[R_t + discount (1[Delta_t = 1] V^(0) + 1[Delta_t = 0] V^(i+1)) | h, a] (Equation 9)."""
        values, actions = [], []
        for layer in range(self.layers + 1):
            law = self.laws[int(layer > 0)]
            pair_value = law @ self.gain(value_tp1, layer, discount)  # (f, p, belief, j)
            if not self.truncates(layer):
                pair_value += discount * self.after_hidden(value_tp1[self.deeper(layer)], layer)
            pair_of, allowed = self.model.pair_of, self.model.allowed
            if layer > 0:
                pair_of, allowed = self.pair_of, allowed[self.stocks]
            if self.restricts(layer):
                allowed = self.safest(law, allowed)
            value, action = self.model.best(np.swapaxes(pair_value, 1, 2), pair_of, allowed)
            values.append(np.broadcast_to(value, value_tp1[layer].shape))
            actions.append(np.broadcast_to(action, value_tp1[layer].shape))
        return tuple(values), tuple(actions)

    def opening(self, value_tp1: Values, discount: float) -> Floats:
        """E[R_0 + discount V] of supply pairs and prices of the first period without order cost, (f, d, p, j)."""
        law = self.model.first_pmf
        pair_value = law @ self.gain(value_tp1, 0, discount)
        pair_value += discount * self.after_hidden(value_tp1[1], 0, self._hides(law, self.cuts[0]))
        return np.swapaxes(pair_value, 1, 2)

    def safest(self, law: Floats, allowed: Bools) -> Bools:
        """Allowed actions with P(stock-out) <= SAFE, or the least where none has, (f, belief, p, y, o)."""
        risk = law @ self.model.censors[:, self.pairs].astype(np.float64)
        risk = np.swapaxes(risk, 1, 2)[..., self.pair_of]
        risk[..., ~allowed] = np.inf
        least = risk.min(axis=(2, 4), keepdims=True)
        return np.asarray(risk <= np.where(least <= SAFE, SAFE, least))


def solve_pi_star(belief_model: BeliefModel, criterion: Criterion, progress: Progress | None = None) -> ProgramSolution:
    """Value and actions by layer, and the value after every period, on which decisions rest."""
    features, stocks, demands = belief_model.model.shape
    hidden = features, len(belief_model.beliefs.pmf), len(belief_model.stocks)
    zero = np.zeros((features, demands, stocks)), *(np.zeros(hidden) for _ in range(belief_model.layers))
    program = Program(zero, lambda value_tp1: belief_model.backup(value_tp1, criterion.discount), keeps_values=True)
    return solve_program(program, criterion, progress)
