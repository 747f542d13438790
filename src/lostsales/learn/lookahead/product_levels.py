"""Levels of demand of each product, which follow its rows."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from lostsales.data.log import DecisionLog
from lostsales.demand.censoring.runs import Runs
from lostsales.demand.forecasting.calendar_season import CalendarSeason
from lostsales.demand.forecasting.moving_levels import MEMBERS, MovingLevels
from lostsales.policy.recent_demand import RecentDemand
from lostsales.policy.view import View
from lostsales.saved_fields import POSITIVE, numbers
from lostsales.types import Floats, Ints

LOOK_BACK = 260  # periods, beyond which the weight of a row in a level is negligible
AT_ONCE = 10_000  # products whose periods are put into one table: bounds memory


class KeptLevels(NamedTuple):
    """Levels of products after some of their rows."""

    levels: MovingLevels
    end: Ints  # (series,) behind the last row of each
    unit: Floats | float  # in which these rows were counted


@dataclass(frozen=True, eq=False)
class ProductLevels:
    """Level and dispersion of demand of each product; the last entry is that of a usual one, for unknown products."""

    level: Annotated[Floats, numbers("series+1", least=POSITIVE)]  # mean demand at the end of the log, without season
    spread: Annotated[Floats, numbers("series+1", least=0)]  # variance beyond Poisson's, relative to the squared mean
    members: Annotated[Floats, numbers(MEMBERS, least=POSITIVE)]  # weights of levels by their rate, pooled

    @classmethod
    def of(cls, log: DecisionLog, runs: Runs, season: CalendarSeason) -> "ProductLevels":
        """Levels at the end of a log."""
        product, count = log.products.of_row, len(log.products)
        order = np.argsort(product, kind="stable")
        edges = np.searchsorted(product[order], np.arange(count + 1))
        observed = runs.observed
        hidden, period = ~observed.is_observed[order], log.period[order]
        shown = RecentDemand(observed.least[order], hidden, edges[:-1], edges[1:], period)
        levels = moved(MovingLevels.start(count, observed.integer), shown, season).pooled()
        level, spread = (np.r_[each, np.median(each)] for each in (levels.mean, levels.spread))
        return cls(level, spread, levels.prior)

    def levels_of(self, view: View, at: Ints, counted: bool, season: CalendarSeason) -> MovingLevels:
        """Levels of the products of a view after all of their rows, starting from those of the log.

        `at` (rows,) is the entry of each product, -1 if it is unknown: it starts with its first rows, and without rows
        with its last sales.
        """
        recent = view.recent
        if recent is None:
            return self._start(view, at, counted)
        kept = self._kept_levels(recent)
        if kept is None:
            found = moved(self._start(view, at, counted), recent, season)
        else:
            found = moved(kept.levels, recent.since(kept.end), season)
        if recent.memo is not None and (recent.end > recent.first).all():
            recent.memo[self] = KeptLevels(found, recent.end, recent.unit)
        return found

    def _start(self, view: View, at: Ints, counted: bool) -> MovingLevels:
        is_unknown = at < 0
        nothing = np.ones(len(at), dtype=bool) if view.recent is None else view.recent.end <= view.recent.first
        level = np.where(is_unknown, np.where(nothing, view.last_sales, np.nan), self.level[at])
        return MovingLevels.start(len(at), counted, level, self.spread[at], self.members)

    def _kept_levels(self, recent: RecentDemand) -> "KeptLevels | None":
        """Levels of an earlier period of the same roll-out; None where there are none, or the start is forgotten."""
        kept: KeptLevels | None = None if recent.memo is None else recent.memo.get(self)
        if kept is None or (recent.end - recent.first).max(initial=0) > LOOK_BACK:
            return None
        return kept if (kept.end <= recent.end).all() and np.array_equal(kept.unit, recent.unit) else None


def moved(levels: MovingLevels, recent: RecentDemand, season: CalendarSeason) -> MovingLevels:
    """Levels after the rows of their products, in tables of some products at a time."""
    count = len(recent.end)
    parts = [np.arange(low, min(low + AT_ONCE, count)) for low in range(0, count, AT_ONCE)]
    found = []
    for rows in parts:
        shown, is_censored, period = recent.take(rows).table(LOOK_BACK)
        found.append(levels.take(rows).after(shown, is_censored, None if period is None else season.index(period)))
    return MovingLevels.joined(found) if found else levels
