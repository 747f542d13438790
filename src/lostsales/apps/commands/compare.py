"""`lostsales compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import LogInput, print_left_out, reads_log
from lostsales.apps.console import print_notes, print_table, print_verdict, progress, screen, sentence, show

if TYPE_CHECKING:
    from lostsales.evaluation.compare import Comparison


@reads_log
def compare(
    log: LogInput,
    methods: Annotated[str, typer.Option(help="Such as c-fqi,fusion,base-stock; by default a broad choice.")] = "",
    estimator: Annotated[
        str | None, typer.Option(help="model, fqe or dr; by default model if a demand model can be fitted.")
    ] = None,
    horizon: options.Horizon = None,
    out: Annotated[Path | None, typer.Option(help="Fit the chosen method to the whole log and save it here.")] = None,
    seed: options.Seed = 0,
    rows: options.Rows = None,
    quick: options.Quick = False,
    workers: options.Workers = None,
    as_json: options.Json = False,
) -> None:
    """Fit several methods, evaluate each on series held out from it, and name the one to deploy, or none.

    Example: `lostsales compare log.parquet --methods c-fqi,fusion,base-stock`
    """
    import warnings
    from dataclasses import replace

    import numpy as np

    from lostsales.data.memory import evaluated_rows
    from lostsales.data.output_files import check_output
    from lostsales.data.parallel import usual_workers
    from lostsales.data.sublogs import COMPARED_ROWS, QUICK_ROWS
    from lostsales.evaluation.compare import check_methods, usual_methods
    from lostsales.evaluation.compare import compare as run_comparison
    from lostsales.evaluation.replayed_value import with_replayed_value
    from lostsales.learn.fit import fit, learner_of
    from lostsales.policy.chosen_products import ChosenProducts
    from lostsales.policy.provenance import with_verdict

    if out is not None:
        check_output(out, log.files)
    chosen = options.names(methods) or usual_methods()
    check_methods(chosen)
    sales = log.read_decisions("compare", (out,))
    learners = {name: learner_of(name, {"seed": seed}) for name in chosen}
    left = {name: learner.left_out(sales) for name, learner in learners.items()}
    print_left_out(sales, left)
    threads = workers or usual_workers()
    most, fewer = evaluated_rows(rows or (QUICK_ROWS if quick else COMPARED_ROWS), threads, log.memory)
    with progress("fitting and evaluating") as report, warnings.catch_warnings():
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
            with_verdict(policy, found.policy_verdict).save(saved)
    show(
        as_json,
        lambda: found.to_json() | {"left_out_by_method": left, "policy": None if saved is None else str(saved)},
        lambda: print_comparison(f"Methods on {log}", found, out),
    )


def print_comparison(title: str, found: "Comparison", out: Path | None) -> None:
    """The recommendation, its file or why there is none, gains by method and product, and notes."""
    from lostsales.apps.gains import LEVELS, print_assortment, print_doubts, print_service

    print_verdict(LEVELS[found.verdict], sentence(found.sentence))
    if out is not None and found.choice is None:
        why = "no method is to be deployed at once"
        fit = "" if found.to_try is None else f"; for the pilot: lostsales fit LOG --method {found.to_try} --out {out}"
        screen.print(f"Nothing was saved in {out}, as {why}{fit}", soft_wrap=True, highlight=False)
    elif out is not None:
        kept = found.chosen is not None and found.chosen.choice.kept
        flags = "; recommend flags the products for which it should not decide" if kept else ""
        screen.print(f"{found.choice}, fitted to the whole log, is saved in {out}{flags}", soft_wrap=True)
    screen.print()

    screen.print(Text(title, style="bold"))
    by_product = any(each.assortment is not None for each in found.candidates)
    (_print_by_total if by_product else _print_by_method)(found)
    print_notes(
        f"{each.method} is not evaluated: {each.reason}" for each in found.candidates if each.reason is not None
    )
    served = [(each.method, each.service) for each in found.candidates if each.service is not None]
    if served:
        print_service([("current decisions", served[0][1].log), *((name, each.policy) for name, each in served)])
    held_out = f"every policy is evaluated on rows that it was not fitted to ({found.held_out} held out)"
    print_notes((f"{found.estimand}; by {found.estimator}; {held_out}", *found.notes))
    named = next((each for each in found.candidates if each.method in (found.choice, found.to_try)), None)
    shown = found.candidates[0] if named is None else named
    print_doubts(shown.concerns or found.concerns, shown.sensitivity)
    if found.chosen is not None:
        screen.print()
        print_assortment(found.chosen)


def _print_by_method(found: "Comparison") -> None:
    from lostsales.apps.gains import interval_text

    rows = [("current decisions", f"{found.earned.profit.value:.2f}", "", "")]
    for each in found.candidates:
        if each.profit is not None:
            figures = f"{each.profit.value:.2f}", interval_text(each.gain), interval_text(each.behind)
            rows.append((each.method, *figures))
    head = ("method", "profit", "gain (95 % interval)", "behind the best")
    print_table("", head, rows, words=head[2:])


def _print_by_total(found: "Comparison") -> None:
    """Gains over all products, and where each method decides only for those that are chosen for it."""
    from lostsales.apps.gains import money_text

    scored = [(each.method, each.assortment) for each in found.candidates if each.assortment is not None]
    over = scored[0][1].total.usual[1]
    rows = []
    for method, each in scored:
        chosen = len(each.choice.products)
        of_these = money_text(each.choice.gain.usual[0]) if chosen else "-"
        rows.append((method, money_text(each.total.usual[0]), f"{chosen:,} of {len(each.products):,}", of_these))
    head = ("method", f"gain {over}, all products", "decides for", f"gain {over} of these")
    print_table("", head, rows, words=head)
