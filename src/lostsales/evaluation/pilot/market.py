"""The market before and during a pilot: relative demand, prices and stock-outs, and the detectors of a change."""

from dataclasses import dataclass

import numpy as np

from lostsales.evaluation.pilot.clock import PilotClock
from lostsales.evaluation.pilot.drift import Detector, MarketFigures, detectors
from lostsales.evaluation.pilot.panel import Outcomes, PilotPanel
from lostsales.evaluation.pilot.surprise import DemandBaseline, past_surprises, weights_of
from lostsales.types import Bools, Floats


@dataclass(frozen=True, eq=False)
class PastMarket:
    """What the past tells of demand."""

    baseline: DemandBaseline
    usual_demand: Floats  # (series,)
    usual_price: Floats  # (series,)
    weight: Floats  # (series,)
    surprises: Floats  # (series, periods)
    prices: Floats  # (series, periods) relative to the usual one
    stockouts: Floats  # (series, periods)

    @classmethod
    def of(cls, panel: PilotPanel, clock: PilotClock, outcomes: Outcomes) -> "PastMarket":
        """From the rows of a log."""
        periods = panel.row.shape[1]
        usual, price = (past_mean(panel.table(each), periods) for each in (outcomes.demand, panel.log.price))
        baseline = DemandBaseline.of(panel, clock, outcomes.demand, usual, price)
        surprises = past_surprises(panel, clock, outcomes.demand, usual, price, baseline)
        prices = panel.table(panel.log.price) / np.where(price > 0, price, 1.0)[:, None] - 1
        return cls(
            baseline, usual, price, weights_of(surprises), surprises, prices, panel.table(panel.log.censored * 1.0)
        )

    def detectors(self, counted: Bools, before: Bools) -> tuple[Detector, ...]:
        """From the rows (series, periods) that count, and those of them that go on as before."""
        figures = MarketFigures.of(self.surprises, self.prices, self.stockouts, self.weight, counted, before)
        own = np.where(before, self.prices, np.nan)
        spread = float(np.nanstd(own)) if np.isfinite(own).any() else 0.0
        return detectors(figures, spread, float((before & np.isfinite(self.surprises)).sum(axis=0).mean()))


def past_mean(values: Floats, window: int) -> Floats:
    """Mean over the last periods, over all where a series has no row in them, (series,).

    >>> past_mean(np.array([[1.0, 2.0, 6.0], [5.0, np.nan, np.nan]]), 2).tolist()
    [4.0, 5.0]
    """
    last = values[:, -window:]
    own = zip(last, values, strict=True)
    return np.array([np.nanmean(recent if np.isfinite(recent).any() else all_of_it) for recent, all_of_it in own])
