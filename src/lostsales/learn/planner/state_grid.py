"""The grid of states and actions on which a plan is made."""

from typing import NamedTuple

import numpy as np

from lostsales.learn.planner.physics import Physics
from lostsales.types import Floats

LAGS = 33
STOCKS = 61


class StateGrid(NamedTuple):
    """Even grids of the stock and of the last demand (the lag), and the actions."""

    stocks: Floats  # (stocks,) from 0
    lags: Floats  # (lags,) from 0
    prices: Floats  # (prices,)
    orders: Floats  # (orders,) that are planned with

    @property
    def steps(self) -> tuple[float, float]:
        """Of the stock and of the lag."""
        return float(self.stocks[1]), float(self.lags[1])


class Dynamics(NamedTuple):
    """What lookahead needs beside the law of demand; scalars only, as compiled calls count references to arrays."""

    physics: Physics
    discount: float
    stock_step: float
    lag_step: float


def state_grids(
    highest: Floats, prices: Floats, orders: Floats, physics: Physics, discount: float
) -> tuple[StateGrid, ...]:
    """A grid for each largest demand D that matters, (scales,), all with as many points.

    Orders beyond two such demands and two economic batches, 2 (D + sqrt(2 K D / h)) with capital costs in h, are not
    planned with, so that products of different scale can share a list of orders.
    """
    holding = physics.holding_cost + (1 - discount) * physics.order_cost
    batch = np.sqrt(2 * physics.fixed_order_cost * highest / max(holding, 1e-9))
    own = [orders[: np.searchsorted(orders, each) + 1] for each in 2 * (highest + batch)]
    most = np.minimum(physics.capacity, highest + [each[-1] for each in own])
    steps = [_stock_step(each, orders) for each in most]
    n_stocks = max(int(np.ceil(most / np.array(steps) - 1e-9).max()) + 1, 2)
    lag_steps = np.maximum(highest / (LAGS - 1), 1e-9)
    return tuple(
        StateGrid(step * np.arange(float(n_stocks)), lag_step * np.arange(float(LAGS)), prices, each)
        for step, lag_step, each in zip(steps, lag_steps, own, strict=True)
    )


def _stock_step(most: float, orders: Floats) -> float:
    """The step of a grid up to `most`: whole where orders are, a multiple of what all orders are multiples of."""
    step = most / (STOCKS - 1)
    if (orders != np.rint(orders)).any() or not orders.any():
        return step
    unit = float(np.gcd.reduce(orders[orders > 0].astype(np.int64)))
    return unit * float(np.ceil(step / unit)) if step > unit else max(1.0, float(np.floor(step)))
