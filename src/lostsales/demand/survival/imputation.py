"""Imputation: the expected demand of every censored row, and the surrogate profit."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from lostsales import plots
from lostsales.data.demand_bounds import share_demand
from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.data.splits import hold_out, resample_counts
from lostsales.demand.censoring.observed import Observed
from lostsales.demand.censoring.runs import Runs, find_runs
from lostsales.demand.survival.beran import MOST_SCORED, fit_neighbourhood
from lostsales.demand.survival.depth_groups import MOST_ROWS, depth_groups
from lostsales.demand.survival.imputers import IMPUTERS, Fill, ImputerData
from lostsales.demand.survival.series_law import ProductCounts
from lostsales.demand.survival.tail import Bound, Tail
from lostsales.errors import LostSalesError, SettingError
from lostsales.types import Bools, Floats, Ints

BATCH = 50_000  # rows whose covariates are in memory at a time
QUICK_ROWS, QUICK_SCORED = 5_000, 200  # rows to learn from and to choose the bandwidth on, with `quick`
LEAST_WITHIN = 1e-6  # probability of an interval below which its midpoint is used instead of the conditional mean


@dataclass(frozen=True, eq=False)
class Imputation:
    """Imputed demand of a log; rows without censoring keep their demand.

    Attributes are arrays (rows,) unless noted; `filled_log.filled_columns` gives them as columns of a table.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> filled = lostsales.impute(log, replicates=0)
    >>> bool((filled.expected_demand >= log.sales).all())
    True

    """

    expected_demand: Floats  # (rows,) E[D_t | stock-out, history]
    expected_lost: Floats  # (rows,)
    error: Floats  # (rows,) standard error of both, by bootstrap
    identified: Bools  # (rows,) by the data; otherwise a model or the tail rule extrapolates
    profit_filled: Floats | None  # (rows,) surrogate profit; None if the log has no stock or costs
    profit_filled_se: Floats | None  # (rows,)
    tail: str  # rule of the tail, or model
    demand_max: float  # no imputed demand is above it
    bandwidths: dict[str, float]  # by depth, in units of demand
    resampled: str  # what the bootstrap drew: "series" or "blocks in time"
    hidden: Bools  # (rows,) demand is censored
    log: SalesLog = field(repr=False)  # whose rows these are

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Series, period and imputed demand of every row, in the order of the table that was read."""
        columns = {
            "sales": self.log.sales,
            "censored": self.hidden,
            "expected_demand": self.expected_demand,
            "expected_lost": self.expected_lost,
            "standard_error": self.error,
            "identified": self.identified,
        }
        return self.log.to_frame(backend, columns)

    def plot(self, log: SalesLog, name: str | None = None) -> Any:
        """Picture of a product's sales and expected lost sales in its log; by default of the first product."""
        return plots.draw_history(log, name, self)


def impute_by_curves(
    log: SalesLog,
    *,
    estimator: str = "beran",
    demand_max: float | None = None,
    tail: Tail | None = None,
    replicates: int = 50,
    seed: int = 0,
    runs: Runs | None = None,
    only: Bools | None = None,
    quick: bool = False,
    progress: Progress | None = None,
) -> Imputation:
    """Impute E[D_t | stock-out, history] of every censored row by conditional survival curves (Lemma 4).

    Parameters are those of `lostsales.impute`. If series differ in size or price, each has a largest demand of its own,
    in proportion, and the tail is "exponential"; else "to_max". With `quick`, curves come from at most 5,000 rows and a
    bandwidth chosen on 200, and `identified` is not computed for filled rows.

    >>> from lostsales.simulation.scenario import Scenario
    >>> from lostsales.simulation.simulator import simulate
    >>> log, _ = simulate(Scenario.load("released"), episodes=6, seed=1)
    >>> filled = impute_by_curves(log, replicates=0)
    >>> bool((filled.expected_lost[filled.hidden] > 0).all()), filled.resampled
    (True, 'blocks in time')
    """
    for name, number in (("replicates", replicates), ("seed", seed)):
        if number < 0:
            raise SettingError(f"{name} must not be negative, but {number} came")
    imputer = IMPUTERS.get(estimator)
    runs = runs or find_runs(log)
    most = _demand_max(log, runs.observed, demand_max)
    counts_of = ProductCounts.of(log, runs)
    counted, runs, law = counts_of.log, counts_of.runs, counts_of.law(most, seed)
    observed = runs.observed
    tail = tail or ("to_max" if law is None else "exponential")
    bound = Bound(most, tail, observed.integer)
    holdout = hold_out(log, gap=runs.max_depth + 1, by_blocks=law is not None)
    counts = resample_counts(holdout.units, replicates, seed)
    lost = np.where(observed.is_observed, np.maximum(observed.demand - observed.available, 0.0), np.nan)
    error, identified = np.where(observed.is_observed, 0.0, np.nan), observed.is_observed.copy()
    bandwidths: dict[str, float] = {}
    asked = np.ones(len(log), dtype=bool) if only is None else only
    to_fill = asked & ~log.is_share if log.is_share.any() else only
    groups = depth_groups(counted, runs, to_fill, seed, QUICK_ROWS if quick else MOST_ROWS, law)
    scored = 0 if estimator != "beran" else QUICK_SCORED if quick else MOST_SCORED
    total, done = sum(len(group.fill) for group in groups), 0
    for group in groups:
        near = fit_neighbourhood(group, observed, holdout, bound, seed, scored)
        fill = imputer(ImputerData.of(group, observed, holdout, counts, bound, near))
        bandwidths[group.name] = near.bandwidth
        for start in range(0, len(group.fill), BATCH):
            rows = group.fill[start : start + BATCH]

            def report(part: int, parts: int, done: int = done, rows: int = len(rows)) -> None:
                if progress:
                    progress(done + rows * part // parts, total)

            hidden = group.covariates(rows), observed.censored_above[rows], observed.available[rows]
            if not quick:
                identified[rows] = near.identified(*hidden) & group.has_history
            lost[rows], error[rows] = fill(*hidden, report)
            own = near.own_rows(hidden[0])
            spread = np.full(len(rows), near.metric.spread) if own is None else own.sd
            _keep_within(observed, rows, lost, error, fill, hidden[0], spread)
            done += len(rows)
    lost, error = lost * counts_of.unit, error * counts_of.unit
    expected = np.where(
        observed.is_observed, observed.demand * counts_of.unit, observed.available * counts_of.unit + lost
    )
    if (by_share := log.is_share & asked).any():
        whole = share_demand(log)
        expected, error = np.where(by_share, whole.mean, expected), np.where(by_share, whole.error, error)
        lost, identified = np.where(by_share, expected - log.sales, lost), identified | by_share
    profit, profit_se = surrogate_profit(log, lost, error)
    return Imputation(
        expected_demand=expected,
        expected_lost=lost,
        error=error,
        identified=identified,
        profit_filled=profit,
        profit_filled_se=profit_se,
        tail=tail,
        demand_max=bound.demand_max,
        bandwidths=bandwidths if estimator == "beran" else {},
        resampled=holdout.by,
        hidden=~observed.is_observed | by_share,
        log=log,
    )


def _keep_within(
    observed: Observed, rows: Ints, lost: Floats, error: Floats, fill: Fill, covariates: Floats, spread: Floats
) -> None:
    """Replace imputed demands that have an upper bound by the mean of a truncated normal distribution, in place.

    It has the conditional mean of demand given the covariates, and the spread of demand around it.
    """
    at = np.flatnonzero(np.isfinite(observed.at_most[rows]))
    if not len(at):
        return
    own = rows[at]
    low, high, half = observed.available[own], observed.at_most[own], 0.5 * observed.integer
    mean, _ = fill(covariates[at], np.full(len(at), -1.0), np.zeros(len(at)), _no_progress)
    lost[own] = normal_mean_between(mean, spread[at], low - half, high + half) - low
    lost[own] = np.clip(lost[own], 0.0, high - low)
    error[own] = np.minimum(error[own], (high - low) / np.sqrt(12))


def _no_progress(_done: int, _total: int) -> None:
    return


def normal_mean_between(mean: Floats, spread: Floats | float, low: Floats, high: Floats) -> Floats:
    """Mean E[X | low < X <= high] of normal X; the midpoint if the interval has nearly no probability.

    >>> normal_mean_between(np.array([0.0, 0.0]), 1.0, np.array([-1.0, 0.0]), np.array([1.0, np.inf])).round(3)
    array([0.   , 0.798])
    """
    from scipy.stats import norm

    below, above = (low - mean) / spread, (high - mean) / spread
    within = norm.cdf(above) - norm.cdf(below)
    likely = within > LEAST_WITHIN
    drift = (norm.pdf(below) - norm.pdf(above)) / np.where(likely, within, 1.0)
    return np.where(likely, mean + spread * drift, (low + high) / 2)


def _demand_max(log: SalesLog, observed: Observed, given: float | None) -> float:
    if not observed.any_observed:
        raise LostSalesError("every row is a stock-out: no demand is observed, so lost sales cannot be estimated")
    least = np.where(observed.is_observed, observed.demand, observed.available)
    row = int(np.argmax(least))
    most = float(least[row])
    if given is not None and not most <= given < np.inf:
        raise SettingError(
            f"demand_max must be finite and at least every demand seen, but it is {given:g} and series "
            f"{log.names[log.series[row]]} had {most:g} in period {log.period[row]}"
        )
    return most if given is None else given


def surrogate_profit(log: SalesLog, lost: Floats, error: Floats) -> tuple[Floats | None, Floats | None]:
    """Surrogate profit of Equation 12 and its standard error; None if the log has no orders or costs."""
    if log.order is None or log.costs is None:
        return None, None
    return log.profit(lost), log.costs.lost * error
