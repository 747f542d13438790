"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Log = Annotated[Path, typer.Argument(help="A sales log (CSV or Parquet).")]
ProblemFile = Annotated[Path | None, typer.Option("--problem", help="TOML with what the table cannot say.")]
