"""Morning list: every product of today as columns, sorted, filtered and searched without a database."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from lostsales.apps.service.decisions import StoredDecision
from lostsales.apps.service.text import folded, sort_key
from lostsales.types import Array, Bools, Floats, Ints

Show = Literal["all", "exceptions", "open", "decided"]
SHOWS: tuple[Show, ...] = get_args(Show)
STATUSES = ("", "accepted", "changed", "declined", "proposed")
LIKELY = 0.5  # stock-out probability above which a product is flagged
STOCKOUT_LIKELY = "a stock-out is likely"
LOSES = "expected to lose money until the next order arrives"
TWO_PEOPLE = "an order that a second person has to approve"
NOT_KNOWN = "the chance of a stock-out or the expected profit is not known"


class ExceptionLimits(NamedTuple):
    """What makes a product an exception."""

    chance: float = LIKELY  # of a stock-out, from above which it is flagged
    money: float = 0.0  # at stake, below which neither a stock-out nor a loss is flagged
    four_eyes: float = np.inf  # cost of an order, above which two people decide


USUAL = ExceptionLimits()


class Query(NamedTuple):
    """Filter, search and sort order of the list."""

    show: Show = "all"
    search: str = ""
    sort: str = ""  # by default by name, and exceptions by the money at stake
    descending: bool = False
    language: str = ""
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()  # columns and their values: the products of a person

    @property
    def order(self) -> tuple[str, bool]:
        """Column to sort by, and whether it descends."""
        usual = ("stake", True) if self.show == "exceptions" else ("name", False)
        return (self.sort, self.descending) if self.sort else usual


@dataclass(frozen=True, eq=False)
class MorningList:
    """Today's products; every array is (products,), with NaN for unknown numbers."""

    name: Array  # text
    period: Array  # text
    stock: Floats
    on_order: Floats
    last_sales: Floats
    last_stockout: Bools
    last_price: Floats
    price: Floats
    order: Floats
    demand: Floats  # expected today
    chance: Floats  # of a stock-out
    profit: Floats  # expected until the next order arrives, with stock and orders on their way valued at cost
    stake: Floats  # money: margin of the sales that are expected to be lost until then, or the expected loss
    flag: Array  # text, empty where there is nothing to beware of
    status: Ints  # index into STATUSES, kept up to date as the three that follow
    decided_price: Floats  # NaN where nothing was decided, or it was declined
    decided_order: Floats
    number: Ints  # of the last decision, rising: an older one does not replace it
    facts: dict[str, Array] = field(default_factory=dict)  # texts of each product that it is found by, such as category
    lost: Floats = field(default_factory=lambda: np.zeros(0))  # demand of today that is expected not to be served
    lock: threading.Lock = field(default_factory=threading.Lock)
    _finds: list[tuple[object, Bools]] = field(default_factory=list)  # the last search
    _orders: dict[tuple[str, bool, str], Ints] = field(default_factory=dict)

    SORTS = ("name", "stock", "on_order", "last_sales", "price", "order", "demand", "chance", "profit", "stake")

    def __len__(self) -> int:
        return len(self.name)

    @property
    def periods(self) -> list[str]:
        """Periods of the products, each once."""
        return sorted({str(each) for each in self.period.tolist()})

    @cached_property
    def is_flagged(self) -> Bools:
        """Exceptions: products that someone should look at."""
        return np.asarray(self.flag != "", dtype=bool)

    @cached_property
    def place(self) -> dict[str, int]:
        """Position of each product, by name."""
        return {name: at for at, name in enumerate(self.name.tolist())}

    @cached_property
    def _folded(self) -> list[str]:
        """Texts that each product is found by."""
        columns = [self.name.tolist(), *(texts.tolist() for texts in self.facts.values())]
        return [folded(" ".join(map(str, texts))) for texts in zip(*columns, strict=True)]

    def rows(self, query: Query) -> Ints:
        """Rows that a query shows, in its order."""
        rows = self._order(*query.order, query.language)
        return np.asarray(rows[(self._shown(query.show) & self._found(query))[rows]])

    def belongs(self, only: Iterable[tuple[str, tuple[str, ...]]]) -> Bools:
        """Products with one of the values in each of the columns; none where there is no such column."""
        found = np.ones(len(self), dtype=bool)
        for column, values in only:
            texts = self.facts.get(column)
            found &= np.isin(texts.astype(str), values) if texts is not None else False
        return found

    def _found(self, query: Query) -> Bools:
        """Products of a person that every word of a search is in, whatever their order, upper case or accents."""
        words, key = folded(query.search).split(), (query.search, query.only)
        if not words and not query.only:
            return np.ones(len(self), dtype=bool)
        mine = next((rows for known, rows in self._finds if known == key), None)
        if mine is None:  # asked for again by counts and by what may be accepted
            found = (all(word in texts for word in words) for texts in self._folded)
            mine = self.belongs(query.only) & np.fromiter(found, dtype=bool, count=len(self))
            self._finds[:] = [(key, mine)]
        return mine

    def acceptable(self, query: Query) -> Ints:
        """Rows of a query that are unflagged and not decided yet."""
        rows = self.rows(query)
        return np.asarray(rows[~self.is_flagged[rows] & (self.status[rows] == 0)])

    def counts(self, query: Query) -> dict[Show, int]:
        """Number of found products that each filter shows."""
        found = self._found(query)
        return {show: int(np.count_nonzero(self._shown(show) & found)) for show in SHOWS}

    def mark(self, decisions: Iterable[StoredDecision]) -> None:
        """Mark decided products; decisions on other periods, and older ones than known, are ignored."""
        with self.lock:
            for each in decisions:
                at = self.place.get(each.series) if each.status != "comment" else None
                if at is not None and self.period[at] == each.period and each.seq >= self.number[at]:
                    self.number[at] = each.seq
                    self.status[at] = STATUSES.index(each.status) if each.status in STATUSES else 0
                    self.decided_price[at] = np.nan if each.price is None else each.price
                    self.decided_order[at] = np.nan if each.order is None else each.order

    def _shown(self, show: Show) -> Bools:
        if show == "exceptions":
            return self.is_flagged
        if show == "open":
            return np.asarray(self.status == 0)
        if show == "decided":
            return np.asarray(self.status > 0)
        return np.ones(len(self), dtype=bool)

    def _order(self, sort: str, descending: bool, language: str) -> Ints:
        """Rows sorted by a column, unknown values last; cached for each column."""
        key = (sort, descending, language if sort == "name" else "")
        if key not in self._orders:
            if sort == "name":
                names = [sort_key(name, language) for name in self.name.tolist()]
                known = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
                unknown = known[:0]
            else:
                values = getattr(self, sort)
                found = np.argsort(values, kind="stable")
                is_known = ~np.isnan(values[found])
                known, unknown = found[is_known], found[~is_known]
            self._orders[key] = np.r_[known[::-1] if descending else known, unknown]
        return self._orders[key]
