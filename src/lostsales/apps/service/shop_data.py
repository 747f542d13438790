"""Data of a shop: its files, with what came in since laid over them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from lostsales.apps.service.morning import USUAL, ExceptionLimits
from lostsales.apps.service.uploads import Incoming
from lostsales.data.databases.query import sales_source
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings, listed
from lostsales.data.reading.frames import ColumnTable
from lostsales.data.reading.gate import read_good_series
from lostsales.data.reading.table import Table, open_table, problem_beside
from lostsales.data.reading.updates import TableUpdate, with_updates
from lostsales.errors import SettingError
from lostsales.evaluation.report.open_period import open_rows

LOGS = ("log.parquet", "log.csv")
TODAYS = ("today.parquet", "today.csv")
SUPPLIER = "supplier"  # usual name of its column


@dataclass(frozen=True)
class ShopFiles:
    """Files with the history, today's rows and the problem of a shop."""

    log: Path | None
    today: Path | None
    problem: Path | Problem | None = None
    supplier: str | None = None  # column
    thresholds: ExceptionLimits = USUAL

    @classmethod
    def beside(cls, folder: Path, log: Path | None, today: Path | None, problem: Path | None) -> "ShopFiles":
        """Given files, else those next to the policy."""
        return cls(log or _first(folder, LOGS), today or _first(folder, TODAYS), problem)

    @property
    def stamp(self) -> tuple[tuple[int, int, int], ...]:
        """Stamp of the files that changes when one of them does."""
        paths = [path for path in (self.log, self.today, self.problem) if isinstance(path, Path)]
        stats = [path.stat() for path in paths if path.exists()]
        return tuple((each.st_mtime_ns, each.st_size, each.st_ino) for each in stats)

    @property
    def moment(self) -> str:
        """Time of the newest data, empty if there are none."""
        paths = [path for path in (self.log, self.today) if path is not None and path.exists()]
        newest = max((path.stat().st_mtime for path in paths), default=None)
        return "" if newest is None else datetime.fromtimestamp(newest, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


@dataclass(frozen=True, eq=False)
class ShopData:
    """History of a shop and today's rows, read once for all versions."""

    log: SalesLog | None
    today: Table | None  # None if neither a file nor the log has it
    is_derived: bool  # today's rows follow from the log
    stamp: tuple[tuple[int, int, int], ...] = ()
    moment: str = ""  # time of the newest data
    left_out: dict[str, str] = field(default_factory=dict)  # products with bad rows in the log, and why
    problem: Problem = field(default_factory=Problem)  # of the log
    columns: tuple[str, ...] = ()  # of the log
    uncounted: Table | None = None  # today's rows without the stock that was counted
    suppliers: dict[str, str] = field(default_factory=dict)  # of the products, empty without such a column
    thresholds: ExceptionLimits = USUAL

    @classmethod
    def read(cls, files: ShopFiles, incoming: Sequence[Incoming] = (), problem: Problem | None = None) -> "ShopData":
        """Read and check the files and what came in; a product with a bad row in the log is left out.

        Of several rows for a product and period the newest counts; `problem` is that of a shop without a file.
        """
        stamp, moment = files.stamp, max([files.moment, *(_minute(each.upload.time) for each in incoming)])
        log, left_out, columns = None, dict[str, str](), tuple[str, ...]()
        chosen = Problem.of(files.problem or problem, None)
        updates = [(each.upload.time, each.update(chosen)) for each in incoming if each.upload.kind == "log"]
        if files.log is not None:
            source = sales_source(files.log, None)
            chosen = Problem.of(files.problem, problem_beside(source))
            updates.append((_written(files.log), TableUpdate(open_table(source, chosen.reads))))
            columns = updates[-1][1].table.columns
        elif updates:
            columns = updates[0][1].table.columns
        if updates:
            changes = [each for each in incoming if each.upload.kind in ("stock", "deliveries")]
            updates += [(each.upload.time, each.update(chosen)) for each in changes]
            ordered = [each for _, each in sorted(updates, key=lambda each: each[0])]
            table = ordered[0].table if len(ordered) == 1 else with_updates(ordered, columns, chosen)
            log, left_out = read_good_series(table, chosen)
        today = _open_table(files, incoming, log, chosen)
        is_derived = today is None and log is not None
        if log is not None and is_derived:
            today = ColumnTable(open_rows(log), "the period after the log")
        suppliers = _suppliers(files, log, today, chosen)
        found = cls(
            log, today, is_derived, stamp, moment, left_out, chosen, columns, today, suppliers, files.thresholds
        )
        return found.counted(incoming)

    def counted(self, incoming: Sequence[Incoming]) -> "ShopData":
        """Data with today's stock as it was counted; the log stays."""
        counts = [each for each in incoming if each.upload.kind == "stock"]
        if self.uncounted is None or not counts:
            return self
        updates = [TableUpdate(self.uncounted), *(each.update(self.problem) for each in counts)]
        today = with_updates(updates, self.uncounted.columns, self.problem)
        moment = max(self.moment, *(_minute(each.upload.time) for each in counts))
        return replace(self, today=today, moment=moment)


def _suppliers(files: ShopFiles, log: SalesLog | None, today: Table | None, problem: Problem) -> dict[str, str]:
    """Supplier of each product: an attribute, or a column of today's rows or of the log."""
    column = files.supplier or SUPPLIER
    if log is not None and column in log.attributes:
        return dict(zip(log.names.tolist(), log.attributes[column].tolist(), strict=True))
    parts = problem.columns.series_parts
    tables = [] if today is None else [today]
    if files.log is not None:
        tables.append(open_table(sales_source(files.log, None), {*parts, column}))
    for table in tables:
        if column in table.columns:
            codes, names = ColumnReader(table, Findings(table.name), problem.format).series(parts)
            own, texts = table.labels(column)
            supplier = np.full(len(names) + 1, -1)  # the last: rows without a series
            supplier[codes] = own
            found = zip(names.tolist(), supplier.tolist(), strict=False)
            return {name: str(texts[code]) for name, code in found if code >= 0}
    if files.supplier is not None and tables:
        known = listed(tuple(dict.fromkeys(name for table in tables for name in table.columns)))
        raise SettingError(f"--supplier must name a column of the log or of today's rows, which have {known}")
    return {}


def _written(path: Path) -> str:
    """Time at which a file was written, as those of uploads."""
    moment = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _minute(time: str) -> str:
    return f"{time[:16].replace('T', ' ')} UTC"


def _open_table(files: ShopFiles, incoming: Sequence[Incoming], log: SalesLog | None, problem: Problem) -> Table | None:
    """Newest table of today's rows, None where there is none or uploaded rows of the log have closed its periods."""
    tables = [(each.upload.time, each.table) for each in incoming if each.upload.kind == "today"]
    if files.today is not None:
        tables.append((_written(files.today), open_table(files.today)))
    if not tables:
        return None
    newest = max(tables, key=lambda each: each[0])[1]
    if log is None or all(each.upload.kind != "log" for each in incoming):
        return newest
    period = ColumnReader(newest, Findings(newest.name), problem.format).period(problem.columns.period)
    is_closed = period.dtype.kind == ("f" if log.period.dtype.kind == "i" else "M") and np.all(
        period[period == period] <= log.period.max()
    )
    return None if is_closed else newest
