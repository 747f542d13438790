"""The open day of a shop: recent rows and today's rows as the view that a policy decides on."""

from dataclasses import dataclass, field, replace

import numpy as np

from lostsales.data.calendar.openings import HOLE, ClockRows, on_given_closed, shared_columns
from lostsales.data.calendar.periods import PeriodGrid, closed_between
from lostsales.data.labels import spelled, texts_of
from lostsales.data.log import SalesLog
from lostsales.data.pipelines import off_lead_time
from lostsales.data.problem import Problem
from lostsales.data.reading.checks import check_calendar, check_closings
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings, listed
from lostsales.data.reading.log_columns import fill_calendar, read_salvage, read_season_end
from lostsales.data.reading.perishing import read_ages
from lostsales.data.reading.supply import pipeline_texts, read_on_order
from lostsales.data.reading.table import Table
from lostsales.data.reading.text import stripped
from lostsales.data.settings import MOST_NUMBER
from lostsales.data.sublogs import with_open_period
from lostsales.policy.coming_periods import coming_features, later_features, read_features, split_today
from lostsales.policy.recent_demand import RecentDemand
from lostsales.policy.recent_rows import RecentRows
from lostsales.policy.shelf import believed_ages
from lostsales.policy.view import EARLIER_PERIODS, ClosedPeriod, SeriesContext, View
from lostsales.types import Array, Bools, Floats, Ints, exceeds

SHORT_PAST = "orders may be on the way that recent rows do not reach back to: taken to be none"
UNKNOWN_PIPELINE = "nothing known of what is on the way: taken to be nothing"


@dataclass(frozen=True, eq=False)
class OpenSupply:
    """The pipeline of today's rows."""

    problem: Problem
    given: Floats | None  # (rows, pipeline length)
    rows: int
    told: Floats | None = None  # the same by recent rows, NaN where they do not reach back
    flags: dict[str, Bools] = field(default_factory=dict)

    @property
    def pipeline(self) -> Floats | None:
        """Units on the way by remaining periods, (rows, pipeline length); None where there are no columns."""
        if not self.problem.pipeline_length:
            return None
        if self.given is not None:
            return self.given
        return np.zeros((self.rows, self.problem.pipeline_length)) if self.told is None else np.nan_to_num(self.told)

    def after(
        self, log: SalesLog, last_row: Ints, stock: Floats, findings: Findings, columns: tuple[str, ...]
    ) -> "OpenSupply":
        """Supply after recent rows, a log of these columns: their pipeline is used, or compared with a given one."""
        length = self.problem.pipeline_length
        if not length:
            return self
        names = self.problem.columns
        _refuse_late(log, names.received)
        told = _told(log, last_row, stock, length, names.on_order in columns or names.on_order_in(1) in columns)
        if self.given is not None:
            fixed = self.problem.lead_times.is_fixed
            off = exceeds(self.given, told) | (exceeds(told, self.given) & (fixed | exceeds(self.given, 0.0)))
            wrong = np.asarray(off.any(axis=1))
            wanted = f"{self.problem.columns.on_order} must be what recent rows ordered and did not receive"
            if wrong.any():
                findings.check(wrong, wanted, pipeline_texts(self.given), among=pipeline_texts(told))
            findings.raise_if_any()
            return self
        none = last_row < 0
        short = np.isnan(told).any(axis=1)
        return replace(self, told=told, flags={UNKNOWN_PIPELINE: none, SHORT_PAST: short & ~none})


def _refuse_late(log: SalesLog, column: str) -> None:
    """Raise where a recent receipt contradicts the lead time of all orders: what is on the way is then unknown."""
    late, due = off_lead_time(log)
    if not late.any():
        return
    findings = Findings(
        "recent", lambda row: f"period {spelled(log.period[row])} of series {log.names[log.series[row]]}"
    )
    lead = log.problem.lead_times.longest
    findings.check(late, f"{column} must be what was ordered {lead - 1} periods before", log.received, among=due)
    findings.add('where deliveries are late, let lead times be learned: supply.lead_time = "learn"')
    findings.raise_if_any()


def _told(log: SalesLog, last_row: Ints, stock: Floats, length: int, says_pipeline: bool) -> Floats:
    """Pipeline by recent rows, (rows, length); NaN where they do not reach back far enough."""
    ends = np.r_[log.starts[1:], len(log)] - 1
    opening = np.asarray(log.stock)[ends].copy()
    has = last_row >= 0
    opening[log.series[last_row[has]]] = stock[has]
    open_log = with_open_period(log, log.features[ends], opening, log.period[ends])
    opened = np.r_[open_log.starts[1:], len(open_log)] - 1
    found = np.asarray(open_log.pipeline)[opened]  # it has columns, as lead times are longer than 1
    # Orders of the evening before the first row are not in the table.
    first = open_log.starts + (log.problem.order_placed == "close")
    known = opened[:, None] - length + np.arange(length) >= first[:, None]
    known |= says_pipeline
    told = np.full((len(last_row), length), np.nan)
    told[has] = np.where(known, found, np.nan)[log.series[last_row[has]]]
    return told


NO_HISTORY = "no known demand: the last sales count as demand"
ONLY_STOCKOUTS = (
    "only stock-outs in the recent rows: the usual demand, or their largest sales, is used for the demand before"
)
NOTHING_KNOWN = "no recent rows: the usual demand is used"
UNKNOWN_AGES = "nothing known of the ages of the stock: taken to have arrived last"
UNSEEN_LEVEL = "a category that the log never had"
LONGEST = np.iinfo(np.int64).max
GAP = "periods are missing between the recent rows and today"


@dataclass(frozen=True, eq=False)
class OpenDay:
    """Today's rows, in their order, with their flags."""

    keys: dict[str, Array]  # the columns that name a row, each (rows,)
    view: View
    flags: dict[str, Bools]  # text, and the rows it holds for


def read_open_day(
    problem: Problem, recent: RecentRows | None, today: Table, usual_demand: float, *, repeats: bool = False
) -> OpenDay:
    """Read and check today's rows, and find each series' depth and history; `repeats` allows several rows of a series.

    If all recent rows of a series are stock-outs, its depth is their number and its anchor `usual_demand`, or their
    largest sales where these are more; where it has no recent rows, or periods are missing before today, its demand is
    its `last_sales`, or else `usual_demand`. All but a `last_sales` that was no stock-out are flagged.
    """
    today, later = (today, None) if repeats else split_today(problem, today)
    day = _Today.read(problem, today, repeats=repeats)
    demand, censored = day.last_sales, day.last_stockout & ~np.isnan(day.last_sales)
    depth, gap, unanchored = np.zeros(len(demand), dtype=np.int64), np.zeros_like(censored), np.zeros_like(censored)
    past: tuple[ClosedPeriod, ...] = ()
    history: RecentDemand | None = None
    ages, fresh = day.ages, np.zeros_like(censored)
    if ages is None and problem.product.shelf_life is not None:
        fresh = day.stock > 0
    mean_demand, supply = np.full(len(demand), np.nan), OpenSupply(problem, day.on_order, len(demand))
    if recent is not None:
        log, runs = recent.log, recent.runs
        last_row, gap = day.last_rows(recent, problem)
        has = last_row >= 0
        at = last_row[has]
        # Under the netted balance today's stock may give the last demand back.
        shown = recent.shown_by(at, day.stock[has])
        hidden, has_anchor = ~runs.observed.is_observed[at] & np.isnan(shown), runs.depth[at] >= 0
        depth[has] = hidden * np.where(has_anchor, runs.depth[at] + 1, recent.rows_until(at))
        seen = np.where(runs.observed.is_observed[at], runs.observed.demand[at], shown)
        demand[has] = np.where(hidden, log.sales[at], seen)
        unanchored[has], censored[has] = hidden & ~has_anchor, False
        past = recent.past(last_row, int(depth.max(initial=0)) + EARLIER_PERIODS, usual_demand)
        history = recent.demand(last_row)
        if ages is None:
            series = log.series[np.maximum(last_row, 0)]
            ages = believed_ages(log, series, np.where(has, last_row + 1, log.starts[series]), day.stock)
            fresh &= ~has
        mean_demand[has] = recent.mean_demand[log.series[at]]
        supply = supply.after(log, last_row, day.stock, day.findings, recent.columns)
    unknown = np.isnan(demand)
    demand = np.where(unknown, usual_demand, demand)
    return OpenDay(
        keys=day.keys,
        view=View(
            period=0,
            features=tuple(day.features.T),
            stock=day.stock,
            last_sales=demand,
            last_stockout=(depth > 0) | censored,
            depth=depth,
            last_demand=None,
            past=past,
            names=day.names,
            context=SeriesContext(day.attributes, mean_demand),
            pipeline=supply.pipeline,
            order_phase=problem.supply.order_phase(day.period),
            coming=coming_features(problem, day.names, day.period, later),
            later=later_features(problem, day.names, later),
            recent=history,
            dates=day.period,
            ages=ages,
            season_end=None if day.season is None else day.season[0],
            salvage=None if day.season is None else day.season[1],
        ),
        flags={
            UNSEEN_LEVEL: day.unseen,
            GAP: gap,
            NO_HISTORY: censored,
            ONLY_STOCKOUTS: unanchored,
            NOTHING_KNOWN: unknown,
            UNKNOWN_AGES: fresh,
        }
        | supply.flags,
    )


@dataclass(frozen=True, eq=False)
class _Today:
    """The open rows, checked."""

    findings: Findings
    keys: dict[str, Array]
    series: tuple[Ints, Array]  # codes, texts
    period: Array  # (rows,) int64 or datetime64[us]
    features: Floats  # (rows, features)
    stock: Floats
    last_sales: Floats  # NaN where unknown
    last_stockout: Bools
    unseen: Bools  # a category has a level that the log never had
    attributes: dict[str, Array]  # as text, those that the table has
    on_order: Floats | None  # (rows, pipeline length) as given
    ages: Floats | None  # (rows, longest shelf life) stock by remaining life, as given
    season: tuple[Array, Floats] | None  # last periods and salvage values, each (rows,)

    @classmethod
    def read(cls, problem: Problem, today: Table, *, repeats: bool) -> "_Today":
        """The open rows, or one error that lists every finding."""
        findings, names = Findings(f"today ({today.name})", today.place), problem.columns
        reader = ColumnReader(today, findings, problem.format)
        wanted = [*names.series_parts, names.period, names.stock, *problem.feature_columns]
        if missing := [column for column in wanted if column not in today.columns]:
            findings.add(f"missing column {', '.join(map(repr, missing))}; the table has {listed(today.columns)}")
        findings.raise_if_any()
        codes, texts = findings.series_of = reader.series(names.series_parts)
        period = findings.period_of = reader.period(names.period)
        if not repeats:
            several = np.bincount(codes[codes >= 0], minlength=len(texts) + 1) > 1
            findings.check(several[codes], "today must have one row a series", verb="is one of several")
        features, unseen = read_features(problem, today, reader)
        check_calendar(findings, problem, period)
        stock = reader.number(names.stock)
        if problem.capacity is not None:
            over = exceeds(stock, problem.capacity)
            findings.check(over, f"{names.stock} must fit the capacity {problem.capacity:g}", stock)
        last_sales = reader.optional(names.last_sales, gaps=True)
        last_stockout = reader.flag(names.last_stockout, gaps=True)
        for name, units in ((names.stock, stock), (names.last_sales, last_sales)):
            if units is not None:
                findings.check(units > MOST_NUMBER, f"{name} must be at most {MOST_NUMBER:g}", units)
        on_order, ages = read_on_order(reader, problem), read_ages(reader, problem, stock)
        end, salvage = read_season_end(reader, problem, period), read_salvage(reader, problem)
        findings.raise_if_any()
        period = period.astype(np.int64) if period.dtype.kind == "f" else period
        fill_calendar(problem, period, features)
        parts = names.series_parts
        attributes = {name: texts_of(today.labels(name)) for name in problem.attributes if name in today.columns}
        series = np.asarray(texts, dtype=object)[codes]
        rows = ClockRows(np.arange(today.rows), series.tolist(), period, shared_columns(parts, series, attributes))
        check_closings(findings, on_given_closed(problem.clock, rows), period, None)
        findings.raise_if_any()
        labels = [(codes, texts)] if len(parts) == 1 else [today.labels(part) for part in parts]
        return cls(
            findings=findings,
            keys={
                name: _series_as_it_came(today, name, texts_of(each)) for name, each in zip(parts, labels, strict=True)
            }
            | {names.period: _period_as_it_came(today, names.period, period)},
            series=(codes, texts),
            period=period,
            features=features,
            stock=stock,
            last_sales=np.full(today.rows, np.nan) if last_sales is None else last_sales,
            last_stockout=np.zeros(today.rows, dtype=bool) if last_stockout is None else last_stockout,
            unseen=unseen,
            attributes=attributes,
            on_order=on_order,
            ages=ages,
            season=None if end is None or salvage is None else (end, salvage),
        )

    @property
    def names(self) -> Array:
        """The name of each row's series, (rows,)."""
        codes, texts = self.series
        return np.asarray(texts, dtype=object)[codes]

    def last_rows(self, recent: RecentRows, problem: Problem) -> tuple[Ints, Bools]:
        """Each series' newest row in a log (-1 where there is none or a hole follows it), and where a hole does.

        Closed periods between it and today are no hole: by the calendars of the policy or of the recent rows, or where
        the stock of series that lack the same periods did not move.
        """
        log, (codes, texts) = recent.log, self.series
        last_row = np.array([recent.newest.get(text, -1) for text in texts], dtype=np.int64)[codes]
        has = last_row >= 0
        if log.period.dtype.kind != self.period.dtype.kind:
            kinds = {"i": "whole numbers", "M": "dates"}
            self.findings.add(
                f"periods must be {kinds[log.period.dtype.kind]} as in recent, "
                f"but today has {kinds[self.period.dtype.kind]}"
            )
            self.findings.raise_if_any()
        step = (self.period - log.period[last_row]).astype(np.int64)
        early = has & (step <= 0)
        self.findings.check(early, "today must come after every recent row", log.period[last_row], verb="follows")
        self.findings.raise_if_any()
        calendars = problem.clock.calendars, log.problem.clock.calendars
        known = [grid.step for each in calendars if (grid := PeriodGrid.known(each, self.period)) is not None]
        gap = has & (step > HOLE * min(known, default=min(recent.shortest_step, *step[has].tolist(), LONGEST)))
        for each in calendars:
            at = np.flatnonzero(gap)
            gap[at] = ~closed_between(each, self.names[at].tolist(), log.period[last_row[at]], self.period[at])
        at = np.flatnonzero(gap)
        if len(at):
            gap[at] = ~recent.stock_stood(last_row[at], self.stock[at], self.period[at])
        return np.where(gap, -1, last_row), gap


def _series_as_it_came(today: Table, column: str, texts: Array) -> Array:
    """Names of series: whole numbers where the column has these, else texts."""
    numbers = today.cells(column).numbers
    return texts if numbers is None or (numbers != np.rint(numbers)).any() else numbers.astype(np.int64)


def _period_as_it_came(today: Table, column: str, period: Array) -> Array:
    """Dates that are text as they are written, or else of the type of the column."""
    if period.dtype.kind != "M":
        return period
    cells = today.cells(column)
    if cells.moments is not None:
        return period.astype("datetime64[D]") if cells.days else period
    if cells.texts is not None:
        return cells.texts.fetch(stripped(cells.texts.expression)).astype(object)
    return np.asarray(cells.numbers, dtype=np.int64)
