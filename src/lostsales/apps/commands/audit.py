"""Commands about what stock-outs hide: audit and impute."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import Json, Log, ProblemFile
from lostsales.errors import LostSalesError

Tail = Annotated[str, typer.Option(help="Where data cannot tell demand: to_max, exponential, last or refuse.")]


def audit(
    log: Log,
    problem: ProblemFile = None,
    cap: Annotated[int | None, typer.Option(help="Deepest run to learn (K); the paper's rule unless given.")] = None,
    as_json: Json = False,
) -> None:
    """Say what a log can teach: stock-out runs, what they hide, which assumptions hold, what to collect next.

    Example: `lostsales audit log.parquet`
    """
    from lostsales.apps.views.audit import print_audit
    from lostsales.apps.views.console import print_json, progress
    from lostsales.data.reading.gate import read_log
    from lostsales.demand.audit.audit import audit as run_audit

    with progress("auditing") as report:
        found = run_audit(read_log(log, problem), cap=cap, progress=report)
    if as_json:
        print_json(found.as_json())
    else:
        print_audit(str(log), found)


def impute(
    log: Log,
    out: Annotated[Path, typer.Option(help="Where to write the filled log (.parquet or .csv).")],
    problem: ProblemFile = None,
    estimator: Annotated[str, typer.Option(help="beran, marginal, cox or aft.")] = "beran",
    demand_max: Annotated[
        float | None, typer.Option(help="Largest demand that can be; the largest sale unless given.")
    ] = None,
    tail: Tail = "to_max",
    replicates: Annotated[int, typer.Option(help="Bootstrap samples behind the standard errors.")] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    as_json: Json = False,
) -> None:
    """Fill in the demand and the profit that stock-outs hid, and write the log with them.

    Example: `lostsales impute log.parquet --out filled.parquet`
    """
    from lostsales.apps.views.console import print_facts, print_json, progress
    from lostsales.data.reading.gate import read_log
    from lostsales.data.writing import check_target
    from lostsales.demand.survival.filled_log import check_choice, summary, write_filled
    from lostsales.demand.survival.imputation import impute as run_impute

    check_target(out)
    if out.resolve() == log.resolve():
        raise LostSalesError(f"--out {out} would overwrite the log; give the filled log a name of its own")
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
        return
    by = f"standard errors by bootstrap over {filled.resampled}"
    rest = f"the others rest on a trend and the tail rule {filled.tail} up to {filled.demand_max:g}"
    lines = [
        ("hidden demands", f"{facts['censored_rows']:,} of {facts['rows']:,} rows"),
        ("told from the data", f"{facts['identified_rows']:,}; {rest}"),
        ("mean lost sales", f"{facts['mean_expected_lost']:.3f} a stock-out ({by})"),
    ]
    if facts["mean_cash"] is not None:
        lines.append(("mean cash a period", f"{facts['mean_cash']:.3f}"))
        lines.append(
            ("mean profit a period", f"{facts['mean_profit_filled']:.3f} with the expected cost of lost sales")
        )
    lines.append(("written", str(out)))
    print_facts(str(log), lines)
