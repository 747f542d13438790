"""Values of the next states under the plans of all laws: of stock, and of orders on the way."""

from dataclasses import dataclass
from typing import Annotated

from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError
from lostsales.learn.planner.decision_loops import Rows, action_values
from lostsales.learn.planner.every_state_loops import every_state_values
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.pipeline_grid import PipelineGrid, has_pipeline
from lostsales.learn.planner.state_grid import Dynamics
from lostsales.saved_fields import numbers
from lostsales.types import Floats

_STATES = "laws", "w", "depths", "lags", "1+stocks"


@dataclass(frozen=True, eq=False)
class ByStock:
    """Values of the next stock, where an order is there today or in the next period."""

    values: Annotated[Floats, numbers(*_STATES, single=True)]

    def score(self, q: Floats, law: int, rows: Rows, table: LatentTable, dynamics: Dynamics) -> None:
        """Q of every action, (rows, actions)."""
        action_values(q, rows, table, self.values[law], dynamics)

    def validate_for(self, problem: Problem, forecasts: int, steps: Floats) -> None:  # noqa: ARG002, one signature
        """Raise where a plan has other states, of so many forecasts w, or is of another problem."""
        _check(self.values.shape[1] == forecasts, "its values must be of its market states")
        _check(not has_pipeline(problem), "its orders take time, but its values have none on the way")


@dataclass(frozen=True, eq=False)
class ByPipeline:
    """Values of the next stock and the orders on the way then."""

    values: Annotated[Floats, numbers(*_STATES, "pipelines", single=True)]
    grid: PipelineGrid

    def score(self, q: Floats, law: int, rows: Rows, table: LatentTable, dynamics: Dynamics) -> None:
        """Q of every action, (rows, actions)."""
        every_state_values(q, rows, table, self.values[law], self.grid, dynamics)

    def validate_for(self, problem: Problem, forecasts: int, steps: Floats) -> None:
        """Raise where a plan has other states, of so many forecasts w, other steps of the stock, or another problem."""
        _check(self.values.shape[1] == forecasts, "its values must be of its market states")
        _check(self.grid.columns == problem.pipeline_length, "its values must be of the orders on the way")
        _check(
            len(self.grid.nodes) ** self.grid.columns == self.values.shape[-1], "its values must be of its pipelines"
        )
        _check(float(self.grid.stocks[1]) == float(steps[0]), "its stocks must have the steps of its plan")


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise LostSalesError(message)


Following = ByStock | ByPipeline
