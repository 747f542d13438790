"""Commands about the truth to measure against: solve."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lostsales.apps.commands.options import Json
from lostsales.errors import SettingError

if TYPE_CHECKING:
    from lostsales.simulation.exact.value_iteration import Criterion
    from lostsales.simulation.scenario import Scenario

EPISODES = 2_000  # in which a trained policy is set beside the exact one


def solve(
    scenario: Annotated[str, typer.Argument(help="A preset by name, or the path of a TOML file.")],
    target: Annotated[
        Literal["oracle", "pi-star", "ppo"],
        typer.Option(help="Demand always seen, only sales seen, or demand always seen and learned by PPO."),
    ],
    out: Annotated[Path, typer.Option(help="Where to write the policy, for `simulate --policy`.")],
    discount: Annotated[float | None, typer.Option(help="The scenario's unless given; with a horizon 1.")] = None,
    horizon: Annotated[int | None, typer.Option(help="Plan so many periods; for ever unless given.")] = None,
    max_depth: Annotated[
        int | None, typer.Option(help="pi*: stock-outs in a row after which only safe actions are allowed.")
    ] = None,
    method: Annotated[
        Literal["auto", "beliefs", "histories"], typer.Option(help="pi*: histories where they are few, else beliefs.")
    ] = "auto",
    first_row: Annotated[
        bool, typer.Option("--first-row", help="Plan also for a first period that breaks the law of demand.")
    ] = False,
    steps: Annotated[int, typer.Option(help="ppo: periods to train on.")] = 500_000,
    seed: Annotated[int, typer.Option(help="ppo: seed of the training.")] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a field, such as demand.rho=0.6.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Solve a scenario exactly, say what the best policy is worth, and save it; pi* is set against the oracle.

    Example: `lostsales solve released --target pi-star --out best`
    """
    from lostsales.apps.views.console import print_facts, print_json, progress
    from lostsales.policy.file_format import check_place
    from lostsales.simulation.exact.solve import criterion_of, solve_reference
    from lostsales.simulation.scenario import Scenario

    check_place(out)
    world = Scenario.load(scenario, tuple(settings or ()))
    criterion = criterion_of(world, discount, horizon)
    if target == "ppo":
        if horizon is not None or max_depth is not None or first_row:
            raise SettingError("--horizon, --max-depth and --first-row are not for ppo, which learns to act for ever")
        _ppo(world, criterion, steps, seed, out, as_json)
        return
    with progress("solving the oracle") as report:
        oracle = solve_reference(world, "oracle", criterion, first_row=first_row, progress=report)
    solved = oracle
    if target == "pi-star":
        with progress("solving pi*") as report:
            solved = solve_reference(world, target, criterion, max_depth, method, first_row, progress=report)
    solved.policy.save(out)
    answer: dict[str, Any] = {
        "target": target,
        "method": solved.method,
        "discount": criterion.discount,
        "horizon": criterion.horizon,
        "value": solved.value,
        "value_a_period": solved.a_period,
        "grid_error": solved.grid_error,
        "oracle_value": oracle.value,
        "oracle_value_a_period": oracle.a_period,
        "cost_of_censoring": oracle.value - solved.value,
        "cost_of_censoring_a_period": oracle.a_period - solved.a_period,
        "seconds": solved.seconds,
        "policy": str(out),
    }
    if as_json:
        print_json(answer)
        return
    weights = f"discounted by {criterion.discount:g}" if criterion.discount < 1 else "undiscounted"
    span = "for ever" if criterion.horizon is None else f"over {criterion.horizon} periods"
    facts = [
        ("value from the opening", f"{solved.value:.3f} ({span}, {weights})"),
        ("the same a period", f"{solved.a_period:.4f}"),
        ("error of the grid", f"{solved.grid_error:.2g} (twice what a grid half as fine moves it by)"),
    ]
    if target == "pi-star":
        lost = oracle.a_period - solved.a_period
        facts += [
            ("oracle, a period", f"{oracle.a_period:.4f} (error of its grid {oracle.grid_error:.2g} in all)"),
            ("cost of censoring", f"{oracle.value - solved.value:.3f}, a period {lost:.4f}"),
        ]
    facts += [("solved by", f"{solved.method}, {solved.seconds:.1f} s"), ("policy", str(out))]
    print_facts(f"{target} of {scenario}", facts)


def _ppo(world: "Scenario", criterion: "Criterion", steps: int, seed: int, out: Path, as_json: bool) -> None:
    """Train, save, and let the exact oracle and the trained one meet the same customers."""
    from time import perf_counter

    from lostsales.apps.views.console import print_facts, print_json, progress
    from lostsales.simulation.exact.solve import solve_reference
    from lostsales.simulation.ppo import train
    from lostsales.simulation.simulator import evaluate_policy

    began = perf_counter()
    with progress("training") as report:
        policy = train(world, steps=steps, discount=criterion.discount, seed=seed, progress=report)
    seconds = perf_counter() - began
    policy.save(out)
    with progress("solving the oracle") as report:
        oracle = solve_reference(world, "oracle", criterion, progress=report)
    trained, exact = (evaluate_policy(world, each, EPISODES, seed) for each in (policy, oracle.policy))
    if as_json:
        print_json(
            {
                "target": "ppo",
                "steps": steps,
                "seed": seed,
                "discount": criterion.discount,
                "mean_profit": trained.mean_profit,
                "std_error": trained.std_error,
                "seconds": seconds,
                "oracle_mean_profit": exact.mean_profit,
                "oracle_seconds": oracle.seconds,
                "policy": str(out),
            }
        )
        return
    facts = [
        ("mean profit a period", f"{trained.mean_profit:.3f} (standard error {trained.std_error:.3f})"),
        ("the exact oracle's", f"{exact.mean_profit:.3f}, solved in {oracle.seconds:.1f} s"),
        ("trained", f"{steps:,} periods, discounted by {criterion.discount:g}, in {seconds:.0f} s"),
        ("policy", str(out)),
    ]
    print_facts(f"ppo of {world.name}", facts)
