"""Market before and during a pilot: relative demand, prices and stock-outs, and the detectors of a change."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.calendar.periods import PeriodGrid
from lostsales.evaluation.pilot.demand_baseline import DemandBaseline, past_residuals, weights_of
from lostsales.evaluation.pilot.drift import Detector, MarketFigures, detectors
from lostsales.evaluation.pilot.panel import Outcomes, PilotPanel
from lostsales.types import Bools, Floats


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
        prices = panel.table(panel.log.price) / np.where(price > 0, price, 1.0)[:, None] - 1
        return cls(
            baseline, usual, price, weights_of(residuals), residuals, prices, panel.table(panel.log.censored * 1.0)
        )

    def detectors(self, counted: Bools, before: Bools) -> tuple[Detector, ...]:
        """Detectors calibrated on the counted rows (series, periods) and the controls among them (`before`)."""
        figures = MarketFigures.of(self.residuals, self.prices, self.stockouts, self.weight, counted, before)
        own = np.where(before, self.prices, np.nan)
        spread = float(np.nanstd(own)) if np.isfinite(own).any() else 0.0
        return detectors(figures, spread, float((before & np.isfinite(self.residuals)).sum(axis=0).mean()))


def past_mean(values: Floats, window: int) -> Floats:
    """Mean over the last periods, or over all if a series has no row in them, (series,).

    >>> past_mean(np.array([[1.0, 2.0, 6.0], [5.0, np.nan, np.nan]]), 2).tolist()
    [4.0, 5.0]
    """
    last = values[:, -window:]
    own = zip(last, values, strict=True)
    return np.array([np.nanmean(recent if np.isfinite(recent).any() else all_of_it) for recent, all_of_it in own])
