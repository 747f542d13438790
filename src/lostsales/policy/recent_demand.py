"""Demand that series have shown in closed periods, as far back as it is known."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.types import Array, Bools, Floats, Ints


class DemandTable(NamedTuple):
    """The last periods of series, the newest last, each (series, periods)."""

    shown: Floats  # the demand, or the least that it was; NaN before the first period
    is_censored: Bools
    period: Array | None  # None where periods have no dates
    price: Floats | None = None
    features: Floats | None = None  # (series, periods, features)


@dataclass(frozen=True, eq=False)
class RecentDemand:
    """Rows of closed periods, those of a series one after the other; put into a table only where it is asked for.

    Examples
    --------
    >>> rows = np.array([3.0, 4.0, 5.0, 9.0]), np.array([False, True, False, False])
    >>> recent = RecentDemand(*rows, first=np.array([0, 3]), end=np.array([3, 4]))
    >>> recent.table(2).shown
    array([[ 4.,  5.],
           [nan,  9.]])

    """

    shown: Floats  # (rows,) the demand, or the least that it was
    is_censored: Bools  # (rows,)
    first: Ints  # (series,) first row of each
    end: Ints  # (series,) behind its last one
    period: Array | None = None  # (rows,) dates or numbers, None in a simulation
    unit: Floats | float = 1.0  # in which quantities are counted, one or (series,)
    memo: dict[Any, Any] | None = None  # of a roll-out: what a policy keeps of these series for its next period
    price: Floats | None = None  # (rows,)
    features: Floats | None = None  # (rows, features)
    log: SalesLog | None = None  # the closed rows themselves in an open day, in the units of the shop

    def take(self, rows: Ints) -> "RecentDemand":
        """Some of the series."""
        unit = self.unit[rows] if isinstance(self.unit, np.ndarray) else self.unit
        return replace(self, first=self.first[rows], end=self.end[rows], unit=unit, memo=None)

    def since(self, end: Ints) -> "RecentDemand":
        """Demand of the rows from `end` (series,) on."""
        return replace(self, first=end)

    def in_units(self, unit: Floats) -> "RecentDemand":
        """The same, counted in a unit of each series."""
        return replace(self, unit=self.unit * unit)

    def table(self, most: int) -> DemandTable:
        """The last periods, at most so many."""
        periods = int(np.clip((self.end - self.first).max(initial=0), 0, most))
        at = self.end[:, None] - periods + np.arange(periods)
        known = at >= self.first[:, None]
        at = np.where(known, at, 0)
        unit = self.unit[:, None] if isinstance(self.unit, np.ndarray) else self.unit
        shown = np.where(known, self.shown[at] / unit, np.nan)
        period, price, features = (
            None if each is None else each[at] for each in (self.period, self.price, self.features)
        )
        return DemandTable(shown, known & self.is_censored[at], period, price, features)


@dataclass(frozen=True, eq=False)
class ShownDemand:
    """The record of a roll-out: what each series shows, period by period."""

    shown: Floats  # (series, periods)
    is_censored: Bools  # (series, periods)
    price: Floats  # (series, periods)
    features: Floats  # (series, periods, features)
    memo: dict[Any, Any] = field(default_factory=dict)  # see `RecentDemand`

    @classmethod
    def of(cls, series: int, periods: int, features: int = 0) -> "ShownDemand":
        """Record before the first period."""
        shape = series, periods
        return cls(np.zeros(shape), np.zeros(shape, dtype=bool), np.zeros(shape), np.zeros((*shape, features)))

    def add(
        self,
        period: int,
        sales: Floats,
        stockout: Bools,
        price: Floats | float = 0.0,
        features: tuple[Floats, ...] = (),
    ) -> None:
        """A closed period."""
        self.shown[:, period], self.is_censored[:, period], self.price[:, period] = sales, stockout, price
        for at, values in enumerate(features):
            self.features[:, period, at] = values

    def before(self, period: int) -> RecentDemand:
        """All before a period; later ones are added to the same rows, and stay unseen."""
        series, periods = self.shown.shape
        first = np.arange(series, dtype=np.int64) * periods
        return RecentDemand(
            self.shown.reshape(-1),
            self.is_censored.reshape(-1),
            first,
            first + period,
            memo=self.memo,
            price=self.price.reshape(-1),
            features=self.features.reshape(series * periods, self.features.shape[2]),
        )
