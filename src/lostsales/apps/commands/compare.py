"""`lostsales compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from lostsales.apps.commands import options
from lostsales.apps.commands.budgeting import FEWER_ROWS, expect
from lostsales.apps.commands.reading import log_files, log_source, print_left_out, read_sales
from lostsales.apps.console import print_json, progress, screen

if TYPE_CHECKING:
    from lostsales.evaluation.compare import Comparison


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

    from lostsales.data.memory import memory_limit
    from lostsales.data.output_files import check_output
    from lostsales.data.parallel import usual_workers
    from lostsales.data.sublogs import COMPARED_ROWS, QUICK_ROWS
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


def print_comparison(title: str, found: "Comparison", saved: Path | None) -> None:
    """Gains by method, why some have none, notes, and the recommendation last but for where its policy lies."""
    from lostsales.apps.gains import print_assortment, print_doubts

    screen.print(Text(title, style="bold"))
    screen.print(_by_method(found) if all(each.assortment is None for each in found.candidates) else _by_total(found))
    for each in found.candidates:
        if each.reason is not None:
            screen.print(Text(f"- {each.method} is not evaluated: {each.reason}"))
    held_out = f"every policy is evaluated on rows that it was not fitted to ({found.held_out} held out)"
    for line in (f"{found.estimand}; by {found.estimator}; {held_out}", *found.notes):
        screen.print(Text(f"- {line}"))
    named = next((each for each in found.candidates if each.method in (found.choice, found.to_try)), None)
    shown = found.candidates[0] if named is None else named
    print_doubts(shown.concerns or found.concerns, shown.sensitivity)
    if found.chosen is not None:
        screen.print()
        print_assortment(found.chosen)
    screen.print(Text(f"{found.sentence[0].upper()}{found.sentence[1:]}.", style="bold"))
    if saved is not None:
        screen.print(f"{found.choice}, fitted to the whole log, is saved in {saved}", soft_wrap=True)
        if found.chosen is not None and found.chosen.choice.kept:
            screen.print("recommend flags the products for which it should not decide")


def _by_method(found: "Comparison") -> Table:
    from lostsales.apps.gains import interval_text

    table = Table(box=None, header_style="cyan")
    for name in ("method", "profit", "gain (95 % interval)", "behind the best"):
        table.add_column(name, justify="right" if name == "profit" else "left")
    table.add_row("current decisions", f"{found.earned.profit.value:.2f}", "", "")
    for each in found.candidates:
        if each.profit is not None:
            figures = f"{each.profit.value:.2f}", interval_text(each.gain), interval_text(each.behind)
            table.add_row(each.method, *figures)
    return table


def _by_total(found: "Comparison") -> Table:
    """Gains over all products, and where each method decides only for those that are chosen for it."""
    from lostsales.apps.gains import money_text

    scored = [(each.method, each.assortment) for each in found.candidates if each.assortment is not None]
    over = scored[0][1].total.usual[1]
    table = Table(box=None, header_style="cyan")
    for name in ("method", f"gain {over}, all products", "decides for", f"gain {over} of these"):
        table.add_column(name)
    for method, each in scored:
        chosen = len(each.choice.products)
        of_these = money_text(each.choice.gain.usual[0]) if chosen else "-"
        number = f"{chosen:,} of {len(each.products):,}"
        table.add_row(method, Text(money_text(each.total.usual[0])), number, Text(of_these))
    return table
