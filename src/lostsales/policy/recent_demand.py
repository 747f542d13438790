"""What series have shown of their demand in closed periods, as far back as it is known."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class RecentDemand:
    """Rows of closed periods, those of a series one after the other; put into a table only where it is asked for.

    Examples
    --------
    >>> rows = np.array([3.0, 4.0, 5.0, 9.0]), np.array([False, True, False, False])
    >>> recent = RecentDemand(*rows, first=np.array([0, 3]), end=np.array([3, 4]))
    >>> recent.table(2)[0]
    array([[ 4.,  5.],
           [nan,  9.]])

    """

    shown: Floats  # (rows,) the demand, or the least that it was
    is_censored: Bools  # (rows,)
    first: Ints  # (series,) first row of each
    end: Ints  # (series,) behind its last one
    unit: Floats | float = 1.0  # in which quantities are counted, one or (series,)

    def take(self, rows: Ints) -> "RecentDemand":
        """Some of the series."""
        unit = self.unit[rows] if isinstance(self.unit, np.ndarray) else self.unit
        return replace(self, first=self.first[rows], end=self.end[rows], unit=unit)

    def in_units(self, unit: Floats) -> "RecentDemand":
        """The same, counted in a unit of each series."""
        return replace(self, unit=self.unit * unit)

    def table(self, most: int) -> tuple[Floats, Bools]:
        """The last periods, at most so many, the newest last; NaN before the first: demand or the least, censored."""
        periods = int(np.clip((self.end - self.first).max(initial=0), 0, most))
        at = self.end[:, None] - periods + np.arange(periods)
        known = at >= self.first[:, None]
        at = np.where(known, at, 0)
        unit = self.unit[:, None] if isinstance(self.unit, np.ndarray) else self.unit
        return np.where(known, self.shown[at] / unit, np.nan), known & self.is_censored[at]


@dataclass(frozen=True, eq=False)
class ShownDemand:
    """The record of a roll-out: what each series shows, period by period."""

    shown: Floats  # (series, periods)
    is_censored: Bools  # (series, periods)

    @classmethod
    def of(cls, series: int, periods: int) -> "ShownDemand":
        """Nothing shown yet."""
        return cls(np.zeros((series, periods)), np.zeros((series, periods), dtype=bool))

    def add(self, period: int, sales: Floats, stockout: Bools) -> None:
        """A closed period."""
        self.shown[:, period], self.is_censored[:, period] = sales, stockout

    def before(self, period: int) -> RecentDemand:
        """All before a period; later ones are added to the same rows, and stay unseen."""
        series, periods = self.shown.shape
        first = np.arange(series, dtype=np.int64) * periods
        return RecentDemand(self.shown.reshape(-1), self.is_censored.reshape(-1), first, first + period)
