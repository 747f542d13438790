"""Two layouts of a pilot, split by series and switchback: randomisation, and the gain that a length detects."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, stdtrit

from lostsales.data.calendar.periods import PeriodGrid
from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluation.pilot.assignment import MANY, assignments_of, draw_series, draw_switches, switches_of
from lostsales.evaluation.pilot.precision import ProfitModel
from lostsales.evaluation.pilot.sequential_test import crossings, spent
from lostsales.types import Bools, Floats, Ints

POWER = 0.8  # by default
PATHS = 10_000  # simulated, docs/decisions/pilot.md
LOOKS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 60)  # numbers of looks that are simulated: more change nothing
MOST_DRIFT = 50.0  # standard errors, beyond which a gain is not detectable
# A randomisation test of few units asks for a little more than Student's: the gain itself spreads the estimates under
# other assignments. Simulated, docs/decisions/pilot.md.
FEW_UNITS = 0.5
LEAST_SERIES = 8  # of a split: with fewer there are too few assignments for a significant gain
LEAST_COUNTED = 4  # counted periods of a split, and of a block of a switchback
LEAST_PAIRS = 6  # of a switchback: 2 ** 6 is the first number of assignments above 1 / 2.5 %
MOST_WEEKS, MOST_PERIODS = 104, 400  # longest pilot, with dates and with plain numbers
MOST_PAIRS = 100  # longest switchback, in pairs of blocks


@lru_cache(maxsize=256)
def needed_drift(looks: int, degrees: int, assignments: float, power: float = POWER) -> float:
    """Gain in standard errors at the planned end that the sequential test detects with this power; inf if none.

    Estimates are a Brownian motion over the information, whose paths are simulated. A randomisation test of few units
    is as demanding as Student's: its thresholds are in units of a standard error that has as many degrees of freedom.
    With few assignments it can spend its error in steps only.
    """
    simulated = max(each for each in LOOKS if each <= max(looks, 1))
    if simulated != looks:
        return needed_drift(simulated, degrees, assignments, power)
    rng = np.random.default_rng(0)
    progress = np.arange(1, looks + 1)[:, None] / looks
    steps, degrees = min(float(assignments), MANY), max(degrees, 1)
    noise = np.cumsum(rng.standard_normal((looks, PATHS)) / np.sqrt(looks), axis=0)
    thresholds = _thresholds(noise, np.floor(spent(progress[:, 0], "success") * steps + 1e-9) / steps)[:, None]
    wanted = stdtrit(float(degrees), ndtr(thresholds / np.sqrt(progress))) * np.sqrt(progress)
    error = np.sqrt(rng.chisquare(degrees, PATHS) / degrees)
    least = ((error * wanted - noise) / progress).min(axis=0)  # drift with which each path crosses
    found = float(np.quantile(least, power)) * (1 + FEW_UNITS / degrees) if np.isfinite(least).all() else np.inf
    return found if found < MOST_DRIFT else float("inf")


def _thresholds(paths: Floats, error: Floats) -> Floats:
    """Threshold that a path must exceed to cross at each look, (looks,)."""
    crossed = crossings(paths, error)
    own = [paths[look, crossed == look] for look in range(len(paths))]
    return np.array([each.min() if len(each) else np.inf for each in own])


@dataclass(frozen=True, eq=False)
class SplitBySeries:
    """Split by series; its length is in counted periods."""

    model: ProfitModel
    clock: PeriodGrid
    wash_out: int
    power: float
    strata: Ints

    def __post_init__(self) -> None:
        if self.model.series < LEAST_SERIES:
            raise LostSalesError(
                f"a split needs at least {LEAST_SERIES} series, but the log has {self.model.series}: use a switchback"
            )

    def findable(self, planned: int) -> float:
        """Gain that `planned` counted periods detect."""
        drift = needed_drift(planned, self.model.series - 3, assignments_of(self.strata), self.power)
        return drift * self.model.error_by_series(self.wash_out, planned)

    @property
    def most(self) -> int:
        """Length of the longest pilot, in counted periods."""
        a_week = self.clock.periods_a_week
        return MOST_PERIODS if a_week is None else max(round(MOST_WEEKS * a_week), LEAST_COUNTED)

    @property
    def most_usual(self) -> int:
        """Length of a pilot if no length detects the requested gain."""
        return max(self.most // 4, LEAST_COUNTED)

    def units_for(self, gain: float) -> int | None:
        """Fewest counted periods that detect a gain, None if the longest pilot does not."""
        return _fewest(self.findable, gain, LEAST_COUNTED, self.most)

    def units_within(self, periods: int) -> int:
        """Counted periods of a pilot of this length."""
        if periods <= self.wash_out:
            raise SettingError(f"periods must be above the wash-out of {self.wash_out}, but {periods} came")
        return periods - self.wash_out

    def periods(self, planned: int) -> int:
        """Length of a pilot with `planned` counted periods."""
        return planned + self.wash_out

    def block(self, planned: int) -> int:
        """Periods between two changes of policy."""
        return self.periods(planned)

    def draw(self, planned: int, rng: np.random.Generator) -> Bools:  # noqa: ARG002, as the other design has it
        """Assignment of series to the new policy, (series, 1)."""
        return np.asarray(draw_series(self.strata, 1, rng)[0][:, None])


@dataclass(frozen=True, eq=False)
class Switchback:
    """Switchback; its length is in pairs of blocks."""

    model: ProfitModel
    clock: PeriodGrid
    wash_out: int
    power: float

    @property
    def strata(self) -> Ints:
        """Strata of series: one for all."""
        return np.zeros(self.model.series, dtype=np.int64)

    @property
    def length(self) -> int:
        """Periods of a block: twice as many counted as washed out, in whole weeks if periods are days."""
        counted = max(2 * self.wash_out, LEAST_COUNTED)
        return self.wash_out + (-(-counted // 7) * 7 if self.clock.is_daily else counted)

    def findable(self, planned: int) -> float:
        """Gain that `planned` pairs of blocks detect."""
        degrees = max(self.model.series - 1, 1) * planned - 1
        drift = needed_drift(planned, degrees, switches_of(self.model.series, planned), self.power)
        return drift * self.model.error_by_switches(self.wash_out, self.length, planned)

    @property
    def most_usual(self) -> int:
        """Length of a pilot if no length detects the requested gain."""
        return LEAST_PAIRS * 2

    def units_for(self, gain: float) -> int | None:
        """Fewest pairs of blocks that detect a gain, None if the longest pilot does not."""
        return _fewest(self.findable, gain, LEAST_PAIRS, MOST_PAIRS)

    def units_within(self, periods: int) -> int:
        """Pairs of blocks of a pilot of this length."""
        pairs = periods // (2 * self.length)
        if pairs < LEAST_PAIRS:
            raise SettingError(
                f"a switchback needs {LEAST_PAIRS} pairs of blocks of {self.length} periods, "
                f"{2 * self.length * LEAST_PAIRS} periods, but {periods} came"
            )
        return min(pairs, MOST_PAIRS)

    def periods(self, planned: int) -> int:
        """Length of a pilot with `planned` pairs of blocks."""
        return 2 * self.length * planned

    def block(self, planned: int) -> int:  # noqa: ARG002, as the other design has it
        """Periods between two changes of policy."""
        return self.length

    def draw(self, planned: int, rng: np.random.Generator) -> Bools:
        """Assignment of blocks to the new policy, (series, blocks): one block of every pair."""
        second = draw_switches(self.model.series, planned, 1, rng)[0]
        return np.stack([~second, second], axis=2).reshape(self.model.series, 2 * planned)


Layout = SplitBySeries | Switchback


def _fewest(findable: Callable[[int], float], gain: float, least: int, most: int) -> int | None:
    """Smallest length that detects a gain, by bisection; None if even the longest does not."""
    if not gain > 0 or findable(most) > gain:
        return None
    low, high = least - 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if findable(middle) <= gain else (middle, high)
    return high
