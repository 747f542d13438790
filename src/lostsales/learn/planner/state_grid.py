"""The grid of states and actions on which a plan is made."""

from typing import NamedTuple

import numpy as np

from lostsales.data.units import common_step
from lostsales.learn.planner.physics import Physics
from lostsales.types import Floats

LAGS = (3, 5, 9, 17, 33)  # numbers of nodes of the last demand
LAG_STEP = 0.25  # by so many standard deviations of demand its mean may differ between two nodes
STOCKS = 61  # nodes: values are interpolated between them, and the time of a plan grows in proportion


class StateGrid(NamedTuple):
    """Even grids of the stock and of the last demand (the lag), and the actions."""

    stocks: Floats  # (stocks,) from 0
    lags: Floats  # (lags,) from 0
    prices: Floats  # (prices,)
    orders: Floats  # (orders,) that are planned with
    parts: int = 1  # of a step of the stock; orders are multiples of one such part where they have a common step

    @property
    def steps(self) -> tuple[float, float]:
        """Steps of the stock and of the lag."""
        return float(self.stocks[1]), float(self.lags[1])


class Memory(NamedTuple):
    """Movement of the lag, the weighted mean of the last demands: to `weight` * demand + the rest of earlier ones.

    What stays is known of a series, and in the plan, whose state has the lag alone, `carry` * lag + `offset`.
    """

    weight: float = 1.0
    carry: float = 0.0
    offset: float = 0.0


class Dynamics(NamedTuple):
    """Inputs of lookahead beside the demand model; scalars only, as compiled calls count references to arrays."""

    physics: Physics
    discount: float
    stock_step: float
    lag_step: float
    memory: Memory = Memory()


def lag_nodes(reach: float) -> int:
    """Number of nodes of a last demand that moves the mean by so many standard deviations of demand.

    >>> lag_nodes(0.0), lag_nodes(1.5), lag_nodes(10.0)
    (3, 9, 33)
    """
    return next((count for count in LAGS if reach <= LAG_STEP * (count - 1)), LAGS[-1])


def state_grid(
    highest: float, prices: Floats, orders: Floats, physics: Physics, discount: float, lags: int = LAGS[-1]
) -> StateGrid:
    """A grid for the largest demand D that matters, with its orders.

    Orders beyond two such demands and two economic batches, 2 (D + sqrt(2 K D / h)) with capital costs in h, are not
    planned with.
    """
    holding = physics.costs.holding + (1 - discount) * physics.costs.order
    enough = 2 * (highest + np.sqrt(2 * physics.costs.fixed_order * highest / max(holding, 1e-9)))
    own = orders[: np.searchsorted(orders, enough) + 1]
    most = min(physics.flow.capacity, highest + own[-1])
    step = _stock_step(most, own)
    stocks = max(int(np.ceil(most / step - 1e-9)) + 1, 2)
    lag_step = max(highest / (lags - 1), 1e-9)
    every = step * np.arange(float(stocks)), lag_step * np.arange(float(lags))
    return StateGrid(*every, prices, np.unique(own), _parts(step, own))


def _parts(step: float, orders: Floats) -> int:
    """Number of parts of a stock step such that all orders are multiples of a part; 1 if there is none."""
    unit = common_step(orders)
    return max(1, round(step / unit)) if unit else 1


def _stock_step(most: float, orders: Floats) -> float:
    """The step of a grid up to `most`: a multiple or a part of what all orders are multiples of."""
    step, unit = max(most, 1e-9) / (STOCKS - 1), common_step(orders)
    if unit == 0:
        return step
    return unit * float(np.ceil(step / unit - 1e-9)) if step > unit else unit / float(np.ceil(unit / step - 1e-9))
