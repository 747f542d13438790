"""Morning list: every product of today as columns, sorted, filtered and searched without a database."""

import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from lostsales.apps.service.decisions import StoredDecision
from lostsales.types import Array, Bools, Floats, Ints

Show = Literal["all", "exceptions", "open", "decided"]
SHOWS: tuple[Show, ...] = get_args(Show)
STATUSES = ("", "accepted", "changed", "declined")
DIGITS = re.compile(r"[0-9]+")
LIKELY = 0.5  # stock-out probability above which a product is flagged
STOCKOUT_LIKELY = "a stock-out is likelier than not"
LOSES = "expected to lose money until the next order arrives"
NOT_KNOWN = "the chance of a stock-out or the expected profit is not known"


class Query(NamedTuple):
    """Filter, search and sort order of the list."""

    show: Show = "all"
    search: str = ""
    sort: str = "name"
    descending: bool = False


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
    flag: Array  # text, empty where there is nothing to beware of
    status: Ints  # index into STATUSES, kept up to date as the three that follow
    decided_price: Floats  # NaN where nothing was decided, or it was declined
    decided_order: Floats
    number: Ints  # of the last decision, rising: an older one does not replace it
    lock: threading.Lock = field(default_factory=threading.Lock)
    _orders: dict[tuple[str, bool], Ints] = field(default_factory=dict)

    SORTS = ("name", "stock", "on_order", "last_sales", "price", "order", "demand", "chance", "profit", "flag")

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
    def _lowered(self) -> list[str]:
        return [name.casefold() for name in self.name.tolist()]

    @cached_property
    def _natural_names(self) -> Array:
        """Sort keys of names in natural order: 9 before 10."""
        return np.array([DIGITS.sub(lambda found: found[0].zfill(12), name) for name in self._lowered], dtype=object)

    def rows(self, query: Query) -> Ints:
        """Rows that a query shows, in its order."""
        rows = self._order(query.sort, query.descending)
        mask = self._shown(query.show)
        if query.search:
            wanted = query.search.casefold()
            mask = mask & np.fromiter((wanted in name for name in self._lowered), dtype=bool, count=len(self))
        return np.asarray(rows[mask[rows]])

    def acceptable(self, query: Query) -> Ints:
        """Rows of a query that are unflagged and not decided yet."""
        rows = self.rows(query)
        return np.asarray(rows[~self.is_flagged[rows] & (self.status[rows] == 0)])

    def counts(self) -> dict[Show, int]:
        """Number of products that each filter shows."""
        return {show: int(np.count_nonzero(self._shown(show))) for show in SHOWS}

    def mark(self, decisions: Iterable[StoredDecision]) -> None:
        """Mark decided products; decisions on other periods, and older ones than known, are ignored."""
        with self.lock:
            for each in decisions:
                at = self.place.get(each.series)
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

    def _order(self, sort: str, descending: bool) -> Ints:
        """Rows sorted by a column, unknown values last; cached for each column."""
        if (sort, descending) not in self._orders:
            values = self._natural_names if sort == "name" else getattr(self, sort)
            found = np.argsort(values if values.dtype.kind != "O" else values.astype(str), kind="stable")
            if descending:
                known = found if values.dtype.kind == "O" else found[~np.isnan(values[found])]
                found = np.r_[known[::-1], found[len(known) :]]
            self._orders[sort, descending] = found
        return self._orders[sort, descending]
