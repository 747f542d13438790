"""Commands about the truth to measure against: solve."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from lostsales.apps.options import Json


def solve(
    scenario: Annotated[str, typer.Argument(help="A preset by name, or the path of a TOML file.")],
    target: Annotated[Literal["oracle", "pi-star"], typer.Option(help="Demand always seen, or only sales seen.")],
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
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a field, such as demand.rho=0.6.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Solve a scenario exactly, say what the best policy is worth, and save it; pi* is set against the oracle.

    Example: `lostsales solve released --target pi-star --out best`
    """
    from lostsales.apps.console import print_facts, print_json, progress
    from lostsales.policy.artefact import check_place
    from lostsales.simulate.exact.reference import criterion_of, reference
    from lostsales.simulate.scenario import load_scenario

    check_place(out)
    world = load_scenario(scenario, tuple(settings or ()))
    criterion = criterion_of(world, discount, horizon)
    with progress("solving the oracle") as report:
        oracle = reference(world, "oracle", criterion, first_row=first_row, progress=report)
    solved = oracle
    if target == "pi-star":
        with progress("solving pi*") as report:
            solved = reference(world, target, criterion, max_depth, method, first_row, progress=report)
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
