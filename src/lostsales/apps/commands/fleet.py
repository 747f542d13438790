"""`lostsales fleet ...`: the commands for very many products. Audit, comparison and report: `fleet_overview`."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.fleet_overview import MOST_REASONS, fleet_audit, fleet_compare, fleet_report
from lostsales.apps.commands.methods import chosen_learner
from lostsales.apps.commands.recommend import print_recommendation
from lostsales.apps.console import print_facts, print_table, print_verdict, progress, screen, show
from lostsales.apps.tables import json_rows, write_result
from lostsales.errors import LostSalesError

if TYPE_CHECKING:
    from lostsales.apps.fleet.status import FleetStatus


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
    from lostsales.apps.fleet.status import status_of

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
    from lostsales.apps.fleet.status import status_of

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
        lambda: {"recommendations": json_rows(found)},
        lambda: print_recommendation(f"Today by {store}", found, out, full=full),
    )


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
