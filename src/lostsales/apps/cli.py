"""The command line. Every command imports what it needs when it runs, so that `--help` is quick."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands import audit, demand, evaluate, experiment, fit, report, solve
from lostsales.apps.commands.options import Json, Log, ProblemFile
from lostsales.errors import LostSalesError

app = typer.Typer(
    name="lostsales",
    help="Learn prices and orders from a shop's own history, when stock-outs hid part of the demand.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Learn prices and orders from a shop's own history, when stock-outs hid part of the demand."""


@app.command()
def simulate(
    scenario: Annotated[str, typer.Argument(help="A preset by name, or the path of a TOML file.")],
    policy: Annotated[
        str, typer.Option(help="uniform, base-stock, base-stock:LEVEL, base-stock:LEVEL@PRICE, or a policy's file.")
    ] = "uniform",
    epsilon: Annotated[float, typer.Option(help="Share of decisions drawn uniformly.")] = 0.0,
    episodes: Annotated[int, typer.Option(help="How many series.")] = 50,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a field, such as demand.rho=0.6.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the log (.parquet or .csv), its problem beside it.")] = None,
    truth: Annotated[Path | None, typer.Option(help="Write the hidden demand and profit, row by row.")] = None,
    as_json: Json = False,
) -> None:
    """Let a policy run a simulated shop and say what it earned.

    Example: `lostsales simulate released --episodes 100 --seed 1 --out log.parquet`
    """
    from dataclasses import asdict

    from lostsales.apps.views.console import print_facts, print_json, progress
    from lostsales.data.writing import check_target, write_log
    from lostsales.simulation.named_policies import named_policy
    from lostsales.simulation.scenario import Scenario
    from lostsales.simulation.simulator import evaluate_policy, simulate, summarise

    for target in (out, truth):
        if target is not None:
            check_target(target)
    if out is not None and out == truth:
        raise LostSalesError(f"the log and the hidden truth need a file each, but both are {out}")
    world = Scenario.load(scenario, tuple(settings or ()))
    decides = named_policy(policy, world, epsilon)
    with progress("simulating") as report:
        if out is None and truth is None:
            summary = evaluate_policy(world, decides, episodes, seed, report)
        else:
            log, hidden = simulate(world, decides, episodes, seed, report)
            summary = summarise(log, hidden)
            if out is not None:
                write_log(log, out)
            if truth is not None:
                hidden.write(log, truth)
    if as_json:
        print_json(asdict(summary))
        return
    deepest = list(summary.depth_share.items())
    shown = [f"{depth}: {share:.1%}" for depth, share in deepest[:6]] + (["..."] if len(deepest) > 6 else [])
    facts = [
        ("mean profit a period", f"{summary.mean_profit:.3f} (standard error {summary.std_error:.3f})"),
        ("periods without stock-out", f"{summary.uncensored_share:.1%}"),
        ("depth of stock-out runs", ", ".join(shown)),
        ("episodes x periods", f"{summary.episodes:,} x {world.horizon:,} = {summary.periods:,}"),
    ]
    facts += [("log", f"{out}, problem {out.with_suffix('.toml')}")] if out else []
    facts += [("hidden truth", str(truth))] if truth else []
    print_facts(f"{scenario} under {policy}", facts)


@app.command()
def inspect(
    log: Log,
    problem: ProblemFile = None,
    as_json: Json = False,
) -> None:
    """Read a sales log, check every row, and say what is in it.

    Example: `lostsales inspect log.parquet --problem problem.toml`
    """
    from lostsales.apps.views.console import print_facts, print_json, progress
    from lostsales.data.describe import describe
    from lostsales.data.reading.gate import read_log

    with progress("reading") as report:
        facts = describe(read_log(log, problem, report))
    if as_json:
        print_json(facts.as_json())
    else:
        print_facts(str(log), facts.as_lines())


app.command()(solve.solve)
app.command()(audit.audit)
app.command()(audit.impute)
app.command()(demand.demand)
app.command()(fit.fit)
app.command()(fit.recommend)
app.command()(experiment.experiment)
app.command()(evaluate.evaluate)
app.command()(evaluate.compare)
app.command()(report.report)
app.command()(evaluate.calibrate)


def main() -> None:
    """Run the command line; a user's mistake ends in one message and exit code 2."""
    try:
        app()
    except LostSalesError as error:
        from lostsales.apps.views.console import err

        err.print("[bold red]Error:[/] ", end="")
        err.print(str(error), markup=False, highlight=False, soft_wrap=True)
        raise SystemExit(2) from None
