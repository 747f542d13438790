"""Commands that learn a policy and ask it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lostsales.apps.commands.options import Json, Log, ProblemFile

if TYPE_CHECKING:
    from lostsales.types import Array

SHOWN = ("price", "order", "depth", "value", "margin", "flag")
MOST_SHOWN = 50  # rows
METHODS = (
    "c-fqi, pc-fqi or fusion; or a baseline: behaviour, base-stock, s-S-p, newsvendor, fqi-observed, fqi-dropped, "
    "fqi-imputed, fqi-plugin."
)


def fit(
    log: Log,
    out: Annotated[Path, typer.Option(help="The file to save the policy in.")],
    method: Annotated[str, typer.Option(help=METHODS)] = "c-fqi",
    problem: ProblemFile = None,
    iterations: Annotated[int | None, typer.Option(help="K; the paper's rule unless given.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same policy.")] = 0,
    as_json: Json = False,
) -> None:
    """Learn from a log how to price and how much to order, and save the policy.

    Example: `lostsales fit log.parquet --method c-fqi --out policy`
    """
    import warnings

    from lostsales.apps.views.console import err, print_facts, print_json, progress
    from lostsales.data.reading.gate import read_log
    from lostsales.learn.fit import fit as learn
    from lostsales.policy.file_format import check_place

    check_place(out)
    with progress("learning") as report, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        given = {} if iterations is None else {"iterations": iterations}
        policy = learn(read_log(log, problem), method, seed=seed, progress=report, **given)
    for warning in warned:
        err.print(f"[yellow]Warning:[/] {warning.message}", highlight=False, soft_wrap=True)
    policy.save(out)
    facts: dict[str, Any] = {"method": method, **policy.summary(), "policy": str(out)}
    if as_json:
        print_json(facts)
        return
    shown = {
        "max_depth": "learned to depth",
        "kernels": "functions by depth",
        "order_at": "orders at a stock of",
        "order_up_to": "orders up to",
        "price": "price where it orders",
        "waiting_price": "price where not",
    }
    texts = {key: ", ".join(value) if isinstance(value, list) else str(value) for key, value in facts.items()}
    print_facts(f"{method} on {log}", [(shown.get(key, key), text) for key, text in texts.items()])


def recommend(
    policy: Annotated[Path, typer.Argument(help="A saved policy.")],
    today: Annotated[Path, typer.Option(help="One open row a series: series, period, features, stock.")],
    recent: Annotated[Path | None, typer.Option(help="Closed rows of each series; none on day one.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the recommendations (.parquet or .csv).")] = None,
    as_json: Json = False,
) -> None:
    """Say what to charge and what to order today.

    Example: `lostsales recommend policy --recent recent.csv --today today.csv`
    """
    from lostsales.apps.views.console import out as screen
    from lostsales.apps.views.console import print_json
    from lostsales.data.labels import spelled
    from lostsales.data.writing import check_target, write_table
    from lostsales.policy.file_format import load
    from lostsales.policy.recommendation import recommendation

    if out is not None:
        check_target(out)
    found = recommendation(load(policy), recent, today)
    keys, decided = found.keys, found.columns
    if out is not None:
        write_table(keys | decided, out)
    if as_json:
        columns = {name: values.tolist() for name, values in decided.items()}
        columns = {name: [spelled(each) for each in values] for name, values in keys.items()} | columns
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        print_json({"recommendations": rows})
        return
    _show(f"Today by {policy}", keys | {name: decided[name] for name in SHOWN})
    if out is not None:
        screen.print(f"written to {out}")


def _show(title: str, columns: "dict[str, Array]") -> None:
    """The first rows as a table."""
    from rich.table import Table
    from rich.text import Text

    from lostsales.apps.views.console import out as screen
    from lostsales.data.labels import spelled

    table = Table(title=Text(title), title_justify="left", title_style="bold", box=None, header_style="cyan")
    for name, values in columns.items():
        table.add_column(name, justify="right" if values.dtype.kind in "if" else "left")
    for row in zip(*(values[:MOST_SHOWN] for values in columns.values()), strict=True):
        table.add_row(*(Text(f"{each:g}" if isinstance(each, float) else spelled(each)) for each in row))
    screen.print(table)
    if (more := len(columns["flag"]) - MOST_SHOWN) > 0:
        screen.print(f"... and {more:,} more series")
