"""Variance within products, and tests of the residuals of a demand model by weekday, month and product."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.calendar.clock import WEEKDAYS, weekday_of
from lostsales.data.calendar.dates import MONTHS
from lostsales.types import Array, Floats, Ints

Words = Array | tuple[str, ...]  # names of classes

LEAST_ROWS = 10  # of a class
CHANCE = 1e-3  # significance level
MATTERS = 0.1  # mean of a class, in standard deviations of a row


@dataclass(frozen=True)
class ResidualTest:
    """Test that residuals have the same mean in all classes."""

    classes: str  # weekday, month or product
    statistic: float  # F
    p_value: float
    largest: float  # mean of the class farthest from 0, in standard deviations of a row
    where: str  # that class

    @property
    def matters(self) -> bool:
        """True if the difference is significant and large."""
        return self.p_value < CHANCE and abs(self.largest) > MATTERS

    @property
    def sentence(self) -> str:
        """The result in words."""
        way = "above" if self.largest > 0 else "below"
        where = f"most of all {self.where}, when demand is {way} its expectation"
        return f"the demand model misses a difference by {self.classes}: {where}"


def residual_tests(scores: Floats, period: Array, product: Ints, names: Array) -> tuple[ResidualTest, ...]:
    """Tests of standardised residuals of rows; a calendar is tested on the means of its periods, which share shocks."""
    found, dates = [], period.astype("datetime64[us]") if period.dtype.kind == "M" else None
    if dates is not None:
        found.append(_tested("month", scores, period, dates.astype("datetime64[M]").astype(np.int64) % 12, MONTHS))
        days = np.unique(dates.astype("datetime64[D]").astype(np.int64))
        if len(days) > 1 and np.diff(days).min() == 1:
            found.append(_tested("weekday", scores, period, weekday_of(dates), WEEKDAYS))
    found.append(_equal_means("product", scores, product, names))
    return tuple(each for each in found if each is not None)


def _tested(name: str, scores: Floats, period: Array, place: Ints, words: Words) -> ResidualTest | None:
    _, first, at = np.unique(period, return_index=True, return_inverse=True)
    at = at.reshape(-1)
    rows = np.bincount(at)
    return _equal_means(name, np.bincount(at, scores) / np.sqrt(rows), place[first], words, float(np.sqrt(rows.mean())))


def _equal_means(name: str, scores: Floats, place: Ints, words: Words, scale: float = 1.0) -> ResidualTest | None:
    from scipy.stats import f_oneway

    classes, rows = np.unique(place, return_counts=True)
    classes = classes[rows >= LEAST_ROWS]
    if len(classes) < 2 or np.ptp(scores) == 0:
        return None
    parts = [scores[place == each] for each in classes]
    means = np.array([part.mean() for part in parts]) / scale
    worst = int(np.abs(means).argmax())
    statistic, p_value = f_oneway(*parts)
    where = str(words[classes[worst]])
    return ResidualTest(name, float(statistic), float(p_value), float(means[worst]), where)


def variance_within(values: Floats, product: Ints) -> float:
    """Variance of rows around the mean of their product."""
    count = np.maximum(np.bincount(product), 1)
    mean = np.bincount(product, values) / count
    return float(np.mean((values - mean[product]) ** 2)) if len(values) else 0.0
