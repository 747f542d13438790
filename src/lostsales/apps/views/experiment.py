"""The outcome of an experiment as a person, a page and a program read it."""

from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from itertools import groupby
from math import isnan
from pathlib import Path
from typing import Any

from rich.text import Text

from lostsales.apps.views.console import out as screen
from lostsales.apps.views.console import plain_table
from lostsales.apps.views.experiment_figures import draw_figures
from lostsales.data.output_files import replacing
from lostsales.lab.experiments.against_published import PublishedDifference, differences_to_published
from lostsales.lab.experiments.claims import Claim, check_claims
from lostsales.lab.experiments.design import REFERENCE
from lostsales.lab.experiments.results import ExperimentResults, Row, summarise_results
from lostsales.lab.experiments.tables import write_tables

COLOURS = {"holds": "green", "not reproduced": "red", "inconclusive": "yellow"}
MOST_LEVELS = 5  # on the screen
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


def write_outcome(results: ExperimentResults, folder: Path) -> list[Path]:
    """Tables, the page `summary.md` and, where matplotlib is installed, the figures."""
    rows, claims = summarise_results(results), check_claims(results)
    write_tables(results, rows, claims, folder)
    with replacing(folder / "summary.md") as temporary:
        temporary.write_text(as_markdown(results, rows, claims), encoding="utf-8")
    return draw_figures(results, folder) if find_spec("matplotlib") else []


def _reference(results: ExperimentResults, name: str) -> str:
    """What a reference is optimal for, as every figure is measured undiscounted over the periods of the test."""
    return REFERENCE_NAMES[name].format(discount=results.experiment.scenario.discount)


def to_json(results: ExperimentResults, folder: Path) -> dict[str, Any]:
    """All that the tables hold, and where they lie."""
    failures = [{"method": method, "reason": why, "cells": n} for (method, why), n in results.failures.items()]
    return {
        "out": str(folder),
        "cells": len(results.finished),
        "failures": failures,
        "summary": [asdict(row) for row in summarise_results(results)],
        "claims": [asdict(claim) for claim in check_claims(results)],
        "published": [asdict(each) for each in differences_to_published(results)],
    }


def print_outcome(results: ExperimentResults, folder: Path, figures: list[Path]) -> None:
    """References, means by method and level, claims, failures, and where everything lies."""
    rows = summarise_results(results)
    levels = results.experiment.levels
    shown = levels if len(levels) <= MOST_LEVELS else [levels[round(at * (len(levels) - 1) / 4)] for at in range(5)]
    for behaviour, lines in _by_behaviour(rows):
        if behaviour == REFERENCE:
            table = plain_table("References: profit per period", "policy", "mean", "95 % interval")
            for row in rows:
                if row.behaviour == REFERENCE:
                    table.add_row(_reference(results, row.method), f"{row.mean:.2f}", _span(row))
        else:
            heads = [f"{level} episodes" for level in shown]
            table = plain_table(
                f"Learned from {behaviour} behaviour: profit per period, 95 % interval", "method", *heads
            )
            for method, points in lines.items():
                table.add_row(method, *(_mean(points.get(level), 1) for level in shown))
        screen.print(table)
        screen.print()
    _print_claims(check_claims(results))
    _print_published(differences_to_published(results))
    _print_failures(results)
    drawn = ", ".join(path.name for path in figures) or "left out: pip install 'lostsales[plots]'"
    screen.print(f"{len(results.finished):,} cells in {folder}: results.parquet, summary.csv, claims.csv, times.csv")
    screen.print(f"to read: summary.md; figures: {drawn}", markup=False, highlight=False)


def as_markdown(results: ExperimentResults, rows: list[Row], claims: list[Claim]) -> str:
    """A page with the same tables in full."""
    asked = results.experiment
    lines = [
        f"# The experiment in `{asked.scenario.name}`",
        "",
        f"{asked.runs} runs, K = {asked.iterations}, {asked.test_episodes} test episodes a policy, seed {asked.seed}; "
        f"near-optimal behaviour draws {asked.exploration:.0%} of its decisions uniformly. Profit per period, 95 % "
        "interval over runs. PC-FQI and fusion have our penalty by support, not the paper's U, which pc-fqi-paper-u "
        "has.",
        *([f"Softmax behaviour has temperature {asked.temperature:g}."] if "softmax" in asked.behaviours else []),
        "",
        *_markdown(
            ("reference", "mean", "95 % interval"),
            [
                (_reference(results, row.method), f"{row.mean:.2f}", _span(row))
                for row in rows
                if row.behaviour == REFERENCE
            ],
        ),
        "",
        f"In the claims below, pi* and oracle are those for discount {asked.scenario.discount:g}, the target of the "
        "paper's learners; a method that plans further ahead can earn more.",
    ]
    for behaviour, methods in _by_behaviour(rows):
        if behaviour != REFERENCE:
            body = [(name, *(_mean(points.get(level)) for level in asked.levels)) for name, points in methods.items()]
            lines += [
                f"## Learned from {behaviour} behaviour",
                "",
                *_markdown(("episodes", *map(str, asked.levels)), body),
            ]
    checked = [(each.claim, each.behaviour, _difference(each), each.verdict, each.note) for each in claims]
    lines += [
        "## Claims",
        "",
        *_markdown(("claim", "behaviour", "difference over runs", "verdict", "note"), checked),
    ]
    if differences := differences_to_published(results):
        body = [(each.behaviour, each.method, str(each.episodes or ""), *_both_intervals(each)) for each in differences]
        lines += [
            "## Against the published figures",
            "",
            "Near-optimal behaviour is another there: a policy that saw true demand and was sampled.",
            "",
            *_markdown(("behaviour", "method", "episodes", "ours", "published", "difference"), body),
        ]
    if results.failures:
        failed = [(method, str(count), why) for (method, why), count in results.failures.items()]
        lines += ["## Cells that failed", "", *_markdown(("method", "cells", "reason"), failed)]
    return "\n".join(lines).rstrip() + "\n"


def _by_behaviour(rows: list[Row]) -> list[tuple[str, dict[str, dict[int, Row]]]]:
    """Behaviours in order, each with its methods, each with its levels."""
    found = []
    for behaviour, group in groupby(rows, key=lambda row: row.behaviour):
        methods: dict[str, dict[int, Row]] = {}
        for row in group:
            methods.setdefault(row.method, {})[row.episodes] = row
        found.append((behaviour, methods))
    return found


def _mean(row: Row | None, digits: int = 2) -> str:
    if row is None:
        return ""  # not fitted at this level
    if not row.n:
        return "failed"
    reach = f" ± {row.high - row.mean:.{digits}f}" if row.n > 1 else ""
    return f"{row.mean:.{digits}f}{reach}" + (f" ({row.failed} failed)" if row.failed else "")


def _span(interval: Row | Claim, digits: int = 2) -> str:
    return f"{interval.low:.{digits}f} to {interval.high:.{digits}f}" if interval.n > 1 else "none from one run"


def _both_intervals(each: PublishedDifference) -> tuple[str, str, str]:
    """Ours, the published and the difference, each with its interval where it has one."""
    ours = each.mean, each.low, each.high
    published = each.published, each.published_low, each.published_high
    difference = each.difference, each.difference_low, each.difference_high
    texts = [
        f"{mean:.2f}" + ("" if isnan(low) else f" ({low:.2f} to {high:.2f})")
        for mean, low, high in (ours, published, difference)
    ]
    return texts[0], texts[1], texts[2]


def _difference(claim: Claim) -> str:
    if not claim.n:
        return ""
    return f"{claim.measured}: {claim.mean:.3f} ({_span(claim, 3)})"


def _markdown(head: tuple[str, ...], body: Sequence[tuple[str, ...]]) -> list[str]:
    lines = [head, ("---",) * len(head), *body]
    return [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines] + [""]


def _print_claims(claims: list[Claim]) -> None:
    table = plain_table("Claims, by differences over runs (what of, and notes: claims.csv)", "claim", "difference")
    table.add_column("95 % interval", justify="right")
    table.add_column("verdict")
    checked = [claim for claim in claims if claim.n]  # the others, of methods that were not run, stand in the files
    for behaviour, group in groupby(checked, key=lambda claim: claim.behaviour):
        table.add_row(Text(f"behaviour: {behaviour}", style="dim"))
        for each in group:
            verdict = Text(each.verdict, style=COLOURS[each.verdict])
            table.add_row(each.claim, f"{each.mean:.3f}", _span(each, 3), verdict)
    screen.print(table)
    screen.print()


def _print_published(differences: list[PublishedDifference]) -> None:
    if not differences:
        return
    table = plain_table("Against the published figures, 95 % intervals", "behaviour", "method", "episodes")
    for name in ("ours", "published", "difference"):
        table.add_column(name, justify="right")
    for each in differences:
        table.add_row(each.behaviour, each.method, str(each.episodes or ""), *_both_intervals(each))
    screen.print(table)
    screen.print()


def _print_failures(results: ExperimentResults) -> None:
    if not results.failures:
        return
    table = plain_table("Cells that failed", "method", "cells")
    table.add_column("reason")
    for (method, why), count in results.failures.items():
        table.add_row(method, str(count), Text(why))
    screen.print(table)
    screen.print()
