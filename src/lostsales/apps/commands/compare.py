"""`lostsales compare`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.budgeting import FEWER_ROWS, expect
from lostsales.apps.commands.reading import log_files, log_source, read_sales


def compare(
    log: options.Log,
    methods: Annotated[str, typer.Option(help="Such as c-fqi,fusion,base-stock; a broad choice unless given.")] = "",
    problem: options.ProblemFile = None,
    query: options.Query = None,
    estimator: Annotated[
        str | None, typer.Option(help="model, fqe or dr; unless given, model where a demand model can be fitted.")
    ] = None,
    horizon: options.Horizon = None,
    out: Annotated[Path | None, typer.Option(help="Fit the chosen method to the whole log and save it here.")] = None,
    seed: options.Seed = 0,
    drop_bad_rows: options.DropBadRows = False,
    dropped_rows: options.DroppedRows = None,
    rows: options.Rows = None,
    quick: options.Quick = False,
    workers: options.Workers = None,
    memory: options.Memory = None,
    as_json: options.Json = False,
) -> None:
    """Fit several methods, evaluate each on series held out from it, and name the one to deploy, or none.

    Example: `lostsales compare log.parquet --methods c-fqi,fusion,base-stock`
    """
    import warnings
    from dataclasses import replace

    import numpy as np

    from lostsales.apps.views.comparison import print_comparison
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.left_out import print_left_out
    from lostsales.data.judged_rows import COMPARED_ROWS, QUICK_ROWS
    from lostsales.data.memory import memory_limit
    from lostsales.data.output_files import check_output
    from lostsales.data.parallel import usual_workers
    from lostsales.evaluation.compare import check_methods, usual_methods
    from lostsales.evaluation.compare import compare as run_comparison
    from lostsales.evaluation.costs import compare_cost, rows_within
    from lostsales.evaluation.replayed_value import with_replayed_value
    from lostsales.learn.fit import fit, learner_of
    from lostsales.policy.chosen_products import ChosenProducts

    source = log_source(log, query)
    if out is not None:
        check_output(out, log_files(source, problem))
    chosen = options.names(methods) or usual_methods()
    check_methods(chosen)
    sales = read_sales(source, problem, drop_bad_rows, dropped_rows, verb="compare", others=(out,))
    learners = {name: learner_of(name, {"seed": seed}) for name in chosen}
    left = {name: learner.left_out(sales) for name, learner in learners.items()}
    print_left_out(sales, left)
    threads, limit = workers or usual_workers(), memory_limit(memory)
    most = rows or (QUICK_ROWS if quick else COMPARED_ROWS)
    most, fewer = rows_within(sales, most, limit, threads, quick)
    cost = compare_cost(sales, learners.values(), most, quick).on(threads)
    seconds = expect("compare", cost, memory, FEWER_ROWS, threads)
    with progress("fitting and evaluating", seconds=seconds) as report, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run_comparison(
            sales,
            chosen,
            estimator=estimator,
            horizon=horizon,
            seed=seed,
            rows=most,
            quick=quick,
            workers=threads,
            progress=report,
        )
        found = replace(found, notes=(*fewer, *found.notes))
        saved = None if found.choice is None else out
        if saved is not None and found.choice is not None:
            policy = with_replayed_value(fit(sales, found.choice, seed=seed), sales, seed)
            if found.chosen is not None and found.chosen.choice.kept:
                policy = ChosenProducts(policy, np.array(found.chosen.choice.products, dtype=object))
            policy.save(saved)
    if as_json:
        print_json(found.to_json() | {"left_out_by_method": left, "policy": None if saved is None else str(saved)})
    else:
        print_comparison(f"Methods on {source}", found, saved)
