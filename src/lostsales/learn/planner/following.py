"""Values of the next states under the plans of all groups and laws: of stock, and of orders on the way."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError
from lostsales.learn.planner.decision_loops import Rows, action_values
from lostsales.learn.planner.every_state_loops import every_state_values
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.pipeline_grid import PipelineGrid, has_pipeline
from lostsales.learn.planner.state_grid import Dynamics
from lostsales.saved_fields import MOST_ACTIONS, Length, numbers
from lostsales.types import Floats

# Of more orders than the first number so many as the second are scored first, then those near the best.
ALL_ORDERS = (MOST_ACTIONS, MOST_ACTIONS)
_STATES = "groups", "laws", "w", "depths", "lags", "1+stocks"


@dataclass(frozen=True, eq=False)
class ByStock:
    """Values of the next stock, where an order is there today or in the next period."""

    orders_first: ClassVar[tuple[int, int]] = ALL_ORDERS
    values: Annotated[Floats, numbers(*_STATES, single=True)]

    def score(self, q: Floats, group: int, law: int, rows: Rows, table: LatentTable, dynamics: Dynamics) -> None:
        """Q of every action, (rows, actions)."""
        action_values(q, rows, table, self.values[group, law], dynamics)

    def validate_for(self, problem: Problem, forecasts: int, steps: Floats) -> None:  # noqa: ARG002, one signature
        """Raise where a plan has other states, of so many forecasts w, or is of another problem."""
        _check(self.values.shape[2] == forecasts, "its values must be of its market states")
        _check(not has_pipeline(problem), "its orders take time, but its values have none on the way")


@dataclass(frozen=True, eq=False)
class ByPipeline:
    """Values of the next stock and the orders on the way then."""

    orders_first: ClassVar[tuple[int, int]] = ALL_ORDERS
    values: Annotated[Floats, numbers(*_STATES, "pipelines", single=True)]
    grids: Annotated[tuple[PipelineGrid, ...], Length("groups")]

    def score(self, q: Floats, group: int, law: int, rows: Rows, table: LatentTable, dynamics: Dynamics) -> None:
        """Q of every action, (rows, actions)."""
        every_state_values(q, rows, table, self.values[group, law], self.grids[group], dynamics)

    def validate_for(self, problem: Problem, forecasts: int, steps: Floats) -> None:
        """Raise where a plan has other states, of so many forecasts w, other steps of the stock, or another problem."""
        _check(self.values.shape[2] == forecasts, "its values must be of its market states")
        for grid, (step, _) in zip(self.grids, steps, strict=True):
            _check(grid.columns == problem.pipeline_length, "its values must be of the orders on the way")
            _check(len(grid.nodes) ** grid.columns == self.values.shape[-1], "its values must be of its pipelines")
            _check(float(grid.stocks[1]) == float(step), "its stocks must have the steps of its plan")


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise LostSalesError(message)


Following = ByStock | ByPipeline
