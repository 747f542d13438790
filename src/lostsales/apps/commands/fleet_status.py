"""`lostsales fleet status` and `lostsales fleet activate`."""

from typing import Annotated

import typer

from lostsales.apps.commands.fleet_options import StoreFolder
from lostsales.apps.commands.options import Json


def fleet_status(store: StoreFolder, as_json: Json = False) -> None:
    """Show the progress of a fleet, what could not be fitted, and which versions there are.

    Example: `lostsales fleet status store`
    """
    from lostsales.apps.fleet.status import status_of
    from lostsales.apps.views.console import print_json
    from lostsales.apps.views.fleet import print_status

    found = status_of(store)
    if as_json:
        print_json(found.as_json())
    else:
        print_status(found)


def fleet_activate(
    store: StoreFolder,
    version: Annotated[str, typer.Argument(help="The version to activate, such as 00001.")],
) -> None:
    """Make another finished version the current one; running processes keep the version that they opened.

    Example: `lostsales fleet activate store 00001`
    """
    from lostsales.apps.fleet.store import Store
    from lostsales.apps.views.console import out

    found = Store.at(store)
    with found.lock():
        found.activate(found.version(version))
    out.print(f"version {version} of {store} is current", highlight=False)
