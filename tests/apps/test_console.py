"""Progress on slow work only, and on stderr."""

import io
import json
import time

import numpy as np
import pytest
from rich.console import Console

from lostsales.apps import console


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal would receive on stderr."""
    shown = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=shown, force_terminal=True, width=80))
    return shown


def test_quick_work_draws_nothing(terminal: io.StringIO) -> None:
    with console.progress("reading") as report:
        report(1, 2)
    assert terminal.getvalue() == ""


def test_slow_work_draws_a_bar_even_before_it_reports(
    terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "PATIENCE", 0.01)
    with console.progress("reading") as report:
        give_up = time.monotonic() + 10
        while "reading" not in terminal.getvalue() and time.monotonic() < give_up:
            time.sleep(0.01)
        report(1, 2)
    assert "reading" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_a_log_file_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=shown))
    monkeypatch.setattr(console, "PATIENCE", 0.0)
    with console.progress("reading"):
        time.sleep(0.05)
    assert shown.getvalue() == ""


@pytest.mark.parametrize(
    ("reports", "left"),
    [
        ([(0.0, 0, 4), (10.0, 1, 4)], 30.0),  # a quarter took 10 s
        ([(10.0, 1, 4)], 30.0),  # that the first report comes late makes no difference
        ([(0.0, 2, 4), (10.0, 3, 4)], 10.0),  # two of four were done before: the run is resumed
        ([(0.0, 0, 4), (10.0, 0, 4)], None),
    ],
)
def test_time_left_follows_the_part_that_is_done(
    reports: list[tuple[float, int, int]], left: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(console, "perf_counter", lambda: now)
    pace = console.Pace()
    for seconds, done, total in reports:
        now = seconds
        pace.update(done, total)
    assert pace.left == left


def test_a_log_file_gets_one_line_on_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, now = io.StringIO(), 0.0
    monkeypatch.setattr(console, "err", Console(file=shown, width=200))
    monkeypatch.setattr(console, "perf_counter", lambda: now)
    with console.progress("learning") as report:
        for done in range(10):
            now = 10.0 * done
            report(done, 10)
    assert shown.getvalue() == "learning: 10% done, about 90 s left\n"


def test_json_has_null_for_what_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": {"d": (1, None)}, "e": "é"})
    assert json.loads(capsys.readouterr().out) == {
        "a": None,
        "b": [None, 1.5],
        "c": {"d": [1, None]},
        "e": "é",
        "no_figure": dict.fromkeys(("a", "b", "c.d"), "it is not a finite number"),
    }


HOSTILE = "a\x1b[31m\x1b]0;title\x07b\x9b2J\u202ec\udcff[/b][bold]:smile:"


def test_a_name_reaches_the_terminal_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_facts(HOSTILE, [("name", HOSTILE)])
    table = console.plain_table(HOSTILE, HOSTILE)
    table.add_row(HOSTILE)
    console.screen.print(table)
    console.screen.print(HOSTILE)
    shown = capsys.readouterr().out
    assert "[/b][bold]:smile:" in shown
    assert not set(shown) & set("\x1b\x07\x9b\u202e\udcff")


def test_json_is_json_whatever_the_names_and_figures(capsys: pytest.CaptureFixture[str]) -> None:
    result = {"name": HOSTILE, "value": float("nan"), "rows": [np.float32(1.5), np.int64(2), float("-inf")]}
    console.print_json(result)
    text = capsys.readouterr().out
    assert not set(text) & set("\x1b\x07\x9b\u202e\udcff")
    text.encode()
    found = json.loads(text, parse_constant=pytest.fail)
    assert {key: found[key] for key in result} == {"name": HOSTILE, "value": None, "rows": [1.5, 2, None]}
