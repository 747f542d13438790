"""Runs numbered cases in processes of their own: crashes, hangs and cases that take much memory are counted by number.

A case is determined by seed and number. A process runs a batch of them and prints a line of JSON after each, so that
one that dies names its case, and the others go on.
"""

import argparse
import faulthandler
import json
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

SECONDS = 60  # of the processor that a case may take
WAITED = 900  # seconds, also on a machine that has other work
MOST_MB = 1_024  # that a case may take above what the process had after its first ones
WARM = 50  # cases after which everything is loaded

Case = Callable[[int, int, Path], str]  # seed, number, an empty folder: what became of it; raises where that is wrong


@dataclass
class Counts:
    """What became of the cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)  # a traceback, a wrong answer, a death, a hang, too much memory
    peak_mb: float = 0.0  # above what the process had before

    @property
    def total(self) -> int:
        """All cases."""
        return self.outcomes.total() + len(self.failures)

    def __str__(self) -> str:
        """One line of counts, then the failures."""
        shown = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        line = f"{self.total:,} cases: {shown}; at most {self.peak_mb:,.0f} MB more; {len(self.failures):,} failures"
        return "\n".join([line, *self.failures])


def run_cases(
    module: str,
    cases: int,
    seed: int,
    *,
    first: int = 0,
    batch: int = 250,
    jobs: int = 1,
    tell: Callable[[Counts], None] = lambda _: None,
) -> Counts:
    """Run the cases of a module that calls `main`, in batches, each in a process; `tell` the counts after each."""
    total = Counts()
    starts = range(first, first + cases, batch)
    with ThreadPoolExecutor(jobs) as pool:
        ends = [min(start + batch, first + cases) for start in starts]
        for counts in pool.map(lambda *ends: _run_batch(module, seed, *ends), starts, ends):
            total.outcomes += counts.outcomes
            total.failures += counts.failures
            total.peak_mb = max(total.peak_mb, counts.peak_mb)
            tell(total)
    return total


def _run_batch(module: str, seed: int, start: int, end: int) -> Counts:
    """The cases from one number to another; where a process dies, another one takes up what it did not come to."""
    counts = Counts()
    while start < end:
        command = [sys.executable, "-m", module, "--worker", str(start), str(end), "--seed", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603, our own code
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        counts.outcomes += Counter(line["outcome"] for line in lines if line["outcome"])
        counts.failures += [line["failure"] for line in lines if line["failure"]]
        counts.peak_mb = max(line["more_mb"] for line in [*lines, {"more_mb": counts.peak_mb}])
        if done.returncode == 0:
            break
        died = start + len(lines)
        ended = f"the process ended with {done.returncode}\n{done.stderr[-2000:]}"
        counts.failures.append(f"seed {seed} case {died}: {ended}")
        start = died + 1
    return counts


def _work(case: Case, seed: int, start: int, end: int) -> None:
    """Run cases one by one, and print a line of JSON after each."""
    warnings.simplefilter("ignore")
    printed, sys.stdout = sys.stdout, sys.stderr  # what a case prints is no line of ours
    faulthandler.register(signal.SIGPROF, chain=True)  # which ends the process
    before = 0.0
    for number in range(start, end):
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        faulthandler.dump_traceback_later(WAITED, exit=True)
        outcome = failure = ""
        try:
            with tempfile.TemporaryDirectory() as folder:
                outcome = case(seed, number, Path(folder))
        except Exception as error:  # noqa: BLE001, this is what is looked for
            places = [f"{Path(each.filename).name}:{each.lineno}" for each in traceback.extract_tb(error.__traceback__)]
            noted = " ".join(getattr(error, "__notes__", []))
            what = f"{type(error).__name__}: {str(error)[:500]} {noted}".strip()
            failure = f"seed {seed} case {number}: {what} ({' '.join(places[-4:])})"
        more = peak_mb() - before
        if number - start >= WARM and more > MOST_MB and not failure:
            outcome, failure = "", f"seed {seed} case {number}: took {more:,.0f} MB more"
        if number - start < WARM or failure:
            before = peak_mb()
            more = 0.0
        printed.write(json.dumps({"outcome": outcome, "failure": failure, "more_mb": more}) + "\n")
        printed.flush()
    signal.setitimer(signal.ITIMER_PROF, 0)
    faulthandler.cancel_dump_traceback_later()


@cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()  # removed when the process ends


def new_folder() -> Path:
    """An empty folder for as long as this process runs."""
    return Path(tempfile.mkdtemp(dir=_scratch().name))


def peak_mb() -> float:
    """The most memory that this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(case: Case, module: str) -> None:
    """Run cases from the command line, and print what became of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=1_000, help="cases a process")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--worker", type=int, nargs=2, help="used by the parent process")
    asked = parser.parse_args()
    if asked.worker:
        _work(case, asked.seed, *asked.worker)
        return
    run_cases(
        module, asked.cases, asked.seed, first=asked.first, batch=asked.batch, jobs=asked.jobs, tell=_print_counts
    )


def _print_counts(counts: Counts) -> None:
    sys.stdout.write(f"{counts}\n")
    sys.stdout.flush()
