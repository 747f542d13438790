"""`lostsales compare`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import (
    DropBadRows,
    DroppedRows,
    Horizon,
    Json,
    Log,
    ProblemFile,
    Seed,
    log_files,
    names,
)
from lostsales.apps.commands.reading import read_sales


def compare(
    log: Log,
    methods: Annotated[str, typer.Option(help="Such as c-fqi,fusion,base-stock; a broad choice unless given.")] = "",
    problem: ProblemFile = None,
    estimator: Annotated[str | None, typer.Option(help="model, fqe or dr; model where one can be learned.")] = None,
    horizon: Horizon = None,
    out: Annotated[Path | None, typer.Option(help="Fit the chosen method to the whole log and save it here.")] = None,
    seed: Seed = 0,
    drop_bad_rows: DropBadRows = False,
    dropped_rows: DroppedRows = None,
    as_json: Json = False,
) -> None:
    """Fit several methods, evaluate each on series held out from it, and name the one to deploy, or none.

    Example: `lostsales compare log.parquet --methods c-fqi,fusion,base-stock`
    """
    import warnings

    from lostsales.apps.views.comparison import print_comparison
    from lostsales.apps.views.console import print_json, progress
    from lostsales.data.output_files import check_output
    from lostsales.evaluation.compare import compare as run_comparison
    from lostsales.evaluation.compare import usual_methods
    from lostsales.learn.fit import fit

    if out is not None:
        check_output(out, log_files(log, problem))
    chosen = names(methods) or usual_methods()
    sales = read_sales(log, problem, drop_bad_rows, dropped_rows, verb="compare")
    with progress("fitting and evaluating") as report, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run_comparison(sales, chosen, estimator=estimator, horizon=horizon, seed=seed, progress=report)
        saved = None if found.choice is None else out
        if saved is not None and found.choice is not None:
            fit(sales, found.choice, seed=seed).save(saved)
    if as_json:
        print_json(found.to_json() | {"policy": None if saved is None else str(saved)})
    else:
        print_comparison(f"Methods on {log}", found, saved)
