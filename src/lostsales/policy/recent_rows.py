"""Recent rows of a shop, read once for any number of open days."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lostsales.data.calendar.clock import DAY
from lostsales.data.calendar.openings import closed_by_stock
from lostsales.data.calendar.periods import MOST_CLOSED
from lostsales.data.demand_bounds import shown_by_next_stock
from lostsales.data.economics import next_stock
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_table
from lostsales.data.reading.table import Table
from lostsales.demand.censoring.runs import Runs, find_runs
from lostsales.errors import LogError
from lostsales.policy.history import last_observed, recent_demand
from lostsales.policy.recent_demand import RecentDemand
from lostsales.policy.view import Action, ClosedPeriod, View
from lostsales.types import Array, Bools, Floats, Ints, exceeds


@dataclass(frozen=True, eq=False)
class RecentRows:
    """Closed rows with their runs of stock-outs, and what every open day asks of them."""

    log: SalesLog
    runs: Runs
    columns: tuple[str, ...] = ()  # of their table, where it is known

    @classmethod
    def of(cls, log: SalesLog, columns: tuple[str, ...] = ()) -> "RecentRows":
        """The rows of a log that is read already."""
        return cls(log, find_runs(log), columns)

    @classmethod
    def read(cls, problem: Problem, recent: Table) -> "RecentRows":
        """Closed rows of a table, checked as a log."""
        try:
            return cls.of(read_table(recent, problem.model_copy(update={"attributes": ()})), recent.columns)
        except LogError as error:
            raise LogError(f"recent ({recent.name})", error.findings) from None

    @cached_property
    def newest(self) -> dict[str, int]:
        """The last row of each series by its name, of the last part where holes split it."""
        ends = np.r_[self.log.starts[1:], len(self.log)] - 1
        return dict(zip(self.log.names, ends.tolist(), strict=True))

    @cached_property
    def shortest_step(self) -> int:
        """Shortest step between two rows of a series."""
        return int(self.log.steps.min(initial=np.iinfo(np.int64).max))

    @cached_property
    def mean_demand(self) -> Floats:
        """Mean of the observed demands of each series, NaN where there are none, (series,)."""
        log, observed = self.log, self.runs.observed
        rows = np.bincount(log.series[observed.is_observed], minlength=len(log.names))
        total = np.bincount(
            log.series[observed.is_observed], observed.demand[observed.is_observed], minlength=len(log.names)
        )
        return np.where(rows > 0, total / np.maximum(rows, 1), np.nan)

    @cached_property
    def _arrived(self) -> Floats:
        return np.zeros(0) if self.log.ledger is None else self.log.ledger.arrived

    @cached_property
    def _idle_share(self) -> float:
        """Share of rows in which nothing was sold and nothing arrived."""
        idle = np.count_nonzero((self.log.sales == 0) & (self._arrived == 0)) + 1
        return idle / (len(self.log) + 2)

    def shown_by(self, rows: Ints, stock: Floats) -> Floats:
        """The demand of rows that the stock after them gives back, NaN where it does not."""
        return shown_by_next_stock(
            self.log.problem, np.asarray(self.log.stock)[rows], self._arrived[rows], stock - self._moved(rows)
        )

    def stock_stood(self, rows: Ints, stock: Floats, period: Array) -> Bools:
        """Series whose stock at a later period shows, with that of others, that the shop was closed since these rows.

        One entry for each of `rows`, the last of their series.
        """
        log = self.log
        expected = self._moved(rows) + next_stock(
            np.asarray(log.stock)[rows], self._arrived[rows], log.sales[rows], log.problem.flow
        )
        follows = ~exceeds(stock, expected) & ~exceeds(expected, stock)
        follows &= (period - log.period[rows]).astype(np.int64) <= MOST_CLOSED * (
            DAY if log.period.dtype.kind == "M" else 1
        )
        return closed_by_stock(log.period[rows], follows, self._idle_share)

    def demand(self, last_row: Ints) -> RecentDemand:
        """Demand shown by the series of these rows, the last of each; none where there is no row (-1)."""
        at = np.maximum(last_row, 0)
        found = recent_demand(self.log, self.runs, self.log.series[at], at + 1)
        return replace(found, end=np.where(last_row >= 0, found.end, found.first), log=self.log)

    def rows_until(self, rows: Ints) -> Ints:
        """Number of rows of a series up to these, since the last gap, (rows,)."""
        return np.asarray(rows - self.log.starts[self.log.series[rows]] + 1)

    def before_first(self, usual_demand: float) -> Floats:
        """The demand before the first row of each series, (series,); NaN where it is unknown and not needed.

        Of a series whose rows are all stock-outs it is the usual demand, or its largest sales where these are more.
        """
        log, last_sales = self.log, self.log.last_sales
        only_stockouts = np.isnan(self.mean_demand) & (np.isnan(last_sales) | log.last_stockout)
        largest = np.fmax(np.maximum.reduceat(log.sales, log.starts), last_sales)
        return np.where(only_stockouts, np.maximum(largest, usual_demand), last_sales)

    def past(self, last_row: Ints, longest: int, usual_demand: float) -> tuple[ClosedPeriod, ...]:
        """The last closed periods, oldest first; beyond the first row of a series it is repeated, and never read."""
        log = self.log
        stock, order = np.asarray(log.stock), np.asarray(log.order)
        newest = np.maximum(last_row, 0)
        first, opening = log.starts[log.series[newest]], self.before_first(usual_demand)
        nothing = np.zeros(len(newest), dtype=bool)
        closed = []
        for back in range(longest - 1, -1, -1):
            at = np.maximum(newest - back, first)
            before = last_observed(log, self.runs, at, opening)
            depth = np.maximum(self.runs.depth[at], 0).astype(np.int16)
            view = View(0, tuple(log.features[at].T), stock[at], before, nothing, depth, None)
            price = np.where(last_row >= 0, log.price[at], np.nan)
            closed.append(ClosedPeriod(view, Action(price, order[at])))
        return tuple(closed)

    def _moved(self, rows: Ints) -> Floats | float:
        return 0.0 if self.log.adjustment is None else self.log.adjustment[rows]
