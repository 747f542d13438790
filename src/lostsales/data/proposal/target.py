"""Destination of a proposed problem: next to its table, without overwriting a file."""

from pathlib import Path

from lostsales.data.databases.query import DatabaseQuery
from lostsales.data.output_files import check_output, replacing
from lostsales.data.reading.paths import files_of
from lostsales.errors import LostSalesError


def problem_target(table: Path | DatabaseQuery, out: Path | None, force: bool) -> Path:
    """The file to write, or an error before any work."""
    beside = table.with_suffix(".toml") if isinstance(table, Path) and table.name else None
    target = beside if out is None else out
    if target is None or target.suffix != ".toml":
        raise LostSalesError(f"a problem is written to a file that ends in .toml, but {target} does not")
    check_output(target, (table,) if isinstance(table, Path) else files_of(table))
    if target.exists() and not force:
        raise LostSalesError(
            f"{target} is there already: --force replaces it, --out writes another file, --out - prints the proposal"
        )
    return target


def write_problem(text: str, target: Path) -> None:
    """Write all of it or nothing."""
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
