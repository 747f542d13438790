"""`lostsales solve`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lostsales.apps.commands.options import MOST, MOST_SEED, Json, ScenarioName, ScenarioSettings, named_files
from lostsales.apps.console import print_facts, print_json, progress
from lostsales.errors import SettingError

if TYPE_CHECKING:
    from lostsales.lab.exact.solve import Solution
    from lostsales.lab.exact.value_iteration import Criterion
    from lostsales.simulation.scenario import Scenario

EPISODES = 2_000  # in which a trained policy is compared with the exact one


def solve(
    scenario: ScenarioName,
    target: Annotated[
        Literal["oracle", "pi-star", "ppo"],
        typer.Option(
            help="oracle: demand observed; pi-star: only sales observed; ppo: demand observed, learned by PPO."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Where to write the policy, for `simulate --policy`.")],
    discount: Annotated[
        float | None, typer.Option(help="Discount factor; by default that of the scenario, with --horizon 1.")
    ] = None,
    horizon: Annotated[int | None, typer.Option(min=1, max=MOST, help="Periods to plan; by default infinite.")] = None,
    criterion: Annotated[
        Literal["discounted", "average"],
        typer.Option(help="Maximise the discounted sum of profits, or the average profit per period."),
    ] = "discounted",
    max_depth: Annotated[
        int | None,
        typer.Option(min=0, max=1_000, help="pi*: stock-outs in a row after which only safe actions are allowed."),
    ] = None,
    method: Annotated[
        Literal["auto", "beliefs", "histories"],
        typer.Option(help="pi*: over histories or beliefs; auto: histories where they are few."),
    ] = "auto",
    first_row: Annotated[
        bool, typer.Option("--first-row", help="Plan also for a first period with a different demand distribution.")
    ] = False,
    steps: Annotated[int, typer.Option(min=1, max=10**10, help="ppo: periods to train on.")] = 500_000,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="ppo: seed of the training.")] = 0,
    settings: ScenarioSettings = None,
    as_json: Json = False,
) -> None:
    """Solve a scenario exactly, report the value of the optimal policy, and save it; pi* is compared with the oracle.

    Example: `lostsales solve released --target pi-star --out best`
    """
    from lostsales.data.output_files import check_output
    from lostsales.lab.exact.solve import criterion_of, solve_reference
    from lostsales.simulation.scenario import Scenario

    check_output(out, named_files(scenario))
    world = Scenario.load(scenario, tuple(settings or ()))
    objective = criterion_of(world, discount, horizon, criterion == "average")
    if target == "ppo":
        if horizon is not None or max_depth is not None or first_row or criterion == "average":
            raise SettingError(
                "--horizon, --max-depth, --first-row and --criterion do not apply to ppo: its horizon is infinite"
            )
        _ppo(world, objective, steps, seed, out, as_json)
        return
    with progress("solving the oracle") as report:
        oracle = solve_reference(world, "oracle", objective, first_row=first_row, progress=report)
    solved = oracle
    if target == "pi-star":
        with progress("solving pi*") as report:
            solved = solve_reference(world, target, objective, max_depth, method, first_row, progress=report)
    solved.policy.save(out)
    answer: dict[str, Any] = {
        "target": target,
        "method": solved.method,
        "criterion": criterion,
        "discount": objective.discount,
        "horizon": objective.horizon,
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
    print_solution(f"{target} of {scenario}", solved, oracle, out)


def _ppo(world: "Scenario", criterion: "Criterion", steps: int, seed: int, out: Path, as_json: bool) -> None:
    """Train, save, and simulate the exact oracle and the trained one on the same random streams."""
    from time import perf_counter

    from lostsales.lab.exact.solve import solve_reference
    from lostsales.lab.ppo import train
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
        ("mean profit per period", f"{trained.mean_profit:.3f} (standard error {trained.std_error:.3f})"),
        ("exact oracle", f"{exact.mean_profit:.3f}, solved in {oracle.seconds:.1f} s"),
        ("trained", f"{steps:,} periods, discount {criterion.discount:g}, in {seconds:.0f} s"),
        ("policy", str(out)),
    ]
    print_facts(f"ppo of {world.name}", facts)


def print_solution(title: str, solved: "Solution", oracle: "Solution", out: Path) -> None:
    """The value of a solved policy, and of pi* also the cost of censoring against the oracle."""
    criterion = solved.criterion
    weights = f"discount {criterion.discount:g}" if criterion.discount < 1 else "undiscounted"
    span = "infinite horizon" if criterion.horizon is None else f"over {criterion.horizon} periods"
    value = [
        ("value from the start", f"{solved.value:.3f} ({span}, {weights})"),
        ("value per period", f"{solved.a_period:.4f}"),
    ]
    facts = [
        *([("average profit per period", f"{solved.value:.4f}")] if criterion.is_average else value),
        ("grid error", f"{solved.grid_error:.2g} (twice the change on a grid half as fine)"),
    ]
    if solved is not oracle:
        lost = oracle.a_period - solved.a_period
        facts += [
            ("oracle per period", f"{oracle.a_period:.4f} (grid error of its value {oracle.grid_error:.2g})"),
            ("cost of censoring", f"{oracle.value - solved.value:.3f}, per period {lost:.4f}"),
        ]
    print_facts(title, [*facts, ("solved by", f"{solved.method}, {solved.seconds:.1f} s"), ("policy", str(out))])
