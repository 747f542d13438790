"""Grids of stock and of orders on the way, on which a plan of every state is made where these are few."""

from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from lostsales.data.economics import StockFlow, order_room
from lostsales.data.problem import Problem
from lostsales.data.shop import Shop
from lostsales.data.units import common_step
from lostsales.errors import LostSalesError
from lostsales.learn.planner.market_states import MarketStates
from lostsales.learn.planner.physics import Physics
from lostsales.learn.planner.state_grid import StateGrid
from lostsales.saved_fields import numbers
from lostsales.types import Floats, Ints

MOST_STATES = 3_000_000  # of a plan
MOST_NODES = 17  # of an order on the way; further orders are between nodes
MOST_STEPS = 1_000_000  # of the stock in one of an order on the way
LEAST_STOCKS = 24  # steps of the stock


def has_pipeline(shop: Shop) -> bool:
    """False where an order is there today or in the next period, and may be placed in any."""
    return not shop.receives_orders or shop.supply.order_cycle is not None


class PipelineGrid(NamedTuple):
    """Even grids from 0 of the stock and of an order on the way, which is a whole number of steps of the stock."""

    stocks: Annotated[Floats, numbers("1+stocks", least=0, rising=True)]
    nodes: Annotated[Floats, numbers("1+order nodes", least=0, rising=True)]  # of every order on the way
    steps: Annotated[int, Field(ge=1, le=MOST_STEPS)]  # of the stock in one of an order
    columns: Annotated[int, Field(ge=1, le=1_000)]  # orders on the way, the first arrives first

    @classmethod
    def of(cls, stock_step: float, order_step: float, stocks: int, nodes: int, columns: int) -> "PipelineGrid":
        """Grid of these sizes and steps; that of an order is rounded to a multiple of the stock's."""
        steps = max(1, round(order_step / stock_step))
        own = steps * stock_step
        return cls(stock_step * np.arange(float(stocks)), own * np.arange(float(nodes)), steps, columns)

    def validate(self) -> None:
        """Raise where a file has other grids than even ones from 0."""
        even = PipelineGrid.of(self.stocks[1], self.nodes[1], len(self.stocks), len(self.nodes), self.columns)
        if self.steps != even.steps or not all(map(np.array_equal, self[:2], even[:2])):
            raise LostSalesError("its stocks and orders on the way must be even grids from 0")

    @property
    def pipelines(self) -> int:
        """Pipelines, counted with the order that arrives first as the leading digit."""
        return int(len(self.nodes) ** self.columns)

    def on_the_way(self) -> Floats:
        """Units of each order of each pipeline, (pipelines, columns)."""
        digits = np.unravel_index(np.arange(self.pipelines), (len(self.nodes),) * self.columns)
        return np.asarray(self.nodes[np.stack(digits, axis=1)])

    def orders_allowed(self, orders: Floats, flow: StockFlow) -> Ints:
        """Number of orders, from the smallest, that fit into store and pipeline, (stocks, pipelines); at least one."""
        stock, on_way = np.broadcast_arrays(self.stocks[:, None], self.on_the_way().sum(axis=1))
        most = order_room(stock, on_way, flow)
        return np.maximum(np.searchsorted(orders, most + 1e-9, side="right"), 1).astype(np.int64)


def pipeline_grid(problem: Problem, grid: StateGrid, states: MarketStates, physics: Physics) -> PipelineGrid | None:
    """Grid of stock and orders on the way; None where a plan of every state is not made.

    It is made for one lead time of at least 2, orders in every period that arrive in full, lost sales, and up to
    `MOST_STATES` states.
    """
    law = problem.lead_times
    is_one = law.is_fixed and law.longest >= 2
    if not is_one or problem.supply.order_cycle is not None or problem.supply.share != 1 or physics.flow.netted:
        return None
    step, order_step, nodes = _steps(grid)
    stocks = max(int(np.ceil(grid.stocks[-1] / step - 1e-9)) + 1, 2)
    memory = len(states.cells) * (physics.depth_cap + 1) * len(grid.lags)
    if memory * stocks * float(nodes) ** (law.longest - 1) > MOST_STATES:
        return None
    return PipelineGrid.of(step, order_step, stocks, nodes, law.longest - 1)


def _steps(grid: StateGrid) -> tuple[float, float, int]:
    """Steps of the stock and of an order on the way, and how many nodes the latter has.

    An order is on a multiple of what all orders are multiples of, where there is such. With nothing to order, what is
    on the way was ordered before, and may be anything that fits the stock.
    """
    most = float(grid.orders[-1] or grid.stocks[-1])
    unit = common_step(grid.orders) or most / (MOST_NODES - 1)
    step = unit * float(np.ceil(most / unit / (MOST_NODES - 1) - 1e-9))
    parts = max(1.0, float(np.ceil(LEAST_STOCKS * step / grid.stocks[-1] - 1e-9)))
    return step / parts, step, int(np.ceil(most / step - 1e-9)) + 1
