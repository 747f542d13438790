"""`lostsales backtest`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import LogInput, reads_log
from lostsales.apps.console import print_notes, print_table, print_verdict, progress, screen, sentence, show

if TYPE_CHECKING:
    from lostsales.evaluation.back_test import BackTest


@reads_log
def backtest(
    log: LogInput,
    method: options.Method = "planner",
    windows: Annotated[int, typer.Option(min=1, max=100, help="Test windows in the last half of the log.")] = 3,
    seed: options.Seed = 0,
    quick: options.Quick = False,
    workers: options.Workers = None,
    as_json: options.Json = False,
) -> None:
    """Back-test a method in time: fit on the past, evaluate on later windows, and compare predicted gain and outcome.

    Example: `lostsales backtest log.parquet --method base-stock`
    """
    import warnings

    from lostsales.evaluation.back_test import back_test
    from lostsales.learn.learner import LEARNERS

    LEARNERS.check(method)
    sales = log.read_decisions("backtest")
    with progress("fitting and evaluating") as report, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = back_test(sales, method, windows=windows, seed=seed, quick=quick, workers=workers, progress=report)
    show(as_json, found.to_json, lambda: print_back_test(f"{method} on {log}, fitted before each window", found))


def print_back_test(title: str, found: "BackTest") -> None:
    """The verdict, then predicted gain and outcome by window."""
    from lostsales.apps.gains import interval_text

    print_verdict("good" if found.verdict == "borne out" else "care", sentence(found.sentence))
    screen.print(Text(title, style="bold"))
    rows = []
    for each in found.windows:
        if each.earned is not None:
            earned = f"{each.earned_before:.2f}", f"{each.earned:.2f}"
            gains = interval_text(each.claimed), interval_text(each.outcome)
            rows.append((f"{each.first} to {each.last}", f"{each.rows:,}", *gains, *earned))
    head = ("window", "rows", "predicted gain", "gain in the window", "earned before", "earned")
    print_table("", head, rows, words=("predicted gain",))
    print_notes(
        f"{each.first} to {each.last} is not evaluated: {each.reason}"
        for each in found.windows
        if each.reason is not None
    )
    print_notes(["per period; 95 % intervals in brackets; predicted from the rows that the policy was fitted to"])
