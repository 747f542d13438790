"""A comparison of methods as a person reads it."""

from pathlib import Path

from rich.table import Table
from rich.text import Text

from lostsales.apps.views.assortment import money_text, print_assortment
from lostsales.apps.views.console import out
from lostsales.apps.views.evaluation import interval_text, print_doubts
from lostsales.evaluation.compare import Comparison


def print_comparison(title: str, found: Comparison, saved: Path | None) -> None:
    """Gains by method, why some have none, notes, and the recommendation last but for where its policy lies."""
    out.print(Text(title, style="bold"))
    out.print(_by_method(found) if all(each.assortment is None for each in found.candidates) else _by_total(found))
    for each in found.candidates:
        if each.reason is not None:
            out.print(Text(f"- {each.method} is not evaluated: {each.reason}"))
    held_out = f"every policy is evaluated on rows that it was not fitted to ({found.held_out} held out)"
    for line in (f"{found.estimand}; by {found.estimator}; {held_out}", *found.notes):
        out.print(Text(f"- {line}"))
    named = next((each for each in found.candidates if each.method in (found.choice, found.to_try)), None)
    shown = found.candidates[0] if named is None else named
    print_doubts(shown.concerns or found.concerns, shown.sensitivity)
    if found.chosen is not None:
        out.print()
        print_assortment(found.chosen)
    out.print(Text(f"{found.sentence[0].upper()}{found.sentence[1:]}.", style="bold"))
    if saved is not None:
        out.print(f"{found.choice}, fitted to the whole log, is saved in {saved}", soft_wrap=True)
        if found.chosen is not None and found.chosen.choice.kept:
            out.print("recommend flags the products for which it should not decide")


def _by_method(found: Comparison) -> Table:
    table = Table(box=None, header_style="cyan")
    for name in ("method", "profit", "gain (95 % interval)", "behind the best"):
        table.add_column(name, justify="right" if name == "profit" else "left")
    table.add_row("current decisions", f"{found.earned.profit.value:.2f}", "", "")
    for each in found.candidates:
        if each.profit is not None:
            figures = f"{each.profit.value:.2f}", interval_text(each.gain), interval_text(each.behind)
            table.add_row(each.method, *figures)
    return table


def _by_total(found: Comparison) -> Table:
    """Gains over all products, and where each method decides only for those that are chosen for it."""
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
