"""A first problem file for a table of sales, and where it is written."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lostsales.data.databases.query import DatabaseQuery
from lostsales.data.output_files import check_output, replacing
from lostsales.data.problem import Problem
from lostsales.data.proposal.draft import draft, is_explained
from lostsales.data.proposal.facts import TableFacts, look
from lostsales.data.proposal.profile import is_wide, open_source
from lostsales.data.reading.table import files_of
from lostsales.data.settings import checked
from lostsales.errors import LogError, LostSalesError


@dataclass(frozen=True)
class Proposal:
    """A problem that fits a table as far as the table shows it, see `propose`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = {"sku": ["a", "a", "b", "b"], "week": [1, 2, 1, 2], "price": [2, 3, 2, 2], "sold": [4, 1, 2, 5]}
    >>> proposal = propose(pd.DataFrame(table | {"ran_out": [False, True, False, True]}))
    >>> proposal.columns["sales"], proposal.is_readable
    ('sold', True)

    """

    problem: Problem
    text: str  # the problem as TOML, with a comment on every line
    columns: dict[str, str | tuple[str, ...]]  # role: column
    left: tuple[str, ...]  # what is left to fill in or to check
    is_readable: bool  # whether the table, or the sample of it, is a log with this problem
    rows: int
    rows_seen: int  # in the sample
    left_out: dict[str, str]  # columns that copy the price or hold the sales of their own period, and why

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "rows": self.rows,
            "rows_seen": self.rows_seen,
            "is_readable": self.is_readable,
            "columns": self.columns,
            "left": list(self.left),
            "left_out": self.left_out,
            "problem": self.problem.model_dump(mode="json", exclude_none=True),
            "text": self.text,
        }


def propose(source: Any) -> Proposal:
    """Guess the problem of a table from the names and the content of its columns.

    Parameters
    ----------
    source : path, list of paths or table
        What `read_log` takes. Of a large table only whole series are looked at.

    Returns
    -------
    Proposal
        The problem, its text with a comment on every line, and what is left to fill in.

    Raises
    ------
    LostSalesError
        The table cannot be read, is empty, or has one column a period.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"unique_id": ["a", "a"], "ds": ["2026-03-01", "2026-03-02"], "y": [3, 0]})
    >>> propose(table).problem.columns.period
    'ds'

    """
    opened = open_source(source)
    if not opened.rows:
        raise LostSalesError("a problem is proposed from rows, but the table has none")
    if is_wide(list(opened.kinds)):
        raise LostSalesError(
            "a log has one row per series and period, but this table has one column per period: turn columns into rows "
            "first (melt in pandas, unpivot in polars and SQL)"
        )
    found = look(opened)
    name = Path(source).name if isinstance(source, str | Path) else "the table"
    text, left = draft(found, name)
    problem = checked(Problem, tomllib.loads(text), "the proposed problem")
    reasons, warnings = _read(source, found, problem)
    if more := [f"reading says: {each}" for each in reasons if not is_explained(each, found, left)] + list(warnings):
        text, left = draft(found, name, more)
    return Proposal(
        problem,
        text,
        _columns(problem, found),
        tuple(left),
        not reasons,
        opened.rows,
        found.sample.rows,
        dict(found.others.left_out),
    )


def _read(source: Any, found: TableFacts, problem: Problem) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Reasons why the table cannot be read with a problem, and warnings about its rows, of a large one's sample."""
    from lostsales.data.reading.gate import read_log

    try:
        if found.sample.is_whole:
            log = read_log(source, problem)
        else:
            with TemporaryDirectory() as folder:
                log = read_log(found.sample.write(Path(folder)), problem)
    except LogError as error:
        return error.findings, ()
    except LostSalesError as error:
        return (str(error),), ()
    return (), log.notes.record_warnings


def _columns(problem: Problem, found: TableFacts) -> dict[str, str | tuple[str, ...]]:
    have = found.profile.columns
    series = problem.columns.series_parts
    named = {"series": series[0] if len(series) == 1 else series} if set(series) <= set(have) else {}
    return named | {
        role: name for role, name in problem.columns.model_dump().items() if role != "series" and name in have
    }


def problem_target(table: Path | DatabaseQuery, out: Path | None, force: bool) -> Path:
    """The file to write, or an error before any work."""
    beside = table.with_suffix(".toml") if isinstance(table, Path) and table.name else None
    target = beside if out is None else out
    if target is None or target.suffix != ".toml":
        raise LostSalesError(f"a problem is written to a file that ends in .toml, but {target} does not")
    check_output(target, files_of(table))
    if target.exists() and not force:
        raise LostSalesError(
            f"{target} is there already: --force replaces it, --out writes another file, --out - prints the proposal"
        )
    return target


def write_problem(text: str, target: Path) -> None:
    """Write all of it or nothing."""
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
