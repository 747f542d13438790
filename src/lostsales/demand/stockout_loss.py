"""Cost of stock-outs: units, share of demand and margin lost in a log, with 95 % intervals."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lostsales.data.assortment import is_shop
from lostsales.data.calendar.clock import DAY, WEEK_DAYS
from lostsales.data.confidence import margin
from lostsales.data.demand_bounds import share_demand
from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress, stages
from lostsales.data.sublogs import evaluated_part
from lostsales.demand.censoring.runs import Runs, find_runs
from lostsales.demand.expected_lost import DRAWS, alternative_laws, drawn_lost, lost_outside, undersmoothed_law
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.demand_model import bootstrap_laws
from lostsales.demand.law.selection import fit_law
from lostsales.demand.shop import LEAST_ROWS, RealisedDemand, ShopDemand
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.errors import LostSalesError
from lostsales.types import Bools, Floats

MOST_ROWS = 20_000  # of a larger log some series are drawn, and what they lost is scaled up
REPLICATES = 20  # of the bootstrap behind the interval
# Of Student's t: as for all our intervals, fewer than the replicates have, as losses are skewed.
DEGREES = 9
SHOWN_PRODUCTS = 3
LEAST_SHOWN = 0.05  # units, below which 0.0 would be shown

Bounds = tuple[float, float]


@dataclass(frozen=True)
class StockoutLoss:
    """Units, share of demand and margin that stock-outs cost in the periods of a log, see `stockout_loss`.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("newsvendor", episodes=10, seed=1)
    >>> found = lostsales.stockout_loss(log)
    >>> found.units_interval[0] < found.units < found.units_interval[1]
    True

    """

    rows: int  # whose demand is censored
    units: float | None  # None where it cannot be estimated
    units_interval: Bounds | None  # 95 %
    share: float | None  # of demand: sales and lost units
    share_interval: Bounds | None
    margin: float | None  # lost units at price minus order cost; None where costs are unknown too
    margin_interval: Bounds | None
    reason: str = ""  # why there is no figure, or no margin
    weeks: float | None = None  # that the log spans; None where periods are not dates
    products: tuple[tuple[str, float], ...] = ()  # those that lost the most, and their units

    currency: str | None = None  # as the problem declares it

    @property
    def tile(self) -> tuple[str, str, str] | None:
        """The cost in short: what it is, the figure and its interval; None where there is none."""
        per = 1.0 if self.weeks is None else self.weeks
        over = "" if self.weeks is None else " per week"
        if self.margin is not None and self.margin_interval is not None:
            low, high = self.margin_interval
            return f"margin lost to stock-outs{over}", _amount(self.margin / per), _between((low / per, high / per))
        if self.units is None or self.units_interval is None:
            return None
        low, high = self.units_interval
        return f"units lost to stock-outs{over}", _amount(self.units / per), _between((low / per, high / per))

    @property
    def sentence(self) -> str:
        """The figures in words."""
        if not self.rows:
            return self.reason or "No stock-outs: nothing was lost."
        if self.units is None or self.share is None or self.units_interval is None:
            return f"What {self.rows:,} stock-outs cost cannot be estimated: {self.reason}."
        units = f"about {_amount(self.units)} units (95 % interval {_between(self.units_interval)})"
        found = f"You lost {units}, {_percent(self.share)} of demand"
        most = ", ".join(f"{name} ({_amount(lost)})" for name, lost in self.products)
        where = f" Most units were lost on {most}." if most else ""
        if self.margin is None or self.margin_interval is None:
            return f"{found}; the margin lost is not known, as {self.reason}.{where}"
        low, high = self.margin_interval
        margin, each = self.margin, " in all"
        if self.weeks is not None:
            margin, low, high, each = margin / self.weeks, low / self.weeks, high / self.weeks, " per week"
        interval = f"({_between((low, high))}; price minus order cost)"
        money = f" {self.currency}" if self.currency else ""
        return f"{found}, and about {_amount(margin)}{money} of margin{each} {interval}.{where}"

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"sentence": self.sentence}


def stockout_loss(
    log: SalesLog,
    *,
    seed: int = 0,
    runs: Runs | None = None,
    model: ShopDemand | None = None,
    progress: Progress | None = None,
) -> StockoutLoss:
    """Estimate how many units, what share of demand and how much margin stock-outs cost in the periods of a log.

    Lost units are expected under the demand model that evaluations use. The interval is for the units lost in these
    very periods: it counts the chance in each censored demand and the error of the model. In a shop that is the error
    of levels and elasticities; of episodes a bootstrap, and the difference from rival models.

    Parameters
    ----------
    log : SalesLog
        What `read_log` returns; a demand-only log will do. Of more than 20,000 rows some series are drawn.
    seed : int
        The same seed gives the same figures.
    runs : Runs, optional
        What `find_runs` returned for this log, where it is at hand.
    model : ShopDemand, optional
        What `fit_demand` returned for this log, where it is at hand.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    StockoutLoss
        Figures with 95 % intervals, or the reason why there are none.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("newsvendor", episodes=10, seed=1)
    >>> found = stockout_loss(log)
    >>> found.rows == int(log.censored.sum()), 0 < found.share < 1
    (True, True)

    """
    runs = runs or find_runs(log)
    hidden = _hidden(log, runs)
    rows = int(np.count_nonzero(hidden))
    if log.notes.sales_are_demand:
        unknown = "What stock-outs cost is not known: the table has neither stock nor stock-outs."
        return StockoutLoss(0, None, None, None, None, None, None, unknown)
    if not rows:
        return StockoutLoss(0, 0.0, (0.0, 0.0), 0.0, (0.0, 0.0), 0.0, (0.0, 0.0))
    if not runs.observed.any_observed:
        nothing = "every row is a stock-out, so no demand was observed"
        return StockoutLoss(rows, None, None, None, None, None, None, nothing)
    if is_shop(log) and int(np.count_nonzero(runs.observed.is_observed | log.is_share)) >= LEAST_ROWS:
        model = ShopDemand.of(log, runs.observed) if model is None else model
        return _told(log, rows, _LostInShop.of(model, seed), 1.0)
    part, _ = evaluated_part(log, MOST_ROWS, seed)
    part_runs = runs if part is log else find_runs(part)
    known = part_runs.observed.any_observed and _hidden(part, part_runs).any()
    if not known:  # too small a part: all rows
        part, part_runs = log, runs
    scale = float(rows / np.count_nonzero(_hidden(part, part_runs)))
    return _told(log, rows, _Lost.of(part, part_runs, seed, progress), scale)


def _told(log: SalesLog, rows: int, lost: "_Lost | _LostInShop", scale: float) -> StockoutLoss:
    """The figures of a log from those of `lost`, which are of one part in `scale` of it."""
    part = lost.log
    units, interval = lost.total(np.ones(len(part)), scale)
    sales = float(log.sales.sum())
    share = tuple(each / max(sales + each, 1e-300) for each in (units, *interval))
    margin, margin_interval, reason = None, None, "the log has no order cost: give [costs] in the problem"
    if part.costs is not None:
        margin, margin_interval = lost.total(part.price - part.costs.order, scale)
        reason = ""
    return StockoutLoss(
        rows,
        units,
        interval,
        share[0],
        (share[1], share[2]),
        margin,
        margin_interval,
        reason,
        _weeks(log),
        _most(log, lost.expected * lost.hidden) if scale == 1 else (),
        log.problem.format.currency,
    )


def _weeks(log: SalesLog) -> float | None:
    """Weeks from the first period to the end of the last; None where periods are not dates."""
    if log.period.dtype.kind != "M" or not log.usual_step:
        return None
    span = int(log.period.max().astype(np.int64) - log.period.min().astype(np.int64)) + log.usual_step
    return span / (WEEK_DAYS * DAY)


def _hidden(log: SalesLog, runs: Runs) -> Bools:
    """Rows whose demand is censored or known for a share of the period only."""
    return np.asarray(~runs.observed.is_observed | log.is_share)


@dataclass(frozen=True, eq=False)
class _Lost:
    """Lost units of the rows of a log under several demand laws, and their spread given the law."""

    log: SalesLog
    hidden: Bools  # (rows,)
    expected: Floats  # (rows,)
    resampled: Floats  # (replicates, rows) under laws of the bootstrap
    alternatives: Floats  # (alternatives, rows)
    draws: Floats  # (rows, draws) around their mean, 0 in rows that the law does not cover
    error: Floats  # (rows,) standard deviation of these others, which may depend on each other in any way

    @classmethod
    def of(cls, log: SalesLog, runs: Runs, seed: int, progress: Progress | None) -> "_Lost":
        """Estimate by a demand model, or by Beran's estimator if none can be fitted."""
        hidden = _hidden(log, runs)
        choosing, resampling = stages(progress, (2, 1))
        try:
            model = fit_law(log, seed=seed, progress=choosing)
        except LostSalesError:
            filled = impute_by_curves(log, runs=runs, replicates=REPLICATES, seed=seed)
            none = np.zeros((0, len(log)))
            return cls(log, hidden, filled.expected_lost, none, none, np.zeros((len(log), 1)), filled.error)
        law = undersmoothed_law(model, seed)
        covered = model.evidence.rows[model.evidence.is_censored]
        outside = lost_outside(log, runs, model, seed)
        error = outside.copy()  # outside the model's rows the standard error is the estimate itself
        if log.is_share.any():
            by_share = share_demand(log)
            outside = np.where(log.is_share, by_share.mean - log.sales, outside)
            error = np.where(log.is_share, by_share.error, error)
        drawn = np.repeat(outside[:, None], DRAWS, axis=1)

        def lost(other: DemandLaw) -> Floats:
            found = drawn.copy()
            found[covered] = drawn_lost(log, model, other, seed)
            found[log.is_share] = outside[log.is_share, None]
            return found

        own = lost(law)
        # Fits that start at the fitted law would vary too little.
        others = bootstrap_laws(log, model, REPLICATES, seed, resampling, fresh=True)
        rivals = [lost(each).mean(axis=1) for each in alternative_laws(model, law, seed)]
        return cls(
            log,
            hidden,
            own.mean(axis=1),
            np.array([lost(each).mean(axis=1) for each in others]),
            np.array(rivals).reshape(-1, len(log)),
            own - own.mean(axis=1, keepdims=True),
            error,
        )

    def total(self, weight: Floats, scale: float) -> tuple[float, Bounds]:
        """Weighted sum of what was lost, scaled up to the whole log, with its 95 % interval."""
        value = float(self.expected @ weight)
        variance = self._chance(weight)
        if len(self.resampled) > 1:
            variance += float(np.var(self.resampled @ weight, ddof=1))
        if len(self.alternatives):
            variance += float(np.mean((self.alternatives @ weight - value) ** 2))
        if scale > 1:
            variance += self._sampling(weight, value, scale)
        reach = margin(float(np.sqrt(variance)), DEGREES)
        low = value - reach if np.any(weight < 0) else max(value - reach, 0.0)
        return scale * value, (scale * low, scale * (value + reach))

    def _chance(self, weight: Floats) -> float:
        """Variance of the lost units themselves given the law: series are independent, rows of one are not."""
        series = len(self.log.names)
        by_series = np.array([np.bincount(self.log.series, weight * each, series) for each in self.draws.T])
        within = float(np.sum(by_series.var(axis=0, ddof=1))) if len(by_series) > 1 else 0.0
        return float(within + (np.abs(weight) @ self.error) ** 2)

    def _sampling(self, weight: Floats, value: float, scale: float) -> float:
        """Variance by which series were drawn, for a log that is `scale` times larger."""
        series = len(self.log.names)
        lost = np.bincount(self.log.series, weight * self.expected, series)
        rows = np.bincount(self.log.series, self.hidden, series)
        left = lost - value / rows.sum() * rows
        return float(series / max(series - 1, 1) * (left @ left) * (1 - 1 / scale))


@dataclass(frozen=True, eq=False)
class _LostInShop:
    """Lost units of the rows of a shop's log by its demand model."""

    log: SalesLog
    hidden: Bools  # (rows,)
    expected: Floats  # (rows,)
    realised: RealisedDemand

    @classmethod
    def of(cls, model: ShopDemand, seed: int) -> "_LostInShop":
        """Draw the hidden demands."""
        realised = model.realised(DRAWS, seed)
        return cls(model.log, ~model.observed.is_observed, realised.lost, realised)

    def total(self, weight: Floats, scale: float) -> tuple[float, Bounds]:
        """Weighted sum of what was lost, with its 95 % interval."""
        value = scale * float(self.expected @ weight)
        reach = margin(scale * float(np.sqrt(self.realised.shop.lost_variance(self.realised, weight))))
        low = value - reach if np.any(weight < 0) else max(value - reach, 0.0)
        return value, (low, value + reach)


def _most(log: SalesLog, lost: Floats) -> tuple[tuple[str, float], ...]:
    """Products that lost the most units, none where there is one product."""
    products = log.products
    if len(products) == 1:
        return ()
    units = np.bincount(products.of_row, lost, len(products))
    worst = np.argsort(-units, kind="stable")[:SHOWN_PRODUCTS]
    return tuple((str(products.names[each]), float(units[each])) for each in worst if units[each] >= LEAST_SHOWN)


def _amount(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:,.1f}"


def _between(bounds: Bounds) -> str:
    return f"{_amount(bounds[0])} to {_amount(bounds[1])}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"
