"""Simulated and solved scenarios as a person reads them."""

from pathlib import Path

from lostsales.apps.views.console import print_facts
from lostsales.simulation.exact.solve import Solution
from lostsales.simulation.simulator import SimulationSummary

MOST_DEPTHS = 6


def print_simulation(
    title: str, summary: SimulationSummary, horizon: int, out: Path | None, truth: Path | None
) -> None:
    """What the policy earned, how often stock ran out, and where the files lie."""
    depths = list(summary.depth_share.items())
    shown = [f"{depth}: {share:.1%}" for depth, share in depths[:MOST_DEPTHS]]
    shown += ["..."] if len(depths) > MOST_DEPTHS else []
    facts = [
        ("mean profit a period", f"{summary.mean_profit:.3f} (standard error {summary.std_error:.3f})"),
        ("periods without stock-out", f"{summary.uncensored_share:.1%}"),
        ("depth of stock-out runs", ", ".join(shown)),
        ("episodes x periods", f"{summary.episodes:,} x {horizon:,} = {summary.periods:,}"),
    ]
    facts += [("log", f"{out}, problem {out.with_suffix('.toml')}")] if out else []
    facts += [("hidden truth", str(truth))] if truth else []
    print_facts(title, facts)


def print_solution(title: str, solved: Solution, oracle: Solution, out: Path) -> None:
    """The value of a solved policy, and of pi* also the cost of censoring against the oracle."""
    criterion = solved.criterion
    weights = f"discounted by {criterion.discount:g}" if criterion.discount < 1 else "undiscounted"
    span = "for ever" if criterion.horizon is None else f"over {criterion.horizon} periods"
    value = [
        ("value from the opening", f"{solved.value:.3f} ({span}, {weights})"),
        ("the same a period", f"{solved.a_period:.4f}"),
    ]
    facts = [
        *([("average profit a period", f"{solved.value:.4f}")] if criterion.is_average else value),
        ("error of the grid", f"{solved.grid_error:.2g} (twice what a grid half as fine moves it by)"),
    ]
    if solved is not oracle:
        lost = oracle.a_period - solved.a_period
        facts += [
            ("oracle, a period", f"{oracle.a_period:.4f} (error of its grid {oracle.grid_error:.2g} in all)"),
            ("cost of censoring", f"{oracle.value - solved.value:.3f}, a period {lost:.4f}"),
        ]
    print_facts(title, [*facts, ("solved by", f"{solved.method}, {solved.seconds:.1f} s"), ("policy", str(out))])
