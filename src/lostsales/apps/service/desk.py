"""Desk: one version of a policy with the history and today's rows of its shop, and the queries on them."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from lostsales.apps.service.fleet_policy import FleetPolicy
from lostsales.apps.service.morning import (
    LOSES,
    NOT_KNOWN,
    STOCKOUT_LIKELY,
    TWO_PEOPLE,
    ExceptionLimits,
    MorningList,
)
from lostsales.apps.service.shop_data import ShopData
from lostsales.apps.service.versions import PolicyVersion
from lostsales.data.labels import spelled
from lostsales.data.parallel import in_parallel
from lostsales.data.product_table import ProductTable
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.frames import ColumnTable
from lostsales.data.reading.table import SomeRows, Table
from lostsales.errors import LogError, LostSalesError
from lostsales.evaluation.policy_on_log import check_policy
from lostsales.policy.coming_periods import split_today
from lostsales.policy.decision import Decision
from lostsales.policy.expected import Expected
from lostsales.policy.history import log_as_asked
from lostsales.policy.limits import AppliedLimit, within_limits
from lostsales.policy.open_day import OpenDay
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.provenance import PolicyVerdict, verdict_of
from lostsales.policy.recent_rows import RecentRows
from lostsales.policy.recommendation import Recommendation, decision_flags, joined_flags, open_day, recommended
from lostsales.policy.view import Action, View
from lostsales.types import Array, Bools, Floats

CHUNK = 5_000  # rows decided at once, by one of the threads
MOST_ANSWERED = 200_000  # answers to systems that are kept: bounds memory


@dataclass(frozen=True, eq=False)
class Answered:
    """Last recommendations that systems were answered: what a decision on a product outside the list may be on."""

    most: int = MOST_ANSWERED
    _rows: dict[tuple[str, str, float, float], None] = field(default_factory=dict)  # oldest first
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, names: Array | None, periods: Array, price: Floats, order: Floats) -> None:
        """Keep recommendations for some rows."""
        if names is None:
            return
        kinds, of_row = np.unique(periods, return_inverse=True)
        texts = np.array([spelled(each) for each in kinds], dtype=object)[of_row]
        columns = names.astype(str).tolist(), texts.tolist(), price.tolist(), order.tolist()
        with self._lock:
            self._rows.update(dict.fromkeys(zip(*columns, strict=True)))
            for oldest in list(islice(self._rows, max(0, len(self._rows) - self.most))):
                del self._rows[oldest]

    def has(self, name: str, period: str, price: float, order: float) -> bool:
        """True if this was recommended."""
        return (name, period, price, order) in self._rows


class ProductToday(NamedTuple):
    """Product today, as the policy sees it."""

    name: str
    period: str
    view: View  # of one row
    flags: tuple[str, ...]  # of the situation


@dataclass(frozen=True, eq=False)
class Desk:
    """Version of a policy with the data of a shop; immutable except for the marks of decisions."""

    version: PolicyVersion
    policy: SavedPolicy
    data: ShopData
    recent: RecentRows | None
    day: OpenDay | None
    morning: MorningList
    left_out: dict[str, str]  # products of today without a decision, and why
    limits: tuple[AppliedLimit, ...] = ()  # that the products of the list share
    answered: Answered = field(default_factory=Answered)

    @classmethod
    def of(
        cls, version: PolicyVersion, policy: SavedPolicy, data: ShopData, recent: RecentRows | None = None
    ) -> "Desk":
        """Decide for all of today's rows, except products with bad rows; `recent` rows of the same log may be known."""
        if data.log is not None and recent is None:
            check_policy(policy, data.log, None)
            recent = RecentRows.of(log_as_asked(policy, data.log))
        if data.today is None or not data.today.rows:
            return cls(version, policy, data, recent, None, _morning(policy, None, data.today, data), data.left_out)
        day, rows, left_out = _good_day(policy, recent, data)
        limits: tuple[AppliedLimit, ...] = ()
        if day is not None:
            view, limits = within_limits(policy, day.view)
            day = replace(day, view=view)
        open_rows, _ = split_today(policy.problem, rows)
        return cls(version, policy, data, recent, day, _morning(policy, day, open_rows, data), left_out, limits)

    def policy_of(self, name: str) -> SavedPolicy:
        """Policy that decides for a product: in a fleet, that of its shard."""
        return self.policy.policy_of(name) if isinstance(self.policy, FleetPolicy) else self.policy

    @cached_property
    def products(self) -> ProductTable | None:
        """Facts of the products of the log, None without one."""
        if self.recent is None or self.recent.log.stock is None:
            return None
        return ProductTable.of(self.recent.log.decisions("check a decision"), self.policy.problem.rules)

    def unit_cost(self, view: View) -> Floats:
        """Mean cost of a unit of each product in the log, (rows,); NaN where it is not known."""
        if self.products is None or view.names is None:
            return np.full(len(view.stock), np.nan)
        at = self.products.attributes.places(view.names, len(view.stock))
        return np.where(at >= 0, self.products.order_cost[at], np.nan)

    @cached_property
    def service(self) -> tuple[tuple[str, float], ...]:
        """Service and stock that are expected of the list: fill rate of the open period, value and cover of the stock.

        Empty where demand or costs are not known.
        """
        if self.day is None or not len(self.morning):
            return ()
        listed, cost = self.morning, self.unit_cost(self.day.view)
        known = np.isfinite(listed.demand) & np.isfinite(listed.lost) & np.isfinite(cost)
        demand, stock = listed.demand[known], listed.stock[known]
        if not known.any() or not (demand @ cost[known] > 0):
            return ()
        value = float(stock @ cost[known])
        return (
            ("fill rate", 1.0 - float(listed.lost[known].sum() / demand.sum())),
            ("stock value", value),
            ("periods of cover", value / float(demand @ cost[known])),
        )

    @property
    def is_fleet(self) -> bool:
        """True for a fleet, whose verdict is that of `fleet compare`."""
        return isinstance(self.policy, FleetPolicy)

    @property
    def periods(self) -> dict[str, Any]:
        """Today's period of each product."""
        if self.day is None or self.day.view.dates is None:
            return {}
        return dict(zip(self.morning.name.tolist(), list(self.day.view.dates), strict=True))

    @property
    def verdict(self) -> PolicyVerdict | None:
        """Verdict that the policy carries, None where it has not been evaluated."""
        return verdict_of(self.policy)

    @property
    def currency(self) -> str:
        """Currency, empty if the problem does not name one."""
        return self.policy.problem.format.currency or ""

    def recommend(
        self, today: Any, recent: Any = None, *, reasons: bool = False, repeats: bool = False
    ) -> Recommendation:
        """Decide for rows; their history is `recent`, by default that of the desk."""
        day = open_day(self.policy, self.recent if recent is None else recent, today, repeats=repeats)
        found = recommended(self.policy, day, reasons=reasons)
        names = self.policy.problem.columns
        columns = (found.columns[names.price], found.columns[names.order])
        self.answered.add(day.view.names, day.keys[names.period], *columns)
        return found

    def situation(self, name: str) -> ProductToday:
        """Situation of a product of today's list."""
        at = self.morning.place.get(name)
        if at is None or self.day is None:
            raise LostSalesError(f"today's list has no product {name[:200]!r}")
        flags = tuple(text for text, holds in self.day.flags.items() if holds[at])
        return ProductToday(name, self.morning.period[at], self.day.view.take(np.array([at])), flags)

    def situation_of(self, row: dict[str, Any], recent: Sequence[dict[str, Any]] | None) -> ProductToday:
        """Situation of a row with its columns."""
        known = ColumnTable.of_rows(recent, "recent") if recent else self.recent
        day = open_day(self.policy, known, ColumnTable.of_rows([row], "today"))
        flags = tuple(text for text, holds in day.flags.items() if holds[0])
        period = spelled(day.keys[self.policy.problem.columns.period][0])
        return ProductToday(str(day.view.names[0]) if day.view.names is not None else "", period, day.view, flags)

    def explain(self, situation: ProductToday) -> "ExplainedDecision":
        """Decision on a situation with its reasons and expected outcome."""
        decision = self.policy.explain(situation.view)
        expected = self.policy.expect(situation.view, Action(decision.price, decision.order))
        flags = [text for text, holds in decision_flags(decision).items() if holds[0]]
        return ExplainedDecision(situation, decision, expected, (*situation.flags, *flags))


class ExplainedDecision(NamedTuple):
    """Decision on one row, with reasons."""

    situation: ProductToday
    decision: Decision
    expected: Expected | None  # None if the policy has no demand model
    flags: tuple[str, ...]

    @property
    def reasons(self) -> dict[str, str]:
        """Reasons in words by column."""
        return {name: str(texts[0]) for name, texts in self.decision.reasons().items()}


def changed(situation: ProductToday, stock: float | None) -> ProductToday:
    """Situation with another stock."""
    if stock is None:
        return situation
    return situation._replace(view=replace(situation.view, stock=np.array([float(stock)]), settled=None))


def _good_day(policy: SavedPolicy, recent: RecentRows | None, data: ShopData) -> tuple[OpenDay, Table, dict[str, str]]:
    """Usable part of today, its rows, and the reason for each product left out."""
    today, left_out = data.today, dict(data.left_out)
    assert today is not None
    rows = _without(policy, today, left_out)
    while True:
        try:
            return open_day(policy, recent, rows), rows, left_out
        except LogError as error:
            left_out |= error.bad_series
            fewer = _without(policy, today, left_out)
            if not error.bad_series or not fewer.rows or fewer.rows == rows.rows:
                raise
            rows = fewer


def _without(policy: SavedPolicy, today: Table, names: dict[str, str]) -> Table:
    """Today's rows without some products."""
    parts = policy.problem.columns.series_parts
    if not names or not set(parts) <= set(today.columns):
        return today
    codes, texts = ColumnReader(today, Findings(today.name), policy.problem.format).series(parts)
    is_bad = np.array([str(text) in names for text in texts], dtype=bool)
    return SomeRows(today, np.flatnonzero((codes < 0) | ~is_bad[codes]))


def _morning(policy: SavedPolicy, day: OpenDay | None, today: Table | None, data: ShopData) -> MorningList:
    rows = 0 if day is None else len(day.view.stock)

    def decided(start: int) -> dict[str, Array]:
        return _decided(policy, day, np.arange(start, min(start + CHUNK, rows)), data.thresholds)

    parts = in_parallel(decided, range(0, rows, CHUNK))
    columns: dict[str, Any] = _nothing()
    if parts:
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    period = np.zeros(0, dtype=object)
    if day is not None:
        period = np.array([spelled(each) for each in day.keys[policy.problem.columns.period]], dtype=object)
    on_order = np.zeros(rows) if today is None else _on_order(today)
    if day is not None and day.view.pipeline is not None:
        on_order = day.view.on_order
    facts: dict[str, Array] = {}
    if day is not None:
        named = [name for name in policy.problem.columns.series_parts if name in day.keys]
        facts |= {name: np.asarray(day.keys[name]).astype(str).astype(object) for name in named}
    if day is not None and day.view.context is not None:
        facts |= day.view.context.attributes
    if data.suppliers:
        facts["supplier"] = np.array([data.suppliers.get(name, "") for name in columns["name"]], dtype=object)
    return MorningList(
        facts=facts,
        period=period,
        on_order=on_order,
        status=np.zeros(rows, dtype=np.int64),
        number=np.zeros(rows, dtype=np.int64),
        decided_price=np.full(rows, np.nan),
        decided_order=np.full(rows, np.nan),
        **columns,
    )


def _decided(policy: SavedPolicy, day: OpenDay | None, rows: Array, thresholds: ExceptionLimits) -> dict[str, Array]:
    assert day is not None
    view = day.view.take(rows)
    decision = policy.explain(view)
    action = Action(decision.price, decision.order)
    expected, nan = policy.expect(view, action), np.full(len(rows), np.nan)
    demand, lost = (decision.more.get(name, nan) for name in ("expected_demand", "expected_lost"))
    chance, profit, stake = nan, nan, nan
    if expected is not None:
        chance, profit = expected.stockout_chance, expected.profit
        margin = np.maximum(decision.price - expected.unit_cost, 0.0)
        stake = np.maximum(np.maximum(expected.cover_lost * margin, -profit), 0.0)
    flags = {text: holds[rows] for text, holds in day.flags.items()} | decision_flags(decision)
    not_known = np.isnan(chance) | np.isnan(profit)  # NaN compares as neither likely nor a loss
    matters = stake >= thresholds.money
    likely, loses = chance > thresholds.chance, (profit < 0) & (-profit >= thresholds.money)
    flags |= {STOCKOUT_LIKELY: likely & matters, LOSES: loses, NOT_KNOWN: not_known}
    if expected is not None:
        flags[TWO_PEOPLE] = decision.order * expected.unit_cost > thresholds.four_eyes
    return {
        "name": np.asarray(view.names, dtype=object).astype(str).astype(object),
        "stock": view.stock,
        "last_sales": view.last_sales,
        "last_stockout": view.last_stockout,
        "last_price": view.last_price,
        "price": decision.price,
        "order": decision.order,
        "demand": demand,
        "lost": lost,
        "chance": chance,
        "profit": profit,
        "stake": stake,
        "flag": joined_flags(_some(flags)),
    }


def _some(flags: dict[str, Bools]) -> dict[str, Bools]:
    """Flags that apply to any row, but at least one."""
    return {text: holds for text, holds in flags.items() if holds.any()} or dict(list(flags.items())[:1])


def _nothing() -> dict[str, Array]:
    texts = {name: np.zeros(0, dtype=object) for name in ("name", "flag")}
    names = ("stock", "last_sales", "last_price", "price", "order", "demand", "chance", "profit", "stake")
    return texts | {name: np.zeros(0) for name in names} | {"last_stockout": np.zeros(0, dtype=bool)}


def _on_order(today: Table) -> Floats:
    """Units on order, by the columns on_order_1, on_order_2, ... of today's rows."""
    total = np.zeros(today.rows)
    for column in today.columns:
        if column.startswith("on_order"):
            numbers = today.cells(column).numbers
            total += 0.0 if numbers is None else np.nan_to_num(numbers)
    return total
