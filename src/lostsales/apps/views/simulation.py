"""Simulated and solved scenarios as a person reads them."""

from pathlib import Path

from lostsales.apps.views.console import print_facts
from lostsales.lab.exact.solve import Solution
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
        ("mean profit per period", f"{summary.mean_profit:.3f} (standard error {summary.std_error:.3f})"),
        ("periods without stock-out", f"{summary.uncensored_share:.1%}"),
        ("depth of stock-out runs", ", ".join(shown)),
        ("episodes x periods", f"{summary.episodes:,} x {horizon:,} = {summary.periods:,}"),
    ]
    facts += [("log", f"{out}, problem {out.with_suffix('.toml')}")] if out else []
    facts += [("true demand", str(truth))] if truth else []
    print_facts(title, facts)


def print_solution(title: str, solved: Solution, oracle: Solution, out: Path) -> None:
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
