"""Plugged-in demand (Appendix C): a censored last demand is replaced by its conditional mean given the stock-out.

D_t = x_t'b + e_t with x_t = (D_{t-1}, features, price); b by censored least squares, the law of e by Kaplan-Meier. Then
E[D_t | D_t > available] = x_t'b + E[e | e > available - x_t'b]. In a run of stock-outs yesterday's plugged-in demand
stands for D_{t-1}, and so on back to the anchor.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lostsales.data.encoding import feature_columns
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.demand.censoring.runs import Runs
from lostsales.demand.survival.curve import kaplan_meier
from lostsales.demand.survival.metric import learn_metric
from lostsales.policy.view import Features, View
from lostsales.saved_fields import numbers
from lostsales.types import Floats


@dataclass(frozen=True, eq=False)
class PlugIn:
    """The conditional mean of a censored demand."""

    slopes: Annotated[Floats, numbers("covariates")]  # b
    # where the law of e jumps, rising, less the gap between `available` and a censored demand
    jumps: Annotated[Floats, numbers("steps", rising=True)]
    # E[e | e > a] from each jump to the next; minus infinity beyond the last
    mean_above: Annotated[Floats, numbers("steps+1", infinite=True)]

    @classmethod
    def fit(cls, log: SalesLog, runs: Runs) -> "PlugIn":
        """Fit to the rows at depth 0."""
        observed = runs.observed
        rows = np.flatnonzero((runs.depth == 0) & observed.is_learnable)
        covariates = _covariates(log.problem, runs.anchor_demand[rows], tuple(log.features[rows].T), log.price[rows])
        demand, is_event = observed.demand[rows], observed.is_observed[rows]
        slopes = learn_metric(covariates, demand, is_event).slopes
        # Whole units above the stock are at least half a unit above it; without a flag they may be equal to it.
        gap = float(observed.censored_above[rows[0]] - observed.available[rows[0]]) + 0.5 * observed.integer
        residual = demand + gap * ~is_event - covariates @ slopes
        # Efron's rule: the largest is an event, so that no mass is left over.
        curve = kaplan_meier(residual, is_event | (residual == residual.max()), integer=False)
        mass = -np.diff(np.r_[1.0, curve.survival])
        above = np.cumsum((mass * curve.times)[::-1])[::-1] / np.cumsum(mass[::-1])[::-1]
        return cls(slopes, curve.times - gap, np.r_[above, -np.inf])

    def mean(self, problem: Problem, last: Floats, features: Features, price: Floats, available: Floats) -> Floats:
        """E[D | D > available] given the last demand; `available` beyond the largest residual of the log."""
        expected = _covariates(problem, last, features, price) @ self.slopes
        place = np.searchsorted(self.jumps, available - expected, side="right")
        return np.maximum(available, expected + self.mean_above[place])

    def of_log(self, log: SalesLog, runs: Runs) -> Floats:
        """Every demand of a log, observed or plugged in, (rows,)."""
        filled = np.where(runs.observed.is_observed, runs.observed.demand, log.sales)
        for depth in range(runs.longest):
            rows = np.flatnonzero((runs.depth == depth) & ~runs.observed.is_observed)
            last = filled[rows - 1] if depth else runs.anchor_demand[rows]
            seen = tuple(log.features[rows].T), log.price[rows], log.censoring_level[rows]
            filled[rows] = self.mean(log.problem, last, *seen)
        return filled

    def of_view(self, problem: Problem, view: View) -> Floats:
        """The last demand of each series, observed or plugged in, (series,)."""
        last = view.last_sales
        for back in range(int(view.depth.max(initial=0)), 0, -1):
            closed, action = view.past[-back]
            before = np.where(view.depth == back, closed.last_sales, last)
            level = view.censoring_level(back, problem)
            guess = self.mean(problem, before, closed.features, action.price, level)
            last = np.where(view.depth >= back, guess, last)
        return last


def _covariates(problem: Problem, last: Floats, features: Features, price: Floats) -> Floats:
    return np.column_stack([last, *feature_columns(problem.features, features), price])
