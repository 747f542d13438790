"""`lostsales audit`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import LogInput, reads_log
from lostsales.apps.console import (
    print_facts,
    print_notes,
    print_table,
    print_verdict,
    progress,
    screen,
    sentence,
    show,
)

if TYPE_CHECKING:
    from lostsales.demand.audit.audit import Audit
    from lostsales.demand.audit.behaviour import BehaviourAudit

BAR = 30  # characters of the longest bar
SHOWN_ADVICE = 3  # without --full
MOST_BARS = 10  # of a histogram
COLOURS = {"identified": "green", "nothing hidden": "green", "only partly": "yellow", "not": "red", "skipped": "dim"}


@reads_log
def audit(
    log: LogInput,
    cap: Annotated[
        int | None,
        typer.Option(min=0, max=options.MOST, help="Maximum depth to learn (K); by default the paper's rule."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Add runs of stock-outs, identification, assumptions and tests.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Report what can be learned from a log: stock-out runs, censored demand, assumptions, what to collect next.

    Example: `lostsales audit log.parquet`
    """
    from lostsales.demand.audit.audit import audit as run_audit

    sales = log.read("audit", sales_only=True)
    with progress("auditing") as report:
        found = run_audit(sales, cap=cap, progress=report)
    show(as_json, found.as_json, lambda: print_audit(str(log), found, full=full))


def print_audit(name: str, audit: "Audit", *, full: bool = False) -> None:
    """The verdict, what stock-outs cost, and the facts behind both; `full` adds what analysts ask."""
    print_verdict(audit.verdict.level, audit.verdict.sentence)
    screen.print(Text(audit.stockout_loss.sentence, style="bold"))
    screen.print()
    if full:
        _print_full(name, audit)
        return
    print_facts(
        name,
        [
            ("rows", f"{audit.periods:,} in {audit.series:,} series"),
            ("stock-outs", f"{audit.censored_share:.1%} of rows: demand is censored"),
            ("hidden demand", audit.imputation),
            ("balance equation", audit.follows),
            ("how prices were set", audit.behaviour.sentence),
            *((("demand model", audit.fit_sentence),) if audit.fit_sentence else ()),
            *(("best order", each.sentence) for each in audit.critical_quantiles[:1]),
            *(("WARNING", warning) for warning in audit.warnings),
        ],
    )
    screen.print(Text("To collect next", style="bold"))
    print_notes(audit.collect_next[:SHOWN_ADVICE])
    screen.print("--full adds runs of stock-outs, identification by situation, assumptions and tests.", style="dim")


def _print_full(name: str, audit: "Audit") -> None:
    left_out = "; ".join(f"{rows:,} {reason}" for reason, rows in audit.left_out.items()) or "none"
    print_facts(
        name,
        [
            ("rows", f"{audit.periods:,} in {audit.series:,} series"),
            ("stock-outs", f"{audit.censored_share:.1%} of rows: demand is censored"),
            ("balance equation", audit.follows),
            ("usable to learn from", f"{audit.usable_rows:,} rows"),
            ("left out", left_out),
            ("censored demand", audit.imputation),
            ("autocorrelation", audit.memory.sentence),
            *((("demand model", audit.fit_sentence),) if audit.fit_sentence else ()),
            *((f"best order, {each.what}", each.sentence) for each in audit.critical_quantiles),
            *(("WARNING", warning) for warning in audit.warnings),
        ],
    )
    screen.print()
    _histogram("Runs of stock-outs", "periods in a row", "runs", audit.run_lengths)
    _histogram("Rows by depth", "stock-outs just before", "rows", audit.rows_at_depth)
    other = ", ".join(f"{value} by its {line}" for line, value in audit.paper_max_depth.items())
    print_facts(
        "Depth",
        [
            ("largest that can be learned", f"{audit.max_depth} (max_depth)"),
            ("longest run", f"{audit.longest_run}; the cap K is {audit.cap}"),
            ("the paper's readings", other),
        ],
    )
    screen.print()
    _run_ends(audit)
    _verdicts(audit)
    _assumptions(audit)
    _behaviour(audit.behaviour)
    screen.print("To collect next", style="bold")
    advice = Table.grid(padding=(0, 1))
    for line in audit.collect_next:
        advice.add_row("-", Text(line))
    screen.print(advice)
    screen.print()
    screen.print(audit.conclusion, style="bold", markup=False, highlight=False)


def _histogram(title: str, what: str, count: str, bars: dict[int, int]) -> None:
    if not bars:
        return
    shown = [(str(value), rows) for value, rows in list(bars.items())[:MOST_BARS]]
    if rest := list(bars.items())[MOST_BARS:]:
        shown.append((f"{rest[0][0]} to {rest[-1][0]}", sum(rows for _, rows in rest)))
    most = max(rows for _, rows in shown)
    bars_shown = ((value, f"{rows:,}", "█" * max(1, round(BAR * rows / most))) for value, rows in shown)
    print_table(title, (what, count, ""), bars_shown, words=("",))
    screen.print()


def _run_ends(audit: "Audit") -> None:
    if not audit.run_ends:
        return
    rows = (
        (f"{each.j} period{'s' if each.j > 1 else ''}", f"{each.chance:.0%}", f"{each.rows:,}")
        for each in audit.run_ends[:MOST_BARS]
    )
    print_table("How runs end", ("after at least", "ends next", "rows"), rows)
    screen.print()


def _verdicts(audit: "Audit") -> None:
    verdicts = (
        (
            each.what,
            f"{each.rows:,}",
            f"{each.stockouts:,}",
            "" if each.identified_share is None else f"{each.identified_share:.0%}",
            Text(each.verdict, style=COLOURS[each.verdict]),
        )
        for each in audit.verdicts
    )
    head = ("where", "rows", "stock-outs", "identified", "verdict")
    print_table("Is censored demand identified?", head, verdicts, words=("verdict",))
    screen.print()
    ranges = (
        (
            each.what,
            "none" if each.largest_known is None else f"{each.largest_known:g}",
            "unknown" if each.never_seen_above is None else f"{each.never_seen_above:g}",
        )
        for each in audit.price_ranges
    )
    print_table("Observed range of demand", ("where", "largest observed", "never observed above"), ranges)
    screen.print()


def _assumptions(audit: "Audit") -> None:
    from lostsales.demand.audit.audit import LEVEL

    test = audit.stock_test
    if test.why_not:
        stock = f"cannot be tested: {test.why_not}"
    elif test.p_value >= LEVEL:
        stock = f"not rejected (p = {test.p_value:.2f})"
    else:
        way = "higher" if test.z > 0 else "lower"
        stock = f"rejected: demand is {way} where stock is higher (p = {test.p_value:.2g}), so imputed demand is biased"
    if audit.run_ends_fall_at:
        where = ", ".join(map(str, audit.run_ends_fall_at))
        ends = f"rejected: the probability of ending falls after {where} periods; long runs end less often than assumed"
    else:
        ends = "not rejected" if len(audit.run_ends) > 1 else "cannot be tested: no run is longer than one period"
    print_facts("Assumptions", [("demand does not depend on stock", stock), ("long runs end no less often", ends)])
    screen.print()


def _behaviour(behaviour: "BehaviourAudit") -> None:
    """Print how prices and orders were set."""
    screen.print("How prices and orders were set", style="bold")
    if behaviour.explained:
        shares = (
            (each.by, f"{each.price:.0%}", "" if each.order is None else f"{each.order:.0%}")
            for each in behaviour.explained
        )
        print_table("", ("explained by", "of prices", "of orders"), shares)
        free = ((each.what, f"{each.rows:,}", f"{each.free:.0%}") for each in behaviour.free_prices)
        print_table("", ("where", "rows", "not explained by the log"), free)
    if behaviour.tests:
        tests = (
            (
                each.name,
                *(("", "") if each.why_not else (f"{each.t:.1f}", f"{each.p_value:.2g}")),
                Text("rejected", style="red") if each.rejected else each.why_not or "not rejected",
            )
            for each in behaviour.tests
        )
        print_table("", ("test for confounding", "t", "p", ""), tests, words=("",))
        screen.print("Shares on held-out rows. False-alarm rate of all tests together: about 5 %.", style="dim")
    colour = {"freely": "green", "shown": "green", "hidden": "red", "unknown": "yellow"}[behaviour.verdict]
    screen.print(Text(sentence(behaviour.sentence), style=colour))
    screen.print()
