"""The one gate through which a table becomes a sales log; inside, code trusts what it let through."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.arrays import Array, Bools, Floats, Ints, exceeds
from lostsales.data.economics import UnitCosts, next_stock, units_available
from lostsales.data.findings import Findings
from lostsales.data.log import LogNotes, SalesLog
from lostsales.data.problem import Feature, Problem
from lostsales.data.table import Table, open_table

Progress = Callable[[int, int], None]
# A step in time longer than this many shortest steps is a hole; months differ by less.
HOLE = 1.5


def read_log(source: Any, problem: Problem | str | Path | None = None, progress: Progress | None = None) -> SalesLog:
    """Read and check a table of sales.

    `source` is a path (CSV, Parquet) or a pandas, polars or Arrow table. `problem` is a `Problem` or the path of its
    TOML; without it a `log.toml` beside `log.parquet` is used. One error names everything that is wrong.
    """
    beside = Path(source) if isinstance(source, str | Path) else None
    known = Problem.of(problem, beside)
    return _Gate(open_table(source, known.columns.series_parts), known, progress).pass_through()


@dataclass
class _Gate:
    """The state of one reading; columns are in the order of the source until the end."""

    table: Table
    problem: Problem
    progress: Progress | None
    findings: Findings = field(init=False)
    used: set[str] = field(default_factory=set)
    steps_done: int = 0

    def __post_init__(self) -> None:
        self.findings = Findings(self.table.name)

    def pass_through(self) -> SalesLog:
        names, findings = self.problem.columns, self.findings
        if self.table.rows == 0:
            findings.add("a log needs at least one row, but the table is empty")
        self._require_columns()
        findings.raise_if_any()

        codes, texts = self.table.labels(names.series_parts)
        self.used.update(names.series_parts)
        findings.check(codes < 0, f"{' and '.join(names.series_parts)} must be present")
        findings.series_of = codes, texts
        period = self._period()
        findings.period_of = period

        price = self._number(names.price)
        sales = self._number(names.sales)
        demand_only = names.stock not in self.table.columns
        stock = None if demand_only else self._number(names.stock)
        order = None if demand_only else self._number(names.order)
        stockout = self._flag(names.stockout)
        received = self._optional(names.received)
        adjustment = self._optional(names.adjustment, negative=True)
        costs = self._costs()
        features = self._features()
        self._check_grid(price, self.problem.prices, names.price)
        if stock is not None and order is not None:
            self._check_grid(order, self.problem.orders, names.order)
            self._check_stock(stock, order if received is None else received, sales, stockout)
        last_sales = self._optional(names.last_sales, gaps=True)
        last_stockout = self._flag(names.last_stockout, gaps=True)
        attributes = {name: self.table.labels((name,)) for name in self.problem.attributes}
        self.used.update(attributes)
        findings.raise_if_any()

        ordering = _ordering(codes, period)
        series, heads, holes = self._split(codes, period, ordering)
        first_rows = heads if ordering is None else ordering[heads]
        kept_attributes = {
            name: self._constant(name, coded, series, first_rows, ordering) for name, coded in attributes.items()
        }
        findings.raise_if_any()

        def in_order(column: Any) -> Any:
            return column if ordering is None or not isinstance(column, np.ndarray) else column[ordering]

        log = SalesLog(
            problem=self.problem,
            names=texts[codes[first_rows]],
            series=series,
            period=in_order(period),
            features=in_order(features),
            price=in_order(price),
            sales=in_order(sales),
            stock=in_order(stock),
            order=in_order(order),
            stockout=in_order(stockout),
            last_sales=np.full(len(heads), np.nan) if last_sales is None else last_sales[first_rows],
            last_stockout=np.zeros(len(heads), dtype=bool) if last_stockout is None else last_stockout[first_rows],
            received=in_order(received),
            adjustment=in_order(adjustment),
            costs=costs
            and replace(costs, lost=in_order(costs.lost), order=in_order(costs.order), holding=in_order(costs.holding)),
            attributes=kept_attributes,
        )
        moved = 0 if ordering is None else int(np.count_nonzero(ordering != np.arange(len(ordering))))
        checked, off = _off_balance(log)
        unused = tuple(column for column in self.table.columns if column not in self.used)
        return replace(log, notes=LogNotes(moved, holes, checked, off, unused))

    def _require_columns(self) -> None:
        names, have = self.problem.columns, set(self.table.columns)
        wanted = [*names.series_parts, names.period, names.price, names.sales]
        if names.stock in have or names.order in have:
            wanted += [names.stock, names.order]
        elif names.stockout not in have:
            self.findings.add(
                f"a log without columns {names.stock!r} and {names.order!r} needs {names.stockout!r} "
                f"to tell where demand was hidden; the table has {', '.join(map(repr, self.table.columns))}"
            )
        wanted += [feature.name for feature in self.problem.features]
        wanted += list(self.problem.attributes)
        wanted += [
            cost
            for cost in (self.problem.costs.lost, self.problem.costs.order, self.problem.costs.holding)
            if isinstance(cost, str)
        ]
        for column in dict.fromkeys(wanted):
            if column not in have:
                has = ", ".join(map(repr, self.table.columns))
                self.findings.add(f"column {column!r} is missing; the table has {has}")

    def _raw(self, column: str) -> Array:
        self.used.add(column)
        values = self.table.values(column)
        self.steps_done += 1
        if self.progress:
            self.progress(self.steps_done, max(self.steps_done + 1, len(self.table.columns)))
        return values

    def _optional(self, column: str, *, gaps: bool = False, negative: bool = False) -> Floats | None:
        return self._number(column, gaps=gaps, negative=negative) if column in self.table.columns else None

    def _number(self, column: str, *, gaps: bool = False, negative: bool = False) -> Floats:
        values = self._raw(column)
        if values.dtype.kind == "M":
            self.findings.add(f"{column} must be a number, but it holds dates")
            return np.zeros(len(values))
        if values.dtype.kind == "O":
            numbers, wrong = _parsed(values)
            self.findings.check(wrong, f"{column} must be a number", values)
            numbers[wrong] = 0.0
        else:
            numbers = values.astype(np.float64, copy=False)
        missing = np.isnan(numbers)
        if not gaps:
            self.findings.check(missing, f"{column} must be present")
        if np.isinf(numbers).any():
            self.findings.check(np.isinf(numbers), f"{column} must be finite", numbers)
        if not negative:
            self.findings.check(numbers < 0, f"{column} must not be negative", numbers)
        return numbers

    def _flag(self, column: str, *, gaps: bool = False) -> Bools | None:
        if column not in self.table.columns:
            return None
        values = self._raw(column)
        if values.dtype.kind == "b":
            return values
        if values.dtype.kind == "O":
            spelled = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "none": np.nan, "nan": np.nan, "<na>": np.nan}
            values = np.array([spelled.get(str(value).lower(), -1.0) for value in values])
        if gaps:
            values = np.nan_to_num(values.astype(np.float64), nan=0.0)
        wrong = (values != 0) & (values != 1)
        self.findings.check(wrong, f"{column} must be true or false")
        return np.asarray(values == 1)

    def _period(self) -> Array:
        column = self.problem.columns.period
        values = self._raw(column)
        if values.dtype.kind == "O":
            try:
                values = values.astype("datetime64[us]")
            except (ValueError, TypeError):
                numbers, wrong = _parsed(values)
                self.findings.check(wrong, f"{column} must be a whole number or a date", values)
                values = np.where(wrong, 0.0, numbers)
        if values.dtype.kind == "M":
            self.findings.check(np.isnat(values), f"{column} must be present")
            return values.astype("datetime64[us]")
        missing = np.isnan(values)
        self.findings.check(missing, f"{column} must be present")
        whole = np.where(missing | np.isinf(values), 0.0, values)
        self.findings.check((whole != np.rint(whole)) | np.isinf(values), f"{column} must be a whole number", values)
        return whole.astype(np.int64)

    def _features(self) -> Floats:
        matrix = np.empty((self.table.rows, len(self.problem.features)), order="F")
        for index, feature in enumerate(self.problem.features):
            if feature.kind == "numeric":
                matrix[:, index] = self._number(feature.name, negative=True)
            else:
                matrix[:, index] = self._levels(index, feature)
        return matrix

    def _levels(self, index: int, feature: Feature) -> Ints:
        self.used.add(feature.name)
        codes, texts = self.table.labels((feature.name,))
        self.findings.check(codes < 0, f"{feature.name} must be present")
        if feature.levels is None:
            found = feature.model_copy(update={"levels": tuple(sorted(texts))})
            features = (*self.problem.features[:index], found, *self.problem.features[index + 1 :])
            self.problem = self.problem.model_copy(update={"features": features})
            feature = found
        spelled = [_spelled(level) for level in feature.levels or ()]
        of_text = np.array([spelled.index(text.lower()) if text.lower() in spelled else -1 for text in texts] + [0])
        level = of_text[codes]
        levels = ", ".join(map(str, feature.levels or ()))
        self.findings.check((level < 0) & (codes >= 0), f"{feature.name} must be one of {levels}", _text(texts, codes))
        return level

    def _costs(self) -> UnitCosts | None:
        names, given = self.problem.columns, self.problem.costs
        found: list[Floats | float] = []
        for cost, column in (
            (given.lost, names.lost_cost),
            (given.order, names.order_cost),
            (given.holding, names.holding_cost),
        ):
            if isinstance(cost, float):
                found.append(cost)
            elif isinstance(cost, str) or column in self.table.columns:
                found.append(self._number(cost or column))
        return UnitCosts(found[0], found[1], found[2], given.fixed_order) if len(found) == 3 else None

    def _check_grid(self, values: Floats, grid: tuple[float, ...] | None, column: str) -> None:
        if grid is None:
            return
        points = np.array(grid)
        nearest = points[np.searchsorted((points[1:] + points[:-1]) / 2, values)]
        off = exceeds(values, nearest) | exceeds(nearest, values)
        self.findings.check(off, f"{column} must be one of the declared {_listed(points)}", values)

    def _check_stock(self, stock: Floats, arrived: Floats, sales: Floats, stockout: Bools | None) -> None:
        problem, names = self.problem, self.problem.columns
        if problem.capacity is not None:
            self.findings.check(
                exceeds(stock, problem.capacity), f"{names.stock} must fit the capacity {problem.capacity:g}", stock
            )
        available = units_available(stock, arrived, problem.arrival, problem.capacity)
        what = names.stock if problem.arrival == "after" else f"{names.stock} + {names.order}"
        self.findings.check(
            exceeds(sales, available), f"{names.sales} must not exceed what was available ({what})", sales
        )
        if stockout is not None:
            unsold = stockout & exceeds(available, sales)
            self.findings.check(
                unsold, f"{names.stockout} says demand was hidden, so {names.sales} must be all of {what}", sales
            )

    def _split(self, codes: Ints, period: Array, ordering: Ints | None) -> tuple[Ints, Ints, int]:
        """Series index by row, row where each starts, and the number of holes; duplicates are findings."""
        code, time = (codes, period) if ordering is None else (codes[ordering], period[ordering])
        same = code[1:] == code[:-1]
        step = np.diff(time).astype(np.int64)
        again = np.r_[False, same & (step == 0)]
        self.findings.check(again, "a series must have one row a period, and it has another", rows=ordering)
        forward = step[same & (step > 0)]
        hole = same & (step > HOLE * forward.min()) if len(forward) else np.zeros(len(same), dtype=bool)
        first = np.r_[True, ~same | hole]
        return np.cumsum(first) - 1, np.flatnonzero(first), int(np.count_nonzero(hole))

    def _constant(
        self, name: str, coded: tuple[Ints, Array], series: Ints, first_rows: Ints, ordering: Ints | None
    ) -> Array:
        codes, texts = coded
        self.findings.check(codes < 0, f"attribute {name} must be present")
        sorted_codes = codes if ordering is None else codes[ordering]
        wrong = sorted_codes != codes[first_rows][series]
        shown = _text(texts, sorted_codes) if wrong.any() else None
        self.findings.check(wrong, f"attribute {name} must be the same in all rows of a series", shown, ordering)
        return _text(texts, codes[first_rows])


def _text(texts: Array, codes: Ints) -> Array:
    """The text behind each code; None behind -1."""
    shown = np.empty(len(codes), dtype=object)
    shown[codes >= 0] = texts[codes[codes >= 0]]
    return shown


def _ordering(codes: Ints, period: Array) -> Ints | None:
    """The rows in order of series and period, or None where they are in that order."""
    rising = (codes[1:] > codes[:-1]) | ((codes[1:] == codes[:-1]) & (period[1:] >= period[:-1]))
    return None if rising.all() else np.lexsort((period, codes))


def _off_balance(log: SalesLog) -> tuple[int, int]:
    """Rows that have a next row, and how many of their next stocks the balance cannot give."""
    if log.stock is None or log.order is None:
        return 0, 0
    problem, pairs = log.problem, log.has_next[:-1]
    arrived = log.order if log.received is None else log.received
    moved = 0.0 if log.adjustment is None else log.adjustment[:-1]
    stock, came, sales = log.stock[:-1], arrived[:-1], log.sales[:-1]
    expected = next_stock(stock, came, sales, problem.arrival, problem.balance, problem.capacity) + moved
    off = exceeds(log.stock[1:], expected)
    short = exceeds(expected, log.stock[1:])
    # Under "netted" hidden demand takes from the order too, so that a stock-out only bounds the next stock from above.
    off |= short & ~log.censored[:-1] if problem.balance == "netted" and problem.arrival == "after" else short
    return int(np.count_nonzero(pairs)), int(np.count_nonzero(off & pairs))


def _parsed(values: Array) -> tuple[Floats, Bools]:
    """Objects as numbers, and which of them are none."""
    try:
        return values.astype(np.float64), np.zeros(len(values), dtype=bool)
    except (ValueError, TypeError):
        numbers = np.array([_float(value) for value in values])
        missing = np.array([value is None or value != value for value in values])
        return numbers, np.isnan(numbers) & ~missing


def _float(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return float("nan")


def _spelled(level: object) -> str:
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level).lower()


def _listed(points: Floats) -> str:
    shown = [f"{point:g}" for point in points]
    return ", ".join(shown if len(shown) <= 8 else [*shown[:4], "...", shown[-1]])
