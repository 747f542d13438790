"""`lostsales fleet ...`: the commands for very many products."""

from collections.abc import Callable

import typer

from lostsales.apps.commands.fleet_fit import fleet_fit
from lostsales.apps.commands.fleet_overview import fleet_audit, fleet_compare, fleet_report
from lostsales.apps.commands.fleet_recommend import fleet_recommend
from lostsales.apps.commands.fleet_status import fleet_activate, fleet_status

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
