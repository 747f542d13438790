"""`lostsales simulate`."""

from pathlib import Path
from typing import Annotated

import typer

from lostsales.apps.commands.options import Json, ScenarioName, ScenarioSettings
from lostsales.errors import LostSalesError


def simulate(
    scenario: ScenarioName,
    policy: Annotated[
        str, typer.Option(help="uniform, base-stock, base-stock:LEVEL, base-stock:LEVEL@PRICE, or a policy's file.")
    ] = "uniform",
    epsilon: Annotated[float, typer.Option(help="Share of decisions drawn uniformly.")] = 0.0,
    episodes: Annotated[int, typer.Option(help="How many series.")] = 50,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 0,
    settings: ScenarioSettings = None,
    out: Annotated[Path | None, typer.Option(help="Write the log (.parquet or .csv), its problem beside it.")] = None,
    truth: Annotated[Path | None, typer.Option(help="Write the hidden demand and profit, row by row.")] = None,
    as_json: Json = False,
) -> None:
    """Simulate a shop under a policy, and report the profit that it earns.

    Example: `lostsales simulate released --episodes 100 --seed 1 --out log.parquet`
    """
    from dataclasses import asdict

    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.simulation import print_simulation
    from lostsales.data.writing import check_target, write_log
    from lostsales.simulation.named_policies import named_policy
    from lostsales.simulation.scenario import Scenario
    from lostsales.simulation.simulator import evaluate_policy, simulate, summarise

    for target in (out, truth):
        if target is not None:
            check_target(target)
    if out is not None and out == truth:
        raise LostSalesError(f"the log and the hidden truth need a file each, but both are {out}")
    shop = Scenario.load(scenario, tuple(settings or ()))
    decides = named_policy(policy, shop, epsilon)
    with progress("simulating") as report:
        if out is None and truth is None:
            summary = evaluate_policy(shop, decides, episodes, seed, report)
        else:
            log, hidden = simulate(shop, decides, episodes, seed, report)
            summary = summarise(log, hidden)
            if out is not None:
                write_log(log, out)
            if truth is not None:
                hidden.write(log, truth)
    if as_json:
        print_json(asdict(summary))
    else:
        print_simulation(f"{scenario} under {policy}", summary, shop.horizon, out, truth)
