"""`lostsales fleet status` and `lostsales fleet activate`."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.commands.options import Json, StoreFolder
from lostsales.apps.console import print_facts, print_table, screen, show

if TYPE_CHECKING:
    from lostsales.apps.fleet.status import FleetStatus

MOST_REASONS = 8


def fleet_status(store: StoreFolder, as_json: Json = False) -> None:
    """Show the progress of a fleet, what could not be fitted, and which versions there are.

    Example: `lostsales fleet status store`
    """
    from lostsales.apps.fleet.status import status_of

    found = status_of(store)
    show(as_json, found.as_json, lambda: print_status(found))


def fleet_activate(
    store: StoreFolder,
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
