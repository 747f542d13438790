"""Gains by product as a person reads them."""

from rich.table import Table
from rich.text import Text

from lostsales.apps.views.console import out
from lostsales.evaluation.assortment import AssortmentGain, MoneyOver, ProductGain, amount
from lostsales.evaluation.interval import Interval

MOST_ROWS = 15
BEST_ROWS = 10  # where there are more, and then the least gains
BY_CHANCE = "'proven' allows for multiple testing: of many products, some intervals lie above zero by chance"


def print_assortment(found: AssortmentGain) -> None:
    """The greatest and the least gains by product, what the others gain together, the total, and what to know."""
    over = found.total.usual[1]
    money = f" ({found.currency})" if found.currency else ""
    out.print(Text(f"Gains by product, {over}{money}", style="bold"))
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
    out.print(table)
    if found.total.year is not None:
        out.print(Text(f"- per year, all products: {money_text(found.total.year)}"))
    if found.not_proven:
        names = ", ".join(found.not_proven[:MOST_ROWS])
        more = f" and {len(found.not_proven) - MOST_ROWS:,} more" if len(found.not_proven) > MOST_ROWS else ""
        out.print(Text(f"- no gain is proven for {names}{more}"))
        if any(each.gain is not None and each.gain.period.low > 0 and not each.proven for each in found.products):
            out.print(Text(f"- {BY_CHANCE}"))
    for note in found.notes:
        out.print(Text(f"- {note}"))


def shown_products(products: tuple[ProductGain, ...]) -> tuple[tuple[ProductGain, ...], tuple[ProductGain, ...]]:
    """The products that are shown, the greatest gains and then the least, and those between them."""
    if len(products) <= MOST_ROWS:
        return products, ()
    least = len(products) - (MOST_ROWS - BEST_ROWS)
    return (*products[:BEST_ROWS], *products[least:]), products[BEST_ROWS:least]


def money_text(figure: Interval) -> str:
    """A gain with its interval."""
    return f"{amount(figure.value)} ({amount(figure.low)} to {amount(figure.high)})"


def _add_row(table: Table, each: ProductGain) -> None:
    gain = "-" if each.gain is None else money_text(_usual(each.gain))
    earned = amount(_usual(each.earned).value, signed=False)
    table.add_row(
        Text(each.product), earned, Text(gain), each.verdict, "new policy" if each.chosen else "current practice"
    )


def _usual(figure: MoneyOver) -> Interval:
    return figure.usual[0]
