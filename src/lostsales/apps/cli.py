"""The command line. Every command imports what it needs when it runs, so that `--help` is quick."""

import io
import os
import re
import sys
from contextlib import suppress
from typing import Annotated, NoReturn, TextIO

import typer

from lostsales.apps.commands.aggregate import aggregate
from lostsales.apps.commands.audit import audit
from lostsales.apps.commands.backtest import backtest
from lostsales.apps.commands.benchmark import benchmark
from lostsales.apps.commands.calibrate import calibrate
from lostsales.apps.commands.compare import compare
from lostsales.apps.commands.demand import demand
from lostsales.apps.commands.evaluate import evaluate
from lostsales.apps.commands.example import example
from lostsales.apps.commands.experiment import experiment
from lostsales.apps.commands.fit import FitCommand, fit
from lostsales.apps.commands.fleet import fleet
from lostsales.apps.commands.forecast import forecast
from lostsales.apps.commands.impute import impute
from lostsales.apps.commands.init import init
from lostsales.apps.commands.inspect import inspect
from lostsales.apps.commands.keys import keys
from lostsales.apps.commands.mcp import mcp
from lostsales.apps.commands.methods import methods
from lostsales.apps.commands.monitor import monitor
from lostsales.apps.commands.pilot import pilot
from lostsales.apps.commands.recommend import recommend
from lostsales.apps.commands.report import report
from lostsales.apps.commands.serve import serve
from lostsales.apps.commands.simulate import simulate
from lostsales.apps.commands.solve import solve
from lostsales.errors import LostSalesError

ABOUT = "Learn prices and orders from a sales log in which stock-outs censored demand."
MOST_WORD = 300  # characters of a word of a message
DATA, DECIDE, PROVE, SCALE, RESEARCH = "Your data", "Decide", "Prove", "Scale", "Research"
GROUPS = {
    DATA: (example, init, aggregate, inspect, audit, impute, demand, forecast),
    DECIDE: (fit, recommend, methods),
    PROVE: (evaluate, compare, backtest, report, pilot, monitor),
    SCALE: (serve, mcp),
    RESEARCH: (simulate, solve, calibrate, experiment, benchmark),
}
COMMANDS = tuple(command for group in GROUPS.values() for command in group)

app = typer.Typer(
    name="lostsales",
    help=ABOUT,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"lostsales {version('lostsales')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn prices and orders from a sales log in which stock-outs censored demand."""


for group, commands in GROUPS.items():
    for command in commands:
        app.command(cls=FitCommand if command is fit else None, rich_help_panel=group)(command)
app.add_typer(fleet, rich_help_panel=SCALE)
app.add_typer(keys, rich_help_panel=SCALE)


def main() -> None:
    """Run the command line; a user's mistake, a file or a disk that fails ends in one message and exit code 2."""
    _open_streams()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # also where the command ends by an exit code
    except LostSalesError as error:
        _end(str(error))
    except OSError as error:
        _close_broken(sys.stdout)
        _end(f"{error.filename or 'the output'}: {error.strerror or error}")
    except MemoryError:
        _end("there is not enough memory for this; try with fewer rows, series or episodes")


def _open_streams() -> None:
    """Streams that exist, and print what their encoding has no character for as an escape instead of failing."""
    if sys.stdout is None:  # closed by the caller, as `>&-` does
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, for as long as the process runs
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _close_broken(stream: TextIO) -> None:
    """Close a stream that cannot be written now: at the end it would be an error without a message."""
    try:
        stream.flush()
    except OSError:
        with suppress(OSError):
            stream.close()


def _end(message: str) -> NoReturn:
    from lostsales.apps.console import err
    from lostsales.data.databases.address import without_passwords

    err.print("Error: ", style="bold red", end="")
    err.print(_shortened(without_passwords(message)), highlight=False, soft_wrap=True)
    raise SystemExit(2) from None


def _shortened(message: str) -> str:
    """A message in which no word, such as a name of thousands of characters, hides the rest."""
    return re.sub(rf"\S{{{MOST_WORD},}}", lambda word: f"{word[0][: MOST_WORD - 50]}...{word[0][-40:]}", message)
