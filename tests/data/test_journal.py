"""Journals: what is finished survives a kill, is not done again, and is not mixed with another run."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from lostsales.data.journal import JournalFolder, Run, open_journal
from lostsales.errors import LostSalesError, SettingError

KILLED = """
import os
from pathlib import Path
from tests.data.test_journal import SQUARES, Square
from lostsales.data.journal import open_journal

with open_journal(Path(os.environ["JOURNAL"]), SQUARES) as journal:
    journal.add(Square(3, 9.0))
    os.kill(os.getpid(), 9)
"""


@dataclass(frozen=True)
class Square:
    """A finished task."""

    number: int
    value: float


SQUARES = Run("a table of squares", Square, "by hand")


def square(number: int) -> Square:
    return Square(number, float(number**2))


def table(path: Path | None, numbers: range, workers: int = 1) -> tuple[list[Square], list[tuple[int, int]]]:
    """The squares of numbers, and the progress that was reported."""
    seen: list[tuple[int, int]] = []
    with open_journal(path, SQUARES) as journal:
        done = {each.number: each for each in journal.entries}
        found = journal.complete(
            numbers, done, lambda each: each.number, square, workers, lambda *each: seen.append(each)
        )
    return found, seen


def test_what_is_in_the_journal_is_not_done_again(tmp_path: Path) -> None:
    path = tmp_path / "squares.jsonl"
    assert table(path, range(2)) == ([Square(0, 0.0), Square(1, 1.0)], [(0, 2), (1, 2), (2, 2)])
    path.write_text(path.read_text().replace("1.0", "7.0"))
    assert table(path, range(3)) == ([Square(0, 0.0), Square(1, 7.0), Square(2, 4.0)], [(2, 3), (3, 3)])
    assert table(path, range(1))[0] == [Square(0, 0.0)]
    assert len(path.read_text().splitlines()) == 4


def test_several_workers_find_the_same_in_memory() -> None:
    assert table(None, range(3), workers=2)[0] == table(None, range(3))[0]
    with pytest.raises(SettingError, match="workers must be at least 1"):
        table(None, range(1), workers=0)


def test_a_killed_process_loses_no_finished_task_and_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "squares.jsonl"
    ended = subprocess.run([sys.executable, "-c", KILLED], env={"JOURNAL": str(path)}, check=False)  # noqa: S603
    assert ended.returncode == -9
    with path.open("ab") as file:
        file.write(b'{"number": 4, "val')  # a write that was cut short
    with open_journal(path, SQUARES) as journal:
        assert journal.entries == [Square(3, 9.0)]
    assert path.read_bytes().count(b"\n") == len(path.read_bytes().splitlines()) == 2


@pytest.mark.parametrize(
    "text", ["", "{", "[]\n", '{"run": "a table of squares"}\n', '{"outcomes": []}', "[" * 100_000 + "\n"]
)
def test_a_file_that_is_none_of_ours_is_refused_and_left_as_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(LostSalesError, match="not the file of a table of squares"), open_journal(path, SQUARES):
        pass
    assert path.read_text() == text


def test_runs_of_other_settings_and_a_second_writer_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "squares.jsonl"
    with (
        open_journal(path, SQUARES),
        pytest.raises(LostSalesError, match="another process is writing"),
        open_journal(path, SQUARES),
    ):
        pass
    other = Run("a table of squares", Square, "by machine")
    with pytest.raises(LostSalesError, match="a table of squares with other settings"), open_journal(path, other):
        pass


def test_the_bytes_of_a_folder_do_not_depend_on_the_order(tmp_path: Path) -> None:
    forth, back = JournalFolder(tmp_path / "forth"), JournalFolder(tmp_path / "back")
    for number in (0, 12):
        forth.add(number, {"found": number})
    for number in (12, 0):
        back.add(number, {"found": number})
    back.add("summary", {"found": 12})
    assert forth.numbers() == back.numbers() == [0, 12]
    assert [forth.path(each).read_bytes() for each in (0, 12)] == [back.path(each).read_bytes() for each in (0, 12)]
    assert (back.read("summary"), back.read(1)) == ({"found": 12}, None)
