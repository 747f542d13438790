"""Moments of the demands of coming periods, given what is known when they begin."""

from typing import Annotated, NamedTuple

import numpy as np

from lostsales.learn.planner.market_states import MarketStates
from lostsales.learn.planner.physics import BELIEF_SHAPES
from lostsales.learn.planner.state_grid import Memory
from lostsales.saved_fields import numbers
from lostsales.types import Floats

LATER = 2  # periods beyond the horizon whose mean demand says what stock is worth then


class DemandPaths(NamedTuple):
    """Mean and covariance of demands at one price, by forecast w, shape of the belief and last demand."""

    mean: Annotated[Floats, numbers("w", BELIEF_SHAPES, "lags", f"{LATER}+horizon")]
    covariance: Annotated[Floats, numbers("w", BELIEF_SHAPES, "lags", "horizon", "horizon")]


def demand_paths(
    demand: Floats, states: MarketStates, prices: Floats, price: int, lags: Floats, periods: int, memory: Memory
) -> DemandPaths:
    """The moments under a law, by backward recursion on the chain of market states and last demands.

    With D_0 the demand of the first period and s its state, E[D_k | s] = E[E[D_{k-1} | s'] | s], and likewise for
    E[D_j D_k | s]. `demand` is (belief shapes, z nodes, prices, lags, atoms), `price` the index of the price.
    """
    drawn = demand[:, states.cells[:, 0], price]  # (belief shapes, cells, lags, atoms)
    nodes, weights = (each[:, price, None] for each in states.cell_w(prices))
    above = np.minimum(nodes + 1, len(states.transition) - 1)
    last = len(lags) - 1
    later = memory.weight * drawn + (memory.carry * lags + memory.offset)[:, None]
    position = np.clip(later / lags[1], 0, last)
    low = np.minimum(position.astype(np.int64), last - 1)
    weight, cells = position - low, np.arange(len(states.cells))[:, None, None]

    def ahead(values: Floats) -> Floats:
        """Expected value of the next state, (belief shapes, cells, lags, atoms), from (cells, lags)."""
        by_node = states.next_values(values)
        own = by_node[nodes[:, 0]] * (1 - weights) + by_node[above[:, 0]] * weights
        return np.asarray(own[cells, low] * (1 - weight) + own[cells, low + 1] * weight)

    mean = [drawn.mean(axis=-1)]
    mean += [ahead(mean[0][0]).mean(axis=-1)]
    for _ in range(periods + LATER - 2):
        mean.append(ahead(mean[-1][0]).mean(axis=-1))
    product = {(0, 0): (drawn**2).mean(axis=-1)}
    for k in range(1, periods):
        product[0, k] = (drawn * ahead(mean[k - 1][0])).mean(axis=-1)
        for j in range(1, k + 1):
            product[j, k] = ahead(product[j - 1, k - 1][0]).mean(axis=-1)
    shape = (periods, periods, *mean[0].shape)
    second = np.empty(shape)
    for (j, k), values in product.items():
        second[j, k] = second[k, j] = values

    def by_forecast(values: Floats) -> Floats:
        """(w nodes, belief shapes, lags, ...) from (..., belief shapes, cells, lags)."""
        found = np.tensordot(states.transition, values, axes=(1, values.ndim - 2))
        return np.ascontiguousarray(np.moveaxis(found, (-2, -1), (1, 2)))

    means, seconds = by_forecast(np.stack(mean)), by_forecast(second)
    early = means[..., :periods]
    return DemandPaths(means, np.ascontiguousarray(seconds - early[..., :, None] * early[..., None, :]))
