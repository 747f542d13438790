"""What stock-outs hid: the expected demand of every censored row, and the profit it leaves."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from lostsales.arrays import Bools, Floats
from lostsales.data.economics import period_profit
from lostsales.data.gate import Progress
from lostsales.data.log import SalesLog
from lostsales.demand.beran import mean_excess
from lostsales.demand.curve import Tail
from lostsales.demand.groups import Group, depth_groups
from lostsales.demand.holdout import Holdout, hold_out, resample_counts
from lostsales.demand.neighbours import fit_neighbourhood
from lostsales.demand.observed import Observed
from lostsales.demand.runs import Runs, find_runs
from lostsales.errors import LostSalesError, SettingError

Estimator = Literal["beran", "marginal", "cox", "aft"]

# A row is identified where the tail rule places at most this share of its mass, and so many neighbours show the rest.
MOST_TAIL = 0.1
LEAST_ABOVE = 5


@dataclass(frozen=True, eq=False)
class Imputation:
    """Every row with its hidden part filled in; a row that hid nothing is as it was."""

    expected_demand: Floats  # (rows,)
    expected_lost: Floats  # (rows,)
    error: Floats  # (rows,) standard error of both, by bootstrap
    identified: Bools  # (rows,) the data say so; where not, the tail rule does
    profit_filled: Floats | None  # (rows,) None where the log has no stock or costs
    profit_filled_se: Floats | None  # (rows,)
    tail: Tail
    demand_max: float
    bandwidths: dict[str, float]  # by depth, in units of demand
    resampled: str  # what the bootstrap drew: "series" or "blocks in time"


class Filled(NamedTuple):
    """The rows of a group, filled."""

    excess: Floats
    error: Floats
    identified: Bools
    bandwidth: float


class Bound(NamedTuple):
    """How far demand can go, and how it lies where no known demand shows it."""

    demand_max: float
    tail: Tail
    integer: bool


def impute(
    log: SalesLog,
    *,
    estimator: Estimator = "beran",
    demand_max: float | None = None,
    tail: Tail = "to_max",
    replicates: int = 50,
    seed: int = 0,
    runs: Runs | None = None,
    progress: Progress | None = None,
) -> Imputation:
    """E[D_t | stock-out, history] for every censored row (line 489) and the surrogate profit of line 428.

    `demand_max` is the largest demand that can be (the largest sale of the log unless given); `tail` says how the mass
    lies that no known demand places. Standard errors come from a bootstrap over series.
    """
    runs = runs or find_runs(log)
    observed = runs.observed
    bound = Bound(_demand_max(log, observed, demand_max), tail, observed.integer)
    holdout = hold_out(log, gap=runs.max_depth + 1)
    counts = resample_counts(holdout.units, replicates, seed)
    lost = np.maximum(observed.demand - observed.least, 0.0)
    error, identified = np.zeros(len(log)), np.ones(len(log), dtype=bool)
    bandwidths: dict[str, float] = {}
    groups = depth_groups(log, runs)
    total, done = sum(len(group.fill) for group in groups), 0
    for group in groups:

        def report(part: int, parts: int, done: int = done, rows: int = len(group.fill)) -> None:
            if progress:
                progress(done + rows * part // parts, total)

        if estimator in ("cox", "aft"):
            from lostsales.demand.library import fill_by_library

            filled = fill_by_library(group, observed, holdout, estimator, bound, counts)
        else:
            filled = _fill_by_neighbours(group, observed, holdout, bound, counts, estimator == "marginal", seed, report)
        lost[group.fill], error[group.fill], bandwidths[group.name] = filled.excess, filled.error, filled.bandwidth
        identified[group.fill] = filled.identified & group.known_history
        done += len(group.fill)
    profit, profit_se = _profit(log, lost, error)
    expected = np.where(observed.known, observed.demand, observed.least + lost)
    return Imputation(
        expected, lost, error, identified, profit, profit_se, tail, bound.demand_max, bandwidths, holdout.by
    )


def _demand_max(log: SalesLog, observed: Observed, given: float | None) -> float:
    if not observed.any_known:
        raise LostSalesError("every row is a stock-out: no demand is known, so nothing tells how much was lost")
    row = int(np.argmax(np.where(observed.known, observed.demand, observed.least)))
    most = float(max(observed.demand[row], log.sales[row]))
    if given is not None and given < most:
        raise SettingError(
            f"demand_max must be at least every demand seen, but it is {given:g} and series "
            f"{log.names[log.series[row]]} had {most:g} in period {log.period[row]}"
        )
    return most if given is None else given


def _fill_by_neighbours(
    group: Group,
    observed: Observed,
    holdout: Holdout,
    bound: Bound,
    counts: Floats,
    marginal: bool,
    seed: int,
    progress: Progress,
) -> Filled:
    """Beran's estimator, or with all rows as neighbours the marginal Kaplan-Meier curve."""
    near = fit_neighbourhood(
        group.learn, group.learn_covariates, observed, holdout, bound.demand_max, marginal=marginal, seed=seed
    )
    excess, share, above, error = mean_excess(
        near.sample,
        near.metric(group.fill_covariates),
        observed.point[group.fill],
        observed.least[group.fill],
        near.bandwidth,
        bound.demand_max,
        bound.tail,
        bound.integer,
        counts,
        progress,
    )
    return Filled(excess, error, (share <= MOST_TAIL) & (above >= LEAST_ABOVE), near.bandwidth)


def _profit(log: SalesLog, lost: Floats, error: Floats) -> tuple[Floats | None, Floats | None]:
    """The surrogate profit: the lost sales of a stock-out count with their expectation (line 428)."""
    if log.order is None or log.costs is None:
        return None, None
    profit = period_profit(log.price, log.order, log.sales, lost, log.available - log.sales, log.costs)
    return profit, log.costs.lost * error
