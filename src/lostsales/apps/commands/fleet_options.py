"""Arguments and options that the commands of a fleet share."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import MOST_WORKERS

StoreFolder = Annotated[Path, typer.Argument(help="The folder of a fleet's store.")]
VersionName = Annotated[
    str | None, typer.Option("--version", help="Another version than the current one, such as 00002.")
]
Processes = Annotated[int, typer.Option(min=1, max=MOST_WORKERS, help="Processes; results do not depend on it.")]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray", metavar="ADDRESS", help="Work on a Ray cluster instead: host:port, auto, or local to start one here."
    ),
]
