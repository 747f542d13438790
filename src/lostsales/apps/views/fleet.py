"""What people see of a fleet."""

from datetime import timedelta

from lostsales.apps.fleet.status import FleetStatus
from lostsales.apps.views.console import out, plain_table, print_facts

MOST_REASONS = 8


def print_status(found: FleetStatus) -> None:
    """How far a fleet is, and what could not be learned."""
    facts = [
        ("products", f"{found.products_finished:,} of {found.products:,} finished, {found.products_learned:,} learned"),
        ("shards", f"{found.shards_finished:,} of {found.shards:,} finished"),
        ("method", found.method),
        ("current version", found.current or "none yet"),
        ("versions", ", ".join(found.versions)),
        ("writer", "a process is at work" if found.is_being_written else "none"),
    ]
    if found.products_per_second is not None and found.seconds_left is not None:
        left = timedelta(seconds=round(found.seconds_left))
        facts.append(("speed", f"{found.products_per_second:.1f} products a second, about {left} left"))
    print_facts(f"Fleet in {found.store}, version {found.version}", facts)
    if found.failures:
        table = plain_table(f"{found.products_failed:,} products could not be learned", "reason", "products")
        for reason, products in list(found.failures.items())[:MOST_REASONS]:
            table.add_row(reason, f"{products:,}")
        out.print(table)
        if len(found.failures) > MOST_REASONS:
            out.print(f"... and {len(found.failures) - MOST_REASONS:,} more reasons in failures.parquet")
