"""`lostsales fleet audit`, `fleet compare` and `fleet report`."""

from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.commands.options import (
    MOST_EPISODES,
    Json,
    Page,
    Processes,
    Quick,
    RayAddress,
    Seed,
    StoreFolder,
    VersionName,
)
from lostsales.apps.console import print_facts, print_table, progress, screen, show

if TYPE_CHECKING:
    from lostsales.apps.fleet.overview import FleetAudit, FleetComparison
    from lostsales.evaluation.interval import Interval

DRAWN = 2_000  # products
MOST_REASONS = 8  # shown in a table
MOST_GROUPS = 20
WHAT_TO_DO = {
    "deploy": "Deploy it: the 95 % interval of the gain lies above zero.",
    "pilot": "Keep the current practice, and run a pilot first.",
    "keep": "Keep the current practice.",
}


def fleet_audit(
    store: StoreFolder,
    version: VersionName = None,
    workers: Processes = 2,
    ray: RayAddress = None,
    as_json: Json = False,
) -> None:
    """Report what can be learned from the rows of a fleet: stock-outs, prices that never varied, failures, advice.

    Example: `lostsales fleet audit store`
    """
    from lostsales.apps.fleet.engine import engine_of
    from lostsales.apps.fleet.fleet import Fleet
    from lostsales.apps.fleet.overview import audit_fleet
    from lostsales.apps.fleet.store import Store

    fleet, engine = Fleet.open(store, version), engine_of(workers, ray)
    with Store.at(store).lock(), progress("auditing", unit="products") as report:
        found = audit_fleet(fleet, engine, report)
    show(as_json, found.as_json, lambda: print_fleet_audit(f"Fleet in {store}, version {fleet.name}", found))


def fleet_compare(
    store: StoreFolder,
    products: Annotated[
        int, typer.Option(min=1, max=MOST_EPISODES, help="Evaluate on random shards with about this many products.")
    ] = DRAWN,
    everything: Annotated[bool, typer.Option("--all", help="Evaluate on all shards.")] = False,
    quick: Quick = False,
    seed: Seed = 0,
    version: VersionName = None,
    workers: Processes = 2,
    ray: RayAddress = None,
    as_json: Json = False,
) -> None:
    """Evaluate the policies of a fleet on held-out rows: share of products with a proven gain, and gain in cash.

    Shards that were evaluated before are not repeated, so more `--products` add to what is there.

    Example: `lostsales fleet compare store --quick --products 20`
    """
    from lostsales.apps.fleet.engine import engine_of
    from lostsales.apps.fleet.fleet import Fleet
    from lostsales.apps.fleet.overview import compare_fleet
    from lostsales.apps.fleet.store import Store

    fleet, engine = Fleet.open(store, version), engine_of(workers, ray)
    drawn = None if everything else products
    with Store.at(store).lock(), progress("fitting and evaluating", unit="products") as report:
        found = compare_fleet(fleet, engine, report, products=drawn, quick=quick, seed=seed)
    show(
        as_json,
        found.as_json,
        lambda: print_fleet_comparison(
            f"{found.method} in {store}, version {fleet.name}", found, fleet.problem.format.currency
        ),
    )


def fleet_report(
    store: StoreFolder,
    out: Page,
    quick: Annotated[bool, typer.Option("--quick", help="Show the gains of `fleet compare --quick`.")] = False,
    seed: Seed = 0,
    version: VersionName = None,
    workers: Processes = 2,
) -> None:
    """Write one page about a fleet: where the profit is made, the worst products, and warnings.

    The gains are those that `fleet compare` has estimated so far. The audit is run if it is missing.

    Example: `lostsales fleet report store --out fleet.html`
    """
    from lostsales.apps.fleet.engine import engine_of
    from lostsales.apps.fleet.fleet import Fleet
    from lostsales.apps.fleet.overview import audit_fleet, known_audit, known_comparison
    from lostsales.apps.fleet.report import write_report
    from lostsales.apps.fleet.store import Store
    from lostsales.apps.report.report import check_page

    check_page(out)
    fleet = Fleet.open(store, version)
    audit = known_audit(fleet)
    if audit is None:
        with Store.at(store).lock(), progress("auditing", unit="products") as report:
            audit = audit_fleet(fleet, engine_of(workers, None), report)
    command = f"lostsales fleet report {store} --out {out}{' --quick' if quick else ''}"
    write_report(fleet, audit, known_comparison(fleet, quick, seed), out, command)
    screen.print(f"written to {out}", soft_wrap=True, highlight=False)


def print_fleet_audit(title: str, found: "FleetAudit") -> None:
    """Print what can be learned from the rows of a fleet."""
    from lostsales.apps.figures_shown import number

    print_facts(
        title,
        [
            ("products", f"{found.products_learned:,} of {found.products:,} fitted"),
            ("rows", f"{found.rows:,}, {found.stockout_share:.1%} of them stock-outs"),
            ("price never varied", f"{found.products_of_one_price:,} products"),
            ("cash per period", number(found.cash or 0.0, 6)),
        ],
    )
    rows = (
        (name, f"{each['products']:,.0f}", number(each["cash"], 5), f"{each['stockout_share']:.1%}")
        for name, each in list(found.by.items())[:MOST_GROUPS]
    )
    print_table("By group", ("group", "products", "cash per period", "stock-outs"), rows)
    for heading, counts, unit in (
        ("Products that could not be fitted", found.failures, "products"),
        ("Balance equation of the stock", found.balance, "shards"),
        ("Warnings of the fits", found.notes, "shards"),
        ("What to collect next", found.advice, "shards"),
    ):
        if counts:
            shown = ((text, f"{count:,}") for text, count in list(counts.items())[:MOST_REASONS])
            print_table(heading, ("", unit), shown)


def print_fleet_comparison(title: str, found: "FleetComparison", currency: str | None) -> None:
    """Print what the policies of a fleet gain."""
    from lostsales.apps.figures_shown import number

    total, money = found.total, f" {currency}" if currency else ""
    print_facts(
        title,
        [
            ("proven gain", f"{total.proven_share:.1%} of {total.products_judged:,} evaluated products"),
            ("gain per period", f"{_money(total.gain)}{money} over all {total.products:,} products"),
            ("of it in cash", f"{_money(total.cash_gain)}{money}, without the cost of lost sales"),
            ("earned per period", f"{_money(total.earned)}{money}"),
            ("evaluated on", f"{total.shards_judged:,} of {total.shards:,} shards"),
        ],
    )
    rows = []
    for name, each in list(found.by.items())[:MOST_GROUPS]:
        value, low, high = (number(bound) for bound in (each.gain.value, each.gain.low, each.gain.high))
        rows.append((name, f"{each.products:,}", value, f"{low} to {high}", f"{each.proven_share:.0%}"))
    print_table("By group", ("group", "products", "gain per period", "95 % interval", "proven"), rows)
    for reason, shards in found.doubts.items():
        screen.print(f"{shards:,} shards have concerns: {reason}", soft_wrap=True, highlight=False)
    screen.print(WHAT_TO_DO[found.verdict], style="bold")
    for reason, shards in found.not_judged.items():
        screen.print(f"{shards:,} shards were not evaluated: {reason}", soft_wrap=True, highlight=False)


def _money(interval: "Interval") -> str:
    from lostsales.apps.figures_shown import number

    value, low, high = (number(each) for each in (interval.value, interval.low, interval.high))
    return f"{value} (95 % interval {low} to {high})"
