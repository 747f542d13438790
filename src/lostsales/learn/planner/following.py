"""What follows today under the plans of all groups and laws: values of the next states, by one of three machines.

Where orders take time, the next states are those of stock and orders on the way if these are few enough, else what
follows is projected.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError
from lostsales.learn.planner.ahead_arrays import AHEAD_ARRAYS, ahead_sizes, aheads_from_arrays, aheads_to_arrays
from lostsales.learn.planner.arrivals import Arrivals, has_pipeline
from lostsales.learn.planner.decision_loops import Rows, action_values
from lostsales.learn.planner.every_state_loops import every_state_values
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.pipeline_grid import PipelineGrid
from lostsales.learn.planner.pipeline_loops import pipeline_values
from lostsales.learn.planner.projection_loops import Ahead
from lostsales.learn.planner.state_grid import Dynamics
from lostsales.policy.file_content import MOST_ACTIONS, POSITIVE, ArraySpec, Header, numbers
from lostsales.types import Array, Floats

# Of more orders than the first number so many as the second are scored first, then those near the best.
ALL_ORDERS = (MOST_ACTIONS, MOST_ACTIONS)
MOST_STEPS = 1_000_000  # of the stock in one of an order on the way
_STATES = "groups", "laws", "w", "depths", "lags", "1+stocks"


@dataclass(frozen=True, eq=False)
class ByStock:
    """Values of the next stock, where an order is there today or in the next period."""

    orders_first: ClassVar[tuple[int, int]] = ALL_ORDERS
    values: Floats  # (groups, laws, w nodes, depths, lags, stocks)

    def score(self, q: Floats, group: int, law: int, rows: Rows, table: LatentTable, dynamics: Dynamics) -> None:
        """Q of every action, (rows, actions)."""
        action_values(q, rows, table, self.values[group, law], dynamics)

    def to_arrays(self) -> dict[str, Array]:
        """As it is saved."""
        return {"following": self.values.astype(np.float32)}


@dataclass(frozen=True, eq=False)
class ByPipeline:
    """Values of the next stock and the orders on the way then."""

    orders_first: ClassVar[tuple[int, int]] = ALL_ORDERS
    values: Floats  # (groups, laws, w nodes, depths, lags, stocks, pipelines)
    grids: tuple[PipelineGrid, ...]  # by group

    def score(self, q: Floats, group: int, law: int, rows: Rows, table: LatentTable, dynamics: Dynamics) -> None:
        """Q of every action, (rows, actions)."""
        every_state_values(q, rows, table, self.values[group, law], self.grids[group], dynamics)

    def to_arrays(self) -> dict[str, Array]:
        """As it is saved, with an axis for each order on the way."""
        nodes = (len(self.grids[0].nodes),) * self.grids[0].columns
        values = self.values.astype(np.float32).reshape(*self.values.shape[:-1], *nodes)
        return {"following": values, "order_steps": np.array([grid.nodes[1] for grid in self.grids])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> "ByPipeline":
        """From `to_arrays`, with the steps of the stock."""
        values = arrays["following"].astype(np.float64)
        columns = values.ndim - len(_STATES)
        if (arrays["order_steps"] > MOST_STEPS * arrays["steps"][:, 0]).any():
            raise LostSalesError(f"a step of its orders must be at most {MOST_STEPS:,} of those of its stock")
        steps = zip(arrays["steps"][:, 0].tolist(), arrays["order_steps"].tolist(), strict=True)
        grids = tuple(PipelineGrid.of(*step, values.shape[5], values.shape[6], columns) for step in steps)
        return cls(np.ascontiguousarray(values.reshape(*values.shape[:6], -1)), grids)


@dataclass(frozen=True, eq=False)
class Projected:
    """Projections of stock and orders on the way; values are concave in the order, so that few tell where to look."""

    orders_first: ClassVar[tuple[int, int]] = (20, 11)
    aheads: tuple[tuple[Ahead, ...], ...]  # by group and law
    problem: Problem

    @cached_property
    def arrivals(self) -> Arrivals:
        """When orders arrive."""
        return Arrivals.of(self.problem)

    def score(self, q: Floats, group: int, law: int, rows: Rows, table: LatentTable, dynamics: Dynamics) -> None:
        """Q of every action, (rows, actions)."""
        pipeline_values(q, rows, table, self.aheads[group][law], self.arrivals, dynamics)

    def to_arrays(self) -> dict[str, Array]:
        """As it is saved."""
        return aheads_to_arrays(self.aheads)


Following = ByStock | ByPipeline | Projected


def following_content(header: Header) -> tuple[dict[str, ArraySpec], dict[str, int]]:
    """The arrays of what follows in a policy file, and the sizes that are known beforehand."""
    if not has_pipeline(header.problem):
        return {"following": numbers(*_STATES)}, {}
    if "order_steps" not in header.names:
        return AHEAD_ARRAYS, ahead_sizes(Arrivals.of(header.problem))
    orders = ("1+order nodes",) * header.problem.pipeline_length
    return {"following": numbers(*_STATES, *orders), "order_steps": numbers("groups", least=POSITIVE)}, {}


def following_from_arrays(problem: Problem, arrays: dict[str, Array]) -> Following:
    """From the arrays of a policy file."""
    if not has_pipeline(problem):
        return ByStock(arrays["following"].astype(np.float64))
    return ByPipeline.from_arrays(arrays) if "order_steps" in arrays else Projected(aheads_from_arrays(arrays), problem)
