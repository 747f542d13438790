"""The sales log: observed sales, stock and decisions, as read-only columns."""

from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np

from lostsales.data.economics import UnitCosts, period_profit, units_available
from lostsales.data.problem import Problem
from lostsales.errors import LostSalesError
from lostsales.types import Array, Bools, Floats, Ints, exceeds


@dataclass(frozen=True)
class LogNotes:
    """What reading a table repaired or noticed."""

    rows_moved: int = 0  # rows that were not in the order of series and period
    holes: int = 0  # gaps in the periods, each of which starts a new series
    balance_rows: int = 0  # rows whose next stock could be checked against the balance
    off_balance_rows: int = 0  # of these, rows whose next stock does not follow
    unused_columns: tuple[str, ...] = ()
    rows_dropped: int = 0  # rows that could not be used and were left out, as the reader was told to
    dropped_file: str = ""  # where they were written

    @property
    def off_balance_share(self) -> float:
        """Share of the checked rows whose next stock does not follow the balance."""
        return self.off_balance_rows / self.balance_rows if self.balance_rows else 0.0


@dataclass(frozen=True, eq=False)
class SalesLog:
    """Sales, stock and decisions of series over periods, as `read_log` returns them.

    Rows are in order of series and period; every array is read-only. `available`, `censored` and `cash` derive from the
    columns, the timing and the costs.

    Examples
    --------
    >>> from lostsales.simulation.scenario import Scenario
    >>> from lostsales.simulation.simulator import simulate
    >>> log, _ = simulate(Scenario.load("released"), episodes=5, seed=1)
    >>> len(log), len(log.names), log.prices.tolist()
    (250, 5, [2.0, 4.0, 6.0])

    """

    problem: Problem
    names: Array  # (series,) text; the parts of a series that a hole splits share a name
    series: Ints  # (rows,) index into names, rising
    period: Array  # (rows,) int64 or datetime64[us], rising within a series
    features: Floats  # (rows, features); a categorical feature is the index of its level
    price: Floats  # (rows,)
    sales: Floats  # (rows,)
    stock: Floats | None  # (rows,) None in a demand-only log
    order: Floats | None  # (rows,) None in a demand-only log
    stockout: Bools | None  # (rows,) None where the log has no flag
    last_sales: Floats  # (series,) sales before the first row, NaN where unknown
    last_stockout: Bools  # (series,) was that a stock-out
    received: Floats | None = None  # (rows,) what arrived of the order
    adjustment: Floats | None = None  # (rows,) correction of the stock before the next row
    costs: UnitCosts | None = None
    attributes: dict[str, Array] = field(default_factory=dict)  # each (series,)
    notes: LogNotes = LogNotes()

    def __post_init__(self) -> None:
        columns = [getattr(self, each.name) for each in fields(self)] + list(self.attributes.values())
        columns += [] if self.costs is None else [self.costs.lost, self.costs.order, self.costs.holding]
        for column in columns:
            if isinstance(column, np.ndarray):
                column.flags.writeable = False

    def __len__(self) -> int:
        return len(self.sales)

    def __repr__(self) -> str:
        from lostsales.data.describe import one_line

        return one_line(self)

    @property
    def demand_only(self) -> bool:
        """True where the log has no stock and order, only sales and stock-out flags."""
        return self.stock is None

    @cached_property
    def starts(self) -> Ints:
        """Row at which each series starts, (series,)."""
        return np.searchsorted(self.series, np.arange(len(self.names)))

    @cached_property
    def has_next(self) -> Bools:
        """Rows that have a next row in their series, (rows,)."""
        return np.r_[self.series[1:] == self.series[:-1], False] if len(self) else np.zeros(0, dtype=bool)

    def features_by_name(self, rows: Ints) -> dict[str, Floats]:
        """The features of rows, each (rows,)."""
        return {each.name: self.features[rows, at] for at, each in enumerate(self.problem.features)}

    @cached_property
    def available(self) -> Floats:
        """Units that could be sold; in a demand-only log known only up to the sales of a stock-out."""
        if self.stock is None or self.order is None:
            return self.sales if self.stockout is None else np.where(self.stockout, self.sales, np.inf)
        arrived = self.order if self.received is None else self.received
        return units_available(self.stock, arrived, self.problem.arrival, self.problem.capacity)

    @cached_property
    def censored(self) -> Bools:
        """Rows whose demand is hidden: by the flag, else every row that sold all there was."""
        if self.stockout is not None:
            return self.stockout
        return ~exceeds(self.available, self.sales)

    @cached_property
    def cash(self) -> Floats:
        """Profit without the cost of lost sales, which a stock-out hides."""
        return self.profit(np.zeros(len(self)))

    def profit(self, lost: Floats) -> Floats:
        """Profit of every row given its lost sales; with their expectations the surrogate profit (Equation 12)."""
        if self.order is None or self.costs is None:
            raise LostSalesError("profit needs stock, order and unit costs, and this log does not have them all")
        return period_profit(self.price, self.order, self.sales, lost, self.available - self.sales, self.costs)

    @cached_property
    def prices(self) -> Floats:
        """The price grid: the problem's, else the prices in the log."""
        return np.unique(self.price) if self.problem.prices is None else np.array(self.problem.prices)

    @cached_property
    def orders(self) -> Floats:
        """The order grid: the problem's, else the orders in the log."""
        if self.problem.orders is not None:
            return np.array(self.problem.orders)
        return np.zeros(0) if self.order is None else np.unique(self.order)
