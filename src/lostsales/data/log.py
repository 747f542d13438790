"""The sales log: observed sales, stock and decisions, as read-only columns."""

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np

from lostsales import plots
from lostsales.data.calendar.clock import DAY
from lostsales.data.calendar.periods import ends_months, months_later
from lostsales.data.economics import UnitCosts, period_profit, units_available, waste_loss
from lostsales.data.labels import SERIES_SEPARATOR, span, spelled
from lostsales.data.ledger import MOST_OFF_BALANCE, Ledger
from lostsales.data.problem import Problem
from lostsales.data.products import Products
from lostsales.errors import LostSalesError
from lostsales.types import Array, Bools, Floats, Ints, exceeds

ROW_COLUMNS = (
    *("period", "features", "price", "sales", "stock", "order", "stockout", "received", "adjustment"),
    *("out_of_stock", "open_time", "pipeline", "source_row", "season_end", "salvage"),
    *("wasted", "shelf_life", "waste_cost", "from_oldest"),
)
COSTS = ("lost", "order", "holding")
MONTH = (28 * DAY, 31 * DAY)  # microseconds between two months
MOST_DIFFERENT = 0.5  # of the deliveries: more than short deliveries explain


@dataclass(frozen=True)
class LogNotes:
    """Notes on a table as it was read: repairs and contradictions."""

    rows_moved: int = 0  # rows that were not in the order of series and period
    holes: int = 0  # gaps in the periods; each starts a new series
    balance_rows: int = 0  # rows whose next stock could be checked against the balance
    off_balance_rows: int = 0  # of these, rows whose next stock does not follow
    unused_columns: tuple[str, ...] = ()
    rows_dropped: int = 0  # unusable rows that were left out, as requested
    dropped_file: str = ""  # where they were written
    missing_costs: tuple[str, ...] = ()  # unit costs that neither the problem nor the table has
    follows_if: str = ""  # the reading under which a stock off its balance would follow, where one was found
    follows_if_share: float = 0.0  # of the next stocks that this reading gives
    off_lead_time_rows: int = 0  # rows whose receipt is not the order that was due by the lead time
    received_differs: float = 0.0  # share of deliveries that are not the order of their period, if they should be
    unrecorded_sellouts: int = 0  # rows that sold all there was and are not recorded as out of stock
    record_ignored: bool = False  # no row is recorded as out of stock, so every row that sold all there was counts
    missing_periods: int = 0  # within the lives of products, where rows of zero sales seem to be missing
    missing_share: float = 0.0  # of the periods within the lives of products
    outside_table: tuple[str, ...] = ()  # what of the files is no part of the table, such as titles and totals
    sales_are_demand: bool = False  # neither stock nor a record says when a product was out of stock

    @property
    def record_warnings(self) -> tuple[str, ...]:
        """Warnings about what a table records: stock-outs that contradict the stock, and missing rows of zero sales."""
        found = []
        if self.record_ignored:
            found.append(
                "the record of stock-outs says that nothing was ever out of stock, but "
                f"{self.unrecorded_sellouts:,} rows sold out: it is ignored, and these rows are treated as stock-outs "
                '(if the record is right, set stockouts_by = "record")'
            )
        if self.missing_periods:
            found.append(
                f"rows of zero sales seem to be missing: {self.missing_share:.0%} of the periods within the lives of "
                "products have no row, and hardly any row has sales of 0; read like this, demand comes out about "
                f"{1 / (1 - self.missing_share):.1f} times too high. `lostsales aggregate TABLE --by day` adds them "
                "(a table of transactions lists only what was sold); or name the days when the shop was closed under "
                "[clock]"
            )
        return tuple(found)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that make figures from this log doubtful."""
        found = [self.balance_warning] if self.balance_broken else []
        if self.sales_are_demand:
            found.insert(
                0,
                "the table has neither stock nor stock-outs, so sales are taken as demand: if products ran out, demand "
                "is underestimated. Name a column of stock-outs (stockout, in_stock, in_stock_share, out_of_stock) or "
                "of stock and orders under [columns] if there is one",
            )
        if self.received_differs >= MOST_DIFFERENT:
            found.append(
                f"what was received differs from what was ordered in {self.received_differs:.0%} of rows, though "
                "orders are read as arriving in their own period: deliveries seem to come later. If they are sold in "
                "the period in which they arrive, orders cannot be matched with receipts: set [columns] order to the "
                "receipts"
            )
        return (*found, *self.record_warnings)

    @property
    def off_balance_share(self) -> float:
        """Share of the checked rows whose next stock does not follow the balance."""
        return self.off_balance_rows / self.balance_rows if self.balance_rows else 0.0

    @property
    def balance_broken(self) -> bool:
        """True if too many rows are off the balance to trust profits computed from it."""
        return self.off_balance_share > MOST_OFF_BALANCE

    @property
    def balance_finding(self) -> str:
        """Finding that the stock does not follow its balance; empty if it does."""
        if not self.balance_broken:
            return ""
        finding = f"the stock of the log does not follow its balance in {self.off_balance_share:.1%} of rows"
        return f"{finding} (it would if {self.follows_if})" if self.follows_if else finding

    @property
    def balance_warning(self) -> str:
        """The finding with what it usually means and what to do, empty where the stock follows its balance."""
        if not self.balance_broken:
            return ""
        wanted = "next stock = stock - sales + what arrived + corrections"
        found = f"the stock does not follow its balance ({wanted}) in {self.off_balance_share:.1%} of rows"
        reasons = (
            "usual reasons: orders that arrive later (lead time), receipts or corrections that are not in the table, a "
            "stock counted at another hour"
        )
        if self.follows_if:
            reasons = f"it does in {self.follows_if_share:.1%} of rows if {self.follows_if}"
        keys = "say when orders arrive (arrival, supply.lead_time) or give what arrived (received) and corrections"
        keys = f"{keys} (adjustment), and check the balance"
        return f"{found}; {reasons}; {keys}; until then no gain can be determined from this log"


@dataclass(frozen=True, eq=False)
class SalesLog:
    """Sales, stock and decisions of series over periods, as `read_log` returns them.

    Rows are in order of series and period; every array is read-only. `available`, `censored`, `censoring_level` and
    `cash` derive from the columns, the timing and the costs.

    Examples
    --------
    >>> from lostsales.simulation.scenario import Scenario
    >>> from lostsales.simulation.simulator import simulate
    >>> log, _ = simulate(Scenario.load("released"), episodes=5, seed=1)
    >>> len(log), len(log.names), log.problem.prices
    (250, 5, (2.0, 4.0, 6.0))

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
    costs: UnitCosts | None  # None where neither the problem nor the table has them
    received: Floats | None = None  # (rows,) what arrived in the period, where that is not its order
    adjustment: Floats | None = None  # (rows,) correction of the stock before the next row
    out_of_stock: Floats | None = None  # (rows,) time out of stock within the period
    open_time: Floats | None = None  # (rows,) length of the period in the same unit, where it is a column
    attributes: dict[str, Array] = field(default_factory=dict)  # each (series,)
    notes: LogNotes = LogNotes()
    # (rows, longest lead time - 1) on the way when the period opens: column k arrives in k + 1 periods, at the latest
    # where lead times vary. None where there are no columns, or in a demand-only log.
    pipeline: Floats | None = None
    levels: dict[str, tuple[str, ...]] | None = None  # of attributes that are text, in the whole that this is a part of
    source_row: Ints | None = None  # (rows,) place in the table, where that is in another order
    season_end: Array | None = None  # (rows,) last period in which the product is sold, of the type of `period`
    salvage: Floats | None = None  # (rows,) what a unit brings that is left then; None where seasons have no end
    wasted: Floats | None = None  # (rows,) thrown away when the period was over, and part of the adjustment; as all ...
    shelf_life: Floats | None = None  # (rows,) in periods; ... of these None where units keep for ever
    waste_cost: Floats | None = None  # (rows,) of a unit, beyond its purchase price
    from_oldest: Floats | None = None  # (rows,) share of the units sold that are the oldest ones
    keeps_price: bool = False  # set by `fit` where prices had hidden causes: the usual one is the only candidate

    def __post_init__(self) -> None:
        columns = [getattr(self, each.name) for each in fields(self)] + list(self.attributes.values())
        columns += [] if self.costs is None else list(self.costs)
        for column in columns:
            if isinstance(column, np.ndarray):
                column.flags.writeable = False

    def __len__(self) -> int:
        return len(self.sales)

    def __repr__(self) -> str:
        if not len(self):
            return "SalesLog: no rows"
        parts = [f"{len(self):,} rows", f"{len(self.names):,} series"]
        parts += [f"periods {spelled(self.period.min())} to {spelled(self.period.max())}"]
        parts += [f"{self.censored.mean():.0%} stock-outs", f"prices {span(self.price)}"]
        return "SalesLog: " + ", ".join([*parts, "no orders" if self.order is None else f"orders {span(self.order)}"])

    def plot(self, name: str | None = None) -> Any:
        """Picture of a product's sales, stock and stock-outs; by default of the first."""
        return plots.draw_history(self, name)

    def _repr_html_(self) -> str:
        return plots.html(repr(self), self.plot)

    @property
    def demand_only(self) -> bool:
        """True where the log has no stock and order, only sales and stock-out flags."""
        return self.stock is None

    @cached_property
    def starts(self) -> Ints:
        """Row at which each series starts, (series,)."""
        return np.searchsorted(self.series, np.arange(len(self.names)))

    def to_frame(
        self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas", more: dict[str, Array] | None = None
    ) -> Any:
        """Rows as a pandas, polars or pyarrow frame, under the names and in the order of the table that was read.

        With `more` columns, (rows,) each, it holds these beside the keys of the rows.
        """
        import narwhals as nw

        columns = self.table_columns if more is None else self.key_columns | more
        order = np.arange(len(self)) if self.source_row is None else np.argsort(self.source_row, kind="stable")
        frame = nw.from_dict({name: np.asarray(each)[order] for name, each in columns.items()}, backend=backend)
        return frame.to_native()

    @property
    def key_columns(self) -> dict[str, Array]:
        """The columns that name a row: its series and its period."""
        names = self.problem.columns
        return dict(zip(names.series_parts, self._series_columns(), strict=True)) | {names.period: self.period}

    @property
    def table_columns(self) -> dict[str, Array]:
        """The columns of a log under the names of its problem."""
        names = self.problem.columns
        columns = self.key_columns
        for index, feature in enumerate(self.problem.features):
            if feature.calendar is not None:  # the periods say it
                continue
            values = self.features[:, index]
            columns[feature.name] = (
                values if feature.levels is None else _texts(feature.levels)[values.astype(np.int64)]
            )
        for name, texts in self.attributes.items():
            columns[name] = texts[self.series]
        for role in ("stock", "price", "order", "sales", "stockout", "received", "adjustment"):
            constant = role == "price" and self.problem.price is not None  # the problem says it
            if (values := getattr(self, role)) is not None and not constant:
                columns[getattr(names, role)] = values
        if self.wasted is not None:
            columns[names.wasted] = self.wasted
            if self.adjustment is not None:
                columns[names.adjustment] = self.adjustment + self.wasted
        if self.pipeline is not None:
            columns |= {names.on_order_in(at + 1): units for at, units in enumerate(self.pipeline.T)}
        if self.out_of_stock is not None:
            if names.out_of_stock is not None:
                columns[names.out_of_stock] = self.out_of_stock
            elif names.in_stock_share is not None:
                columns[names.in_stock_share] = 1.0 - self.out_of_stock
            elif names.in_stock is not None:
                columns[names.in_stock] = self.out_of_stock == 0
        if self.open_time is not None:
            columns[str(self.problem.open_time)] = self.open_time
        keys = self.problem.product
        named_by = {"season_end": keys.season_end, "salvage": keys.salvage, "from_oldest": keys.oldest_first}
        for role, named in (named_by | {"shelf_life": keys.shelf_life, "waste_cost": keys.waste_cost}).items():
            if (values := getattr(self, role)) is not None and named in keys.columns:
                columns.setdefault(named, values)
        for role in ("lost", "order", "holding"):
            if self.costs is not None and isinstance(cost := getattr(self.costs, role), np.ndarray):
                columns[getattr(self.problem.costs, role) or getattr(names, f"{role}_cost")] = cost
        if not np.isnan(self.last_sales).all():
            first = np.zeros(len(self), dtype=bool)
            first[self.starts] = True
            columns[names.last_sales] = np.ma.masked_array(
                self.last_sales[self.series], ~first | np.isnan(self.last_sales)[self.series]
            )
            columns[names.last_stockout] = np.ma.masked_array(self.last_stockout[self.series], ~first)
        return columns

    def _series_columns(self) -> list[Array]:
        parts = len(self.problem.columns.series_parts)
        if parts == 1:
            return [_numbers_where_possible(self.names)[self.series]]
        split = [name.split(SERIES_SEPARATOR, parts - 1) for name in self.names]
        return [np.array([each[part] for each in split], dtype=object)[self.series] for part in range(parts)]

    @cached_property
    def products(self) -> Products:
        """Products of the log, and the product of every segment and row."""
        return Products.of_segments(self.names, self.series)

    @cached_property
    def has_next(self) -> Bools:
        """Rows that have a next row in their series, (rows,)."""
        return np.r_[self.series[1:] == self.series[:-1], False] if len(self) else np.zeros(0, dtype=bool)

    @cached_property
    def steps(self) -> Ints:
        """Steps from each row of a series to the next, in microseconds or whole numbers."""
        return np.asarray(np.diff(self.period.astype(np.int64))[self.has_next[:-1]])

    @cached_property
    def usual_step(self) -> int:
        """The most frequent step; 0 where no series has two rows."""
        values, counts = np.unique(self.steps, return_counts=True)
        return int(values[counts.argmax()]) if len(values) else 0

    def features_by_name(self, rows: Ints) -> dict[str, Floats]:
        """The features of rows, each (rows,)."""
        return {each.name: self.features[rows, at] for at, each in enumerate(self.problem.features)}

    def period_after(self, rows: Ints) -> Array:
        """The period one usual step after those of some rows, which is a month where periods are months."""
        period = self.period[rows]
        if self.period.dtype.kind == "M" and MONTH[0] <= self.usual_step <= MONTH[1]:
            at_end = ends_months(self.period)
            if at_end or len(np.unique(self.period - self.period.astype("datetime64[M]"))) == 1:
                return months_later(period, 1, at_end)
        return np.asarray(period + (self.usual_step or (DAY if self.period.dtype.kind == "M" else 1)))

    @property
    def row_columns(self) -> dict[str, Array]:
        """The columns with one entry a row that the log has, without the series and the unit costs."""
        return {name: column for name in ROW_COLUMNS if (column := getattr(self, name)) is not None}

    @cached_property
    def ledger(self) -> Ledger | None:
        """The columns of stock; None in a demand-only log."""
        return None if self.stock is None or self.order is None else self._ledger(self.stock, self.order)

    def _ledger(self, stock: Floats, order: Floats) -> Ledger:
        arrived = order if self.received is None else self.received
        moved = np.zeros(len(self)) if self.adjustment is None else self.adjustment
        return Ledger(stock, order, arrived, self.sales, moved, self.series)

    @cached_property
    def available(self) -> Floats:
        """Units that could be sold; in a demand-only log known only up to the sales of a stock-out."""
        ledger = self.ledger
        if ledger is None:
            return np.where(self._recorded_stockouts, self.sales, np.inf) if self.records_stockouts else self.sales
        available = units_available(ledger.stock, ledger.arrived, self.problem.flow)
        # More than that can be sold where a correction of the period added to the stock.
        return np.where(exceeds(self.sales, available), self.sales, available)

    @property
    def records_stockouts(self) -> bool:
        """True where the log says by a flag or by a time which rows were out of stock."""
        return self.stockout is not None or self.out_of_stock is not None

    @cached_property
    def _recorded_stockouts(self) -> Bools:
        out = np.zeros(len(self), dtype=bool) if self.stockout is None else self.stockout
        return out if self.out_of_stock is None else out | (self.out_of_stock > 0)

    @cached_property
    def censored(self) -> Bools:
        """Rows whose demand is hidden: by flag or time out of stock, else every row that sold all there was."""
        return self._recorded_stockouts if self.records_stockouts else ~exceeds(self.available, self.sales)

    @cached_property
    def is_partial(self) -> Bools:
        """Rows that were out of stock for part of the period only, as units were left over."""
        return self.is_share | (self.censored & exceeds(self.available, self.sales))

    @cached_property
    def is_share(self) -> Bools:
        """Rows whose sales are those of a known share of the period: in the rest of it they were out of stock."""
        if self.problem.columns.in_stock_share is None or self.out_of_stock is None:
            return np.zeros(len(self), dtype=bool)
        return (self.out_of_stock > 0) & (self.out_of_stock < 1)

    @cached_property
    def censoring_level(self) -> Floats:
        """The level up to which demand shows: what was available, or the sales of a row that is partly out."""
        return np.where(self.is_partial, self.sales, self.available)

    @cached_property
    def out_share(self) -> Floats | None:
        """Share of the period that each row was out of stock; None where it is not recorded."""
        if self.problem.columns.in_stock_share is not None:
            return self.out_of_stock
        length = self.problem.open_time if self.open_time is None else self.open_time
        if self.out_of_stock is None or length is None or isinstance(length, str):
            return None
        return self.out_of_stock / length

    @cached_property
    def cash(self) -> Floats:
        """Profit without the cost of lost sales, which a stock-out hides."""
        return self.profit(np.zeros(len(self)))

    def profit(self, lost: Floats) -> Floats:
        """Profit of every row given its lost sales; with their expectations the surrogate profit (Equation 12)."""
        log = self.decisions("profit")
        found = period_profit(log.price, log.order, log.sales, lost, log.available - log.sales, log.costs)
        return found if log.wasted is None else found - waste_loss(log.wasted, log.waste_cost, log.costs)

    def decisions(self, verb: str) -> "DecisionLog":
        """The log as one of decisions, or an error that lists all that `verb` needs and the log does not have."""
        missing = []
        if self.ledger is None:
            missing.append(
                f"{verb} needs stock and orders, and this log has none; inspect, audit, impute, demand and forecast "
                "can use it"
            )
        if self.costs is None:
            keys = [f"{name} = ..." for name in self.notes.missing_costs or COSTS]
            missing.append(
                f"{verb} needs unit costs: set [costs] {', '.join(keys)} in the problem, each a number or a column"
            )
        if missing:
            raise LostSalesError("\n".join(missing))
        if isinstance(self, DecisionLog):
            return self
        return DecisionLog(**{each.name: getattr(self, each.name) for each in fields(self)})


@dataclass(frozen=True, eq=False, repr=False)
class DecisionLog(SalesLog):
    """A log with stock, orders and unit costs, as learning and evaluating a policy needs it."""

    stock: Floats
    order: Floats
    costs: UnitCosts

    @cached_property
    def ledger(self) -> Ledger:
        """The columns of stock."""
        return self._ledger(self.stock, self.order)


AnyLog = TypeVar("AnyLog", bound=SalesLog)


def _numbers_where_possible(names: Array) -> Array:
    """Names of series that are all whole numbers, as numbers: a tenth of the size."""
    try:
        numbers = names.astype(np.int64)
    except ValueError:
        return names
    return numbers if (numbers.astype(str) == names).all() else names


def _texts(levels: tuple[object, ...]) -> Array:
    texts = np.empty(len(levels), dtype=object)
    texts[:] = [spelled(level) for level in levels]
    return texts
