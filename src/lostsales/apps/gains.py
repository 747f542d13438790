"""Gains as a person reads them: with their intervals, the doubts about them, and by product."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from lostsales.apps.console import print_notes, print_verdict, screen, warn
from lostsales.errors import LostSalesError
from lostsales.evaluation.advice import Concern
from lostsales.evaluation.assortment import AssortmentGain, MoneyOver, ProductGain, amount
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.sensitivity import Sensitivity
from lostsales.evaluation.service import ServiceFigures
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.provenance import PolicyVerdict, verdict_of, verdict_sentence, with_verdict

MOST_ROWS = 15  # shown in a table
BEST_ROWS = 10  # where there are more, and then the least gains
BY_CHANCE = "'proven' allows for multiple testing: of many products, some intervals lie above zero by chance"


LEVELS = {"deploy": "good", "pilot": "care", "keep": "stop"}


def print_policy_verdict(policy: object, before: str = "") -> None:
    """Print the verdict that a policy carries, or how to get one."""
    found = verdict_of(policy)
    print_verdict("care" if found is None else LEVELS[found.advice], f"{before}{verdict_sentence(policy)}")


def policy_verdict_json(policy: object) -> dict[str, Any]:
    """The verdict that a policy carries, null where it has not been evaluated."""
    found = verdict_of(policy)
    return {"verdict": None if found is None else found.model_dump(mode="json") | {"sentence": found.sentence}}


def store_verdict(policy: SavedPolicy, found: PolicyVerdict, path: Path) -> None:
    """Write a verdict into the file of its policy; a file that cannot be written keeps what it says."""
    if verdict_of(policy) == found:
        return
    try:
        with_verdict(policy, found).save(path)
    except (LostSalesError, OSError) as error:
        warn(f"the verdict could not be stored in {path}: {error}")


def interval_text(interval: Interval | None) -> str:
    """A figure with its interval."""
    return "-" if interval is None else f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def money_text(figure: Interval) -> str:
    """A gain with its interval."""
    return f"{amount(figure.value)} ({amount(figure.low)} to {amount(figure.high)})"


def bounds_text(gain: Interval | None) -> str:
    """A gain and its bounds, or that there is no bound yet."""
    if gain is None:
        return "nothing to count yet"
    low, high = (amount(each) if abs(each) < float("inf") else "no bound yet" for each in (gain.low, gain.high))
    return f"{amount(gain.value)} ({low} to {high})"


def print_doubts(concerns: Sequence[Concern], sensitivity: Sensitivity | None) -> None:
    """Print the strength of a confounder that would erase the gain, and the concerns in their colours."""
    if sensitivity is not None and sensitivity.sentence:
        print_notes([sensitivity.sentence])
    for each in concerns:
        screen.print(Text(f"- {each.level}: {each.text}", style="red" if each.level == "red" else "yellow"))


def print_service(shown: Sequence[tuple[str, ServiceFigures]]) -> None:
    """Print service and stock of the log and of policies next to each other."""
    screen.print(Text("Service and stock", style="bold"))
    table = Table(box=None, header_style="cyan", pad_edge=False)
    table.add_column("")
    for name, _ in shown[0][1].lines:
        table.add_column(name, justify="right")
    for by, figures in shown:
        table.add_row(by, *(value for _, value in figures.lines))
    screen.print(table)


def print_assortment(found: AssortmentGain) -> None:
    """The greatest and the least gains by product, what the others gain together, the total, and what to know."""
    over = found.total.usual[1]
    money = f" ({found.currency})" if found.currency else ""
    screen.print(Text(f"Gains by product, {over}{money}", style="bold"))
    table = Table(box=None, header_style="cyan", pad_edge=False)
    for name in ("product", "earned", "gain (95 % interval)", "", "decide by"):
        table.add_column(name, justify="right" if name == "earned" else "left", overflow="fold")
    shown, rest = shown_products(found.products)
    for each in shown[:BEST_ROWS] if rest else shown:
        _add_row(table, each)
    if rest:
        together = sum(_usual(each.gain).value for each in rest if each.gain is not None)
        table.add_row(Text(f"{len(rest):,} more"), "", Text(f"{amount(together)} together"), "", "")
        for each in shown[BEST_ROWS:]:
            _add_row(table, each)
    table.add_row(
        "all products", amount(_usual(found.earned).value, signed=False), Text(money_text(_usual(found.total))), "", ""
    )
    screen.print(table)
    if found.total.year is not None:
        screen.print(Text(f"- per year, all products: {money_text(found.total.year)}"))
    if found.not_proven:
        names = ", ".join(found.not_proven[:MOST_ROWS])
        more = f" and {len(found.not_proven) - MOST_ROWS:,} more" if len(found.not_proven) > MOST_ROWS else ""
        screen.print(Text(f"- no gain is proven for {names}{more}"))
        if any(each.gain is not None and each.gain.period.low > 0 and not each.proven for each in found.products):
            print_notes([BY_CHANCE])
    print_notes(found.notes)


def shown_products(products: tuple[ProductGain, ...]) -> tuple[tuple[ProductGain, ...], tuple[ProductGain, ...]]:
    """The products that are shown, the greatest gains and then the least, and those between them."""
    if len(products) <= MOST_ROWS:
        return products, ()
    least = len(products) - (MOST_ROWS - BEST_ROWS)
    return (*products[:BEST_ROWS], *products[least:]), products[BEST_ROWS:least]


def _add_row(table: Table, each: ProductGain) -> None:
    gain = "-" if each.gain is None else money_text(_usual(each.gain))
    earned = amount(_usual(each.earned).value, signed=False)
    table.add_row(
        Text(each.product), earned, Text(gain), each.verdict, "new policy" if each.chosen else "current practice"
    )


def _usual(figure: MoneyOver) -> Interval:
    return figure.usual[0]
