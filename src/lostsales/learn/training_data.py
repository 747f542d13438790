"""A log as every learner takes it: censored runs, action grid, and the problem that a policy keeps."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.demand.censoring.runs import LEAST_ROWS, Runs, find_runs
from lostsales.errors import LostSalesError
from lostsales.policy.action_grid import ActionGrid


@dataclass(frozen=True, eq=False)
class TrainingData:
    """A log with stock, orders, costs and enough usable rows."""

    log: SalesLog
    runs: Runs
    grid: ActionGrid
    problem: Problem  # with prices and orders spelled out

    @classmethod
    def of(cls, log: SalesLog, max_depth: int | None = None, least_rows: int = LEAST_ROWS) -> "TrainingData":
        """Refuse a log without stock, orders or costs, or with fewer than `least_rows` usable rows at depth 0."""
        if log.demand_only:
            raise LostSalesError(
                "fit needs stock and orders, and this log has none; audit, impute and demand can use it"
            )
        if log.costs is None:
            raise LostSalesError("fit needs unit costs: give [costs] lost, order and holding in the problem")
        runs = find_runs(log, max_depth)
        rows = int(np.count_nonzero(runs.usable & (runs.depth == 0)))
        if rows < least_rows:
            wanted = f"fit needs at least {least_rows} rows that follow a known demand and have a next row"
            raise LostSalesError(f"{wanted}, but there are {rows}")
        problem = log.problem.model_copy(update={"prices": tuple(log.prices), "orders": tuple(log.orders)})
        return cls(log, runs, ActionGrid.of(problem), problem)

    @property
    def usual_demand(self) -> float:
        """Median of the observed demands, which replaces a last demand that is missing."""
        return float(np.median(self.runs.observed.demand[self.runs.observed.is_observed]))
