"""The log that a command reads: one set of options, one way to read it, and warnings on the standard error."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lostsales.apps.commands import options
from lostsales.apps.console import progress, warn

if TYPE_CHECKING:
    from lostsales.data.databases.query import DatabaseQuery
    from lostsales.data.log import SalesLog


@dataclass(frozen=True)
class LogInput:
    """A sales log as the options of a command name it; `reads_log` makes them options of the command."""

    log: options.Log
    problem: options.ProblemFile = None
    query: options.Query = None
    drop_bad_rows: options.DropBadRows = False
    dropped_rows: options.DroppedRows = None
    memory: options.Memory = None

    def __str__(self) -> str:
        return str(self.source)

    @cached_property
    def source(self) -> "Path | DatabaseQuery":
        """The files that the argument names, or the query on the database that it names."""
        return rows_source(self.log, self.query)

    @property
    def problem_file(self) -> Path | None:
        """The problem file, by default the one next to the log."""
        from lostsales.data.reading.table import problem_beside

        return problem_beside(self.source) if self.problem is None else self.problem

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read: the table or tables, and the problem."""
        from lostsales.data.reading.table import files_of

        problem = self.problem_file
        return files_of(self.source) if problem is None else (*files_of(self.source), problem)

    def read(
        self,
        command: str,
        others: "tuple[Path | None, ...]" = (),
        *,
        sales_only: bool = False,
        bytes_a_row: int | None = None,
    ) -> "SalesLog":
        """Read and validate the log of a command, and refuse one that is too large for the limit of memory.

        The file of dropped rows may be none of the `others` that the command reads or writes.
        """
        from lostsales.data.memory import check_rows
        from lostsales.data.reading.dropping import check_apart
        from lostsales.data.reading.gate import read_log

        drop = self.dropped_rows or self.drop_bad_rows
        check_apart(self.source, drop, others)
        with progress("reading") as report:
            sales = read_log(self.source, self.problem, report, drop_bad_rows=drop, sales_only=sales_only)
        if rows := sales.notes.rows_dropped:
            warn(f"{rows:,} rows left out, written with the reasons to {sales.notes.dropped_file}", label="")
        check_rows(command, len(sales), self.memory, bytes_a_row)
        return sales

    def read_decisions(
        self, command: str, others: "tuple[Path | None, ...]" = (), bytes_a_row: int | None = None
    ) -> "SalesLog":
        """Read a log for a command that decides: missing columns are an error, and doubtful data a warning."""
        from lostsales.data.describe import doubts

        sales = self.read(command, others, bytes_a_row=bytes_a_row)
        sales.decisions(command)
        for doubt in doubts(sales):
            warn(doubt)
        return sales


def reads_log(command: Callable[..., None]) -> Callable[..., None]:
    """Command whose parameter `log: LogInput` is given on the command line by an argument and options."""
    fields = signature(LogInput).parameters

    @wraps(command)
    def run(**given: Any) -> None:
        command(log=LogInput(**{name: given.pop(name) for name in fields}), **given)

    own = [fields["log"] if each.name == "log" else each for each in signature(command).parameters.values()]
    of_log = [each for each in fields.values() if each.name != "log"]
    parameters = [*own[:-1], *of_log, own[-1]]  # --json comes last
    keywords = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    vars(run)["__signature__"] = Signature(keywords)
    return run


def rows_source(place: str, query: str | None) -> "Path | DatabaseQuery":
    """The files that an argument names, or the query on the database that it names."""
    from lostsales.data.databases.query import sales_source

    found = sales_source(place, query)
    return Path(found) if isinstance(found, str) else found


def print_left_out(log: "SalesLog", by_method: dict[str, dict[str, int]]) -> None:
    """Rows by method and reason, and columns that nothing uses, on the standard error."""
    methods_by_reasons: dict[str, list[str]] = {}
    for method, left in by_method.items():
        if reasons := "; ".join(f"{rows:,} {reason}" for reason, rows in left.items()):
            methods_by_reasons.setdefault(reasons, []).append(method)
    for reasons, methods in methods_by_reasons.items():
        warn(f"Left out of {len(log):,} rows by {', '.join(methods)}: {reasons}", label="")
    if unused := log.notes.unused_columns:
        warn(f"Columns not declared as features, and not used: {', '.join(unused)}", label="")
