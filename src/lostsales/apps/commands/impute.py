"""`lostsales impute`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import LogInput, reads_log
from lostsales.apps.console import print_facts, print_verdict, progress, screen, show

if TYPE_CHECKING:
    from lostsales.demand.survival.imputation import Imputation

IMPUTED_AS_LONG = 15_000  # rows whose imputation takes as long as the demand model behind the cost of stock-outs
FAR = 0.05  # relative difference that is explained


@reads_log
def impute(
    log: LogInput,
    out: Annotated[Path, typer.Option(help="Where to write the imputed log (.parquet, .csv or .xlsx).")],
    estimator: Annotated[
        str | None,
        typer.Option(help="model, beran, marginal, cox or aft; by default model of products and dates, else beran."),
    ] = None,
    demand_max: Annotated[
        float | None,
        typer.Option(help="Largest possible demand; by default none (model) or the largest sales."),
    ] = None,
    tail: Annotated[
        str | None,
        typer.Option(
            help="Tail rule if data do not identify demand: to_max, exponential, last or refuse; by default to_max, or "
            "exponential if series differ in size or price."
        ),
    ] = None,
    replicates: Annotated[
        int, typer.Option(min=0, max=options.MOST, help="Bootstrap samples behind the standard errors.")
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, max=options.MOST_SEED, help="Seed of the bootstrap.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Impute the demand and the profit that stock-outs censored, and write the log with them.

    Example: `lostsales impute log.parquet --out filled.parquet`
    """
    from lostsales.data.progress import stages
    from lostsales.data.sublogs import EVALUATED_ROWS, evaluated_part
    from lostsales.data.writing import check_table
    from lostsales.demand.filled_log import check_choice, summary, write_filled
    from lostsales.demand.imputing import impute as run_impute
    from lostsales.demand.stockout_loss import stockout_loss
    from lostsales.evaluation.prepared_log import earned_profit

    check_table(out, log.files)
    chosen_estimator, chosen_tail = check_choice(estimator, tail)
    table = log.read("impute", others=(out,), sales_only=True)
    with progress("imputing") as report:
        imputing, losing = stages(report, (len(table) / IMPUTED_AS_LONG, 1))
        filled = run_impute(
            table,
            estimator=chosen_estimator,
            demand_max=demand_max,
            tail=chosen_tail,
            replicates=replicates,
            seed=seed,
            progress=imputing,
        )
        write_filled(table, filled, out)
        decidable = not table.demand_only and table.costs is not None
        few, _ = evaluated_part(table, EVALUATED_ROWS, seed)
        earned = earned_profit(few, seed) if decidable else None
        facts = summary(table, filled, earned, stockout_loss(table, seed=seed, progress=losing))
    show(as_json, lambda: facts, lambda: print_imputation(str(log), filled, facts, out))


def print_imputation(name: str, filled: "Imputation", facts: dict[str, Any], out: Path) -> None:
    """Print the cost of stock-outs, censored and identified demand, and the file of the filled log."""
    from lostsales.demand.imputing import MODEL

    loss = facts["stockout_loss"]
    print_verdict("good" if loss["rows"] == 0 else "care", loss["sentence"])
    screen.print()
    by = f"standard errors by bootstrap over {filled.resampled}"
    rest = f"the others by a trend and the tail rule {filled.tail} up to {filled.demand_max:g}"
    if filled.tail == MODEL:
        by, rest = (
            "by the demand model",
            f"the others extrapolated; the largest imputed demand is {filled.demand_max:g}",
        )
    lines = [
        ("censored demand", f"{facts['censored_rows']:,} of {facts['rows']:,} rows"),
        ("identified by the data", f"{facts['identified_rows']:,}; {rest}"),
        ("mean lost sales", f"{facts['mean_expected_lost']:.3f} per stock-out ({by})"),
    ]
    if facts["mean_cash"] is not None:
        lines.append(("mean cash per period", f"{facts['mean_cash']:.3f}"))
        earned, column = facts["mean_profit_filled"], facts["mean_profit_column"]
        lines.append(("mean profit per period", f"{earned:.3f} with the expected cost of lost sales, as in evaluate"))
        if abs(column - earned) > FAR * max(abs(earned), abs(column)):
            bound = f"{column:.3f}: demand that is not identified is taken to be up to {filled.demand_max:g}"
            lines.append(("mean of profit_filled", bound))
    print_facts(name, [*lines, ("written", str(out))])
