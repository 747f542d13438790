"""Writing of tables, and of logs with their problem beside them."""

import errno
import os
import tomllib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.output_files import check_output, check_utf8, replacing_together
from lostsales.data.problem import Problem
from lostsales.data.settings import checked
from lostsales.errors import LostSalesError
from lostsales.types import Array

WRITTEN = "# The problem of the log beside, written with it by lostsales.\n"
FORMATS = {".parquet": "FORMAT parquet", ".csv": "FORMAT csv, HEADER"}
EXCEL = ".xlsx"
ENDINGS = (*FORMATS, EXCEL)
MOST_SHEET_ROWS = 1_048_576  # of Excel


def check_table(path: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Raise where no table can be written to a path, before any work; see `check_output`."""
    if path.suffix not in ENDINGS:
        raise LostSalesError(f"{path} must end in .parquet, .csv or .xlsx")
    check_utf8(path)
    check_output(path, inputs)


def check_log(path: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Raise where no log can be written to a path: neither the table nor the problem beside it may be in the way."""
    files = tuple(inputs)
    check_table(path)  # also that it has a name
    beside = path.with_suffix(".toml")
    for each in files:
        if each is not None and beside.exists() and each.exists() and beside.samefile(each):
            raise LostSalesError(
                f"{path} would come with its problem in {beside}, which is an input; give the log another name"
            )
    check_table(path, files)
    check_output(beside)
    _check_problem_beside(path)


def write_table(columns: dict[str, Array], path: str | Path) -> None:
    """Write columns of equal length as Parquet, CSV or a workbook, by the ending of `path`."""
    write_tables({Path(path): columns})


def write_tables(tables: dict[Path, dict[str, Array]], texts: dict[Path, str] | None = None) -> None:
    """Write tables that belong together, and texts beside them: all of them or none; the last table comes last."""
    for path in tables:
        if path.suffix not in ENDINGS:
            raise LostSalesError(f"{path} must end in .parquet, .csv or .xlsx")
    for path, columns in tables.items():
        _check_names(path, columns)
    with replacing_together(*(texts or {}), *tables) as temporaries:
        for temporary, text in zip(temporaries, (texts or {}).values(), strict=False):
            temporary.write_text(text, encoding="utf-8")
        for temporary, (path, columns) in zip(temporaries[len(texts or {}) :], tables.items(), strict=True):
            (_write_workbook if path.suffix == EXCEL else _copy)(columns, path, temporary)


def _check_names(path: Path, columns: Iterable[str]) -> None:
    """Raise where two columns would get one name: the writer of tables does not tell upper case from lower case."""
    by_name: dict[str, str] = {}
    for name in columns:
        if (other := by_name.setdefault(name.lower(), name)) != name:
            raise LostSalesError(
                f"{path} cannot be written: its columns {other!r} and {name!r} differ only in upper and lower case; "
                "rename one of them"
            )


def _copy(columns: dict[str, Array], path: Path, temporary: Path) -> None:
    import duckdb

    from lostsales.data.reading.cells import connect
    from lostsales.data.sql_names import identifier

    quoted = str(temporary.absolute()).replace("'", "''")  # to DuckDB a first "~" is the home
    # DuckDB takes dates as moments only, and does not know that a column without rows is text.
    days = [name for name, values in columns.items() if values.dtype == np.dtype("datetime64[D]")]
    kinds = dict.fromkeys(days, "DATE")
    kinds |= {name: "VARCHAR" for name, values in columns.items() if values.dtype == object and not len(values)}
    casts = ", ".join(f"CAST({identifier(name)} AS {kind}) AS {identifier(name)}" for name, kind in kinds.items())
    rows = f"(SELECT * REPLACE ({casts}) FROM columns)" if casts else "columns"
    with connect() as connection:
        connection.register("columns", columns | {name: columns[name].astype("datetime64[us]") for name in days})
        try:
            # Without a temporary file of its own: ours is one.
            connection.execute(f"COPY {rows} TO '{quoted}' ({FORMATS[path.suffix]}, USE_TMP_FILE false)")
        except (duckdb.Error, RuntimeError) as error:
            reason = failed_write(str(error)) or str(error).splitlines()[0]
            raise LostSalesError(f"{path} cannot be written: {reason}") from None


def _write_workbook(columns: dict[str, Array], path: Path, temporary: Path) -> None:
    """One sheet with a header that stays in view; figures and dates as such."""
    try:
        import xlsxwriter
    except ImportError:
        raise LostSalesError(
            f"{path} is a workbook, which needs the package xlsxwriter: pip install 'lostsales[excel]', or write .csv"
        ) from None
    rows = max(map(len, columns.values()), default=0)
    if rows >= MOST_SHEET_ROWS:
        raise LostSalesError(
            f"a sheet has at most {MOST_SHEET_ROWS:,} rows, but there are {rows:,}: write .csv or .parquet"
        )
    options = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    with xlsxwriter.Workbook(str(temporary.absolute()), options) as book:
        sheet = book.add_worksheet("lostsales")
        sheet.freeze_panes(1, 0)
        bold, day = book.add_format({"bold": True}), book.add_format({"num_format": "yyyy-mm-dd"})
        moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm"})
        for at, (name, values) in enumerate(columns.items()):
            sheet.write_string(0, at, name, bold)
            sheet.set_column(at, at, max(10, min(len(name) + 2, 40)))
            is_day = values.dtype.kind == "M" and bool((values == values.astype("datetime64[D]")).all())
            cells = values.astype("datetime64[us]").tolist() if values.dtype.kind == "M" else values.tolist()
            for row, cell in enumerate(cells, start=1):
                if cell is None or cell != cell:  # an empty cell
                    continue
                if values.dtype.kind == "M":
                    sheet.write_datetime(row, at, cell, day if is_day else moment)
                else:
                    sheet.write(row, at, cell)


def failed_write(message: str) -> str | None:
    """Reason of the operating system for a failed write, if DuckDB's message contains one."""
    codes = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EIO)
    return next((os.strerror(code) for code in codes if os.strerror(code) in message), None)


def write_log(log: SalesLog, path: str | Path) -> None:
    """Write a log and, beside it, its problem as TOML, so that `read_log(path)` gives the log back.

    Parameters
    ----------
    log : SalesLog
        The log.
    path : path
        Of a file that ends in .parquet or .csv, in a folder that exists; a table of this name is replaced, and the
        problem beside it where this function wrote it.

    Raises
    ------
    LostSalesError
        The path has another ending, cannot be written, or a TOML that people wrote lies beside it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from lostsales.data.reading.gate import read_log
    >>> from lostsales.simulation.scenario import Scenario
    >>> from lostsales.simulation.simulator import simulate
    >>> log, _ = simulate(Scenario.load("released"), episodes=5, seed=1)
    >>> with TemporaryDirectory() as folder:
    ...     write_log(log, f"{folder}/log.parquet")
    ...     len(read_log(f"{folder}/log.parquet")) == len(log)
    True

    """
    write_log_with(log, Path(path), {})


def write_log_with(log: SalesLog, path: Path, tables: dict[Path, dict[str, Array]]) -> None:
    """Write a log as `write_log` does, together with tables that belong to it."""
    _check_problem_beside(path)
    # A log has the usual layout, however its table was written.
    problem = log.problem.model_copy(update={"order_placed": "open", "stock_includes_arrivals": None})
    write_tables(tables | {path: log.table_columns}, {path.with_suffix(".toml"): WRITTEN + problem.to_toml()})


def _check_problem_beside(path: Path) -> None:
    """A TOML beside a log is replaced only where it was written with one."""
    beside = path.with_suffix(".toml")
    if not beside.is_file():
        return
    text = beside.read_bytes()
    if not text.startswith(WRITTEN.encode()) and not _is_ours(text):
        raise LostSalesError(
            f"{path} would come with its problem in {beside}, and a file of that name is there that lostsales did not "
            "write; give the log another name"
        )


def _is_ours(text: bytes) -> bool:
    """True if a TOML without our first line, as version 0.2 wrote it, is only a problem in our spelling."""
    try:
        shown = text.decode()
        return checked(Problem, tomllib.loads(shown), "a problem").to_toml() == shown
    except (ValueError, LostSalesError):
        return False
