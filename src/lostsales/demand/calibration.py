"""Whether a law of demand fits: a randomised probability transform that allows for censoring."""

from dataclasses import dataclass

import numpy as np

from lostsales.arrays import Floats
from lostsales.demand.evidence import Evidence

LEVEL = 1e-3
FAR = 0.06  # a distance from uniform that matters
LINKED = 0.15  # a correlation between rows that matters
BINS = 10


@dataclass(frozen=True, eq=False)
class Calibration:
    """The transform of every row under laws that have not seen it; uniform and independent where the law is right."""

    pit: Floats  # (rows,)
    shares: Floats  # (bins,) of the rows, each 0.1 where the law is right
    distance: float  # Kolmogorov's, from uniform
    p_value: float
    correlation: float  # of one row's transform with the next's
    correlation_p_value: float

    @property
    def fits(self) -> bool:
        """No departure that is both beyond chance and large enough to matter."""
        return not self.reason

    @property
    def reason(self) -> str:
        """What is wrong, empty where nothing is."""
        if self.p_value < LEVEL and self.distance > FAR:
            return f"its chances are off by up to {self.distance:.0%}"
        if self.correlation_p_value < LEVEL and abs(self.correlation) > LINKED:
            return f"what it leaves open is linked from one period to the next (correlation {self.correlation:+.2f})"
        return ""


def calibrate(evidence: Evidence, chances: tuple[Floats, Floats], seed: int = 0) -> Calibration:
    """Transform every row: a known demand to a random point of its own jump, a stock-out to one above what was there.

    Under the true law each is uniform given the rows before it, so that stock-outs need no curve of their own.
    """
    from scipy.special import ndtr
    from scipy.stats import kstest

    below, within = chances
    pit = np.clip(below + np.random.default_rng(seed).random(len(below)) * within, 0.0, 1.0)
    told = pit[evidence.told]
    test = kstest(told, "uniform")
    first = np.flatnonzero(evidence.told[:-1] & evidence.told[1:] & (np.diff(evidence.rows) == 1))
    first = first[evidence.series[first] == evidence.series[first + 1]]
    here, there = pit[first] - 0.5, pit[first + 1] - 0.5
    spread = float(np.sqrt((here @ here) * (there @ there)))
    correlation = float(here @ there / spread) if spread > 0 else 0.0
    chance = 2 * float(ndtr(-abs(correlation) * np.sqrt(len(first))))
    shares = np.histogram(told, np.linspace(0, 1, BINS + 1))[0] / max(len(told), 1)
    return Calibration(pit, shares, float(test.statistic), float(test.pvalue), correlation, chance)
