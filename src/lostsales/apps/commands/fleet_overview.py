"""`lostsales fleet audit`, `fleet compare` and `fleet report`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.fleet_options import Processes, RayAddress, StoreFolder, VersionName
from lostsales.apps.commands.options import MOST_EPISODES, Json, Quick, Seed

DRAWN = 2_000  # products


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
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.fleet import print_fleet_audit

    fleet, engine = Fleet.open(store, version), engine_of(workers, ray)
    with Store.at(store).lock(), progress("auditing", window=600, unit="products") as report:
        found = audit_fleet(fleet, engine, report)
    if as_json:
        print_json(found.as_json())
    else:
        print_fleet_audit(f"Fleet in {store}, version {fleet.name}", found)


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
    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.fleet import print_fleet_comparison

    fleet, engine = Fleet.open(store, version), engine_of(workers, ray)
    drawn = None if everything else products
    with Store.at(store).lock(), progress("fitting and evaluating", window=600, unit="products") as report:
        found = compare_fleet(fleet, engine, report, products=drawn, quick=quick, seed=seed)
    if as_json:
        print_json(found.as_json())
    else:
        print_fleet_comparison(f"{found.method} in {store}, version {fleet.name}", found, fleet.problem.format.currency)


def fleet_report(
    store: StoreFolder,
    out: Annotated[Path, typer.Option(help="The page to write (.html).")],
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
    from lostsales.apps.views.console import out as console
    from lostsales.apps.views.console import progress

    check_page(out)
    fleet = Fleet.open(store, version)
    audit = known_audit(fleet)
    if audit is None:
        with Store.at(store).lock(), progress("auditing", window=600, unit="products") as report:
            audit = audit_fleet(fleet, engine_of(workers, None), report)
    command = f"lostsales fleet report {store} --out {out}{' --quick' if quick else ''}"
    write_report(fleet, audit, known_comparison(fleet, quick, seed), out, command)
    console.print(f"written to {out}", soft_wrap=True, highlight=False)
