"""`lostsales fleet ...`: the commands for very many products: fit, recommend, audit, compare and report."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.methods import chosen_learner
from lostsales.apps.commands.recommend import limits_json, print_recommendation
from lostsales.apps.console import print_facts, print_table, print_verdict, progress, screen, show
from lostsales.apps.tables import json_rows, write_result
from lostsales.errors import LostSalesError

if TYPE_CHECKING:
    from lostsales.apps.fleet.overview import FleetAudit, FleetComparison, FleetStatus
    from lostsales.evaluation.interval import Interval

DRAWN = 2_000  # products
MOST_REASONS = 8  # shown in a table
MOST_GROUPS = 20  # shown in a table
WHAT_TO_DO = {
    "deploy": "Deploy it: the 95 % interval of the gain lies above zero.",
    "pilot": "Keep the current practice, and run a pilot first.",
    "keep": "Keep the current practice.",
}


def fleet_fit(
    source: Annotated[
        str,
        typer.Argument(help="A folder of Parquet files of any size, a file, a pattern, or with --query a database."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the store; an interrupted fit is resumed.")],
    by: Annotated[
        str,
        typer.Option(
            help="Columns, the coarsest first (store,category): products with equal values are fitted together."
        ),
    ] = "",
    method: options.Method = "planner",
    query: options.Query = None,
    problem: options.ProblemFile = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the method; overrides --config."),
    ] = None,
    config: options.MethodConfig = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=options.MOST_SEED, help="The same seed gives the same bytes; by default 0.")
    ] = None,
    shard_size: Annotated[
        int | None,
        typer.Option(min=1, max=options.MOST, help="Maximum number of products fitted together; by default 500."),
    ] = None,
    least_rows: Annotated[
        int | None, typer.Option(min=1, max=options.MOST, help="Rows that a product needs to be fitted; by default 10.")
    ] = None,
    drop_bad_rows: Annotated[
        bool,
        typer.Option(
            "--drop-bad-rows", help="Leave out bad rows only; otherwise a product with bad rows is not fitted."
        ),
    ] = False,
    quick: options.Quick = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Delete an unfinished version with other settings or rows.")
    ] = False,
    workers: options.Processes = 2,
    ray: options.RayAddress = None,
    as_json: options.Json = False,
) -> None:
    """Fit every product of a source, shard by shard, and make that the current version of a store.

    If interrupted, the same command resumes: no finished shard is lost or repeated. A product that cannot be
    fitted is listed in `failures.parquet` with the reason, and is treated as a new product of its shard.

    Example: `lostsales fleet fit sales --out fleet --by department --method base-stock`
    """
    from lostsales.apps.fleet.engine import engine_of
    from lostsales.apps.fleet.fit import LEAST_ROWS, SHARD_SIZE, fit_fleet
    from lostsales.apps.fleet.overview import status_of

    learner = chosen_learner(method, config, settings, quick, seed=seed)
    engine = engine_of(workers, ray)
    try:
        with progress("learning", unit="products") as report:
            fit_fleet(
                source,
                out,
                learner,
                query=query,
                problem=problem,
                by=options.names(by),
                shard_size=shard_size or SHARD_SIZE,
                least_rows=least_rows or LEAST_ROWS,
                drop_bad_rows=drop_bad_rows,
                restart=restart,
                engine=engine,
                progress=report,
            )
    except KeyboardInterrupt:
        raise LostSalesError("stopped; the same command resumes from the finished shards") from None
    found = status_of(out)
    show(as_json, found.as_json, lambda: print_status(found))


def fleet_status(store: options.StoreFolder, as_json: options.Json = False) -> None:
    """Show the progress of a fleet, what could not be fitted, and which versions there are.

    Example: `lostsales fleet status store`
    """
    from lostsales.apps.fleet.overview import status_of

    found = status_of(store)
    show(as_json, found.as_json, lambda: print_status(found))


def fleet_activate(
    store: options.StoreFolder,
    version: Annotated[str, typer.Argument(help="The version to activate, such as 00001.")],
) -> None:
    """Make another finished version the current one; running processes keep the version that they opened.

    Example: `lostsales fleet activate store 00001`
    """
    from lostsales.apps.fleet.store import Store

    found = Store.at(store)
    with found.lock():
        found.activate(found.version(version))
    screen.print(f"version {version} of {store} is current", highlight=False)


def print_status(found: "FleetStatus") -> None:
    """Print how far a fleet is, and what could not be fitted."""
    print_verdict(
        "care" if found.failures or found.current is None else "good",
        f"{found.products_learned:,} of {found.products:,} products have a policy; "
        f"current version: {found.current or 'none yet'}.",
    )
    facts = [
        ("products", f"{found.products_finished:,} of {found.products:,} finished, {found.products_learned:,} fitted"),
        ("shards", f"{found.shards_finished:,} of {found.shards:,} finished"),
        ("method", found.method),
        ("current version", found.current or "none yet"),
        ("versions", ", ".join(found.versions)),
        ("writer", "a process is writing" if found.is_being_written else "none"),
    ]
    if found.products_per_second is not None and found.seconds_left is not None:
        left = timedelta(seconds=round(found.seconds_left))
        facts.append(("speed", f"{found.products_per_second:.1f} products per second, about {left} left"))
    what = "no version yet" if found.version is None else f"version {found.version}"
    print_facts(f"Fleet in {found.store}, {what}", facts)
    if found.failures:
        rows = ((reason, f"{products:,}") for reason, products in list(found.failures.items())[:MOST_REASONS])
        print_table(f"{found.products_failed:,} products could not be fitted", ("reason", "products"), rows)
        if len(found.failures) > MOST_REASONS:
            screen.print(f"... and {len(found.failures) - MOST_REASONS:,} more reasons in failures.parquet")


def fleet_recommend(
    store: options.StoreFolder,
    today: Annotated[
        Path,
        typer.Option(
            help="One open row per product: series, period, features, stock. Rows of later periods give their features."
        ),
    ],
    recent: Annotated[
        Path | None,
        typer.Option(help="Completed rows of the products: a file, a folder or a pattern. Not needed on day one."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the recommendations (.parquet, .csv or .xlsx).")] = None,
    version: options.VersionName = None,
    workers: options.Processes = 2,
    full: options.Full = False,
    as_json: options.Json = False,
) -> None:
    """Recommend today's price and order of all products in one call.

    Example: `lostsales fleet recommend store --recent recent.parquet --today today.parquet --out decisions.parquet`
    """
    from lostsales.apps.fleet.engine import engine_of
    from lostsales.apps.fleet.fleet import Fleet
    from lostsales.apps.fleet.recommend import recommend_fleet
    from lostsales.data.writing import check_table

    if out is not None:
        check_table(out, (store, today, recent))
    with progress("deciding", unit="products") as report:
        found = recommend_fleet(Fleet.open(store, version), recent, today, engine_of(workers, None), report)
        if out is not None:
            write_result(found, out)
    show(
        as_json,
        lambda: {"recommendations": json_rows(found)} | limits_json(found.limits),
        lambda: print_recommendation(f"Today by {store}", found, out, full=full),
    )


def fleet_audit(
    store: options.StoreFolder,
    version: options.VersionName = None,
    workers: options.Processes = 2,
    ray: options.RayAddress = None,
    as_json: options.Json = False,
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
    store: options.StoreFolder,
    products: Annotated[
        int,
        typer.Option(min=1, max=options.MOST_EPISODES, help="Evaluate on random shards with about this many products."),
    ] = DRAWN,
    everything: Annotated[bool, typer.Option("--all", help="Evaluate on all shards.")] = False,
    quick: options.Quick = False,
    seed: options.Seed = 0,
    version: options.VersionName = None,
    workers: options.Processes = 2,
    ray: options.RayAddress = None,
    as_json: options.Json = False,
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
    store: options.StoreFolder,
    out: options.Page,
    quick: Annotated[bool, typer.Option("--quick", help="Show the gains of `fleet compare --quick`.")] = False,
    seed: options.Seed = 0,
    version: options.VersionName = None,
    workers: options.Processes = 2,
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
    for heading, counts, unit in found.findings:
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


ABOUT = "Policies for very many products: fitted in shards on several processes or a Ray cluster, kept in a store."

fleet = typer.Typer(name="fleet", help=ABOUT, no_args_is_help=True, rich_markup_mode="markdown")
COMMANDS: dict[str, Callable[..., None]] = {
    "fit": fleet_fit,
    "status": fleet_status,
    "audit": fleet_audit,
    "recommend": fleet_recommend,
    "compare": fleet_compare,
    "report": fleet_report,
    "activate": fleet_activate,
}
for name, command in COMMANDS.items():
    fleet.command(name)(command)
