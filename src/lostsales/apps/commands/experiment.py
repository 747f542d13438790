"""`lostsales experiment`."""

from dataclasses import asdict
from importlib.util import find_spec
from itertools import groupby
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from lostsales.apps.commands.options import MOST, MOST_SEED, MOST_WORKERS, Json, names, whole_numbers
from lostsales.apps.console import print_table, progress, screen, show
from lostsales.apps.tables import markdown_table

if TYPE_CHECKING:
    from lostsales.lab.experiments.against_published import PublishedDifference
    from lostsales.lab.experiments.claims import Claim
    from lostsales.lab.experiments.results import ExperimentResults, Row

QUICK_LEVELS, QUICK_RUNS, QUICK_EPISODES = (5, 20), 4, 100  # of `--quick`: minutes instead of hours
COLOURS = {"reproduced": "green", "not reproduced": "red", "inconclusive": "yellow"}
MOST_LEVELS = 5  # on the screen
REFERENCE_HEAD = ("reference", "mean", "95 % interval")
PUBLISHED_HEAD = ("behaviour", "method", "episodes", "ours", "published", "difference")
FAILURE_HEAD = ("method", "cells", "reason")
REFERENCE_NAMES = {
    "oracle-horizon": "oracle (observes all demand), optimal for the test: undiscounted, knows the last period",
    "pi-star-horizon": "pi* (observes sales only), optimal for the test: undiscounted, knows the last period",
    "oracle": "oracle for discount {discount:g}, measured undiscounted",
    "pi-star": "pi* for discount {discount:g}, measured undiscounted",
    "uniform": "uniform behaviour",
    "near-optimal": "near-optimal behaviour",
    "softmax": "softmax behaviour (observes all demand)",
    "ppo": "sampled PPO behaviour (observes all demand)",
}


def experiment(
    scenario: Annotated[str, typer.Argument(help="A preset by name (released, appendix, steady), or a TOML file.")],
    out: Annotated[Path, typer.Option(help="Folder of the experiment; an interrupted one is resumed.")],
    levels: Annotated[
        str | None,
        typer.Option(
            help="Episodes to learn from, such as 5,10,20. By default 5,10,...,50 for the paper's methods, 5,10,50 "
            "for others."
        ),
    ] = None,
    runs: Annotated[int | None, typer.Option(min=1, max=MOST, help="Independent runs; by default 50.")] = None,
    methods: Annotated[
        str | None,
        typer.Option(help="Such as c-fqi,planner; by default the paper's methods, the planner and baselines."),
    ] = None,
    behaviours: Annotated[
        str | None,
        typer.Option(
            help="Behaviour policies of the logs: uniform; near-optimal (pi*, a tenth of its decisions uniform); "
            "pi-star; softmax (over the Q of an oracle that observes demand); ppo (--ppo, sampled). "
            "By default uniform,near-optimal."
        ),
    ] = None,
    ppo: Annotated[
        Path | None, typer.Option(help="The policy of --behaviours ppo, as `solve --target ppo` writes it.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_WORKERS, help="Processes, by default 2; results do not depend on it."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="2 levels, 4 runs and 100 test episodes, for a first look.")
    ] = False,
    test_episodes: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Test episodes per policy; by default 500.")
    ] = None,
    iterations: Annotated[int, typer.Option(min=1, max=MOST, help="Iterations (K) of the methods that iterate.")] = 10,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="The same seed gives the same table.")] = 0,
    as_json: Json = False,
) -> None:
    """Learn from simulated logs of many sizes by many methods, test every policy, and check the paper's claims.

    If interrupted, the same command resumes; more runs, levels, methods or behaviours add to what is there.

    Example: `lostsales experiment released --quick --out first-look`
    """
    from lostsales.lab.experiments.design import BEHAVIOURS, LEVELS, TEST_EPISODES
    from lostsales.lab.experiments.experiment import experiment as run_and_write
    from lostsales.lab.experiments.run import WORKERS

    # A run begins with small logs and ends with large ones, so the speed of one moment says little.
    with progress("learning and testing") as report:
        results = run_and_write(
            scenario,
            out,
            levels=whole_numbers("levels", levels, "5,10,20")
            if levels is not None
            else QUICK_LEVELS
            if quick
            else LEVELS,
            runs=runs if runs is not None else QUICK_RUNS if quick else 50,
            methods=names(methods) if methods else None,
            behaviours=names(behaviours) if behaviours else BEHAVIOURS,
            ppo=ppo,
            iterations=iterations,
            test_episodes=test_episodes if test_episodes is not None else QUICK_EPISODES if quick else TEST_EPISODES,
            workers=WORKERS if workers is None else workers,
            seed=seed,
            progress=report,
        )
    written = write_outcome(results, out)
    show(as_json, lambda: to_json(results, out), lambda: print_outcome(results, out, written))


def write_outcome(results: "ExperimentResults", folder: Path) -> list[Path]:
    """The page `summary.md` and, where matplotlib is installed, the figures."""
    from lostsales.apps.commands.experiment_figures import draw_figures
    from lostsales.data.output_files import replacing
    from lostsales.lab.experiments.claims import check_claims
    from lostsales.lab.experiments.results import summarise_results

    rows, claims = summarise_results(results), check_claims(results)
    with replacing(folder / "summary.md") as temporary:
        temporary.write_text(as_markdown(results, rows, claims), encoding="utf-8")
    return draw_figures(results, folder) if find_spec("matplotlib") else []


def _references(results: "ExperimentResults", rows: "list[Row]") -> list[tuple[str, ...]]:
    """Every reference, its optimality criterion, and its profit; undiscounted, over the periods of the test."""
    from lostsales.lab.experiments.design import REFERENCE

    discount = results.experiment.scenario.discount
    known = [row for row in rows if row.behaviour == REFERENCE]
    return [(REFERENCE_NAMES[row.method].format(discount=discount), f"{row.mean:.2f}", _span(row)) for row in known]


def to_json(results: "ExperimentResults", folder: Path) -> dict[str, Any]:
    """Content of the tables and their folder, for JSON."""
    from lostsales.lab.experiments.against_published import differences_to_published
    from lostsales.lab.experiments.claims import check_claims
    from lostsales.lab.experiments.results import summarise_results

    failures = [{"method": method, "reason": why, "cells": n} for (method, why), n in results.failures.items()]
    return {
        "out": str(folder),
        "cells": len(results.finished),
        "failures": failures,
        "summary": [asdict(row) for row in summarise_results(results)],
        "claims": [asdict(claim) for claim in check_claims(results)],
        "published": [asdict(each) for each in differences_to_published(results)],
    }


def print_outcome(results: "ExperimentResults", folder: Path, figures: list[Path]) -> None:
    """References, means by method and level, claims, failures, and where everything lies."""
    from lostsales.lab.experiments.claims import check_claims
    from lostsales.lab.experiments.design import REFERENCE
    from lostsales.lab.experiments.results import summarise_results

    rows = summarise_results(results)
    levels = results.experiment.levels
    shown = levels if len(levels) <= MOST_LEVELS else [levels[round(at * (len(levels) - 1) / 4)] for at in range(5)]
    for behaviour, lines in _by_behaviour(rows):
        if behaviour == REFERENCE:
            print_table("References: profit per period", REFERENCE_HEAD, _references(results, rows))
        else:
            head = ("method", *(f"{level} episodes" for level in shown))
            body = [(name, *(_mean(points.get(level), 1) for level in shown)) for name, points in lines.items()]
            print_table(f"Learned from {behaviour} behaviour: profit per period, 95 % interval", head, body)
        screen.print()
    _print_claims(check_claims(results))
    for title, head, body in (
        ("Against the published figures, 95 % intervals", PUBLISHED_HEAD, _published(results)),
        ("Cells that failed", FAILURE_HEAD, _failures(results)),
    ):
        if body:
            print_table(title, head, body, words=("reason",))
            screen.print()
    drawn = ", ".join(path.name for path in figures) or "left out: pip install 'lostsales[plots]'"
    screen.print(f"{len(results.finished):,} cells in {folder}: results.parquet, summary.csv, claims.csv, times.csv")
    screen.print(f"to read: summary.md; figures: {drawn}", markup=False, highlight=False)


def as_markdown(results: "ExperimentResults", rows: "list[Row]", claims: "list[Claim]") -> str:
    """A page with the same tables in full."""
    from lostsales.lab.experiments.design import PAPER, REFERENCE

    asked = results.experiment
    lines = [
        f"# The experiment in `{asked.scenario.name}`",
        "",
        f"{asked.runs} runs, K = {asked.iterations}, {asked.test_episodes} test episodes a policy, seed {asked.seed}; "
        f"near-optimal behaviour draws {asked.exploration:.0%} of its decisions uniformly. Profit per period, 95 % "
        "interval over runs. C-FQI, PC-FQI and fusion are as in the paper (`faithful`); those called default have the "
        "settings that users get.",
        *([f"Softmax behaviour has temperature {asked.temperature:g}."] if "softmax" in asked.behaviours else []),
        "",
        *_verdicts(claims, asked.behaviours),
        *markdown_table(REFERENCE_HEAD, _references(results, rows)),
        "",
        "In the claims (`claims.csv` has each with what was measured), pi* and oracle are those for discount "
        f"{asked.scenario.discount:g}, the target of the paper's learners; a method that plans further ahead can earn "
        "more.",
    ]
    for behaviour, methods in _by_behaviour(rows):
        if behaviour != REFERENCE:
            body = [(name, *(_mean(points.get(level)) for level in asked.levels)) for name, points in methods.items()]
            lines += [
                f"## Learned from {behaviour} behaviour",
                "",
                *markdown_table(("episodes", *map(str, asked.levels)), body),
            ]
    spread = [
        (row.behaviour, row.method, str(row.episodes), f"{row.mean:.1f}", f"{row.median:.1f}", f"{row.least:.1f}",
         str(row.lost_runs))
        for row in rows
        if row.method in PAPER
    ]  # fmt: skip
    lines += [
        "## Distribution over runs",
        "",
        "A run is lost if its policy earns less than uniform decisions.",
        "",
        *markdown_table(("behaviour", "method", "episodes", "mean", "median", "least", "runs lost"), spread),
    ]
    if published := _published(results):
        lines += [
            "## Against the published figures",
            "",
            "Near-optimal behaviour is another there: a policy that saw true demand and was sampled.",
            "",
            *markdown_table(PUBLISHED_HEAD, published),
        ]
    if failed := _failures(results):
        lines += ["## Cells that failed", "", *markdown_table(FAILURE_HEAD, failed)]
    return "\n".join(lines).rstrip() + "\n"


def _verdicts(claims: "list[Claim]", behaviours: tuple[str, ...]) -> list[str]:
    """A row a claim, a column a behaviour: the verdict, and the difference with its interval."""
    found = {
        (each.claim, behaviour): f"{each.verdict}: {each.mean:.1f} ({_span(each, 1)})"
        for each in claims
        for behaviour in (behaviours if each.behaviour == "any" else (each.behaviour,))
        if each.n
    }
    rows = [
        (claim, *(found.get((claim, each), "") for each in behaviours))
        for claim in dict.fromkeys(key[0] for key in found)
    ]
    return markdown_table(("claim", *behaviours), rows)


def _by_behaviour(rows: "list[Row]") -> "list[tuple[str, dict[str, dict[int, Row]]]]":
    """Behaviours in order, each with its methods, each with its levels."""
    found = []
    for behaviour, group in groupby(rows, key=lambda row: row.behaviour):
        methods: dict[str, dict[int, Row]] = {}
        for row in group:
            methods.setdefault(row.method, {})[row.episodes] = row
        found.append((behaviour, methods))
    return found


def _mean(row: "Row | None", digits: int = 2) -> str:
    if row is None:
        return ""  # not fitted at this level
    if not row.n:
        return "failed"
    reach = f" ± {row.high - row.mean:.{digits}f}" if row.n > 1 else ""
    return f"{row.mean:.{digits}f}{reach}" + (f" ({row.failed} failed)" if row.failed else "")


def _span(interval: "Row | Claim", digits: int = 2) -> str:
    return f"{interval.low:.{digits}f} to {interval.high:.{digits}f}" if interval.n > 1 else "none from one run"


def _both_intervals(each: "PublishedDifference") -> tuple[str, str, str]:
    """Ours, the published and the difference, each with its interval where it has one."""
    ours = each.mean, each.low, each.high
    published = each.published, each.published_low, each.published_high
    difference = each.difference, each.difference_low, each.difference_high
    texts = [
        f"{mean:.2f}" + ("" if isnan(low) else f" ({low:.2f} to {high:.2f})")
        for mean, low, high in (ours, published, difference)
    ]
    return texts[0], texts[1], texts[2]


def _print_claims(claims: "list[Claim]") -> None:
    checked = [claim for claim in claims if claim.n]  # those of methods that were not run are in the files only
    rows: list[tuple[str | Text, ...]] = []
    for behaviour, group in groupby(checked, key=lambda claim: claim.behaviour):
        rows.append((Text(f"behaviour: {behaviour}", style="dim"),))
        rows += [
            (each.claim, f"{each.mean:.3f}", _span(each, 3), Text(each.verdict, style=COLOURS[each.verdict]))
            for each in group
        ]
    title = "Claims, by differences over runs (what of, and notes: claims.csv)"
    print_table(title, ("claim", "difference", "95 % interval", "verdict"), rows, words=("verdict",))
    screen.print()


def _published(results: "ExperimentResults") -> list[tuple[str, ...]]:
    """Rows of our figures next to the published ones."""
    from lostsales.lab.experiments.against_published import differences_to_published

    return [
        (each.behaviour, each.method, str(each.episodes or ""), *_both_intervals(each))
        for each in differences_to_published(results)
    ]


def _failures(results: "ExperimentResults") -> list[tuple[str, ...]]:
    """Rows of the cells that failed."""
    return [(method, str(count), why) for (method, why), count in results.failures.items()]
