"""What a command leaves out, told before its work."""

from lostsales.apps.views.console import err
from lostsales.data.log import SalesLog


def print_left_out(log: SalesLog, by_method: dict[str, dict[str, int]]) -> None:
    """Rows by method and reason, and columns that nothing uses, on the standard error."""
    told: dict[str, list[str]] = {}
    for method, left in by_method.items():
        reasons = "; ".join(f"{rows:,} {reason}" for reason, rows in left.items())
        if reasons:
            told.setdefault(reasons, []).append(method)
    for reasons, methods in told.items():
        line = f"Left out of {len(log):,} rows by {', '.join(methods)}: {reasons}"
        err.print(line, markup=False, highlight=False, soft_wrap=True)
    if unused := log.notes.unused_columns:
        line = f"Columns not declared as features, and not used: {', '.join(unused)}"
        err.print(line, markup=False, highlight=False, soft_wrap=True)
