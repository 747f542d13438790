"""Calibration of a law of demand: a randomised probability integral transform that allows for censoring."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lostsales.data.calendar.clock import DAY, WEEK_DAYS, WEEKDAYS, weekday_of
from lostsales.data.calendar.dates import MONTHS
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.evidence_sample import segment_starts
from lostsales.types import Array, Floats, Ints

LEVEL = 1e-3  # significance level of each test
FAR = 0.06  # a distance from uniform that matters
LINKED = 0.15  # a correlation between rows that matters
MEMORY = 6  # periods
PERSISTENT = 0.1  # a correlation with the mean of the last periods that matters
BINS = 10  # of the histogram of the transform
SEASONAL = 0.06  # a departure of the mean transform of a weekday or month from that of all that matters
LEAST_TIMES = 4  # periods of a weekday or month, for it to be compared


@dataclass(frozen=True, eq=False)
class Calibration:
    """The transform of every held-out row; uniform and independent where the law is right."""

    pit: Floats  # (rows,)
    shares: Floats  # (bins,) of the rows, each 0.1 where the law is right
    distance: float  # Kolmogorov's, from uniform
    p_value: float
    correlation: float  # of one row's transform with the next's
    correlation_p_value: float
    memory: float  # correlation of a row's transform with the mean of the rows before it, up to six
    memory_p_value: float
    seasons: tuple[str, ...] = ()  # departures by weekday and by month that are beyond chance and matter

    @property
    def fits(self) -> bool:
        """No departure that is both beyond chance and large enough to matter."""
        return not self.reason

    @property
    def reason(self) -> str:
        """Reason for poor calibration, empty if there is none."""
        if self.p_value < LEVEL and self.distance > FAR:
            return f"its probabilities are off by up to {self.distance:.0%}"
        if self.correlation_p_value < LEVEL and abs(self.correlation) > LINKED:
            return f"its residuals are autocorrelated (correlation {self.correlation:+.2f})"
        if self.memory_p_value < LEVEL and self.memory > PERSISTENT:
            reason = f"its residuals are autocorrelated over several periods (correlation {self.memory:+.2f})"
            return f"{reason}, as if the market changed in a way that no column shows"
        return ""


def calibrate(
    evidence: Evidence, probabilities: tuple[Floats, Floats], seed: int = 0, period: Array | None = None
) -> Calibration:
    """Transform every row: an observed demand to a random point of its jump, a stock-out to one above what was there.

    Under the true law each is uniform given the rows before it, censored or not. As the law depends on the last
    demand, a persistent change that it misses shows over several periods rather than from one to the next. With the
    `period` (rows,) of each row, where these are dates, weekdays and months are tested too.
    """
    from scipy.stats import kstest

    below, within = probabilities
    pit = np.clip(below + np.random.default_rng(seed).random(len(below)) * within, 0.0, 1.0)
    shown = pit[evidence.is_informative]
    test = kstest(shown, "uniform")
    shares = np.histogram(shown, np.linspace(0, 1, BINS + 1))[0] / max(len(shown), 1)
    links = (_link(evidence, pit, periods) for periods in (1, MEMORY))
    (correlation, p_value), (memory, memory_p_value) = links
    return Calibration(
        pit,
        shares,
        float(test.statistic),
        float(test.pvalue),
        correlation,
        p_value,
        memory,
        memory_p_value,
        () if period is None else seasonal_departures(shown, period[evidence.is_informative]),
    )


def seasonal_departures(pit: Floats, period: Array) -> tuple[str, ...]:
    """Sentences on weekdays and months whose transforms differ from those of the others; none without dates.

    Rows of a period share its shocks, so that the mean of a period is one observation.
    """
    if period.dtype.kind != "M" or not len(period):
        return ()
    days, at = np.unique(period, return_inverse=True)
    mean = np.bincount(at, pit) / np.bincount(at)
    found = []
    if len(days) > WEEK_DAYS and int(np.diff(days.astype("datetime64[us]").astype(np.int64)).min()) == DAY:
        found.append(_largest_departure(mean, weekday_of(days), "weekday", WEEKDAYS))
    found.append(_largest_departure(mean, days.astype("datetime64[M]").astype(np.int64) % len(MONTHS), "month", MONTHS))
    return tuple(filter(None, found))


def _largest_departure(mean: Floats, place: Ints, what: str, names: Sequence[str]) -> str:
    """Sentence on the class that differs most, empty if the means of classes are equal (analysis of variance)."""
    from scipy.stats import f_oneway

    kept = [each for each in np.unique(place).tolist() if np.count_nonzero(place == each) >= LEAST_TIMES]
    parts = [mean[place == each] for each in kept]
    if len(parts) < 2 or np.ptp(mean) == 0 or float(f_oneway(*parts).pvalue) > LEVEL:
        return ""
    away = np.array([part.mean() for part in parts]) - mean.mean()
    most = int(np.abs(away).argmax())
    if abs(away[most]) < SEASONAL:
        return ""
    side = "above" if away[most] > 0 else "below"
    return f"its residuals differ by {what}, most of all {names[kept[most]]}, when demand is {side} its expectation"


def _link(evidence: Evidence, pit: Floats, periods: int) -> tuple[float, float]:
    """Correlation of the transform with the mean of the rows before it, and its p-value."""
    from scipy.special import ndtr

    here = np.where(evidence.is_informative, pit - 0.5, 0.0)
    total, at = np.r_[0.0, np.cumsum(here)], np.arange(len(here))
    first = np.maximum(at - periods, segment_starts(evidence))
    rows = evidence.is_informative & (at > first)
    # Divided by the root of how many there are, so that each has equal variance.
    before = (total[at] - total[first])[rows] / np.sqrt((at - first)[rows])
    spread = float(np.sqrt((here[rows] @ here[rows]) * (before @ before)))
    correlation = float(here[rows] @ before / spread) if spread > 0 else 0.0
    return correlation, 2 * float(ndtr(-abs(correlation) * np.sqrt(len(before))))
