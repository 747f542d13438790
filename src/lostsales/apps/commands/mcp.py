"""`lostsales mcp`."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.commands import options
from lostsales.apps.commands.serve import start_service
from lostsales.apps.console import screen

if TYPE_CHECKING:
    from lostsales.apps.service.keys import Key

KEY = "LOSTSALES_KEY"


def mcp(
    policy: options.PolicyVersions,
    log: options.ShopLog = None,
    today: Annotated[
        Path | None, typer.Option(help="Today's rows; by default today.parquet or today.csv next to the policy.")
    ] = None,
    problem: options.ShopProblem = None,
    keys: Annotated[
        Path | None, typer.Option(help=f"File of keys; one with the scope decide, in {KEY}, may store decisions.")
    ] = None,
    decisions: options.DecisionsStore = None,
    check: Annotated[bool, typer.Option("--check", help="Load everything, print the tools, and exit.")] = False,
) -> None:
    """Answer an AI agent over the Model Context Protocol, on standard input and output; read-only without a key.

    Example: `lostsales mcp demo/policy`
    """
    import asyncio

    from lostsales.errors import SettingError

    try:
        from lostsales.apps.service.mcp_tools import mcp_server
        from lostsales.apps.service.settings import ServiceSettings
    except ImportError as error:
        raise SettingError(f"mcp needs more packages: pip install 'lostsales[mcp]' ({error.name} is missing)") from None
    key = _key(keys)
    service = start_service(policy, log, today, problem, ServiceSettings(decisions=decisions))
    try:
        server = mcp_server(service, key)
        if check:
            tools = ", ".join(each.name for each in asyncio.run(server.list_tools()))
            screen.print(f"Ready, with the tools {tools}.", markup=False, highlight=False)
            return
        server.run("stdio")
    finally:
        service.close()


def _key(keys: Path | None) -> "Key":
    """Key of the agent, from the environment; without one it may only read."""
    from lostsales.apps.service.keys import LOCAL, KeyRing
    from lostsales.errors import SettingError

    secret = os.environ.get(KEY, "")
    if keys is None:
        if secret:
            raise SettingError(f"{KEY} is set, but --keys does not say which file has the keys")
        return LOCAL.model_copy(update={"name": "an agent", "scopes": ("read",)})
    found = KeyRing(keys).find(secret, datetime.now(UTC), time.monotonic())
    if found is None:
        raise SettingError(f"{KEY} must be a valid key of {keys}; `lostsales keys create --keys {keys}` makes one")
    return found
