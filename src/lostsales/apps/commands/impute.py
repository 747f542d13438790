"""`lostsales impute`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.budgeting import FEWER_ROWS, expect
from lostsales.apps.commands.reading import log_files, log_source, read_sales


def impute(
    log: options.Log,
    out: Annotated[Path, typer.Option(help="Where to write the imputed log (.parquet or .csv).")],
    problem: options.ProblemFile = None,
    query: options.Query = None,
    estimator: Annotated[str, typer.Option(help="beran, marginal, cox or aft.")] = "beran",
    demand_max: Annotated[
        float | None, typer.Option(help="Largest possible demand; the largest sales unless given.")
    ] = None,
    tail: Annotated[
        str | None,
        typer.Option(
            help="Tail rule where the data do not identify demand: to_max, exponential, last or refuse; to_max unless "
            "given, exponential where series differ in size or price."
        ),
    ] = None,
    replicates: Annotated[
        int, typer.Option(min=0, max=options.MOST, help="Bootstrap samples behind the standard errors.")
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, max=options.MOST_SEED, help="Seed of the bootstrap.")] = 0,
    drop_bad_rows: options.DropBadRows = False,
    dropped_rows: options.DroppedRows = None,
    memory: options.Memory = None,
    as_json: options.Json = False,
) -> None:
    """Impute the demand and the profit that stock-outs censored, and write the log with them.

    Example: `lostsales impute log.parquet --out filled.parquet`
    """
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.imputation import print_imputation
    from lostsales.data.judged_rows import EVALUATED_ROWS, judged_rows
    from lostsales.data.parallel import current_workers
    from lostsales.data.writing import check_table
    from lostsales.demand.costs import impute_cost, loss_cost
    from lostsales.demand.filled_log import check_choice, summary, write_filled
    from lostsales.demand.stockout_loss import stockout_loss
    from lostsales.demand.survival.imputation import impute as run_impute
    from lostsales.evaluation.prepared_log import earned_profit

    source = log_source(log, query)
    check_table(out, log_files(source, problem))
    chosen_estimator, chosen_tail = check_choice(estimator, tail)
    table = read_sales(source, problem, drop_bad_rows, dropped_rows, others=(out,))
    cost = impute_cost(table, replicates) + loss_cost(table)
    seconds = expect("impute", cost, memory, f"{FEWER_ROWS} or fewer --replicates", current_workers())
    with progress("imputing", seconds=seconds) as report:
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
        decidable = not table.demand_only and table.costs is not None
        few, _ = judged_rows(table, EVALUATED_ROWS, seed)
        earned = earned_profit(few, seed) if decidable else None
        facts = summary(table, filled, earned, stockout_loss(table, seed=seed))
    if as_json:
        print_json(facts)
    else:
        print_imputation(str(source), filled, facts, out)
