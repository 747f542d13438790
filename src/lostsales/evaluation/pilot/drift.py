"""Change detection in the market: demand, its response to price, and the share of stock-outs.

Each is one figure per period, compared with its past by a two-sided cumulative sum of log-likelihood ratios (CUSUM,
Page 1954). Price response and stock-outs are those of control rows. Demand is that of all rows, and an alarm on it
counts only if the control rows show it too: an effect of the new policy is no change of the market.

If a figure is autocorrelated, a lasting shift appears in its innovations with its full size once, and reduced by the
autocorrelation from then on. The threshold is found by resampling the innovations of the past, with mean, deviation
and autocorrelation estimated again from as many periods, so that unchanged figures have the expected number of alarms.
"""

from dataclasses import dataclass

import numpy as np
from pydantic import ConfigDict, Field

from lostsales.data.settings import StrictSettings
from lostsales.types import Bools, Floats

SHIFT = 0.3  # relative shift of demand to detect
USUAL_SHIFT = 1.0  # shift of other figures to detect, in standard deviations
# Expected number of false alarms in SPAN periods without a change: below one in total.
FALSE_ALARMS, SPAN = {"demand": 0.5, "price response": 0.15, "stock-outs": 0.15}, 200
PATHS, BISECTIONS = 500, 10  # of the simulation and the search for a threshold
CLIP = 3.5  # bound of an innovation in standard deviations: outliers are winsorised
LEAST_SIGNAL, MOST_SIGNAL = 0.5, 2.5  # bounds of a shift, in standard deviations of an innovation
LEAST_PERIODS = 10  # of the past, below which a figure is not monitored
MOST_PERIODS = 400  # of the past that are used: the error of its moments no longer matters
MOST_AUTOCORRELATION = 0.9  # bound of the estimate
LEAST_PRICE_SPREAD = 0.01  # relative deviation of prices below which no response is monitored
MOST_THRESHOLD = 100.0  # upper end of the search


class Detector(StrictSettings):
    """Moments of a figure in the past, and the threshold of its cumulative sum."""

    model_config = ConfigDict(populate_by_name=True)

    name: str = Field(description="Monitored figure.")
    mean: float = Field(description="Mean of the figure per period of the past.")
    deviation: float = Field(gt=0, description="Standard deviation of the figure.")
    autocorrelation: float = Field(
        ge=0, lt=1, alias="memory", description="Autocorrelation of the figure at lag 1; `memory` in files of pilots."
    )
    shift: float = Field(gt=0, description="Shift to detect, in standard deviations of the figure.")
    threshold: float = Field(gt=0, description="Cumulative sum that is an alarm.")

    @classmethod
    def of(cls, name: str, figures: Floats, shift: float | None = None, least: float = 0.0) -> "Detector | None":
        """Calibrate on the figures of past periods; `shift` is the change to detect, `least` the least deviation."""
        known = figures[np.isfinite(figures)][-MOST_PERIODS:]
        if len(known) < LEAST_PERIODS or max(float(known.std(ddof=1)), least) <= 0:
            return None
        mean, deviation, rho = (float(each[0]) for each in _moments(known[:, None], least))
        size = USUAL_SHIFT if shift is None else shift / deviation
        innovations = _innovations(known, mean, deviation, rho)
        threshold = threshold_for(innovations, rho, size, FALSE_ALARMS[name])
        return cls(name=name, mean=mean, deviation=deviation, autocorrelation=rho, shift=size, threshold=threshold)


def _moments(figures: Floats, least: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Mean, deviation and first autocorrelation rho of columns, each (columns,), corrected for the estimated mean."""
    mean, deviation = figures.mean(axis=0), np.maximum(figures.std(axis=0, ddof=1), max(least, 1e-300))
    around = (figures - mean) / deviation
    rho = (around[1:] * around[:-1]).mean(axis=0)
    return mean, deviation, np.clip(rho + (1 + 3 * rho) / len(figures), 0.0, MOST_AUTOCORRELATION)


def _innovations(figures: Floats, mean: Floats | float, deviation: Floats | float, rho: Floats | float) -> Floats:
    """Standardised innovations of a first-order autoregression; the first period is left out."""
    around = (figures - mean) / deviation
    return np.clip((around[1:] - rho * around[:-1]) / np.sqrt(1 - rho**2), -CLIP, CLIP)


def _signal(shift: Floats | float, rho: Floats | float) -> tuple[Floats, Floats]:
    """Means of the innovations after a shift: of the first one, and of all later ones."""
    first = np.clip(shift / np.sqrt(1 - rho**2), LEAST_SIGNAL, MOST_SIGNAL)
    return first, np.clip(first * (1 - rho), LEAST_SIGNAL / 2, MOST_SIGNAL)


def _ratios(innovation: Floats, signal: Floats) -> Floats:
    """Log-likelihood ratios of a shift up and of one down, (2, ...)."""
    return np.stack([signal * innovation, -signal * innovation]) - signal**2 / 2


@dataclass(frozen=True)
class Alarm:
    """Alarm on a lasting change."""

    what: str
    at: int  # index of the period in which it was found
    since: int  # index of the period from which it seems to last
    size: float  # mean deviation of the figure since then, in its own unit
    level: float  # mean of the figure since then


def alarms(detector: Detector, figures: Floats) -> list[Alarm]:
    """All alarms in the figures of periods; the sums restart after each. Periods with NaN are skipped."""
    periods = np.flatnonzero(np.isfinite(figures))
    # The mean serves as the unknown period before the first.
    known = np.r_[detector.mean, figures[periods]]
    innovations = _innovations(known, detector.mean, detector.deviation, detector.autocorrelation)
    first, later = _signal(detector.shift, detector.autocorrelation)
    found: list[Alarm] = []
    sums, since = np.zeros(2), np.zeros(2, dtype=np.int64)
    for at, (starts, goes_on) in enumerate(
        zip(_ratios(innovations, first).T, _ratios(innovations, later).T, strict=True)
    ):
        since = np.where(np.maximum(starts, 0.0) >= sums + goes_on, at, since)
        sums = np.maximum(np.maximum(sums + goes_on, starts), 0.0)
        side = int(np.argmax(sums))
        if sums[side] > detector.threshold:
            own = figures[periods[since[side] : at + 1]]
            level = float(own.mean())
            since_then = int(periods[since[side]])
            found.append(Alarm(detector.name, int(periods[at]), since_then, level - detector.mean, level))
            sums = np.zeros(2)
    return found


def threshold_for(innovations: Floats, rho: float, shift: float, false_alarms: float) -> float:
    """Threshold at which a stationary figure with these innovations has `false_alarms` alarms in `SPAN` periods."""
    rng = np.random.default_rng(0)
    own = (innovations - innovations.mean()) / max(float(innovations.std()), 1e-300)
    periods = len(innovations) + 1
    noise = rng.choice(own, (periods + SPAN, PATHS))
    noise[1:] *= np.sqrt(1 - rho**2)
    for at in range(1, len(noise)):
        noise[at] += rho * noise[at - 1]
    mean, deviation, estimated = _moments(noise[:periods])
    later = _innovations(noise[periods - 1 :], mean, deviation, estimated)
    first_signal, later_signal = _signal(shift / np.maximum(deviation, 1e-9), estimated)
    starts, goes_on = (_ratios(later, each).transpose(1, 0, 2) for each in (first_signal, later_signal))
    low, high = 0.5, MOST_THRESHOLD
    for _ in range(BISECTIONS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if _alarm_count(starts, goes_on, middle) > false_alarms else (low, middle)
    return high


def _alarm_count(starts: Floats, goes_on: Floats, threshold: float) -> float:
    """Mean number of alarms of paths, from ratios (periods, 2, paths)."""
    sums, count = np.zeros(starts.shape[1:]), 0
    for begun, further in zip(starts, goes_on, strict=True):
        sums = np.maximum(np.maximum(sums + further, begun), 0.0)
        crossed = (sums > threshold).any(axis=0)
        count += int(crossed.sum())
        sums[:, crossed] = 0.0
    return float(count / starts.shape[2])


@dataclass(frozen=True, eq=False)
class MarketFigures:
    """Monitored figures, each (periods,); NaN in periods without a row."""

    demand: Floats  # residuals of demand relative to the usual demand of each series
    demand_before: Floats  # residuals of the control rows
    price_response: Floats  # product of the residuals with the deviations of the price, in control rows
    stockouts: Floats  # share of the control rows

    @classmethod
    def of(
        cls, residual: Floats, price: Floats, stockout: Floats, weight: Floats, counted: Bools, before: Bools
    ) -> "MarketFigures":
        """Compute figures from tables (series, periods): demand residuals, prices, stock-outs, masks of rows."""
        known = np.isfinite(residual)
        own = np.where(before & known, weight[:, None], 0.0)
        moves = np.where(before & known, price, 0.0)
        size = np.sqrt((own * moves**2).sum(axis=0))
        rows = (before & known).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(
                _weighted_mean(residual, np.where(counted & known, weight[:, None], 0.0)),
                _weighted_mean(residual, own),
                np.where(size > 0, (own * np.nan_to_num(residual) * moves).sum(axis=0) / size, np.nan),
                np.where(rows > 0, np.where(before & known, stockout, 0.0).sum(axis=0) / rows, np.nan),
            )

    def confirms(self, alarm: Alarm) -> bool:
        """Return True if control rows show at least half of a shift of demand; otherwise the new policy caused it."""
        own = self.demand_before[alarm.since : alarm.at + 1]
        usual = alarm.level - alarm.size
        return bool(np.isfinite(own).any() and (np.nanmean(own) - usual) * np.sign(alarm.size) >= abs(alarm.size) / 2)


def _weighted_mean(values: Floats, weight: Floats) -> Floats:
    """Weighted mean over series, (periods,); NaN if no series has weight."""
    total = weight.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, (weight * np.nan_to_num(values)).sum(axis=0) / total, np.nan)


def detectors(figures: MarketFigures, price_spread: float, rows_a_period: float) -> tuple[Detector, ...]:
    """Detectors of the figures that vary enough in the past."""
    share = float(np.nanmean(figures.stockouts)) if np.isfinite(figures.stockouts).any() else 0.0
    likely = (share * rows_a_period + 0.5) / (rows_a_period + 1)
    least = float(np.sqrt(likely * (1 - likely) / max(rows_a_period, 1.0)))
    found = [
        Detector.of("demand", figures.demand, SHIFT),
        Detector.of("price response", figures.price_response) if price_spread > LEAST_PRICE_SPREAD else None,
        Detector.of("stock-outs", figures.stockouts, least=least),
    ]
    return tuple(each for each in found if each is not None)
