"""Measures all tests and writes which `make check` leaves out: `python -m tools.slowish`, on a free machine."""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

LIST = Path(__file__).parents[1] / "tests" / "slowish.txt"
BUDGET = 50.0  # seconds of one core for all quick tests together
MOST = 1.0  # seconds of one quick test


def slowish(report: str) -> list[str]:
    r"""The tests beyond the budget, the quickest being taken first, from the output of pytest --durations=0.

    All parameters of a test count together. Where a set-up is slow, the whole file is left out: its tests share it.

    >>> lines = "0.50s call  a.py::test_a[1]", "20.00s call  a.py::test_b", "3.00s setup  c.py::test_d"
    >>> slowish("\n".join(lines))
    ['a.py::test_b', 'c.py']
    """
    seconds: dict[str, float] = defaultdict(float)
    for taken, what, test in re.findall(r"^([\d.]+)s (call|setup|teardown) +([^\s\[]+)", report, flags=re.MULTILINE):
        seconds[test.split("::")[0] if what == "setup" and float(taken) > MOST else test] += float(taken)
    spent, left_out = 0.0, set()
    for test, taken in sorted(seconds.items(), key=lambda each: each[1]):
        spent += taken
        if taken > MOST or spent > BUDGET:
            left_out.add(test)
    return sorted(test for test in left_out if "::" not in test or test.split("::")[0] not in left_out)


def main() -> None:
    """Run all tests but those that take minutes."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--durations=0"]
    report = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603
    LIST.write_text("".join(f"{test}\n" for test in slowish(report)), encoding="utf-8")


if __name__ == "__main__":
    main()
