"""`lostsales evaluate`."""

from typing import Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.budgeting import FEWER_ROWS, expect
from lostsales.apps.commands.reading import log_source, read_sales


def evaluate(
    policy: options.PolicyFile,
    log: options.Log,
    problem: options.ProblemFile = None,
    query: options.Query = None,
    estimator: options.Estimators = None,
    horizon: options.Horizon = None,
    start_stock: Annotated[
        float | None, typer.Option(help="Units in stock when every series starts; those of the log unless given.")
    ] = None,
    diagnose: Annotated[
        bool, typer.Option("--diagnose", help="Also estimate the terms of the regret bound, with advice.")
    ] = False,
    seed: options.Seed = 0,
    drop_bad_rows: options.DropBadRows = False,
    dropped_rows: options.DroppedRows = None,
    rows: options.Rows = None,
    quick: options.Quick = False,
    workers: options.Workers = None,
    memory: options.Memory = None,
    as_json: options.Json = False,
) -> None:
    """Estimate from a log alone what a policy would earn, what was earned, and the gain, with 95 % intervals.

    Example: `lostsales evaluate policy log.parquet`
    """
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.evaluation import print_diagnostics, print_evaluation
    from lostsales.data.judged_rows import EVALUATED_ROWS, QUICK_ROWS
    from lostsales.data.memory import memory_limit
    from lostsales.data.parallel import using_workers, usual_workers
    from lostsales.data.progress import stages
    from lostsales.evaluation.costs import evaluate_cost, rows_within
    from lostsales.evaluation.diagnostics.diagnose import diagnose as run_diagnostics
    from lostsales.evaluation.evaluate import checked_estimators, evaluate_on, prepare
    from lostsales.evaluation.task import EvaluationTask
    from lostsales.evaluation.usable_policy import check_policy
    from lostsales.policy.file_format import load

    source = log_source(log, query)
    decides = load(policy)
    only = checked_estimators(estimator)
    sales = read_sales(source, problem, drop_bad_rows, dropped_rows, verb="evaluate", others=(policy,))
    check_policy(decides, sales, horizon, start_stock)
    threads, limit = workers or usual_workers(), memory_limit(memory)
    most = rows or (QUICK_ROWS if quick else EVALUATED_ROWS)
    most, fewer = rows_within(sales, most, limit, threads, quick)
    cost = evaluate_cost(sales, most, quick, only).on(threads)
    seconds = expect("evaluate", cost, memory, FEWER_ROWS, threads)
    with progress("fitting the demand model and evaluating", seconds=seconds) as report, using_workers(threads):
        preparing, evaluating = stages(report, (1, 1))
        prepared, notes = prepare(sales, seed, preparing, most, quick)
        evaluation = evaluate_on(
            decides,
            prepared,
            estimators=only,
            horizon=horizon,
            start_stock=start_stock,
            seed=seed,
            notes=(*fewer, *notes),
            progress=evaluating,
        )
    found = run_diagnostics(EvaluationTask.of(decides, prepared, horizon, seed)) if diagnose else None
    if as_json:
        print_json(evaluation.to_json() | ({} if found is None else {"diagnostics": found.to_json()}))
        return
    print_evaluation(f"{policy} on {source}", evaluation)
    if found is not None:
        print_diagnostics(found)
