"""`lostsales backtest`."""

from typing import Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import log_source, read_sales


def backtest(
    log: options.Log,
    method: Annotated[str, typer.Option(help="The method; `lostsales methods` lists them.")] = "planner",
    windows: Annotated[int, typer.Option(min=1, max=100, help="Test windows in the last half of the log.")] = 3,
    problem: options.ProblemFile = None,
    query: options.Query = None,
    seed: options.Seed = 0,
    drop_bad_rows: options.DropBadRows = False,
    dropped_rows: options.DroppedRows = None,
    quick: options.Quick = False,
    workers: options.Workers = None,
    as_json: options.Json = False,
) -> None:
    """Back-test a method in time: fit on the past, evaluate on later windows, and compare predicted gain and outcome.

    Example: `lostsales backtest log.parquet --method base-stock`
    """
    import warnings

    from lostsales.apps.views.back_test import print_back_test
    from lostsales.apps.views.console import print_json, progress
    from lostsales.evaluation.back_test import back_test
    from lostsales.learn.learner import LEARNERS

    LEARNERS.check(method)
    source = log_source(log, query)
    sales = read_sales(source, problem, drop_bad_rows, dropped_rows, verb="backtest")
    with progress("fitting and evaluating") as report, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = back_test(sales, method, windows=windows, seed=seed, quick=quick, workers=workers, progress=report)
    if as_json:
        print_json(found.to_json())
    else:
        print_back_test(f"{method} on {source}, fitted before each window", found)
