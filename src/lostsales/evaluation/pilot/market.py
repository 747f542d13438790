"""Market before and during a pilot: a linear model of relative demand, its residuals, and the detectors of a change."""

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from lostsales.data.calendar.clock import DAY
from lostsales.data.calendar.periods import PeriodGrid
from lostsales.data.labels import spelled
from lostsales.data.log import SalesLog
from lostsales.data.settings import StrictSettings
from lostsales.evaluation.pilot.drift import Detector, MarketFigures, detectors
from lostsales.evaluation.pilot.panel import Outcomes, PilotPanel, past_mean
from lostsales.types import Bools, Floats

PRICE = "price"
RIDGE = 1e-6  # per row
WEEK, FOLDS, LEAST_WEEKS = 7, 5, 4  # cross-fitting: periods of a block, folds, and blocks that it needs
MOST_WEIGHT = 4.0  # of a series, relative to the median one


class DemandBaseline(StrictSettings):
    """Linear model of relative demand, estimated on the past and kept."""

    columns: tuple[str, ...] = Field(description="The price, features, levels of features, and weekdays.")
    coefficients: tuple[float, ...] = Field(description="Coefficient of each column.")
    centre: tuple[float, ...] = Field(description="Mean of each column.")

    @property
    def contradiction(self) -> str | None:
        """Contradiction in a file that was edited by hand, None if there is none."""
        if PRICE not in self.columns or not len(self.columns) == len(self.coefficients) == len(self.centre):
            return "the demand model needs a coefficient and a centre for every column, the price among them"
        return None

    @classmethod
    def of(
        cls,
        panel: PilotPanel,
        clock: PeriodGrid,
        demand: Floats,
        usual: Floats,
        price: Floats,
        used: Bools | None = None,
    ) -> "DemandBaseline":
        """Fit to past rows; `demand` is (rows,), usual demand and price of each series are (series,).

        `used` is a mask of the periods of the panel to learn from, by default all.
        """
        columns = _column_names(panel.log, clock)
        counts = (panel.row >= 0) & (True if used is None else used)
        rows, series = panel.row[counts], np.nonzero(counts)[0]
        sells = usual[series] > 0
        rows, series = rows[sells], series[sells]
        inputs = _inputs(panel.log, clock, columns)[rows]
        inputs[:, columns.index(PRICE)] = relative_price(panel.log.price[rows], price[series])
        centre = inputs.mean(axis=0) if len(rows) else np.zeros(len(columns))
        own = inputs - centre
        outcome = demand[rows] / usual[series] - 1
        gram = own.T @ own + RIDGE * max(len(rows), 1) * np.eye(len(columns))
        found = np.linalg.solve(gram, own.T @ outcome)
        return cls(columns=columns, coefficients=tuple(found.tolist()), centre=tuple(centre.tolist()))

    def residuals(self, panel: PilotPanel, clock: PeriodGrid, demand: Floats, usual: Floats, price: Floats) -> Floats:
        """Relative demand less its expectation, (series, periods); NaN if there is no row or no usual demand."""
        inputs = _inputs(panel.log, clock, self.columns)
        inputs[:, self.columns.index(PRICE)] = 0.0
        expected = panel.table((inputs - np.array(self.centre)) @ np.array(self.coefficients))
        slope = self.coefficients[self.columns.index(PRICE)]
        expected = expected + slope * relative_price(panel.table(panel.log.price), price[:, None])
        relative = panel.table(demand) / np.where(usual > 0, usual, np.nan)[:, None] - 1
        return np.asarray(relative - expected)


def past_residuals(
    panel: PilotPanel, clock: PeriodGrid, demand: Floats, usual: Floats, price: Floats, own: DemandBaseline
) -> Floats:
    """Cross-fitted residuals of the past, (series, periods), comparable with those of a pilot.

    In-sample residuals of a baseline with seven weekdays are too small: over 60 periods their deviation was 6 % too
    small, that of later ones 6 % too large, and alarms were three times as many. A short past uses in-sample ones.
    """
    fold = np.arange(panel.row.shape[1]) // WEEK % FOLDS
    if len(fold) < LEAST_WEEKS * WEEK:
        return own.residuals(panel, clock, demand, usual, price)
    found = np.full(panel.row.shape, np.nan)
    for each in np.unique(fold):
        others = DemandBaseline.of(panel, clock, demand, usual, price, fold != each)
        found[:, fold == each] = others.residuals(panel, clock, demand, usual, price)[:, fold == each]
    return found


def weights_of(residuals: Floats) -> Floats:
    """Weights of series, (series,): inverse variances of their residuals, bounded."""
    counts = np.isfinite(residuals).sum(axis=1)
    variance = np.array([np.nanvar(own) if count > 1 else np.nan for own, count in zip(residuals, counts, strict=True)])
    if not np.isfinite(variance).any() or np.nanmedian(variance) <= 0:
        return np.where(counts > 0, 1.0, 0.0)
    usual = float(np.nanmedian(variance))
    return np.where(np.isfinite(variance), 1 / np.maximum(np.nan_to_num(variance) / usual, 1 / MOST_WEIGHT), 0.0)


def relative_price(price: Floats, usual: Floats) -> Floats:
    """Deviation of prices from the usual one, as a share of it."""
    return np.asarray(price / np.where(usual > 0, usual, 1.0) - 1)


def _column_names(log: SalesLog, clock: PeriodGrid) -> tuple[str, ...]:
    """Names of the columns: price, numeric features, levels of features and weekdays, both without the first.

    Plain numbers may count days, so that every seventh of them is treated as the same weekday.
    """
    found = [PRICE]
    for feature in log.problem.features:
        own = [""] if feature.levels is None else [f"={spelled(level)}" for level in feature.levels[1:]]
        found += [f"feature {feature.name}{each}" for each in own]
    return (*found, *(f"weekday {day}" for day in range(1, 7) if clock.is_daily or not clock.is_dated))


def _inputs(log: SalesLog, clock: PeriodGrid, columns: tuple[str, ...]) -> Floats:
    """Columns of every row, (rows, columns); 0 if the log does not have one, and for the price."""
    found: dict[str, Floats] = {}
    for at, feature in enumerate(log.problem.features):
        values = log.features[:, at]
        if feature.levels is None:
            found[f"feature {feature.name}"] = values
        for number, level in enumerate(feature.levels or ()):
            found[f"feature {feature.name}={spelled(level)}"] = (values == number).astype(np.float64)
    if clock.is_daily or not clock.is_dated:
        days = (log.period.astype(np.int64) // (DAY if clock.is_dated else 1) + 3) % 7
        found |= {f"weekday {day}": (days == day).astype(np.float64) for day in range(7)}
    nothing = np.zeros(len(log))
    return np.column_stack([found.get(column, nothing) for column in columns])


@dataclass(frozen=True, eq=False)
class PastMarket:
    """Market of the past: demand baseline, residuals, prices and stock-outs."""

    baseline: DemandBaseline
    usual_demand: Floats  # (series,)
    usual_price: Floats  # (series,)
    weight: Floats  # (series,)
    residuals: Floats  # (series, periods)
    prices: Floats  # (series, periods) relative to the usual one
    stockouts: Floats  # (series, periods)

    @classmethod
    def of(cls, panel: PilotPanel, clock: PeriodGrid, outcomes: Outcomes) -> "PastMarket":
        """Estimate from the rows of a log."""
        periods = panel.row.shape[1]
        usual, price = (past_mean(panel.table(each), periods) for each in (outcomes.demand, panel.log.price))
        baseline = DemandBaseline.of(panel, clock, outcomes.demand, usual, price)
        residuals = past_residuals(panel, clock, outcomes.demand, usual, price, baseline)
        prices = relative_price(panel.table(panel.log.price), price[:, None])
        return cls(
            baseline, usual, price, weights_of(residuals), residuals, prices, panel.table(panel.log.censored * 1.0)
        )

    def detectors(self, counted: Bools, before: Bools) -> tuple[Detector, ...]:
        """Detectors calibrated on the counted rows (series, periods) and the controls among them (`before`)."""
        figures = MarketFigures.of(self.residuals, self.prices, self.stockouts, self.weight, counted, before)
        own = np.where(before, self.prices, np.nan)
        spread = float(np.nanstd(own)) if np.isfinite(own).any() else 0.0
        return detectors(figures, spread, float((before & np.isfinite(self.residuals)).sum(axis=0).mean()))
