"""Description of a log in a few facts, the grid that may be recommended from it, and warnings before decisions."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lostsales.data.calendar.periods import Closings, closing_lines, closings
from lostsales.data.candidate_grid import CandidateGrid
from lostsales.data.demand_bounds import ROW_KINDS, demand_bounds
from lostsales.data.labels import spelled
from lostsales.data.log import LogNotes, SalesLog
from lostsales.data.pipelines import supply_words
from lostsales.data.reading.evening_orders import OrderMoment, order_moment
from lostsales.data.scale import series_scale, usual_price
from lostsales.data.units import common_step
from lostsales.errors import SettingError
from lostsales.types import Floats

LISTED = 12  # candidates of a grid that are listed one by one; longer grids are summarised
SHOWN_SERIES = 3  # series whose grids are shown in words
HEADING = "may be recommended"


@dataclass(frozen=True)
class CandidateFacts:
    """Candidates of a grid; relative ones are multiples of the usual price or the mean sales of a series."""

    count: int
    lowest: float
    highest: float
    multiple: float | None  # that all have, None where there is none
    relative: bool
    values: tuple[float, ...]


@dataclass(frozen=True)
class SeriesGridFacts:
    """Lowest and highest candidates of one series."""

    series: str
    lowest_price: float
    highest_price: float
    lowest_order: float
    highest_order: float


@dataclass(frozen=True)
class GridFacts:
    """Prices and orders that may be recommended."""

    prices: CandidateFacts
    orders: CandidateFacts | None  # None in a log without orders
    price_endings: tuple[float, ...]  # that relative prices are rounded to
    price_step: float
    series: tuple[SeriesGridFacts, ...]  # if series have their own grids

    @classmethod
    def of(cls, candidates: CandidateGrid, log: SalesLog) -> "GridFacts":
        """Describe the grids of the series of a log.

        >>> from lostsales.simulation.simulator import simulate
        >>> log, _ = simulate("released", episodes=5, seed=1)
        >>> GridFacts.of(CandidateGrid.of(log), log).as_lines()
        [('may be recommended', 'prices 2, 4, 6'), ('', 'orders 0 to 15, in steps of 1 (16 values)')]
        """
        multiple = candidates.order_multiple if candidates.relative_orders else common_step(candidates.orders)
        return cls(
            prices=_facts(candidates.prices, candidates.relative_prices, candidates.price_step or None),
            orders=None
            if log.order is None
            else _facts(candidates.orders, candidates.relative_orders, multiple or None),
            price_endings=candidates.price_endings,
            price_step=candidates.price_step,
            series=_by_series(candidates, log) if candidates.relative else (),
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def as_lines(self) -> list[tuple[str, str]]:
        """Names and values for people."""
        prices, orders = self.prices, self.orders
        text = f"prices {_candidates(prices)}"
        if prices.relative:
            text = f"prices {_candidates(prices)} times each product's usual price{self._rounding()}"
        lines = [(HEADING, text)]
        if orders is not None:
            of = " times each product's mean sales" if orders.relative else ""
            listed = orders.count <= LISTED
            unit = "multiples" if orders.relative else "steps"
            cases = f", in {unit} of {_number(orders.multiple)}" if orders.multiple and not listed else ""
            lines.append(("", f"orders {_candidates(orders, of + cases)}"))
        for each in self.series[:SHOWN_SERIES]:
            own = f"{each.series}: prices {_number(each.lowest_price)} to {_number(each.highest_price)}"
            bought = f", orders {_number(each.lowest_order)} to {_number(each.highest_order)}"
            lines.append(("", own + ("" if orders is None else bought)))
        if (more := len(self.series) - SHOWN_SERIES) > 0:
            lines.append(("", f"... and {more:,} more products"))
        return lines

    def _rounding(self) -> str:
        if not self.price_step:
            return ""
        if self.price_endings == (0.0,):
            return f", rounded to {self.price_step:g}"
        return f", ending in {' or '.join(f'{each:.2f}' for each in self.price_endings)}"


def recommendable(log: SalesLog) -> GridFacts | str:
    """Prices and orders that are recommended from a log by default, or the reason why there are none."""
    try:
        return GridFacts.of(CandidateGrid.of(log, log.problem.rules), log)
    except SettingError as error:
        return str(error)


def _facts(values: Floats, relative: bool, multiple: float | None) -> CandidateFacts:
    return CandidateFacts(len(values), float(values[0]), float(values[-1]), multiple, relative, tuple(values.tolist()))


def _by_series(candidates: CandidateGrid, log: SalesLog) -> tuple[SeriesGridFacts, ...]:
    order = np.argsort(log.products.names.astype(str))
    names, first = log.products.names[order], log.products.first_segment[order]
    prices, orders = candidates.prices_of(usual_price(log)[first]), candidates.orders_of(series_scale(log)[first])
    columns = (prices[:, 0], prices[:, -1], orders[:, 0], orders[:, -1])
    return tuple(SeriesGridFacts(str(name), *map(float, each)) for name, *each in zip(names, *columns, strict=True))


def _candidates(candidates: CandidateFacts, after: str = "") -> str:
    if candidates.count <= LISTED:
        return ", ".join(map(_number, candidates.values)) + after
    return f"{_number(candidates.lowest)} to {_number(candidates.highest)}{after} ({candidates.count:,} values)"


def _number(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")


SHOWN_HOLES = 3  # gaps that are listed one by one


@dataclass(frozen=True)
class Description:
    """The facts behind `lostsales inspect`, see `describe`.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> describe(log).rows
    250

    """

    rows: int
    series: int
    products: int
    first_period: str
    last_period: str
    arrival: str
    supply: str  # in words
    balance: str
    stockout_share: float
    stockout_flag: bool
    demand_only: bool
    mean_sales: float
    mean_cash: float | None  # profit a period without the cost of lost sales; None where costs or stock are unknown
    prices: dict[str, float]
    orders: dict[str, float] | None
    features: tuple[str, ...]
    attributes: tuple[str, ...]
    notes: LogNotes
    row_kinds: dict[str, int]  # rows by their information about demand, see `ROW_KINDS`
    stockouts_by: str  # what says which rows were out of stock
    closed: tuple[Closings, ...]  # when the shop is closed, by calendar; empty where it never is
    holes: tuple[str, ...]  # the first of the missing periods that are no closings, each starts a new series
    order_moment: OrderMoment | None  # whether orders seem to be placed at closing time; None where nothing tells
    may_recommend: GridFacts | str  # what would be recommended by default, or why nothing can be

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        notes = self.notes
        derived: dict[str, Any] = {"off_balance_share": notes.off_balance_share, "balance_broken": notes.balance_broken}
        derived |= {"balance_warning": notes.balance_warning or None, "warnings": notes.warnings}
        found = asdict(self) | {"notes": asdict(notes) | derived}
        if self.order_moment is not None:
            found["order_moment"]["is_close"] = self.order_moment.is_close
        return found

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the table: those of reading it, orders of the evening, and deliveries that were not due."""
        found = list(self.notes.warnings)
        if self.order_moment is not None and self.order_moment.is_close:
            found.append(self.order_moment.sentence)
        if self.notes.off_lead_time_rows:
            rows = f"{self.notes.off_lead_time_rows:,} rows received something else than was due by the lead time"
            found.append(f'{rows}; where deliveries are late, set supply.lead_time = "learn"')
        return tuple(found)

    @property
    def verdict(self) -> str:
        """The short answer: what was read, and whether anything needs a look."""
        dropped = f", {self.notes.rows_dropped:,} left out" if self.notes.rows_dropped else ""
        count = len(self.warnings)
        doubt = (
            "with nothing to warn of" if not count else f"with {count} warning{'s' if count > 1 else ''} (see below)"
        )
        return f"The table can be read: {self.rows:,} rows of {self.products:,} products{dropped}, {doubt}."

    def as_lines(self) -> list[tuple[str, str]]:
        """Names and values for people."""
        notes = self.notes
        cash = "unknown: needs stock, order and unit costs"
        if self.mean_cash is not None:
            cash = f"{self.mean_cash:.3f} (the cost of lost sales is hidden)"
        lines = [
            ("rows", f"{self.rows:,} in {self.series:,} series, periods {self.first_period} to {self.last_period}"),
            *(("closed" if place == 0 else "", line) for place, line in enumerate(closing_lines(self.closed))),
            ("timing", f"{self.supply}; balance {self.balance}"),
            ("stock-outs", f"{self.stockout_share:.1%} of rows ({self.stockouts_by})"),
            *self._unrecorded(),
            *self._rows_tell(),
            ("mean sales per period", f"{self.mean_sales:.3f}"),
            ("mean cash per period", cash),
            ("prices", _grid(self.prices)),
        ]
        if self.orders is not None:
            lines.append(("orders", _grid(self.orders)))
        candidates = self.may_recommend
        lines += [(HEADING, f"nothing: {candidates}")] if isinstance(candidates, str) else candidates.as_lines()
        lines.append(("features", ", ".join(self.features) or "none declared"))
        if self.attributes:
            lines.append(("attributes", ", ".join(self.attributes)))
        if notes.unused_columns:
            lines.append(
                ("columns not used", f"{', '.join(notes.unused_columns)} (declare them under features to use them)")
            )
        if notes.rows_dropped:
            where = f", written with the reasons to {notes.dropped_file}" if notes.dropped_file else ""
            lines.append(("rows left out", f"{notes.rows_dropped:,} that could not be used{where}"))
        repaired = [f"left out: {', '.join(notes.outside_table)}"] if notes.outside_table else []
        if notes.rows_moved:
            repaired.append(f"{notes.rows_moved:,} rows put into order of series and period")
        if notes.holes:
            more = ", ..." if notes.holes > len(self.holes) else ""
            which = f": {', '.join(self.holes)}{more}" if self.holes else ""
            one = notes.holes == 1
            count = "1 gap" if one else f"{notes.holes:,} gaps"
            repaired.append(f"{count} in the periods, {'which' if one else 'each'} starts a new series{which}")
        lines.append(("repaired", "; ".join(repaired) or "nothing needed it"))
        if not self.demand_only:
            lines.append(
                (
                    "stock off the balance",
                    f"{notes.off_balance_share:.1%} of {notes.balance_rows:,} rows with a next row",
                )
            )
        return lines + [("WARNING", warning) for warning in self.warnings]

    def _unrecorded(self) -> list[tuple[str, str]]:
        """Rows whose record of stock-outs and stock do not say the same, where the record is used."""
        rows = self.notes.unrecorded_sellouts
        if not rows or self.notes.record_ignored:
            return []
        return [("sold out, not recorded", f"{rows:,} rows sold all there was: taken to be exactly the demand")]

    def _rows_tell(self) -> list[tuple[str, str]]:
        """Kinds of rows by their information about demand, one line each."""
        told = [
            f"{rows:,} rows ({rows / self.rows:.1%}): {ROW_KINDS[kind]}"
            for kind, rows in self.row_kinds.items()
            if rows
        ]
        return [("information about demand" if place == 0 else "", line) for place, line in enumerate(told)]


def describe(log: SalesLog) -> Description:
    """Summarise a log: rows, periods, timing, stock-outs, prices, and what reading repaired.

    Parameters
    ----------
    log : SalesLog
        What `read_log` returns.

    Returns
    -------
    Description
        As facts, as JSON (`as_json`) and as lines of text (`as_lines`).

    Examples
    --------
    >>> from lostsales.simulation.scenario import Scenario
    >>> from lostsales.simulation.simulator import simulate
    >>> log, _ = simulate(Scenario.load("released"), episodes=5, seed=1)
    >>> found = describe(log)
    >>> found.rows, found.series, found.prices
    (250, 5, {'count': 3, 'lowest': 2.0, 'highest': 6.0})

    """
    has_costs = log.order is not None and log.costs is not None
    return Description(
        rows=len(log),
        series=len(log.names),
        products=len(log.products),
        first_period=spelled(log.period.min()),
        last_period=spelled(log.period.max()),
        arrival=log.problem.arrival,
        supply=supply_words(log.problem),
        balance=log.problem.balance,
        stockout_share=float(log.censored.mean()),
        stockout_flag=log.records_stockouts,
        demand_only=log.demand_only,
        mean_sales=float(log.sales.mean()),
        mean_cash=float(log.cash.mean()) if has_costs else None,
        prices=_range(np.unique(log.price)),
        orders=None if log.order is None else _range(np.unique(log.order)),
        features=tuple(feature.name for feature in log.problem.features),
        attributes=log.problem.attributes,
        notes=log.notes,
        row_kinds=demand_bounds(log).counts,
        stockouts_by=_stockouts_by(log),
        closed=closings(log.problem.clock.calendars, log.names),
        holes=_holes(log),
        order_moment=order_moment(log),
        may_recommend=recommendable(log),
    )


def _holes(log: SalesLog) -> tuple[str, ...]:
    """The first holes: the series, its last row before and the first after it."""
    after = np.flatnonzero(log.names[1:] == log.names[:-1])[:SHOWN_HOLES] + 1
    return tuple(
        f"{log.names[part]} between {spelled(log.period[row - 1])} and {spelled(log.period[row])}"
        for part, row in zip(after, log.starts[after], strict=True)
    )


def _stockouts_by(log: SalesLog) -> str:
    columns = log.problem.columns
    if log.notes.record_ignored or log.problem.stockouts_by == "stock":
        return "by the stock: every sell-out is treated as one"
    if log.out_of_stock is None:
        return "no flag in the log: every sell-out is treated as one" if log.stockout is None else "by the log's flag"
    by = f"by {columns.out_of_stock or columns.in_stock or columns.in_stock_share}"
    return by if log.stockout is None else f"{by} or the log's flag"


def _range(grid: Floats) -> dict[str, float]:
    return {"count": len(grid), "lowest": float(grid[0]), "highest": float(grid[-1])}


def _grid(grid: dict[str, float]) -> str:
    count = int(grid["count"])
    return f"{count:,} values, {grid['lowest']:g} to {grid['highest']:g}" if count > 1 else f"always {grid['lowest']:g}"


def doubts(log: SalesLog) -> tuple[str, ...]:
    """Warnings that decisions from a log may be wrong though computable: timing undeclared, balance broken."""
    timing = (
        f'the problem does not say when orders arrive, and arrival = "{log.problem.arrival}" is taken: set arrival = '
        '"before" if an order can be sold in its own period, "after" if not'
    )
    is_unknown = not log.demand_only and "arrival" not in log.problem.model_fields_set
    moment = order_moment(log)
    evening = "" if moment is None or not moment.is_close else moment.sentence
    return tuple(filter(None, (timing if is_unknown else "", *log.notes.warnings, evening)))
