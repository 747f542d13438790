"""Imputed demand as a person reads it."""

from pathlib import Path
from typing import Any

from lostsales.apps.views.console import print_facts
from lostsales.demand.survival.imputation import Imputation


def print_imputation(name: str, filled: Imputation, facts: dict[str, Any], out: Path) -> None:
    """How much was hidden, what the data identify of it, and where the filled log lies."""
    by = f"standard errors by bootstrap over {filled.resampled}"
    rest = f"the others rest on a trend and the tail rule {filled.tail} up to {filled.demand_max:g}"
    lines = [
        ("hidden demands", f"{facts['censored_rows']:,} of {facts['rows']:,} rows"),
        ("identified by the data", f"{facts['identified_rows']:,}; {rest}"),
        ("mean lost sales", f"{facts['mean_expected_lost']:.3f} a stock-out ({by})"),
    ]
    if facts["mean_cash"] is not None:
        lines.append(("mean cash a period", f"{facts['mean_cash']:.3f}"))
        lines.append(
            ("mean profit a period", f"{facts['mean_profit_filled']:.3f} with the expected cost of lost sales")
        )
    print_facts(name, [*lines, ("written", str(out))])
