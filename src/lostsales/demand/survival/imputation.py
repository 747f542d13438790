"""What stock-outs hid: the expected demand of every censored row, and the profit it leaves."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.reading.gate import Progress
from lostsales.data.splits import Holdout, hold_out, resample_counts
from lostsales.demand.censoring.observed import Observed
from lostsales.demand.censoring.runs import Runs, find_runs
from lostsales.demand.survival.curve import Bound, Tail
from lostsales.demand.survival.depth_groups import MOST_ROWS, Group, depth_groups
from lostsales.demand.survival.neighbourhood import MOST_SCORED, Neighbourhood, fit_neighbourhood
from lostsales.errors import LostSalesError, SettingError
from lostsales.types import Bools, Floats

Estimator = Literal["beran", "marginal", "cox", "aft"]
# Covariates, points and least of the rows to fill, and a progress: their mean excess and its standard error.
Fill = Callable[[Floats, Floats, Floats, Progress], tuple[Floats, Floats]]

# Covariates are made for so many rows at a time.
BATCH = 50_000
# The most rows that a law is learned from, and on which its bandwidth is chosen, where it must be quick.
QUICK_ROWS, QUICK_SCORED = 5_000, 200


@dataclass(frozen=True, eq=False)
class Imputation:
    """Every row with its hidden part filled in; a row that hid nothing is as it was."""

    expected_demand: Floats  # (rows,)
    expected_lost: Floats  # (rows,)
    error: Floats  # (rows,) standard error of both, by bootstrap
    identified: Bools  # (rows,) the data say so; where not, a model or the tail rule does
    profit_filled: Floats | None  # (rows,) None where the log has no stock or costs
    profit_filled_se: Floats | None  # (rows,)
    tail: Tail
    demand_max: float
    bandwidths: dict[str, float]  # by depth, in units of demand
    resampled: str  # what the bootstrap drew: "series" or "blocks in time"
    hidden: Bools  # (rows,) demand is not known


def impute(
    log: SalesLog,
    *,
    estimator: Estimator = "beran",
    demand_max: float | None = None,
    tail: Tail = "to_max",
    replicates: int = 50,
    seed: int = 0,
    runs: Runs | None = None,
    only: Bools | None = None,
    quick: bool = False,
    progress: Progress | None = None,
) -> Imputation:
    """E[D_t | stock-out, history] for every censored row (line 489) and the surrogate profit of line 428.

    `demand_max` is the largest demand that can be (the largest sale of the log unless given); `tail` says how the mass
    lies that no known demand places. Standard errors come from a bootstrap over series, and are NaN without replicates.
    Where `only` is given, other stock-outs are left unfilled: NaN, and not identified. `quick` is what
    learning a policy asks for: laws from fewer rows, and no word on what is identified (False where demand is hidden).
    """
    for name, number in (("replicates", replicates), ("seed", seed)):
        if number < 0:
            raise SettingError(f"{name} must not be negative, but {number} came")
    runs = runs or find_runs(log)
    observed = runs.observed
    bound = Bound(_demand_max(log, observed, demand_max), tail, observed.integer)
    holdout = hold_out(log, gap=runs.max_depth + 1)
    counts = resample_counts(holdout.units, replicates, seed)
    lost = np.where(observed.is_observed, np.maximum(observed.demand - observed.available, 0.0), np.nan)
    error, identified = np.where(observed.is_observed, 0.0, np.nan), observed.is_observed.copy()
    bandwidths: dict[str, float] = {}
    groups = depth_groups(log, runs, only, seed, QUICK_ROWS if quick else MOST_ROWS)
    scored = 0 if estimator != "beran" else QUICK_SCORED if quick else MOST_SCORED
    total, done = sum(len(group.fill) for group in groups), 0
    for group in groups:
        near = fit_neighbourhood(group, observed, holdout, bound, seed, scored)
        fill = _filler(estimator, group, near, observed, holdout, counts)
        bandwidths[group.name] = near.bandwidth
        for start in range(0, len(group.fill), BATCH):
            rows = group.fill[start : start + BATCH]

            def report(part: int, parts: int, done: int = done, rows: int = len(rows)) -> None:
                if progress:
                    progress(done + rows * part // parts, total)

            asked = group.covariates(rows), observed.point[rows], observed.available[rows]
            if not quick:
                identified[rows] = near.identified(*asked) & group.known_history
            lost[rows], error[rows] = fill(*asked, report)
            done += len(rows)
    profit, profit_se = _profit(log, lost, error)
    return Imputation(
        expected_demand=np.where(observed.is_observed, observed.demand, observed.available + lost),
        expected_lost=lost,
        error=error,
        identified=identified,
        profit_filled=profit,
        profit_filled_se=profit_se,
        tail=tail,
        demand_max=bound.demand_max,
        bandwidths=bandwidths if estimator == "beran" else {},
        resampled=holdout.by,
        hidden=~observed.is_observed,
    )


def _demand_max(log: SalesLog, observed: Observed, given: float | None) -> float:
    if not observed.any_observed:
        raise LostSalesError("every row is a stock-out: no demand is known, so nothing tells how much was lost")
    least = np.where(observed.is_observed, observed.demand, observed.available)
    row = int(np.argmax(least))
    most = float(least[row])
    if given is not None and not most <= given < np.inf:
        raise SettingError(
            f"demand_max must be finite and at least every demand seen, but it is {given:g} and series "
            f"{log.names[log.series[row]]} had {most:g} in period {log.period[row]}"
        )
    return most if given is None else given


def _filler(
    estimator: Estimator, group: Group, near: Neighbourhood, observed: Observed, holdout: Holdout, counts: Floats
) -> Fill:
    if estimator in ("cox", "aft"):
        from lostsales.demand.survival.lifelines_models import Regression

        rows = group.learn
        return Regression(
            estimator, group.covariates(rows), observed.demand[rows], observed.is_observed[rows], near.sample.bound,
            counts[:, holdout.unit[rows]],
        )  # fmt: skip
    return partial(near.as_one().fill if estimator == "marginal" else near.fill, counts)


def _profit(log: SalesLog, lost: Floats, error: Floats) -> tuple[Floats | None, Floats | None]:
    """The surrogate profit of Equation 12 and its standard error; None where the log has no orders or costs."""
    if log.order is None or log.costs is None:
        return None, None
    return log.profit(lost), log.costs.lost * error
