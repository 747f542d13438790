"""Leaderboards, run part by part: each part is a file, so that an interrupted run resumes; reading published data."""

import csv
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from lostsales.data.confidence import standard_error
from lostsales.data.journal import JournalFolder
from lostsales.data.output_files import check_utf8
from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError, SettingError
from lostsales.lab.benchmarks.entrant import Entrant
from lostsales.types import Floats

Figures = dict[str, float | list[float]]  # what a part measured, by name


@dataclass(frozen=True)
class BoardRow:
    """One figure of ours beside a published one, or one of another method that is measured by the same protocol."""

    board: str
    case: str
    figure: str  # what is measured
    ours: float
    std_error: float | None = None
    count: int | None = None  # instances, windows or logs
    published: float | None = None
    published_by: str = ""

    @classmethod
    def of(
        cls, board: str, case: str, figure: str, values: Floats, published: float | None = None, by: str = ""
    ) -> "BoardRow":
        """The mean of a figure over instances, windows or logs, with its standard error."""
        error = standard_error(values) if len(values) > 1 else None
        return cls(board, case, figure, float(values.mean()), error, len(values), published, by)

    def as_dict(self) -> dict[str, Any]:
        """Values as a row of a table."""
        return asdict(self)


class Part(Protocol):
    """A piece of a board that is run at once."""

    @property
    def key(self) -> str:
        """Name of the part and of its file."""
        ...

    @property
    def fingerprint(self) -> str:
        """Fingerprint of its data and settings."""
        ...

    def run(self) -> Figures:
        """Measure it."""
        ...


class Board(Protocol):
    """A public benchmark with its data."""

    @property
    def name(self) -> str:
        """Name in the command."""
        ...

    @property
    def entrant(self) -> Entrant | None:
        """The policy that plays instead of ours."""
        ...

    @property
    def source(self) -> str:
        """Publisher of protocol and figures, and place."""
        ...

    @property
    def parts(self) -> Sequence[Part]:
        """Parts in the order in which they are run."""
        ...

    def rows(self, measured: dict[str, Figures]) -> list[BoardRow]:
        """The table, from what all parts measured."""
        ...


def run_board(board: Board, folder: Path, progress: Progress | None = None) -> list[BoardRow]:
    """Run what is not in the folder yet, and make the table; progress counts parts."""
    check_utf8(folder)
    if folder.exists() and not folder.is_dir():
        raise SettingError(f"{folder} is no folder; choose another with --out")
    report = progress or (lambda _done, _total: None)
    measured: dict[str, Figures] = {}
    for done, part in enumerate(board.parts):
        report(done, len(board.parts))
        measured[part.key] = _measured(part, f"{stem(board)}-{part.key}", JournalFolder(folder))
    report(len(board.parts), len(board.parts))
    return board.rows(measured)


def stem(board: Board) -> str:
    """Name of the files of a board; an entrant has files of its own."""
    return board.name if board.entrant is None else re.sub(r"[^\w.]+", "-", f"{board.name} {board.entrant.place}")


def _measured(part: Part, name: str, journal: JournalFolder) -> Figures:
    """Figures of a part from the journal, if it has the same data, settings and version; else the part is run."""
    of = {"fingerprint": part.fingerprint, "version": version("lostsales")}
    held = journal.read(name) or {}
    figures: Figures
    if {key: held.get(key) for key in of} == of and isinstance(held.get("figures"), dict):
        figures = held["figures"]
        return figures
    try:
        figures = part.run()
    except KeyboardInterrupt:
        raise LostSalesError(f"stopped at {part.key}; the same command goes on from there") from None
    journal.add(name, of | {"figures": figures})
    return figures


def parquet_columns(
    path: Path, columns: Sequence[str], where: str, order: str = "", optional: Sequence[str] = ()
) -> dict[str, Any]:
    """Columns of a published table as arrays, in an order; one error says what is missing and where to get it."""
    import duckdb

    try:
        with duckdb.connect() as connection:
            table = connection.read_parquet(str(path))
            if missing := [name for name in columns if name not in table.columns]:
                raise LostSalesError(f"{path} has no column {', '.join(missing)}; {where}")
            chosen = table.project(", ".join([*columns, *(name for name in optional if name in table.columns)]))
            return dict((chosen.order(order) if order else chosen).fetchnumpy())
    except duckdb.Error as error:
        raise LostSalesError(f"{path} cannot be read as a Parquet file: {str(error).splitlines()[0]}") from None


def csv_rows(path: Path, columns: Sequence[str] = ()) -> list[dict[str, str]]:
    """Rows of a published CSV file, which must have some and these columns."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LostSalesError(f"{path} cannot be read: {error}") from None
    if text.startswith("version https://git-lfs"):
        raise LostSalesError(f"{path} is a pointer of git LFS and not the file itself: run `git lfs pull` there")
    rows = list(csv.DictReader(text.splitlines()))
    if not rows or any(name not in rows[0] for name in columns):
        wanted = f" and the columns {', '.join(columns)}" if columns else ""
        raise LostSalesError(f"{path} must have rows{wanted}")
    return rows


def fingerprint(*contents: bytes | str) -> str:
    """Fingerprint of data and settings, in a few characters."""
    found = sha256()
    for each in contents:
        found.update(each.encode() if isinstance(each, str) else each)
        found.update(b"\0")
    return found.hexdigest()[:20]
