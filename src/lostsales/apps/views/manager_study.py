"""A study of managers' logs as a person reads it."""

from lostsales.apps.views.console import out, plain_table
from lostsales.lab.studies.manager import MethodTable


def print_manager_study(title: str, rows: list[MethodTable]) -> None:
    """Profit of each method, from how many logs it is at least the manager's, and how far its stock rises."""
    table = plain_table(title, "method", "logs", "profit", "gain", "worst", "above", "above - s.e.", "most stock")
    for each in rows:
        table.add_row(
            each.method,
            f"{each.logs:,}",
            f"{each.profit:.2f} ({each.profit_error:.2f})",
            f"{each.gain:+.2f}",
            f"{each.worst_gain:+.2f}",
            f"{each.above:.0%}",
            f"{each.above_less_error:.0%}",
            f"{each.stock_ratio:.2f} of the log's",
        )
    out.print(table)
