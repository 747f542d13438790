"""`lostsales impute`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import MOST, MOST_SEED, Json, Log, ProblemFile, log_files


def impute(
    log: Log,
    out: Annotated[Path, typer.Option(help="Where to write the filled log (.parquet or .csv).")],
    problem: ProblemFile = None,
    estimator: Annotated[str, typer.Option(help="beran, marginal, cox or aft.")] = "beran",
    demand_max: Annotated[
        float | None, typer.Option(help="Largest demand that can be; the largest sale unless given.")
    ] = None,
    tail: Annotated[
        str, typer.Option(help="Tail rule where the data do not identify demand: to_max, exponential, last or refuse.")
    ] = "to_max",
    replicates: Annotated[
        int, typer.Option(min=0, max=MOST, help="Bootstrap samples behind the standard errors.")
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the bootstrap.")] = 0,
    as_json: Json = False,
) -> None:
    """Impute the demand and the profit that stock-outs hid, and write the log with them.

    Example: `lostsales impute log.parquet --out filled.parquet`
    """
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.imputation import print_imputation
    from lostsales.data.reading.gate import read_log
    from lostsales.data.writing import check_table
    from lostsales.demand.survival.filled_log import check_choice, summary, write_filled
    from lostsales.demand.survival.imputation import impute as run_impute

    check_table(out, log_files(log, problem))
    chosen_estimator, chosen_tail = check_choice(estimator, tail)
    with progress("imputing") as report:
        table = read_log(log, problem)
        filled = run_impute(
            table,
            estimator=chosen_estimator,
            demand_max=demand_max,
            tail=chosen_tail,
            replicates=replicates,
            seed=seed,
            progress=report,
        )
        write_filled(table, filled, out)
    facts = summary(table, filled)
    if as_json:
        print_json(facts)
    else:
        print_imputation(str(log), filled, facts, out)
