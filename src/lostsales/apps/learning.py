"""Commands that learn a policy and ask it."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.options import Json, Log, ProblemFile


def fit(
    log: Log,
    out: Annotated[Path, typer.Option(help="The file to save the policy in.")],
    method: Annotated[str, typer.Option(help="c-fqi, pc-fqi or fusion.")] = "c-fqi",
    problem: ProblemFile = None,
    iterations: Annotated[int | None, typer.Option(help="K; the paper's rule unless given.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same policy.")] = 0,
    as_json: Json = False,
) -> None:
    """Learn from a log how to price and how much to order, and save the policy.

    Example: `lostsales fit log.parquet --method c-fqi --out policy`
    """
    import warnings

    from lostsales.apps.console import err, print_facts, print_json, progress
    from lostsales.data.gate import read_log
    from lostsales.learn.fit import fit as learn
    from lostsales.learn.policy import QPolicy
    from lostsales.policy.artefact import check_place

    check_place(out)
    with progress("learning") as report, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        policy = learn(read_log(log, problem), method, iterations=iterations, seed=seed, progress=report)
    for warning in warned:
        err.print(f"[yellow]Warning:[/] {warning.message}", highlight=False, soft_wrap=True)
    policy.save(out)
    if not isinstance(policy, QPolicy):
        print_facts(method, [("policy", str(out))])
        return
    kernels = [_kernel(q.design.choice.kernel) for q in policy.q]
    if as_json:
        print_json({"method": method, "max_depth": len(policy.q) - 1, "kernels": kernels, "policy": str(out)})
        return
    print_facts(
        f"{method} on {log}",
        [
            ("learned to depth", str(len(policy.q) - 1)),
            ("functions by depth", ", ".join(kernels)),
            ("policy", str(out)),
        ],
    )


def _kernel(kernel: object) -> str:
    return "linear" if kernel is None else f"{getattr(kernel, 'kind', '')} {getattr(kernel, 'coefficient', 0):g}"


def recommend(
    policy: Annotated[Path, typer.Argument(help="A saved policy.")],
    recent: Annotated[Path, typer.Option(help="Closed rows of each series (CSV or Parquet).")],
    today: Annotated[Path, typer.Option(help="One open row a series: series, period, features, stock.")],
    out: Annotated[Path | None, typer.Option(help="Write the recommendations (.parquet or .csv).")] = None,
    as_json: Json = False,
) -> None:
    """Say what to charge and what to order today.

    Example: `lostsales recommend policy --recent recent.csv --today today.csv`
    """
    from rich.table import Table

    from lostsales.apps.console import out as screen
    from lostsales.apps.console import print_json
    from lostsales.data.write import check_target, write_table
    from lostsales.policy.artefact import load
    from lostsales.policy.recommend import ready, recommend_columns

    if out is not None:
        check_target(out)
    columns = recommend_columns(ready(load(policy)), recent, today)
    if out is not None:
        write_table(columns, out)
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*(c.tolist() for c in columns.values()), strict=True)
    ]
    if as_json:
        print_json({"recommendations": [row | {"period": str(row["period"])} for row in rows]})
        return
    table = Table(title=f"Today by {policy}", title_justify="left", title_style="bold", box=None, header_style="cyan")
    for column in ("series", "price", "order", "depth", "value", "margin", "flag"):
        table.add_column(column, justify="left" if column in ("series", "flag") else "right")
    for row in rows[:50]:
        table.add_row(
            *(_cell(row[column]) for column in ("series", "price", "order", "depth", "value", "margin", "flag"))
        )
    screen.print(table)
    if len(rows) > 50:
        screen.print(f"... and {len(rows) - 50:,} more series")
    if out is not None:
        screen.print(f"written to {out}")


def _cell(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
