"""`lostsales simulate`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.commands.options import MOST_EPISODES, MOST_SEED, Json, ScenarioName, ScenarioSettings, named_files
from lostsales.apps.console import print_facts, print_verdict, progress, show
from lostsales.errors import LostSalesError

if TYPE_CHECKING:
    from lostsales.simulation.simulator import SimulationSummary

MOST_DEPTHS = 6  # shown in a line


class LogFormat(StrEnum):
    """File format of a log."""

    TABLE = "table"
    MINARI = "minari"


def simulate(
    scenario: ScenarioName,
    policy: Annotated[
        str,
        typer.Option(
            help="uniform, manager, base-stock, base-stock:LEVEL, base-stock:LEVEL@PRICE, pi-star, near-optimal (pi* "
            "with a tenth of uniform decisions), softmax, softmax:TEMPERATURE, or a policy's file."
        ),
    ] = "uniform",
    epsilon: Annotated[float, typer.Option(help="Share of decisions drawn uniformly.")] = 0.0,
    episodes: Annotated[int, typer.Option(min=1, max=MOST_EPISODES, help="Number of series.")] = 50,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="The same seed gives the same bytes.")] = 0,
    settings: ScenarioSettings = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the log (.parquet or .csv), with its problem file next to it.")
    ] = None,
    file_format: Annotated[
        LogFormat, typer.Option("--format", help="`minari` writes the log as a dataset of Minari, to a folder.")
    ] = LogFormat.TABLE,
    truth: Annotated[Path | None, typer.Option(help="Write the true demand and profit of every row.")] = None,
    as_json: Json = False,
) -> None:
    """Simulate a shop under a policy, and report the profit that it earns.

    Example: `lostsales simulate released --episodes 100 --seed 1 --out log.parquet`
    """
    from dataclasses import asdict

    from lostsales.data.minari_files import check_dataset, write_minari
    from lostsales.data.writing import check_log, check_table, write_log_with, write_tables
    from lostsales.lab.experiments.behaviours import behaviour_policy
    from lostsales.simulation.scenario import Scenario
    from lostsales.simulation.simulator import evaluate_policy, simulate, summarise

    inputs = named_files(scenario, policy)
    if file_format is LogFormat.MINARI:
        if out is None:
            raise LostSalesError("--format minari needs --out FOLDER")
        check_dataset(out)
    elif out is not None:
        check_log(out, inputs)
    if truth is not None:
        check_table(truth, inputs)
    if out is not None and truth is not None and out.resolve() == truth.resolve():
        raise LostSalesError(f"--out and --truth need different files, but both are {out}")
    shop = Scenario.load(scenario, tuple(settings or ()))
    decides = behaviour_policy(policy, shop, epsilon)
    with progress("simulating") as report:
        if out is None and truth is None:
            summary = evaluate_policy(shop, decides, episodes, seed, report)
        else:
            log, hidden = simulate(shop, decides, episodes, seed, report)
            summary = summarise(log, hidden)
            hidden_table = {} if truth is None else {truth: hidden.columns(log)}
            if out is None or file_format is LogFormat.MINARI:
                write_tables(hidden_table)
                if out is not None:
                    write_minari(log, out)
            else:
                write_log_with(log, out, hidden_table)
    show(
        as_json,
        lambda: asdict(summary),
        lambda: print_simulation(f"{scenario} under {policy}", summary, shop.horizon, out, truth),
    )


def print_simulation(
    title: str, summary: "SimulationSummary", horizon: int, out: Path | None, truth: Path | None
) -> None:
    """Print the profit of the policy, the share of stock-outs, and the files."""
    depths = list(summary.depth_share.items())
    shown = [f"{depth}: {share:.1%}" for depth, share in depths[:MOST_DEPTHS]]
    shown += ["..."] if len(depths) > MOST_DEPTHS else []
    facts = [
        ("mean profit per period", f"{summary.mean_profit:.3f} (standard error {summary.std_error:.3f})"),
        ("periods without stock-out", f"{summary.uncensored_share:.1%}"),
        ("depth of stock-out runs", ", ".join(shown)),
        ("episodes x periods", f"{summary.episodes:,} x {horizon:,} = {summary.periods:,}"),
    ]
    if out:
        problem = out / "problem.toml" if out.is_dir() else out.with_suffix(".toml")
        facts.append(("log", f"{out}, problem {problem}"))
    facts += [("true demand", str(truth))] if truth else []
    print_verdict(
        "good", f"Mean profit per period: {summary.mean_profit:.2f} (standard error {summary.std_error:.2f})."
    )
    print_facts(title, facts)
