"""VN2: weekly orders of 599 series for eight weeks, on the official weeks and on windows that roll over the last year.

An order that is placed after week t can be sold from week t + 3 on; a unit left costs 0.2, a unit short 1. Orders are
placed before the first six weeks. What was sold in a week is shown after it.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lostsales.data.calendar.clock import DAY
from lostsales.data.economics import UnitCosts, carried, sales_profit
from lostsales.data.shop import Shop
from lostsales.demand.model.calendar_season import CalendarSeason
from lostsales.demand.model.moving_levels import MovingLevels
from lostsales.lab.benchmarks.board import BoardRow, Figures, fingerprint
from lostsales.lab.benchmarks.entrant import Entrant
from lostsales.lab.benchmarks.vn2_data import WEEK, WeeklySales, read_sales
from lostsales.learn.planner.paths.search import Search, find_actions, terms_of
from lostsales.learn.planner.paths.search_loops import Situation, kept_prices
from lostsales.types import Floats

WEEKS, ORDERED = 8, 6  # of the challenge, and those before which an order is placed
COSTS = UnitCosts(lost=1.0, order=0.0, holding=0.2)  # of the challenge
WINDOWS, APART = 12, 4  # windows over the last year, and weeks between them
LEAST_HISTORY = 60  # weeks before a window
WARM_UP = 10  # weeks in which the official rule brings stock and pipeline to where a window starts
AVERAGED, COVERED = 13, 4  # weeks of the official rule
LEAD_TIME = 2  # periods, of an order that is placed before week t + 1 and sold from week t + 3 on
SHOP = Shop(supply={"lead_time": LEAD_TIME}, discount=0.9999)  # costs of all weeks count the same
OFFICIAL_COST, WINNING_COST = 5_248.0, 4_677.0  # published after the challenge

Rule = Callable[[WeeklySales, int, Floats, int], Floats]  # data, week, state, and weeks until the costs end


@dataclass(frozen=True, eq=False)
class Window:
    """Eight weeks from column `first` on; a state is (series, 3): stock and the two orders on the way."""

    data: WeeklySales
    first: int
    key: str
    start: Floats | None = None
    entrant: Entrant | None = None

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the sales up to its end."""
        data, end = self.data, self.first + WEEKS
        start = b"" if self.start is None else self.start.tobytes()
        by = self.entrant.fingerprint if self.entrant else ""
        return fingerprint(self.key, by, data.sales[:, :end].tobytes(), data.in_stock[:, :end].tobytes(), start)

    def run(self) -> Figures:
        """Cost of the official rule and of ours."""
        start = warmed_up(self.data, self.first) if self.start is None else self.start
        rules: dict[str, Rule] = {
            "official": official_rule,
            "ours": entrant_rule(self.entrant, self.data, self.first) if self.entrant else our_rule,
        }
        return {name: play_weeks(self.data, self.first, start, rule) for name, rule in rules.items()}


@dataclass(frozen=True, eq=False)
class Vn2:
    """The board."""

    data: WeeklySales
    entrant: Entrant | None = None
    name: str = "vn2"
    source: str = "VN2 inventory planning challenge (2025), organised by N. Vandeput: https://www.datasource.ai"

    @classmethod
    def read(cls, data: Path) -> "Vn2":
        """Read from the publisher's folder, or from one table."""
        return cls(read_sales(data))

    @property
    def parts(self) -> Sequence[Window]:
        """Windows of the last year, and the official weeks where they are there."""
        weeks = len(self.data.weeks)
        firsts = [first for k in range(WINDOWS) if (first := weeks - WEEKS - APART * k) >= LEAST_HISTORY]
        found = [Window(self.data, first, f"from-{self.data.weeks[first]}") for first in sorted(firsts)]
        if self.data.played is not None:
            whole = with_official_weeks(self.data, self.data.played)
            found.append(Window(whole, weeks, "official-weeks", self.data.start))
        return [replace(window, entrant=self.entrant) for window in found]

    def rows(self, measured: dict[str, Figures]) -> list[BoardRow]:
        """Ratios to the official rule by window, their mean, and the official weeks."""
        rolling = [each for name, each in measured.items() if name.startswith("from-")]
        ours, official = (np.array([each[name] for each in rolling]) for name in ("ours", "official"))
        found = [
            BoardRow("rolling windows of the last year", f"{name}, eight weeks", "of the official rule's cost", ratio)
            for name, ratio in zip([key for key in measured if key.startswith("from-")], ours / official, strict=True)
        ]
        if len(rolling):
            mean = BoardRow.of(found[0].board, "all windows", found[0].figure, ours / official)
            found.append(replace(mean, ours=float(ours.sum() / official.sum())))
        if "official-weeks" in measured:
            costs = measured["official-weeks"]
            for name, published, by in (("official", OFFICIAL_COST, "official rule"), ("ours", WINNING_COST, "winner")):
                cost = float(np.asarray(costs[name]))
                found.append(BoardRow("official weeks", name, "cost", cost, None, 1, published, by))
        return found


def with_official_weeks(data: WeeklySales, played: Floats) -> WeeklySales:
    """History and official weeks one after the other."""
    weeks = np.r_[data.weeks, data.weeks[-1] + WEEK * np.arange(1, WEEKS + 1)]
    in_stock = np.column_stack([data.in_stock, np.ones(played.shape, dtype=bool)])
    return replace(data, sales=np.column_stack([data.sales, played]), in_stock=in_stock, weeks=weeks)


def play_weeks(data: WeeklySales, first: int, start: Floats, rule: Rule) -> float:
    """The cost of eight weeks; a week in which a shelf was empty, whose demand is unknown, costs nothing."""
    state, cost, nothing = start, 0.0, np.zeros(len(start))
    for week in range(first, first + WEEKS):
        order = nothing if week >= first + ORDERED else rule(data, week, state, first + WEEKS - week)
        left, short, state = close_week(data, week, state, order)
        cost -= float((sales_profit(nothing, nothing, short, left, COSTS) * data.in_stock[:, week]).sum())
    return cost


def close_week(data: WeeklySales, week: int, state: Floats, order: Floats) -> tuple[Floats, Floats, Floats]:
    """Units left and short, and the state after a week."""
    available, demand = state[:, 0] + state[:, 1], data.sales[:, week]
    left, short = carried(available, demand, SHOP.flow), carried(demand, available, SHOP.flow)
    return left, short, np.column_stack([left, state[:, 2], order])


def warmed_up(data: WeeklySales, first: int) -> Floats:
    """Stock and pipeline before a window, after some weeks of the official rule."""
    begin = first - WARM_UP
    usual = _mean_of(data, begin)
    state = np.rint(np.column_stack([2 * usual, usual, usual]))
    for week in range(begin, first):
        _, _, state = close_week(data, week, state, official_rule(data, week, state, WEEKS))
    return state


def official_rule(data: WeeklySales, week: int, state: Floats, left: int) -> Floats:  # noqa: ARG001, it never ends
    """Order up to four weeks of a forecast: the mean of 13 weeks without season, times the index of the week."""
    index = _official_index(data, week)
    number = _iso_weeks(np.r_[data.weeks[:week], data.weeks[week] + WEEK * np.arange(COVERED)])
    shown = np.where(data.in_stock[:, :week], data.sales[:, :week], np.nan)
    usual = _mean_over(shown[:, -AVERAGED:] / index[number[:week][-AVERAGED:]], axis=1)
    wanted = usual[:, None] * index[number[week:]]
    return np.asarray(np.maximum(np.rint(wanted.sum(axis=1) - state.sum(axis=1)), 0.0))


def our_rule(data: WeeklySales, week: int, state: Floats, left: int, search: Search | None = None) -> Floats:
    """Orders by sampled futures, from the weeks before this one; none looks beyond the `left` weeks that cost."""
    search = Search() if search is None else search
    search = replace(search, ahead=min(search.ahead, left - LEAD_TIME))
    n, nothing = len(state), np.zeros(len(state))
    sales, in_stock = data.sales[:, :week], data.in_stock[:, :week]
    dates = data.weeks[: week + 1].astype("datetime64[us]")
    season = CalendarSeason.learned(sales, in_stock.astype(np.float64), dates[:-1], 7 * DAY)
    past = np.broadcast_to(season.index(dates[:-1]), sales.shape)
    levels = MovingLevels.start(n).after(sales, ~in_stock, past).pooled()
    periods = search.periods(LEAD_TIME)
    situation = Situation(
        stock=state[:, 0] + state[:, 1],
        pipeline=np.ascontiguousarray(state[:, 2:]),
        chances=np.tile(np.array(SHOP.lead_times.chances), (n, 1)),
        lost=nothing,
        exposure=np.repeat(season.coming(dates[-1:], periods), n, axis=0),
        may_order=np.ones((n, periods), dtype=bool),
        **kept_prices(nothing, periods),
        costs=COSTS.per_unit(lambda cost: nothing + cost),
        multiple=nothing + 1.0,
        minimum=nothing,
        limit=nothing + np.inf,
    )
    return find_actions(levels, situation, terms_of(SHOP), search).order


def entrant_rule(entrant: Entrant, data: WeeklySales, first: int) -> Rule:
    """Orders of an entrant that has seen the weeks before the first one, and then sees each week after it."""
    series, shown = np.arange(len(data.sales)), data.sales[:, :first]
    history = {"series": np.repeat(series, first), "period": np.tile(data.weeks[:first], len(series))}
    asked = entrant.start(history | {"sales": shown.ravel(), "stockout": ~data.in_stock[:, :first].ravel()})

    def rule(data: WeeklySales, week: int, state: Floats, left: int) -> Floats:
        columns = {"series": series, "period": np.repeat(data.weeks[week], len(series))}
        columns |= {"stock": state[:, 0] + state[:, 1], "on_order": state[:, 2], "on_order_1": state[:, 2]}
        columns |= {"last_sales": data.sales[:, week - 1], "last_stockout": ~data.in_stock[:, week - 1]}
        return asked(columns | {"weeks_left": np.full(len(series), left)})

    return rule


def _official_index(data: WeeklySales, week: int) -> Floats:
    """Seasonal index by week of the year, from 1: the mean over series of sales in stock."""
    shown = np.where(data.in_stock[:, :week], data.sales[:, :week], np.nan)
    number = _iso_weeks(data.weeks[:week])
    mean, found = _mean_over(shown, axis=0), np.ones(54)
    by_week = {each: mean[number == each].mean() for each in np.unique(number).tolist()}
    usual = float(np.mean(list(by_week.values())))
    for each, value in by_week.items():
        found[each] = value / max(usual, 1e-12)
    return np.maximum(found, 1e-9)


def _mean_of(data: WeeklySales, week: int) -> Floats:
    shown = np.where(data.in_stock, data.sales, np.nan)[:, max(week - AVERAGED, 0) : week]
    return _mean_over(shown, axis=1)


def _mean_over(values: Floats, axis: int) -> Floats:
    """The mean of what is known, 0 where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nan_to_num(np.nanmean(values, axis=axis)))


def _iso_weeks(dates: Floats) -> Floats:
    """The ISO number of the week of each date."""
    return np.array([each.isocalendar().week for each in dates.astype("datetime64[D]").astype(object)])
