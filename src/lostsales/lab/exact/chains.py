"""The features of a scenario as a finite Markov chain: exact where they are finite, on a grid where they are not."""

from dataclasses import dataclass
from functools import reduce
from math import ceil, sqrt

import numpy as np
from scipy.special import ndtr

from lostsales.errors import SettingError
from lostsales.policy.view import Features
from lostsales.simulation.demand_laws import Saturating
from lostsales.simulation.processes import Autoregressive, CalendarCycle, FeatureProcess, MarkovChain, ReferencePrice
from lostsales.simulation.scenario import Scenario
from lostsales.types import Floats, Ints

NEGLIGIBLE = 0.01  # a feature whose standard deviation moves demand by less than this many units is held constant
REACH = 3.0  # standard deviations that a grid covers to both sides


MOST_CELLS = 5e7  # of an array of an exact model


def refuse_large(scenario: Scenario, cells: float) -> None:
    """Raise where an array of the model would have too many cells."""
    if not cells <= MOST_CELLS:
        raise SettingError(
            f"scenario {scenario.name} is too large to be solved exactly: a table would have {cells:.2g} cells, and "
            f"{MOST_CELLS:.0e} are the most; lower capacity or demand, or take fewer prices, orders or feature states"
        )


@dataclass(frozen=True)
class Chain:
    """One feature, or all of them together, as a Markov chain."""

    nodes: tuple[Floats, ...]  # the values of each feature, rising
    move: Floats  # (prices, states, states) P(next | now, price)
    open: Floats  # (states,) before the first period

    @property
    def states(self) -> int:
        """Number of combinations of values, the last feature varying fastest."""
        return len(self.open)

    def values(self) -> Features:
        """The value of each feature in every state."""
        return tuple(each.reshape(-1) for each in np.meshgrid(*self.nodes, indexing="ij"))

    def nearest(self, features: Features) -> Ints:
        """The state nearest to the features of each series."""
        state = np.zeros(len(features[0]) if features else 1, dtype=np.int64)
        for nodes, value in zip(self.nodes, features, strict=True):
            state = state * len(nodes) + np.searchsorted((nodes[1:] + nodes[:-1]) / 2, value)
        return state

    def joined(self, other: "Chain") -> "Chain":
        """The product of two independent chains."""
        move = np.array([np.kron(left, right) for left, right in zip(self.move, other.move, strict=True)])
        return Chain(self.nodes + other.nodes, move, np.kron(self.open, other.open).astype(np.float64))


def feature_chain(scenario: Scenario, nodes: int) -> Chain:
    """The features of a scenario, continuous ones on about `nodes` values; those without effect are constant."""
    prices = np.array(scenario.prices)
    law = scenario.demand_law
    unit = law.base if isinstance(law, Saturating) else 1.0
    chains, states = [], 1.0
    for name, process in scenario.features.items():
        effect = law.features.get(name, 0.0)
        largest = unit * float(np.max(np.abs(effect)))
        matters = largest * _spread(process) > NEGLIGIBLE if largest else name == scenario.supply.order_days
        own = _states(process, nodes)
        states *= own if matters else 1.0
        refuse_large(scenario, len(prices) * max(own, states) ** 2)
        chain = _chain_of(process, prices, nodes)
        chains.append(chain if matters else _constant(chain))
    return reduce(Chain.joined, chains, Chain((), np.ones((len(prices), 1, 1)), np.ones(1)))


def _states(process: FeatureProcess, nodes: int) -> float:
    """About how many values a feature has on its grid."""
    if isinstance(process, MarkovChain | CalendarCycle):
        return len(process.start) if isinstance(process, MarkovChain) else process.length
    if isinstance(process, ReferencePrice):
        return 4 * nodes + 1
    assert isinstance(process, Autoregressive)  # a drift is refused before (`check_markov`)
    low, high, widest = _span(process)
    return max(nodes, (high - low) / widest) if high > low else 1


def _span(process: Autoregressive) -> tuple[float, float, float]:
    """Ends of the grid of a feature, and the widest step between two of its values."""
    stationary = process.shock / sqrt(1 - process.persistence**2)
    mean = process.mean if process.start_mean is None else process.start_mean
    sd = stationary if process.start_sd is None else process.start_sd
    low = min(process.mean - REACH * stationary, mean - REACH * sd)
    high = max(process.mean + REACH * stationary, mean + REACH * sd)
    return low, high, sqrt(3) * process.shock if process.shock else high - low


def _chain_of(process: FeatureProcess, prices: Floats, nodes: int) -> Chain:
    if isinstance(process, MarkovChain):
        values, move, first = np.arange(len(process.start)), np.array(process.transition), np.array(process.start)
    elif isinstance(process, CalendarCycle):
        values = np.arange(process.length)
        move, first = np.roll(np.eye(process.length), 1, axis=1), np.eye(process.length)[process.start % process.length]
    elif isinstance(process, ReferencePrice):
        low, high = min(process.start, *prices), max(process.start, *prices)
        grid = np.linspace(low, high, 4 * nodes + 1)
        later = process.memory * grid + (1 - process.memory) * prices[:, None]
        return Chain((grid,), hat_weights(grid, later, 0.0), hat_weights(grid, np.array(process.start), 0.0))
    else:
        assert isinstance(process, Autoregressive)  # a drift is refused before (`check_markov`)
        return _autoregressive(process, prices, nodes)
    return Chain((values.astype(np.float64),), np.repeat(move[None], len(prices), axis=0), first)


def _autoregressive(process: Autoregressive, prices: Floats, nodes: int) -> Chain:
    """Interpolation between nodes adds a variance of about h^2 / 6 (h the spacing), which is taken off the shock's."""
    stationary = process.shock / sqrt(1 - process.persistence**2)
    mean = process.mean if process.start_mean is None else process.start_mean
    sd = stationary if process.start_sd is None else process.start_sd
    low, high, widest = _span(process)
    if low == high:
        return Chain((np.array([low]),), np.ones((len(prices), 1, 1)), np.ones(1))
    grid = np.linspace(low, high, max(nodes, 1 + ceil((high - low) / widest)))
    added = (grid[1] - grid[0]) ** 2 / 6
    later = process.mean + process.persistence * (grid - process.mean)
    move = hat_weights(grid, later, sqrt(max(process.shock**2 - added, 0.0)))
    opening = hat_weights(grid, np.array(mean), sqrt(max(sd**2 - added, 0.0)))
    return Chain((grid,), np.repeat(move[None], len(prices), axis=0), opening)


def hat_weights(nodes: Floats, mean: Floats, sd: float) -> Floats:
    """E[f(X)] = sum of weights times f(nodes) for X ~ N(mean, sd^2) and f linear between nodes, constant beyond.

    With C(k) = E[(X - k)^+], the expected share of the interval from a node k to the next k' is
    (C(k) - C(k')) / (k' - k); the weight of a node is the difference of the shares on both sides of it.

    >>> hat_weights(np.array([0.0, 1.0, 2.0]), np.array([0.25, 5.0]), 0.0)
    array([[0.75, 0.25, 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    above = mean[..., None] - nodes
    if sd:
        call = sd * np.exp(-0.5 * (above / sd) ** 2) / sqrt(2 * np.pi) + above * ndtr(above / sd)
    else:
        call = np.maximum(above, 0.0)
    share = -np.diff(call, axis=-1) / np.diff(nodes)
    ends = np.ones((*share.shape[:-1], 1))
    return 0.0 - np.diff(share, axis=-1, prepend=ends, append=0 * ends)


def _spread(process: FeatureProcess) -> float:
    """Standard deviation of a continuous feature; infinite for one that is finite or follows the price."""
    if not isinstance(process, Autoregressive):
        return np.inf
    stationary = process.shock / sqrt(1 - process.persistence**2)
    start = 0.0 if process.start_mean is None else abs(process.start_mean - process.mean)
    return max(stationary, process.start_sd or 0.0) + start


def _constant(chain: Chain) -> Chain:
    """A single state at the mean of the feature."""
    mean = chain.nodes[0] @ chain.open
    return Chain((np.array([mean]),), np.ones((len(chain.move), 1, 1)), np.ones(1))
