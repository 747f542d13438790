"""Closings learned from missing periods: weekdays that a series lacks, and days that all series of a shop lack."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.calendar.missing import Missing
from lostsales.types import Bools, Floats, Ints

LACKS = 0.5  # least excess of the missing share of a closed weekday over that of open ones
LACKS_TOGETHER = 0.9  # share of the series that lack a day on which all are closed
LEAST_SERIES = 2  # series that must show a closing of the whole shop
LEAST_IN_GROUP = 3  # same for a group of a column that the user did not name
LEAST_WEEKS = 4  # weeks a series needs to have weekdays of its own; until then it has those of most others
CHANCE = 0.05  # expected false closings in a whole log
FOLLOWS = 0.5  # share of the series whose stock must balance over a longer closing
LONG = 4  # periods in a row, beyond which the stock must balance: over a holiday, deliveries and waste may move it


def weekly_closings(series: Ints, position: Ints, missing: Missing, n_series: int, week: int) -> tuple[Bools, Bools]:
    """Positions within a week that each series nearly always lacks (series, week), and series with few weeks.

    A position is closed if the share of weeks that lack it exceeds that of the open positions by `LACKS`, and if a
    binomial test at the missing rate of the open positions rejects chance.
    """
    from scipy.special import bdtrc

    cells = n_series * week
    present = np.bincount(series * week + position % week, minlength=cells).reshape(n_series, week)
    lacking = np.bincount(missing.series * week + missing.position % week, minlength=cells).reshape(n_series, week)
    weeks = present + lacking
    share = lacking / np.maximum(weeks, 1)
    is_usual = (share < LACKS) & (weeks > 0)
    usual_lacking, usual = (lacking * is_usual).sum(axis=1), (weeks * is_usual).sum(axis=1)
    level = np.where(usual > 0, usual_lacking / np.maximum(usual, 1), np.inf) + LACKS
    closed = share >= level[:, None]
    at, place = np.nonzero(closed)
    rate = (usual_lacking + 1) / (usual + 2)
    by_chance = bdtrc(lacking[at, place] - 1, weeks[at, place], rate[at]) * week
    closed[at, place] = by_chance < CHANCE
    return closed, np.asarray(weeks.max(axis=1, initial=0) < LEAST_WEEKS)


@dataclass(frozen=True, eq=False)
class SharedDays:
    """Rows and missing periods from which days with joint closings are learned."""

    series: Ints  # (rows,)
    position: Ints  # (rows,) from 0
    missing: Missing
    off_balance: Floats | None  # (missing,) 1 where the stock does not balance over the gap; None if uninformative
    span: int  # positions in all

    def closed(self, group: Ints, unexplained: Bools, least: int) -> Ints:
        """Days on which a whole group of series is closed, as sorted group * span + position.

        `group` is the group of each series. A day is closed if at least 9 in 10 series of the group that could have it
        lack it, if chance is rejected at the rate at which single series lack days, and if their stock balances.
        """
        lacked = group[self.missing.series] * self.span + self.missing.position
        days = np.unique(lacked[unexplained])
        is_asked = np.zeros((int(group.max(initial=-1)) + 1) * self.span, dtype=bool)
        is_asked[days] = True
        own = is_asked[lacked]
        at = np.searchsorted(days, lacked[own])
        lacking = np.bincount(at, minlength=len(days))
        had = group[self.series] * self.span + self.position
        present = np.bincount(np.searchsorted(days, had[is_asked[had]]), minlength=len(days))
        together = (lacking >= least) & (lacking >= LACKS_TOGETHER * (lacking + present))
        alone = len(np.unique(self.missing.gap[own][~together[at]]))  # gaps, not days: consecutive days have one cause
        rate = (alone + 1) / (len(self.series) + len(lacked) + 2)
        together &= rate**lacking * len(is_asked) < CHANCE
        if self.off_balance is not None:
            follows = np.bincount(at, 1 - self.off_balance[own], minlength=len(days))
            together &= follows >= FOLLOWS * lacking
        return np.asarray(days[together])


def commonest(group: Ints, pattern: Ints, counted: Bools) -> Ints:
    """Most frequent pattern among the counted series of each series' group, else its own pattern, (series,)."""
    width = int(pattern.max(initial=0)) + 1
    keys, counts = np.unique(group[counted] * width + pattern[counted], return_counts=True)
    order = np.lexsort((counts, keys // width))
    most = dict(zip((keys[order] // width).tolist(), (keys[order] % width).tolist(), strict=True))
    usual = np.full(int(group.max(initial=0)) + 1, -1)
    usual[list(most)] = list(most.values())
    return np.where(usual[group] >= 0, usual[group], pattern)
