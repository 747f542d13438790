"""Key columns of the rows: the period, and the names of a series; closed and missing periods."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from lostsales.data.calendar.clock import DAY, Clock
from lostsales.data.calendar.openings import ClockRows, find_openings
from lostsales.data.calendar.periods import closing_lines, closings
from lostsales.data.column_names import fit, words
from lostsales.data.proposal.profile import Column, Profile, Sample
from lostsales.types import Array


class ClockFacts(NamedTuple):
    """Usual step, closed days and gaps of all series together."""

    step: str = ""  # daily, weekly, ...; empty where unknown
    holes: int = 0
    closed: str = ""  # in words; empty where the shop never is


def clock_facts(sample: Sample, series: tuple[str, ...], period: str, *, is_date: bool) -> ClockFacts:
    """Find the usual step, closed days and gaps from the SQL expressions of the columns."""
    parts = [f"regexp_replace(CAST({each} AS VARCHAR), '\\.0$', '')" for each in series]
    moment = f"epoch_us({period})" if is_date else f"TRY_CAST({period} AS BIGINT)"
    asked = "".join(f", {each} AS part{index}" for index, each in enumerate(parts))
    table = sample.connection.execute(
        f"SELECT DISTINCT concat_ws(' / ', '', {', '.join(parts) or '1'}) AS name, {moment} AS period{asked} FROM log "
        f"WHERE {moment} IS NOT NULL ORDER BY name, period"
    ).fetchnumpy()
    time = np.ma.filled(np.ma.asarray(table["period"], dtype=np.int64), 0)
    names, first, codes = np.unique(_texts(table["name"]), return_index=True, return_inverse=True)
    shared = {
        each: np.unique(_texts(table[f"part{index}"])[first], return_inverse=True)[::-1]
        for index, each in enumerate(parts if len(parts) > 1 else ())
    }
    shown = np.char.replace(names, " / ", "", count=1).tolist()
    rows = ClockRows(codes, shown, time.astype("datetime64[us]") if is_date else time, shared)
    steps, counts = np.unique(np.diff(time)[rows.has_next], return_counts=True)
    if not len(steps):
        return ClockFacts()
    found = find_openings(Clock(), rows)
    lines = closing_lines(closings(found.calendars, np.array(shown, dtype=object)))
    usual = _step_words(int(steps[counts.argmax()]), is_date=is_date)
    return ClockFacts(usual, int(np.count_nonzero(found.is_hole)), "; ".join(lines))


def _step_words(step: int, *, is_date: bool) -> str:
    if not is_date:
        return "" if step == 1 else f"a step of {step}"
    days = round(step / DAY, 4)
    return STEPS.get(round(days), "monthly" if 28 <= days <= 31 else f"every {days:g} days")


def _texts(column: Any) -> Array:
    return np.ma.filled(np.ma.asarray(column, dtype=object), "").astype(str)


SURE = 0.9  # fit of a whole name
STEPS = {1: "daily", 7: "weekly", 14: "every two weeks"}
PARTS = {
    "month": {"month", "monat", "mois", "mes", "mese", "maand"},
    "week": {"week", "woche", "kw", "semaine", "semana", "settimana"},
}
_GENERIC = ("id", "key")
_MOST_TRIED = 3  # columns per role that are tried as part of a key


@dataclass(frozen=True)
class Keys:
    """The columns that name a row."""

    period: Column | None
    other_periods: tuple[str, ...]  # that may be the period as well
    series: tuple[str, ...]
    repeated: int  # rows whose series and period came before
    n_series: int
    clock: ClockFacts

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.series, *(() if self.period is None else (self.period.name,)))


def find_keys(sample: Sample, found: Profile) -> Keys:
    """The period by name and content; the fewest columns that distinguish the rows of a period."""
    periods = _periods(found)
    period = periods[0] if periods else None
    series, repeated = _series(sample, found, period)
    ((n_series,),) = sample.query(f"SELECT count(DISTINCT row({series_sql(found, series)})) FROM log")
    clock = ClockFacts()
    if period is not None:
        is_date = period.kind == "date" or period.compact_dates is not None
        named = tuple(found.columns[name].sql for name in series)
        clock = clock_facts(sample, named, period_sql(period), is_date=is_date)
    return Keys(period, tuple(each.name for each in periods[1:3]), series, repeated, int(n_series), clock)


class YearAndPart(NamedTuple):
    """A period in two columns: the year, and the month or week in it."""

    names: tuple[str, str]
    sql: str
    by: str  # month or week


def year_and_part(found: Profile) -> YearAndPart | None:
    """The columns of the year and the month or week, if no column is a date."""
    columns = found.columns.values()
    if any(each.kind == "date" or each.compact_dates is not None for each in columns):
        return None
    whole = [each for each in columns if each.kind == "number" and each.is_whole and each.distinct > 0]
    years = [each for each in whole if fit(each.name, "year") >= SURE and (each.lowest or 0) >= 1900]
    for by, most in (("month", 12), ("week", 53)):
        parts = [
            each
            for each in whole
            if by_words(each.name, by) and (each.lowest or 0) >= 1 and (each.highest or 99) <= most
        ]
        if years and parts:
            year, part = (f"TRY_CAST({each.sql} AS INTEGER)" for each in (years[0], parts[0]))
            week = f"{year} || '-W' || lpad(CAST({part} AS VARCHAR), 2, '0') || '-1'"
            monday = f"CAST(try_strptime({week}, '%G-W%V-%u') AS TIMESTAMP)"
            month = f"CAST(make_date({year}, {part}, 1) AS TIMESTAMP)"
            return YearAndPart((years[0].name, parts[0].name), month if by == "month" else monday, by)
    return None


def by_words(name: str, by: str) -> bool:
    """True if a name means the month or the week of a year, in a few languages."""
    return bool({*words(name)} & PARTS[by])


def period_sql(period: Column) -> str:
    """The period as a moment or a number."""
    if period.compact_dates is None:
        return period.sql
    return f"try_strptime(CAST(TRY_CAST({period.sql} AS BIGINT) AS VARCHAR), '{period.compact_dates}')"


def series_sql(found: Profile, series: tuple[str, ...]) -> str:
    """The columns of the series; a constant, and no position, where there is none."""
    return ", ".join(found.columns[name].sql for name in series) or "coalesce(1, 1)"


def _periods(found: Profile) -> list[Column]:
    scores = {}
    for column in found.columns.values():
        is_date = column.kind == "date" or column.compact_dates is not None
        named = fit(column.name, "period")
        counts = column.kind == "number" and column.is_whole and named > 0
        if column.distinct > 1 and (is_date or counts):
            scores[column.name] = named + (1.0 if is_date else 0.0)
    return [found.columns[name] for name in sorted(scores, key=lambda name: -scores[name])]


def _series(sample: Sample, found: Profile, period: Column | None) -> tuple[tuple[str, ...], int]:
    """The columns, and the number of rows that they and the period do not distinguish."""
    pair = year_and_part(found)
    usable = [
        each
        for each in found.columns.values()
        if _may_be_key(each, sample.rows) and each is not period and (pair is None or each.name not in pair.names)
    ]
    best: tuple[tuple[str, ...], int] | None = None
    is_one = period is not None and period.distinct == sample.rows  # one product: nothing else must tell rows apart
    for names in _attempts(usable, sample.rows, named_only=is_one):
        if period is None:
            return names, 0
        keys = [found.columns[name].sql for name in names]
        both, own = ", ".join([*keys, period_sql(period)]), ", ".join(keys)
        ((different, series),) = sample.query(
            f"SELECT count(DISTINCT row({both})), count(DISTINCT row({own})) FROM log"
        )
        if different == sample.rows and series < sample.rows:
            return names, 0
        # If none is unique, the names decide: the first attempt.
        best = best or (names, sample.rows - different)
    return best or ((), 0)


def _may_be_key(column: Column, rows: int) -> bool:
    is_label = column.kind == "text" or (column.kind == "number" and column.is_whole and (column.lowest or 0) >= 0)
    return is_label and column.distinct < max(rows, 2) and column.compact_dates is None


def _attempts(usable: list[Column], rows: int, *, named_only: bool) -> Iterator[tuple[str, ...]]:
    """Columns that may name a series together, the likeliest first; `named_only` if their names must say so."""
    roles = ("series", "item", "place", "group")
    named: dict[str, list[str]] = {}
    for role in roles:
        scores = {each.name: fit(each.name, role) for each in usable if fit(each.name, "document") < SURE}
        likely = [name for name, score in scores.items() if score >= 0.5 and score >= 0.9 * _best_fit(name)]
        named[role] = sorted(likely, key=lambda name: -scores[name])[:_MOST_TRIED]
    varying = {each.name for each in usable if each.distinct > 1}
    whole, items, places, groups = (named[role] for role in roles)
    yield from ((name,) for name in whole if name.lower() not in _GENERIC)
    yield from ((place, item) for item in items for place in places if {place, item} <= varying and place != item)
    yield from ((name,) for name in (*items, *places, *whole))
    more = [name for name in groups if name in varying]
    first = [*places[:1], *items[:1]]
    yield from ((*first, name) for name in more if name not in first)
    yield from ((*first, *pair) for pair in combinations([name for name in more if name not in first], 2))
    others = [each for each in usable if not fit(each.name, "document") and _best_fit(each.name) < 0.5]
    if first:
        # Labels that stand for many rows each; numbers that differ from row to row are quantities.
        yield from ((*first, each.name) for each in others if 1 < each.distinct <= rows / 10 and not each.is_flag)
        return
    if named_only:
        return
    texts = [each.name for each in others if each.kind == "text"]
    yield from ((name,) for name in texts)
    yield from combinations(texts[:6], 2)
    yield from ((each.name,) for each in others if each.kind == "number")


def _best_fit(name: str) -> float:
    roles = ("series", "item", "place", "group", "sales", "stock", "order", "price", "period", "received", "stockout")
    return max(fit(name, role) for role in roles)
