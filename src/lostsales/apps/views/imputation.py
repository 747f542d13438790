"""Imputed demand as a person reads it."""

from pathlib import Path
from typing import Any

from rich.text import Text

from lostsales.apps.views.console import out as screen
from lostsales.apps.views.console import print_facts
from lostsales.demand.survival.imputation import Imputation

FAR = 0.05  # relative difference that is explained


def print_imputation(name: str, filled: Imputation, facts: dict[str, Any], out: Path) -> None:
    """What stock-outs cost, how much was censored, what the data identify of it, and where the filled log lies."""
    screen.print(Text(facts["stockout_loss"]["sentence"], style="bold"))
    screen.print()
    by = f"standard errors by bootstrap over {filled.resampled}"
    rest = f"the others by a trend and the tail rule {filled.tail} up to {filled.demand_max:g}"
    lines = [
        ("censored demand", f"{facts['censored_rows']:,} of {facts['rows']:,} rows"),
        ("identified by the data", f"{facts['identified_rows']:,}; {rest}"),
        ("mean lost sales", f"{facts['mean_expected_lost']:.3f} per stock-out ({by})"),
    ]
    if facts["mean_cash"] is not None:
        lines.append(("mean cash per period", f"{facts['mean_cash']:.3f}"))
        earned, column = facts["mean_profit_filled"], facts["mean_profit_column"]
        lines.append(("mean profit per period", f"{earned:.3f} with the expected cost of lost sales, as in evaluate"))
        if abs(column - earned) > FAR * max(abs(earned), abs(column)):
            bound = f"{column:.3f}: demand that is not identified is taken to be up to {filled.demand_max:g}"
            lines.append(("mean of profit_filled", bound))
    print_facts(name, [*lines, ("written", str(out))])
