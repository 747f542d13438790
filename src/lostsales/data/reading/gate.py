"""The validation gate: a table becomes a sales log, or one error lists everything that is wrong."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.data.balance import off_balance_rows, other_reading
from lostsales.data.calendar.openings import ClockRows, find_openings, shared_columns
from lostsales.data.databases.query import sales_source
from lostsales.data.economics import units_available
from lostsales.data.log import SalesLog
from lostsales.data.memory import FEWER, check_memory, memory_limit
from lostsales.data.pipelines import contradicts_orders, off_lead_time, with_pipeline
from lostsales.data.problem import Problem
from lostsales.data.progress import Progress
from lostsales.data.reading.checks import (
    check_calendar,
    check_clock,
    check_closings,
    check_constant,
    check_duplicates,
    check_out_of_stock,
    check_salvage,
    check_stock,
    missing_zeros,
    with_stockouts_by,
)
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.dropping import DroppedRows, dropped_file
from lostsales.data.reading.evening_orders import lay_out, with_first_orders
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.log_columns import lacks_stockouts, named_in, read_columns, require_columns, with_calendar
from lostsales.data.reading.perishing import check_waste, with_waste
from lostsales.data.reading.supply import pipeline_texts
from lostsales.data.reading.table import Table, open_table, problem_beside
from lostsales.data.receipts import with_receipts
from lostsales.errors import LogError
from lostsales.types import Array, Ints, exceeds

# Of a column while it is read: as it came, as numbers, and in order.
_logger = logging.getLogger(__name__)
BYTES_A_VALUE = 24


def read_log(
    source: Any,
    problem: Problem | str | Path | None = None,
    progress: Progress | None = None,
    *,
    drop_bad_rows: bool | str | Path = False,
    query: str | None = None,
    sales_only: bool = False,
) -> SalesLog:
    """Read and validate a table of sales.

    Parameters
    ----------
    source : path or table
        A CSV, Parquet or Excel file, a folder or a pattern (`sales-*.csv`) or a list of such files, or a pandas, polars
        or Arrow table, lazy or not: one row a series and period. With `query`, the address of a database
        (`postgresql://user@host/name`, `sqlite:///file.db`, `duckdb:///file.duckdb`) or the path of its file.
    problem : Problem or path, optional
        Timing, costs, features and column names, or the TOML file of them; by default the TOML file beside the table
        (`log.toml` beside `log.parquet`), else the defaults of `Problem`.
    progress : callable, optional
        Called with columns done and columns in total.
    drop_bad_rows : bool or path
        Leave out rows that cannot be used, instead of refusing the table. They are counted in `notes` and written with
        the reason to this path, or beside the file that was read (`log.dropped.csv` beside `log.csv`).
    query : str, optional
        SQL whose rows are the table. It runs in a transaction that only reads. Passwords come from the environment or
        the usual files (`PGPASSWORD`, `~/.pgpass`, `PGSERVICE`).
    sales_only : bool
        A table may lack prices: then they are 1 throughout. So it is where the columns have the names of forecasting
        libraries (`unique_id`, `ds`, `y`). Without stock, orders and stock-outs all sales are demand, with a warning.

    Returns
    -------
    SalesLog
        The rows in order of series and period; `notes` says what was repaired.

    Raises
    ------
    LogError
        The table cannot be used; `findings` lists every reason, each with rows that show it.
    SettingError
        The problem is not usable.

    Examples
    --------
    >>> import pandas as pd
    >>> table = {"series": ["a", "a"], "period": [1, 2], "stock": [5, 4], "price": [2, 2], "order": [0, 3]}
    >>> log = read_log(pd.DataFrame(table | {"sales": [1, 4]}), Problem(arrival="after"))
    >>> log.available.tolist(), log.censored.tolist()
    ([5.0, 4.0], [False, True])

    """
    source = sales_source(source, query)
    beside = problem_beside(source)
    chosen = Problem.of(problem, beside)
    if drop_bad_rows is False:
        return read_table(open_table(source, chosen.reads), chosen, progress, sales_only=sales_only)
    target = dropped_file(source, drop_bad_rows, (problem, beside))
    dropped = DroppedRows(open_table(source))
    log = _read_good_rows(dropped, chosen, progress, sales_only=sales_only)
    if dropped.reasons and target is not None:
        dropped.write(target)
    notes = replace(log.notes, rows_dropped=len(dropped.reasons), dropped_file="" if target is None else str(target))
    return replace(log, notes=notes) if dropped.reasons else log


def read_table(
    table: Table, problem: Problem, progress: Progress | None = None, *, sales_only: bool = False
) -> SalesLog:
    """`read_log` of an open table."""
    return _Gate(table, problem, progress, sales_only=sales_only).pass_through()


def check_columns(table: Table, problem: Problem) -> None:
    """Raise where a table lacks columns that reading it with a problem needs."""
    gate = _Gate(table, problem, None)
    gate.require_columns()
    gate.findings.raise_if_any()


def read_good_series(
    table: Table, problem: Problem, *, drop_bad_rows: bool = False
) -> tuple[SalesLog | None, dict[str, str]]:
    """The log of the series that can be used, None where there are none, and by name why the others cannot.

    A series with a bad row is left out as a whole, or with `drop_bad_rows` only where no row of it remains.
    """
    dropped = DroppedRows(table)
    log = None
    try:
        log = _read_good_rows(dropped, problem, None, whole_series=not drop_bad_rows)
    except LogError:
        if len(dropped.kept()):  # the table as a whole is wrong
            raise
    named = problem.named_as_in(table.columns).columns
    codes, texts = ColumnReader(table, Findings(table.name), problem.format).series(named.series_parts)
    known = set() if log is None else set(log.names.tolist())
    reasons: dict[str, dict[str, None]] = {}
    for row, wanted in dropped.reasons.items():
        reasons.setdefault(texts[codes[row]], {}).update(dict.fromkeys(wanted))
    return log, {name: "; ".join(wanted) for name, wanted in reasons.items() if name not in known}


def _read_good_rows(
    dropped: DroppedRows,
    problem: Problem,
    progress: Progress | None,
    *,
    whole_series: bool = False,
    sales_only: bool = False,
) -> SalesLog:
    """The log without the rows that have findings; what rows must share is checked among those that remain."""
    while True:
        gate = _Gate(dropped.rest(), problem, progress, rows_first=True, sales_only=sales_only)
        try:
            return gate.pass_through()
        except LogError:
            kept = dropped.kept()
            dropped.add(gate.findings, kept, gate.columns.codes if whole_series and gate.findings.bad_rows else None)
            if not gate.findings.only_rows or not len(dropped.kept()):
                raise


class _Gate:
    """One reading: every column and every finding first, then one error or one log."""

    def __init__(
        self,
        table: Table,
        problem: Problem,
        progress: Progress | None,
        *,
        rows_first: bool = False,
        sales_only: bool = False,
    ) -> None:
        self.table = table
        self.problem = named_in(problem, table.columns, sales_only)
        self.findings = Findings(table.name, table.place)
        self.reader = ColumnReader(table, self.findings, problem.format, progress)
        self.rows_first = rows_first

    def require_columns(self) -> None:
        require_columns(self.table, self.problem, self.findings)

    def pass_through(self) -> SalesLog:
        self.require_columns()
        if self.table.rows == 0:
            self.findings.add("a log needs at least one row, but the table is empty")
            self.findings.raise_if_any()
        used = sum(column in self.problem.reads for column in self.table.columns)
        what, needed = f"{self.table.name} with {self.table.rows:,} rows", self.table.rows * used * BYTES_A_VALUE
        check_memory(what, needed, memory_limit(), FEWER)
        self.columns = read_columns(self.reader, self.problem)
        self.problem = self.problem.model_copy(
            update={"features": self.columns.described, "costs": self.columns.given_costs}
        )
        self.columns, self.problem = lay_out(self.columns, self.problem, self.findings)
        self._check_rows()
        if self.rows_first:
            self.findings.raise_if_any(self.table.rows)
        self._check_series()
        self.findings.raise_if_any(self.table.rows)
        log = self._with_pipeline(with_calendar(self._split(with_waste(with_receipts(with_stockouts_by(self._log()))))))
        _logger.info("%s is read: %s rows of %s series", self.table.name, len(log), len(log.names))
        for warning in log.notes.warnings:
            _logger.warning(warning)
        return log if log.demand_only or log.costs is None else log.decisions("read_log")

    def _check_rows(self) -> None:
        findings, rows = self.findings, self.columns.rows
        if rows["stock"] is not None:
            arrived = rows["order"] if rows["received"] is None else rows["received"]
            check_stock(findings, self.problem, rows["stock"], arrived, rows["sales"], rows["adjustment"])
            left = units_available(rows["stock"], arrived, self.problem.flow) - rows["sales"]
            check_waste(findings, self.problem, rows["wasted"], left)
        check_out_of_stock(findings, self.problem, rows["out_of_stock"], rows["open_time"])
        check_salvage(findings, self.problem, rows["salvage"], rows["price"])

    def _check_series(self) -> None:
        codes, period = self.columns.codes, self.columns.period
        self.ordering = _ordering(codes, period)
        check_duplicates(self.findings, codes, period, self.ordering)
        check_clock(self.findings, self.problem.clock, period)
        check_calendar(self.findings, self.problem, period)
        for name, labels in self.columns.attributes.items():
            check_constant(self.findings, name, labels, codes)
        self.problem = self.columns.lots.with_rules(self.problem, self.findings, codes, self.columns.texts)

    def _log(self) -> SalesLog:
        """The rows in order, whatever periods are missing."""
        codes, period = self._in_order(self.columns.codes), self._in_order(self.columns.period)
        costs = self.columns.costs
        starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
        log = SalesLog(
            problem=self.problem,
            series=np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(codes)])),
            period=period.astype(np.int64) if period.dtype.kind == "f" else period,
            **{name: self._in_order(column) for name, column in self.columns.rows.items()},
            costs=costs if costs is None or self.ordering is None else costs.at(self.ordering),
            source_row=self.ordering,
            **self._of_series(starts),
        )
        return with_first_orders(log, starts)

    def _of_series(self, starts: Ints) -> dict[str, Any]:
        """Columns with one value a series, which starts at a row in order."""
        columns, rows = self.columns, starts if self.ordering is None else self.ordering[starts]
        no_lag = np.full(len(starts), np.nan)
        return {
            "names": columns.texts[columns.codes[rows]],
            "last_sales": no_lag if columns.last_sales is None else columns.last_sales[rows],
            "last_stockout": ~np.isnan(no_lag) if columns.last_stockout is None else columns.last_stockout[rows],
            "attributes": {name: texts[codes[rows]] for name, (codes, texts) in columns.attributes.items()},
        }

    def _split(self, log: SalesLog) -> SalesLog:
        """The log with the calendars of its openings; what follows a hole is a series of its own."""
        off = off_balance_rows(log)
        shared = shared_columns(self.problem.columns.series_parts, log.names, log.attributes)
        found = find_openings(self.problem.clock, ClockRows(log.series, log.names.tolist(), log.period, shared, off))
        if found.refusal:
            self.findings.add(found.refusal)
        check_closings(self.findings, found.on_closed, log.period, self.ordering)
        self.findings.raise_if_any(self.table.rows)
        if found.calendars != self.problem.clock.calendars:
            clock = self.problem.clock.model_copy(update={"calendars": found.calendars})
            log = replace(log, problem=log.problem.model_copy(update={"clock": clock}))
        missing, missing_share = missing_zeros(log, found.is_hole)
        holes = int(np.count_nonzero(found.is_hole))
        if holes:
            starts = np.flatnonzero(np.r_[True, ~log.has_next[:-1] | found.is_hole])
            series = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(log)]))
            log = replace(log, series=series, **self._of_series(starts))
            log = with_first_orders(log, starts[1:][found.is_hole[starts[1:] - 1]])
        if log.stock is not None and log.problem.stock_includes_arrivals:
            log = replace(log, stock=np.maximum(log.stock, 0.0))
        moved = 0 if self.ordering is None else int(np.count_nonzero(self.ordering != np.arange(len(log))))
        pairs = log.has_next[:-1]
        checked, off_rows = (0, 0) if off is None else (np.count_nonzero(pairs), np.count_nonzero(off & pairs))
        unused = tuple(column for column in self.table.columns if column not in self.reader.used)
        notes = replace(
            log.notes,
            rows_moved=moved,
            holes=holes,
            balance_rows=int(checked),
            off_balance_rows=int(off_rows),
            unused_columns=unused,
            missing_costs=self.columns.missing_costs,
            off_lead_time_rows=int(np.count_nonzero(off_lead_time(log)[0])),
            received_differs=_received_differs(log),
            missing_periods=missing,
            missing_share=missing_share,
            outside_table=tuple(getattr(self.table, "outside", ())),
            sales_are_demand=lacks_stockouts(self.problem.columns, self.table.columns),
        )
        if notes.balance_broken:
            follows_if, share = other_reading(log)
            notes = replace(notes, follows_if=follows_if, follows_if_share=share)
        return replace(log, notes=notes)

    def _with_pipeline(self, log: SalesLog) -> SalesLog:
        """The log with what is on the way, as its columns say, or else as orders and receipts tell."""
        given = self._in_order(self.columns.on_order)
        if given is not None and given.shape[1] == log.problem.pipeline_length and log.ledger is not None:
            wrong = contradicts_orders(log, log.ledger, given)
            wanted = f"{log.problem.columns.on_order} must equal the orders of the periods before"
            self.findings.check(wrong, wanted, pipeline_texts(given) if wrong.any() else None, rows=self.ordering)
            self.findings.raise_if_any(self.table.rows)
            return with_pipeline(log, given)
        return with_pipeline(log)

    def _in_order(self, column: Any) -> Any:
        return column if self.ordering is None or not isinstance(column, np.ndarray) else column[self.ordering]


def _received_differs(log: SalesLog) -> float:
    """Share of rows with an order or a receipt in which they differ, though orders arrive in their own period."""
    if log.received is None or log.order is None or log.problem.arrival != "before":
        return 0.0
    some = (log.order > 0) | (log.received > 0)
    differs = exceeds(log.order, log.received) | exceeds(log.received, log.order)
    return float((differs & some).sum() / max(int(some.sum()), 1))


def _ordering(codes: Ints, period: Array) -> Ints | None:
    """The rows in order of series and period, or None where they are in that order."""
    rising = (codes[1:] > codes[:-1]) | ((codes[1:] == codes[:-1]) & (period[1:] >= period[:-1]))
    return None if rising.all() else np.lexsort((period, codes))
