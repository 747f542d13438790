"""Classification of the gaps between the rows of a series: closings, given or learned, or holes in the data."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lostsales.data.calendar.clock import LEARN, MOST_CELLS, WEEKDAYS, Calendars, Clock, ClosedPeriods
from lostsales.data.calendar.periods import MOST_GIVEN, ClosedTable, Missing, PeriodGrid, given_closings, positions_of
from lostsales.data.column_names import fit
from lostsales.data.labels import SERIES_SEPARATOR, coded
from lostsales.data.ledger import MOST_OFF_BALANCE
from lostsales.types import Array, Bools, Floats, Ints

LACKS = 0.5  # least excess of the missing share of a closed weekday over that of open ones
LACKS_TOGETHER = 0.9  # share of the series that lack a day on which all are closed
LEAST_SERIES = 2  # series that must show a closing of the whole shop
LEAST_IN_GROUP = 3  # same for a group of a column that the user did not name
LEAST_WEEKS = 4  # weeks a series needs to have weekdays of its own; until then it has those of most others
CHANCE = 0.05  # expected false closings in a whole log
BALANCING = 0.5  # share of the series whose stock must balance over a longer closing
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
            together &= follows >= BALANCING * lacking
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


# A step longer than this multiple of the shortest one is a hole unless the clock explains it; months differ by less.
HOLE = 1.5
LIKELY = 0.5  # match of a column's name with "item" from which on the column names products, not places


@dataclass(frozen=True, eq=False)
class ClockRows:
    """Columns that the clock needs, sorted by series and period."""

    series: Ints  # (rows,) index into names, rising
    names: Sequence[str]  # (series,)
    period: Array  # (rows,) int64 or datetime64[us]
    columns: dict[str, tuple[Ints, Array]]  # what may share a calendar: codes (series,) and texts
    off_balance: Bools | None = None  # (rows - 1,) the stock of the next row does not balance; None if unknown

    @property
    def has_next(self) -> Bools:
        """Mask of rows, without the last, that have a next row in their series, (rows - 1,)."""
        return np.asarray(self.series[1:] == self.series[:-1])


@dataclass(frozen=True, eq=False)
class Openings:
    """Holes and calendars of a log."""

    is_hole: Bools  # (rows - 1,) between a row and the next
    calendars: Calendars
    on_closed: Bools  # (rows,) rows in a period that was given as closed
    refusal: str = ""  # why closings cannot be given for these periods


def find_openings(clock: Clock, rows: ClockRows) -> Openings:
    """Find the holes in the periods of each series, and the calendars that explain the other gaps."""
    has_next, n_rows = rows.has_next, len(rows.series)
    steps = np.diff(rows.period).astype(np.int64)
    known = PeriodGrid.known(clock.calendars, rows.period)
    nothing = Openings(np.zeros_like(has_next), Calendars(), np.zeros(n_rows, dtype=bool))
    if not has_next.any() and known is None:
        return nothing
    shortest = int(steps[has_next].min()) if known is None else known.step
    is_late = has_next & (steps > HOLE * shortest)
    given = {each for closings in (clock.closings(), *clock.own.values()) for each in closings} - {LEARN}
    grid = known or (PeriodGrid.of(rows.period, steps[has_next]) if is_late.any() or given else None)
    refusal = ""
    if given and grid is None:
        refusal = "[clock] can give closed periods only where periods are equally long"
    elif given & set(WEEKDAYS) and grid is not None and not grid.week:
        refusal = (
            "[clock] can give weekdays only where periods are days or parts of them; name the closed periods by date"
        )
    if grid is None or refusal:
        return Openings(is_late, Calendars(), nothing.on_closed, refusal)
    return _Finder(clock, rows, grid, known is not None).find(is_late)


def on_given_closed(clock: Clock, rows: ClockRows) -> Bools:
    """Mask of rows in a period given as closed, on the grid of a log read earlier, (rows,)."""
    grid = PeriodGrid.known(clock.calendars, rows.period)
    return np.zeros(len(rows.series), dtype=bool) if grid is None else _Finder(clock, rows, grid, True).on_given()


def closed_by_stock(before: Array, follows: Bools, idle_share: float) -> Bools:
    """Mask of series closed since their last period `before`, inferred from the stock, (series,).

    A closing is inferred if the stock of (nearly) all series with the same last period is what their last row left
    (`follows`), unless that is likely by chance: in a share `idle_share` of open periods stock does not change either.
    """
    _, same, series = np.unique(before, return_inverse=True, return_counts=True)
    following = np.bincount(same.reshape(-1), follows, minlength=len(series))
    closed = (series >= LEAST_SERIES) & (following >= LACKS_TOGETHER * series) & (idle_share**series < CHANCE)
    return np.asarray(closed[same.reshape(-1)] & follows)


def shared_columns(parts: Sequence[str], names: Array, attributes: dict[str, Array]) -> dict[str, tuple[Ints, Array]]:
    """Columns whose values may share a calendar (parts of the series name, attributes): codes (series,) and texts.

    >>> shared_columns(("store", "item"), np.array(["x / 1", "x / 2"], dtype=object), {})["store"]
    (array([0, 0]), array(['x'], dtype=object))
    """
    named = zip(*(name.split(SERIES_SEPARATOR) for name in names), strict=True) if len(parts) > 1 else ()
    columns = {part: np.array(texts, dtype=object) for part, texts in zip(parts, named, strict=False)}
    return {name: coded(texts) for name, texts in (columns | attributes).items()}


class _Finder:
    """Search for the closings of one log."""

    def __init__(self, clock: Clock, rows: ClockRows, grid: PeriodGrid, is_known: bool) -> None:
        self.clock, self.rows, self.grid = clock, rows, grid
        self.position = grid.position(rows.period)
        self.n_series = len(rows.names)
        self.given, self.given_of, self.learns = self._given()
        self.base, self.base_of = self.given, self.given_of
        if is_known:
            self.base, self.base_of = list(clock.calendars.closed), clock.calendars.ids(rows.names)

    def find(self, is_late: Bools) -> Openings:
        rows, table = self.rows, ClosedTable.of(self.base, self.grid.week)
        has_base = bool(table.weekly.any() or len(table.position))
        most = self.grid.most_missing(weekly=True)
        missing = Missing.between(rows.series, self.position, max(most, MOST_GIVEN) if has_base else most)
        closed = table.has(self.base_of[missing.series], missing.position)
        calendars = self.base, self.base_of
        if self.learns.any() and not closed.all():
            calendars, closed = self._learn(missing, closed, table)
        is_hole = is_late.copy()
        is_hole[missing.row[missing.all_of_gap(closed)]] = False
        return Openings(is_hole, self._calendars(*calendars), self.on_given())

    def on_given(self) -> Bools:
        """Mask of rows in a period that was given as closed."""
        given = ClosedTable.of(self.given, self.grid.week).has(self.given_of[self.rows.series], self.position)
        return given & ~np.isin(self.position, positions_of(self.clock.open, self.grid))

    def _given(self) -> tuple[list[ClosedPeriods], Ints, Bools]:
        """Given closings, the index of each series into them, and the series whose other closings are learned."""
        clock, texts = self.clock, np.asarray(self.rows.names, dtype=object)
        if (
            clock.column is not None and clock.column not in self.rows.columns
        ):  # the rows do not show which list applies
            learns = np.full(self.n_series, LEARN in clock.closings())
            return [ClosedPeriods()], np.zeros(self.n_series, dtype=np.int64), learns
        if clock.column is not None:
            codes, values = self.rows.columns[clock.column]
            texts = values[codes]
        place = {value: index for index, value in enumerate(clock.own, start=1)}
        lists = [clock.closings(), *clock.own.values()]
        of_series = np.array([place.get(text, 0) for text in texts], dtype=np.int64)
        learns = np.array([LEARN in each for each in lists])
        return [given_closings(each, self.grid) for each in lists], of_series, learns[of_series]

    def _learn(
        self, missing: Missing, closed: Bools, table: ClosedTable
    ) -> tuple[tuple[list[ClosedPeriods], Ints], Bools]:
        """Calendars with the learned closings, and the missing periods that they explain."""
        rows, grid, n_series, week = self.rows, self.grid, self.n_series, self.grid.week
        weekly = table.weekly[self.base_of] if week else np.zeros((n_series, 0), dtype=bool)
        is_new = np.zeros(n_series, dtype=bool)
        short = missing.length < grid.most_missing(weekly=True)
        if week and n_series * week <= MOST_CELLS:
            learned, is_new = weekly_closings(rows.series, self.position, missing.some(short), n_series, week)
            weekly |= learned & self.learns[:, None]
        patterns, pattern = np.unique(weekly, axis=0, return_inverse=True)
        pattern = pattern.reshape(-1)
        closed = closed | _at(weekly, missing, week)
        short = missing.length < grid.most_missing(weekly=bool(weekly.any()))
        group, shop_days, group_days, closed = self._shared_days(missing, short, closed, pattern)
        usual = np.where(is_new & self.learns, commonest(group, pattern, ~is_new), pattern)
        closed |= _at(patterns[usual], missing, week)
        parts, merged = np.unique(np.stack([usual, self.base_of, group, self.learns]), axis=1, return_inverse=True)
        found = [
            self._merged(
                np.flatnonzero(patterns[at]), self.base[base], shop_days, group_days.get(own, ()), bool(learns)
            )
            for at, base, own, learns in parts.T.tolist()
        ]
        return (found, merged.reshape(-1)), closed

    def _shared_days(
        self, missing: Missing, short: Bools, closed: Bools, pattern: Ints
    ) -> tuple[Ints, Sequence[int], dict[int, list[int]], Bools]:
        """Days of joint closings: group of each series, days of the shop, days of each group, explained periods."""
        rows, first = self.rows, int(self.position.min())
        off = self._off_balance()
        days = SharedDays(
            rows.series,
            self.position - first,
            Missing(missing.row, missing.length, missing.gap, missing.series, missing.position - first),
            None if off is None else (off[missing.row] & (missing.length > LONG))[missing.gap].astype(np.float64),
            int(self.position.max()) - first + 1,
        )
        may_learn = short[missing.gap] & self.learns[missing.series]
        nobody = np.zeros(self.n_series, dtype=np.int64)
        is_shop = self.n_series > 1 and days.span <= MOST_CELLS
        shop_days = days.closed(nobody, ~closed & may_learn, LEAST_SERIES) if is_shop else nobody[:0]
        closed = closed | (np.isin(days.missing.position, shop_days) & may_learn)
        group, cells = self._groups(days, ~closed & may_learn, pattern)
        closed |= np.isin(group[missing.series] * days.span + days.missing.position, cells) & may_learn
        group_days: dict[int, list[int]] = {}
        for cell in cells.tolist():
            group_days.setdefault(cell // days.span, []).append(cell % days.span + first)
        return group, (shop_days + first).tolist(), group_days, closed

    def _groups(self, days: SharedDays, unexplained: Bools, pattern: Ints) -> tuple[Ints, Ints]:
        """Grouping of series that explains most missing periods by the fewest closed days, and these days."""
        column = self.clock.column
        best = np.zeros(self.n_series, dtype=np.int64), np.zeros(0, dtype=np.int64)
        fewest = int(np.count_nonzero(unexplained))
        # A delisted product is missing in all stores at once; only places close.
        places = {name for name in self.rows.columns if fit(name, "item") < LIKELY} if column is None else {column}
        groups = {name: codes for name, (codes, _) in self.rows.columns.items() if name in places}
        if column in groups:
            best, least = (groups[column], best[1]), LEAST_SERIES
        else:
            groups, least = groups | {"": pattern}, LEAST_IN_GROUP
        for group in groups.values():
            n_groups = int(group.max()) + 1
            if not fewest or n_groups < 2 or n_groups * days.span > MOST_CELLS:
                continue
            cells = days.closed(group, unexplained, least)
            lacked = group[days.missing.series[unexplained]] * days.span + days.missing.position[unexplained]
            facts = len(cells) + int(np.count_nonzero(~np.isin(lacked, cells)))
            if facts < fewest:
                best, fewest = (group, cells), facts
        return best

    def _off_balance(self) -> Bools | None:
        """Mask of rows whose next stock does not balance; None if consecutive periods do not balance either."""
        off = self.rows.off_balance
        if off is None:
            return None
        consecutive = self.rows.has_next & (np.diff(self.position) == 1)
        return off if off[consecutive].sum() <= MOST_OFF_BALANCE * consecutive.sum() else None

    def _merged(
        self, weekly: Ints, base: ClosedPeriods, shop: Sequence[int], group: Sequence[int], learns: bool
    ) -> ClosedPeriods:
        """Merge the closings of a calendar; single days that are closed every week are dropped."""
        places = set(weekly.tolist())
        days = {*base.single, *(shop if learns else ()), *(group if learns else ())}
        single = sorted(day for day in days if not places or day % self.grid.week not in places)
        return ClosedPeriods(weekly=tuple(sorted(places)), single=tuple(single))

    def _calendars(self, closed: list[ClosedPeriods], of_series: Ints) -> Calendars:
        """Distinct calendars, the most frequent first: it is also the default of unknown series."""
        if not any(each.weekly or each.single for each in closed):
            return Calendars()
        keys = {(each.weekly, each.single): index for index, each in reversed(list(enumerate(closed)))}
        same = np.array([keys[each.weekly, each.single] for each in closed])[of_series]
        if len(same):
            used, counts = np.unique(same, return_counts=True)
            order = used[np.argsort(-counts, kind="stable")]
        else:
            order = np.array([0])
        place = np.zeros(len(closed), dtype=np.int64)
        place[order] = np.arange(len(order))
        others = np.flatnonzero(place[same] > 0)
        grid = self.grid
        return Calendars(
            is_dated=grid.is_dated,
            step=grid.step,
            anchor=grid.anchor,
            week=grid.week,
            closed=tuple(closed[each] for each in order.tolist()),
            of_series={self.rows.names[each]: int(place[same[each]]) for each in others.tolist()},
        )


def _at(weekly: Bools, missing: Missing, week: int) -> Bools:
    if not week:
        return np.zeros(len(missing.gap), dtype=bool)
    return np.asarray(weekly[missing.series, missing.position % week])
