"""The two layouts of a pilot: what a length of it can find, and its lottery."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluation.pilot.assignment import assignments_of, draw_series, draw_switches, switches_of
from lostsales.evaluation.pilot.clock import PilotClock
from lostsales.evaluation.pilot.power import needed_drift
from lostsales.evaluation.pilot.precision import ProfitModel
from lostsales.types import Bools, Ints

LEAST_SERIES = 8  # of a split: with fewer the lottery cannot tell a gain from luck
LEAST_COUNTED = 4  # periods of a split, and of a block of a switchback
LEAST_PAIRS = 6  # of a switchback: 2 ** 6 is the first number of assignments above 1 / 2.5 %
MOST_WEEKS, MOST_PERIODS = 104, 400  # of a pilot, by dates and by plain numbers
MOST_PAIRS = 100


@dataclass(frozen=True, eq=False)
class SplitBySeries:
    """A split by series; its units are counted periods."""

    model: ProfitModel
    clock: PilotClock
    wash_out: int
    power: float
    strata: Ints

    def __post_init__(self) -> None:
        if self.model.series < LEAST_SERIES:
            raise LostSalesError(
                f"a split needs at least {LEAST_SERIES} series, but the log has {self.model.series}: use a switchback"
            )

    def findable(self, planned: int) -> float:
        """The gain that so many counted periods find."""
        drift = needed_drift(planned, self.model.series - 3, assignments_of(self.strata), self.power)
        return drift * self.model.error_by_series(self.wash_out, planned)

    @property
    def most(self) -> int:
        """The longest pilot, in counted periods."""
        a_week = self.clock.periods_a_week
        return MOST_PERIODS if a_week is None else max(round(MOST_WEEKS * a_week), LEAST_COUNTED)

    @property
    def most_usual(self) -> int:
        """How long a pilot is that finds no gain of the size asked for."""
        return max(self.most // 4, LEAST_COUNTED)

    def units_for(self, gain: float) -> int | None:
        """The fewest units that find a gain, None where the longest pilot does not."""
        return _fewest(self.findable, gain, LEAST_COUNTED, self.most)

    def units_within(self, periods: int) -> int:
        """Units of a pilot of so many periods."""
        if periods <= self.wash_out:
            raise SettingError(f"periods must be above the wash-out of {self.wash_out}, but {periods} came")
        return periods - self.wash_out

    def periods(self, planned: int) -> int:
        """Length of so many units."""
        return planned + self.wash_out

    def block(self, planned: int) -> int:
        """Periods between two changes of policy."""
        return self.periods(planned)

    def draw(self, planned: int, rng: np.random.Generator) -> Bools:  # noqa: ARG002, as the other design has it
        """Where the new policy is tried, (series, 1)."""
        return np.asarray(draw_series(self.strata, 1, rng)[0][:, None])


@dataclass(frozen=True, eq=False)
class Switchback:
    """A switchback; its units are pairs of blocks."""

    model: ProfitModel
    clock: PilotClock
    wash_out: int
    power: float

    @property
    def strata(self) -> Ints:
        """One for all series."""
        return np.zeros(self.model.series, dtype=np.int64)

    @property
    def length(self) -> int:
        """Periods of a block: twice as many counted as washed out, in whole weeks where periods are days."""
        counted = max(2 * self.wash_out, LEAST_COUNTED)
        return self.wash_out + (-(-counted // 7) * 7 if self.clock.is_daily else counted)

    def findable(self, planned: int) -> float:
        """The gain that so many pairs of blocks find."""
        degrees = max(self.model.series - 1, 1) * planned - 1
        drift = needed_drift(planned, degrees, switches_of(self.model.series, planned), self.power)
        return drift * self.model.error_by_switches(self.wash_out, self.length, planned)

    @property
    def most_usual(self) -> int:
        """How long a pilot is that finds no gain of the size asked for."""
        return LEAST_PAIRS * 2

    def units_for(self, gain: float) -> int | None:
        """The fewest units that find a gain, None where the longest pilot does not."""
        return _fewest(self.findable, gain, LEAST_PAIRS, MOST_PAIRS)

    def units_within(self, periods: int) -> int:
        """Units of a pilot of so many periods."""
        pairs = periods // (2 * self.length)
        if pairs < LEAST_PAIRS:
            raise SettingError(
                f"a switchback needs {LEAST_PAIRS} pairs of blocks of {self.length} periods, "
                f"{2 * self.length * LEAST_PAIRS} periods, but {periods} came"
            )
        return min(pairs, MOST_PAIRS)

    def periods(self, planned: int) -> int:
        """Length of so many units."""
        return 2 * self.length * planned

    def block(self, planned: int) -> int:  # noqa: ARG002, as the other design has it
        """Periods between two changes of policy."""
        return self.length

    def draw(self, planned: int, rng: np.random.Generator) -> Bools:
        """Where the new policy is tried, (series, blocks): in one block of every pair."""
        second = draw_switches(self.model.series, planned, 1, rng)[0]
        return np.stack([~second, second], axis=2).reshape(self.model.series, 2 * planned)


Layout = SplitBySeries | Switchback


def _fewest(findable: Callable[[int], float], gain: float, least: int, most: int) -> int | None:
    """The fewest units that find a gain, None where even the most do not; more units find less."""
    if not gain > 0 or findable(most) > gain:
        return None
    low, high = least - 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if findable(middle) <= gain else (middle, high)
    return high
