"""A log as learners take it: censored runs, candidate prices and orders, rules, and the problem of the policy."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.problem import Problem
from lostsales.demand.censoring.runs import ANY_DEPTH, LEAST_ROWS, DepthRule, Runs, find_runs
from lostsales.errors import LostSalesError
from lostsales.policy.action_grid import ActionGrid, room_of
from lostsales.policy.rules import Rules


@dataclass(frozen=True, eq=False)
class TrainingData:
    """A log with stock, orders, costs and enough usable rows."""

    log: DecisionLog
    runs: Runs
    rules: Rules  # the learner's, and for what these leave open the problem's
    candidates: CandidateGrid  # relative where series differ

    @classmethod
    def of(
        cls,
        log: SalesLog,
        rules: Rules,
        least_rows: int = LEAST_ROWS,
        depths: DepthRule = ANY_DEPTH,
    ) -> "TrainingData":
        """Refuse a log without stock, orders or costs, or with fewer than `least_rows` usable rows at depth 0."""
        log = log.decisions("fit")
        runs = find_runs(log, depths.cap, depths.least_rows, depths.pool, depths.a_coordinate)
        rows = int(np.count_nonzero(runs.usable & (runs.depth == 0)))
        if rows < least_rows:
            wanted = f"fit needs at least {least_rows} rows that follow a known demand and have a next row"
            raise LostSalesError(f"{wanted}, but there are {rows}")
        rules = rules.over(log.problem.rules).of_log(log)
        return cls(log, runs, rules, CandidateGrid.of(log, rules))

    def with_all_prices(self) -> "TrainingData":
        """Every price of the grid, where the effect of prices is known although they had hidden causes."""
        log = replace(self.log, keeps_price=False)
        return replace(self, log=log, candidates=CandidateGrid.of(log, self.rules))

    @property
    def shared_candidates(self) -> CandidateGrid:
        """One grid for all series, with few enough candidates to try every action."""
        if not self.candidates.relative:
            return self.candidates.coarse()
        return CandidateGrid.of(self.log, self.rules, relative=False).coarse()

    def grid_of(self, candidates: CandidateGrid) -> ActionGrid:
        """The actions of candidates that all series share."""
        return ActionGrid(
            candidates.prices, candidates.orders, room_of(self.log.problem), float(self.log.costs.mean().order)
        )

    @property
    def grid(self) -> ActionGrid:
        """The actions that all series share."""
        return self.grid_of(self.shared_candidates)

    def problem_with(self, candidates: CandidateGrid) -> Problem:
        """The problem with prices and orders spelled out."""
        update = {"prices": tuple(candidates.prices.tolist()), "orders": tuple(candidates.orders.tolist())}
        return self.log.problem.model_copy(update=update)

    @property
    def problem(self) -> Problem:
        """The problem with the prices and orders that all series share."""
        return self.problem_with(self.shared_candidates)

    @property
    def usual_demand(self) -> float:
        """Median of the observed demands, which replaces a last demand that is missing."""
        return float(np.median(self.runs.observed.demand[self.runs.observed.is_observed]))
