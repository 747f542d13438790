"""What is kept of every series: its level and spread of demand, its price, its costs and what its orders come in."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np

from lostsales.data.ladders import order_multiple, own_multiples
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.demand.forecasting.calendar_season import CalendarSeason
from lostsales.demand.forecasting.moving_levels import MEMBERS, MovingLevels
from lostsales.demand.survival.series_law import series_units
from lostsales.policy.recent_demand import RecentDemand
from lostsales.policy.view import View
from lostsales.saved_fields import POSITIVE, numbers, texts
from lostsales.types import Array, Bools, Floats, Ints

LOOK_BACK = 260  # periods, beyond which a level has forgotten
NOT_NEGATIVE = numbers("series+1", least=0)
AT_ONCE = 10_000  # series whose periods are put into one table


class KeptLevels(NamedTuple):
    """The levels of series after some of the rows that they have shown."""

    levels: MovingLevels
    end: Ints  # (series,) behind the last row of each
    unit: Floats | float  # in which these rows were counted


@dataclass(frozen=True, eq=False)
class SeriesFacts:
    """By series; the last entry is that of a usual one, for series that the log did not have."""

    names: Annotated[Array, texts("series", compact=True)]  # rising
    level: Annotated[Floats, numbers("series+1", least=POSITIVE)]  # mean demand at the end of the log, without season
    spread: Annotated[Floats, NOT_NEGATIVE]  # variance of demand beyond Poisson's, relative to the squared mean
    price: Annotated[Floats, NOT_NEGATIVE]  # the median
    lost_cost: Annotated[Floats, NOT_NEGATIVE]  # as the costs that follow, their means
    order_cost: Annotated[Floats, NOT_NEGATIVE]
    holding_cost: Annotated[Floats, NOT_NEGATIVE]
    multiple: Annotated[Floats, NOT_NEGATIVE]  # of orders, 0 for any quantity
    members: Annotated[Floats, numbers(MEMBERS, least=POSITIVE)]  # weights of levels by their rate, pooled over series
    orders: Annotated[Floats, NOT_NEGATIVE]  # number of logged orders, 1 for an unknown series

    @classmethod
    def of(cls, log: SalesLog, runs: Runs, season: CalendarSeason) -> "SeriesFacts":
        """From a log with unit costs."""
        assert log.costs is not None  # or the log had been refused
        names, part = np.unique(log.names.astype(str), return_inverse=True)
        own = part[log.series]
        order = np.argsort(own, kind="stable")
        edges = np.searchsorted(own[order], np.arange(len(names) + 1))
        observed = runs.observed
        hidden, period = ~observed.is_observed[order], log.period[order]
        shown = RecentDemand(observed.least[order], hidden, edges[:-1], edges[1:], period)
        levels = moved(MovingLevels.start(len(names), observed.integer), shown, season).pooled()
        price = np.array([np.median(log.price[order[a:b]]) for a, b in pairwise(edges)])
        costs = [_mean(each, own, len(names)) for each in (log.costs.lost, log.costs.order, log.costs.holding)]
        found = levels.mean, levels.spread, price, *costs
        columns = [*(np.r_[each, np.median(each)] for each in found), _multiples(log, part, len(names)), levels.prior]
        ordered = np.bincount(own, None if log.order is None else log.order > 0, len(names))
        columns.append(np.r_[ordered, 1.0])
        return cls(names, *columns)

    def rows_of(self, view: View) -> tuple[Ints, Bools]:
        """The entry of each series of a view, (rows,), and which of them are unknown."""
        if view.names is None:
            return np.full(len(view.stock), len(self.names)), np.ones(len(view.stock), dtype=bool)
        wanted = view.names.astype(str)
        at = np.minimum(np.searchsorted(self.names, wanted), len(self.names) - 1)
        is_unknown = self.names[at] != wanted
        return np.where(is_unknown, len(self.names), at), is_unknown

    def levels_of(self, view: View, counted: bool, season: CalendarSeason) -> MovingLevels:
        """The levels of the series of a view, after all that each has shown; that of the log is where they start.

        An unknown series starts with what it shows first, and without that with its last sales.
        """
        recent = view.recent
        if recent is None:
            return self._start(view, counted)
        kept = self._kept_levels(recent)
        start, shown = (self._start(view, counted), recent) if kept is None else (kept.levels, recent.since(kept.end))
        found = moved(start, shown, season)
        if recent.memo is not None and (recent.end > recent.first).all():
            recent.memo[self] = KeptLevels(found, recent.end, recent.unit)
        return found

    def _start(self, view: View, counted: bool) -> MovingLevels:
        at, is_unknown = self.rows_of(view)
        nothing = np.ones(len(at), dtype=bool) if view.recent is None else view.recent.end <= view.recent.first
        level = np.where(is_unknown, np.where(nothing, view.last_sales, np.nan), self.level[at])
        return MovingLevels.start(len(at), counted, level, self.spread[at], self.members)

    def _kept_levels(self, recent: RecentDemand) -> "KeptLevels | None":
        """Those of an earlier period of the same roll-out; None where there are none, or the start is forgotten."""
        kept: KeptLevels | None = None if recent.memo is None else recent.memo.get(self)
        if kept is None or (recent.end - recent.first).max(initial=0) > LOOK_BACK:
            return None
        return kept if (kept.end <= recent.end).all() and np.array_equal(kept.unit, recent.unit) else None


def moved(levels: MovingLevels, recent: RecentDemand, season: CalendarSeason) -> MovingLevels:
    """Levels after what their series have shown, in tables of some series at a time."""
    count = len(recent.end)
    parts = [np.arange(low, min(low + AT_ONCE, count)) for low in range(0, count, AT_ONCE)]
    found = []
    for rows in parts:
        shown, is_censored, period = recent.take(rows).table(LOOK_BACK)
        found.append(levels.take(rows).after(shown, is_censored, None if period is None else season.index(period)))
    return MovingLevels.joined(found) if found else levels


def _mean(values: Floats | float, own: Ints, count: int) -> Floats:
    rows = np.bincount(own, minlength=count)
    return np.asarray(np.bincount(own, np.broadcast_to(values, len(own)), count) / np.maximum(rows, 1))


def _multiples(log: SalesLog, part: Ints, count: int) -> Floats:
    """What orders come in, by the list of the problem or by what was ordered."""
    if log.problem.orders is not None:
        return np.full(count + 1, order_multiple(np.array(log.problem.orders)))
    units = series_units(log)
    found = np.zeros(count + 1)
    found[part] = own_multiples(log, units)
    found[count] = 1.0 if (units == np.rint(units)).all() and (units > 0).all() else 0.0
    return found
