"""Tests that `make check` leaves out: the slowest ones of the last whole run, which wrote its times (`make test`)."""

from collections.abc import Iterable
from pathlib import Path

TIMES = Path(__file__).parents[1] / "tests" / "seconds.txt"
BUDGET = 50.0  # seconds of one core for all quick tests together, so that `make check` takes less than a minute
MOST = 1.0  # seconds of one quick test, and of a fixture that the tests of a file share
LISTED = 0.1  # seconds from which a test is listed; the others are in the line of the rest
CHANGED = 1.5  # factor by which a time must differ to be written again: the list does not change by chance
REST = "rest"

Report = tuple[str, str, float]  # test, "setup", "call" or "teardown", seconds


def times_of(reports: Iterable[Report]) -> dict[str, float]:
    """Seconds of each test, all its parameters together, or of its file if a shared fixture is slow.

    >>> times_of([("a.py::test_a[1]", "call", 0.5), ("a.py::test_b", "call", 0.04), ("c.py::test_d", "setup", 3.0)])
    {'rest': 0.04, 'a.py::test_a': 0.5, 'c.py': 3.0}
    """
    seconds: dict[str, float] = {}
    for test, when, taken in reports:
        own = test.split("::")[0] if when == "setup" and taken > MOST else test.split("[")[0]
        seconds[own] = seconds.get(own, 0.0) + taken
    listed = {test: taken for test, taken in sorted(seconds.items()) if taken >= LISTED}
    return {REST: sum(taken for taken in seconds.values() if taken < LISTED)} | listed


def left_out(seconds: dict[str, float], budget: float = BUDGET) -> frozenset[str]:
    """Tests and files beyond the budget, the quickest being taken first.

    >>> sorted(left_out({"rest": 1.0, "a.py::test_a": 0.5, "a.py::test_b": 0.6, "c.py": 3.0}, budget=2.0))
    ['a.py::test_b', 'c.py']
    """
    spent, found = seconds.get(REST, 0.0), set()
    for test, taken in sorted(seconds.items(), key=lambda each: each[1]):
        if test != REST:
            spent += taken
            if taken > MOST or spent > budget:
                found.add(test)
    return frozenset(found)


def read_times(path: Path = TIMES) -> dict[str, float]:
    """Seconds by test of the last whole run; a test that is not there counts as quick."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {test: float(taken) for taken, _, test in (line.partition(" ") for line in lines)}


def write_times(seconds: dict[str, float], path: Path = TIMES) -> None:
    """Write the times of a whole run; a time that hardly changed stays as it was."""
    before = read_times(path)
    kept = {
        test: old if (old := before.get(test, 0.0)) and 1 / CHANGED < taken / old < CHANGED else taken
        for test, taken in seconds.items()
    }
    path.write_text("".join(f"{taken:.1f} {test}\n" for test, taken in kept.items()), encoding="utf-8")
