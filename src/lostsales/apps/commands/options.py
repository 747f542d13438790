"""Arguments and options that several commands share, and how lists in them are read."""

from os.path import isfile
from pathlib import Path
from typing import Annotated

import typer

from lostsales.errors import SettingError

MOST = 1_000_000  # periods, runs, replicates, iterations: more are a slip of the finger
MOST_SEED = (1 << 63) - 1  # of numpy's generators
MOST_EPISODES = 100_000_000  # more are a slip of the finger, as with workers
MOST_WORKERS = 1_000

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Log = Annotated[
    str,
    typer.Argument(
        help="A sales log (CSV, Parquet or Excel): a file, a folder of files, or a pattern such as 'sales-*.csv'. With "
        "--query a database: postgresql://user@host/name, sqlite:///file.db or duckdb:///file.duckdb."
    ),
]
Query = Annotated[str | None, typer.Option("--query", metavar="SQL", help="Selects the rows of a log in a database.")]
DropBadRows = Annotated[
    bool,
    typer.Option("--drop-bad-rows", help="Leave out rows that cannot be used; they are written next to the log."),
]
DroppedRows = Annotated[
    Path | None, typer.Option("--dropped-rows", help="Where --drop-bad-rows writes them (CSV), with the reasons.")
]
ProblemFile = Annotated[
    Path | None, typer.Option("--problem", help="The problem file (TOML): unit costs, lead time, columns.")
]
PolicyFile = Annotated[Path, typer.Argument(help="A saved policy.")]
PolicyVersions = Annotated[
    Path, typer.Argument(help="A saved policy, a folder of them (its versions), or the store of a fleet.")
]
ShopLog = Annotated[
    Path | None, typer.Option(help="The sales log; by default log.parquet or log.csv next to the policy.")
]
ShopProblem = Annotated[
    Path | None, typer.Option(help="Problem file of the log (TOML); by default the one next to it.")
]
DecisionsStore = Annotated[
    str | None, typer.Option(help="postgresql://... or FILE.db; by default decisions.db next to the policy.")
]
ScenarioName = Annotated[str, typer.Argument(help="A preset by name, or the path of a TOML file.")]
ScenarioSettings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a field of the scenario, such as demand.rho=0.6."),
]
Horizon = Annotated[
    int | None,
    typer.Option(min=1, max=MOST, help="Horizon in periods; by default the usual length of a series, at most 100."),
]
Memory = Annotated[
    str | None, typer.Option(help="Memory that may be used, such as 4GiB; by default half of the machine's.")
]
Workers = Annotated[int | None, typer.Option(min=1, help="Threads; by default one per core, at most four.")]
Rows = Annotated[int | None, typer.Option(min=1, help="Maximum number of rows of a large log to evaluate on.")]
Full = Annotated[bool, typer.Option("--full", help="Show every figure, and the reasons for price and order.")]
Quick = Annotated[bool, typer.Option("--quick", help="A fast first estimate: fewer rows, folds and draws.")]
Estimators = Annotated[
    list[str] | None, typer.Option("--estimator", help="Estimator (model, fqe or dr), repeatable; by default all.")
]
Seed = Annotated[int, typer.Option(min=0, max=MOST_SEED, help="The same seed gives the same result.")]
Method = Annotated[str, typer.Option(help="The method; `lostsales methods` lists them.")]
MethodConfig = Annotated[Path | None, typer.Option(help="TOML with settings of the method.")]
Page = Annotated[Path, typer.Option(help="The page to write (.html).")]
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


def named_files(*names: str) -> tuple[Path, ...]:
    """Files among scenarios and policies; the others are names."""
    return tuple(Path(name) for name in names if isfile(name))


def names(text: str) -> tuple[str, ...]:
    """The names of a list with commas or spaces between.

    >>> names("c-fqi, planner")
    ('c-fqi', 'planner')
    """
    return tuple(text.replace(",", " ").split())


def whole_numbers(what: str, text: str, example: str) -> tuple[int, ...]:
    """The numbers of such a list, or an error that says what `what` looks like."""
    found = names(text)
    if not found or not all(each.isascii() and each.isdecimal() and len(each) < 10 for each in found):
        raise SettingError(f"{what} are whole numbers with commas between, such as {example}, but {text[:80]!r} came")
    return tuple(map(int, found))


def per_cents(what: str, text: str) -> tuple[float, ...]:
    """The levels of such a list, or an error that says what `what` looks like.

    >>> per_cents("levels", "10, 83.3")
    (10.0, 83.3)
    """
    try:
        found = tuple(map(float, names(text)))
    except ValueError:
        found = ()
    if not found or not all(0 < each < 100 for each in found):
        wanted = "numbers between 0 and 100 with commas between, such as 10,50,90"
        raise SettingError(f"{what} are {wanted}, but {text[:80]!r} came")
    return found
