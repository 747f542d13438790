"""A back-test as a person reads it."""

from rich.table import Table
from rich.text import Text

from lostsales.apps.views.console import out
from lostsales.apps.views.evaluation import interval_text
from lostsales.evaluation.back_test import BackTest


def print_back_test(title: str, found: BackTest) -> None:
    """Predicted gain and outcome by window, and the verdict last."""
    out.print(Text(title, style="bold"))
    table = Table(box=None, header_style="cyan")
    for name in ("window", "rows", "predicted gain", "gain in the window", "earned before", "earned"):
        table.add_column(name, justify="left" if name in ("window", "predicted gain") else "right")
    for each in found.windows:
        if each.earned is not None:
            earned = f"{each.earned_before:.2f}", f"{each.earned:.2f}"
            gains = interval_text(each.claimed), interval_text(each.outcome)
            table.add_row(f"{each.first} to {each.last}", f"{each.rows:,}", *gains, *earned)
    out.print(table)
    for each in found.windows:
        if each.reason is not None:
            out.print(Text(f"- {each.first} to {each.last} is not evaluated: {each.reason}"))
    out.print(Text("- per period; 95 % intervals in brackets; predicted from the rows that the policy was fitted to"))
    style = "bold" if found.verdict == "borne out" else "bold yellow"
    out.print(Text(f"{found.sentence[0].upper()}{found.sentence[1:]}.", style=style))
