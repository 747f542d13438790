"""Values of the next states under the plans of all laws: of stock, and of orders on the way."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from lostsales.data.problem import Problem
from lostsales.data.shop import Shop
from lostsales.demand.model.moving_levels import stratified
from lostsales.errors import LostSalesError
from lostsales.learn.planner.decision_loops import Rows, action_values
from lostsales.learn.planner.every_state_loops import every_state_values
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.law_path_loops import MarketPaths, path_values
from lostsales.learn.planner.market_states import MarketStates
from lostsales.learn.planner.paths.search import Search, common_draws, terms_of
from lostsales.learn.planner.pipeline_grid import PipelineGrid, has_pipeline
from lostsales.learn.planner.state_grid import Dynamics, Memory
from lostsales.saved_fields import Axis, numbers
from lostsales.types import Floats

Moderate = Annotated[float, Field(ge=-1e9, le=1e9)]
_STATES = "laws", "w", "depths", "lags", "1+stocks"


@dataclass(frozen=True, eq=False)
class ByStock:
    """Values of the next stock, where an order is there today or in the next period."""

    values: Annotated[Floats, numbers(*_STATES, single=True)]

    def score(self, q: Floats, law: int, rows: Rows, table: LatentTable, dynamics: Dynamics, _: Shop) -> None:
        """Q of every action, (rows, actions)."""
        action_values(q, rows, table, self.values[law], dynamics)

    def validate_for(self, problem: Problem, forecasts: int, steps: Floats) -> None:  # noqa: ARG002, one signature
        """Raise unless the values have `forecasts` nodes of w and fit the problem."""
        _check(self.values.shape[1] == forecasts, "its values must be of its market states")
        _check(not has_pipeline(problem), "its orders take time, but its values have none on the way")


@dataclass(frozen=True, eq=False)
class ByPipeline:
    """Values of the next stock and the orders on the way then."""

    values: Annotated[Floats, numbers(*_STATES, "pipelines", single=True)]
    grid: PipelineGrid

    def score(self, q: Floats, law: int, rows: Rows, table: LatentTable, dynamics: Dynamics, _: Shop) -> None:
        """Q of every action, (rows, actions)."""
        every_state_values(q, rows, table, self.values[law], self.grid, dynamics)

    def validate_for(self, problem: Problem, forecasts: int, steps: Floats) -> None:
        """Raise unless the values have `forecasts` nodes of w, the plan's step of the stock, and fit the problem."""
        _check(self.values.shape[1] == forecasts, "its values must be of its market states")
        _check(self.grid.columns == problem.pipeline_length, "its values must be of the orders on the way")
        _check(
            len(self.grid.nodes) ** self.grid.columns == self.values.shape[-1], "its values must be of its pipelines"
        )
        _check(float(self.grid.stocks[1]) == float(steps[0]), "its stocks must have the steps of its plan")


@dataclass(frozen=True, eq=False)
class ByPaths:
    """Sampled futures of the law, where orders on the way have too many states."""

    AXES: ClassVar[dict[str, Axis]] = {"cells": Axis(most=10_000)}

    search: Search
    z_node: Annotated[Floats, numbers("cells", least=0)]  # of each cell of the market
    w_node: Annotated[Floats, numbers("cells", "nodes", least=0)]  # position of w at each price of the plan
    reached: Annotated[Floats, numbers("w", "cells", least=0)]  # P(next cell is this one or before it | w)
    carry: Moderate  # of earlier demands in the lag of the next period, and ...
    offset: Moderate  # ... what is added to it

    @classmethod
    def of(cls, states: MarketStates, prices: Floats, search: Search, memory: Memory) -> "ByPaths":
        """Market of a plan at the nodes of its prices."""
        node, weight = states.cell_w(prices)
        cells = states.cells[:, 0].astype(np.float64), node + weight, states.transition.cumsum(axis=1)
        return cls(search, *cells, memory.carry, memory.offset)

    def score(self, q: Floats, law: int, rows: Rows, table: LatentTable, dynamics: Dynamics, shop: Shop) -> None:  # noqa: ARG002, one signature
        """Q of every action, (rows, actions)."""
        terms, times = terms_of(shop, discount=dynamics.discount), shop.lead_times
        periods, columns = self.search.periods(times.longest, terms.review), rows.pipeline.shape[1]
        draws = common_draws(self.search.paths, periods, columns, times.longest, self.search.seed)
        market_rng = np.random.default_rng([self.search.seed, 1])
        market = MarketPaths(self.z_node, self.w_node, self.reached, stratified(self.search.paths, periods, market_rng))
        cycle = np.array(shop.supply.order_cycle or (True,))
        may_order = cycle[(rows.phase[:, None] + np.arange(periods)) % len(cycle)]
        memory = dynamics.memory._replace(carry=self.carry, offset=self.offset)
        dynamics = dynamics._replace(memory=memory)
        path_values(q, rows, may_order, np.array(times.chances), times.lost, table, market, terms, draws, dynamics)

    def validate_for(self, problem: Problem, forecasts: int, steps: Floats) -> None:  # noqa: ARG002, one signature
        """Raise unless the values have `forecasts` nodes of w."""
        _check(len(self.reached) == forecasts, "its market must be of its market states")


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise LostSalesError(message)


Following = ByStock | ByPipeline | ByPaths
