"""Calibration of a law of demand: a randomised probability integral transform that allows for censoring."""

from dataclasses import dataclass

import numpy as np

from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.evidence_sample import segment_starts
from lostsales.types import Floats

LEVEL = 1e-3  # significance level of each test
FAR = 0.06  # a distance from uniform that matters
LINKED = 0.15  # a correlation between rows that matters
MEMORY = 6  # periods
PERSISTENT = 0.1  # a correlation with the mean of the last periods that matters
BINS = 10  # of the histogram of the transform


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


def calibrate(evidence: Evidence, probabilities: tuple[Floats, Floats], seed: int = 0) -> Calibration:
    """Transform every row: an observed demand to a random point of its jump, a stock-out to one above what was there.

    Under the true law each is uniform given the rows before it, censored or not. As the law depends on the last
    demand, a persistent change that it misses shows over several periods rather than from one to the next.
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
        pit, shares, float(test.statistic), float(test.pvalue), correlation, p_value, memory, memory_p_value
    )


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
