"""A study: its arguments, refusals word by word, tables, the picture and the report."""

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lostsales
from docs.studies.replay import Books, Shop, rows
from docs.studies.ways import Outcome, as_records
from lostsales.data.confidence import margin

OURS, USUAL, NEUTRAL = "#0072B2", "#D55E00", "#777777"
REPORTED_SERIES, REPORTED_PERIODS, HORIZON = 40, 52, 8  # of the report: a replay of every decision takes its time


def run(study: Callable[[Path, Path], None], title: str) -> None:
    """Run a study on the arguments of the command line; one message and exit code 2 where it cannot be."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("data", type=Path, help="folder or file of the published data")
    parser.add_argument("out", type=Path, help="folder for tables, picture and report")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # what a fit warns of stands in the report
    try:
        asked.out.mkdir(parents=True, exist_ok=True)
        study(asked.data, asked.out)
    except (lostsales.LostSalesError, OSError) as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)


def refusal(call: Callable[[], Any]) -> str | None:
    """Message of a refusal, None where there was none."""
    try:
        call()
    except lostsales.LostSalesError as error:
        return str(error)
    return None


def said(audit: lostsales.Audit) -> dict[str, Any]:
    """The part of an audit that a page quotes."""
    return {
        "rows": audit.periods,
        "series": audit.series,
        "hidden_share": round(audit.censored_share, 4),
        "left_out": audit.left_out,
        "longest_run": audit.longest_run,
        "imputation": audit.imputation,
        "how_decisions_were_made": audit.behaviour.sentence,
        "collect_next": list(audit.collect_next),
        "conclusion": audit.conclusion,
    }


def write_report(shop: Shop, books: Books, end: int, policy: lostsales.SavedPolicy, path: Path) -> dict[str, Any]:
    """The product's page on a policy and some of the books before the last window, and what it promises."""
    table = rows(shop, books, range(max(end - REPORTED_PERIODS, 0), end))
    some = shop.series[:: max(len(shop.series) // REPORTED_SERIES, 1)]
    log = lostsales.read_log(table[table["series"].isin(some)], shop.problem)
    found = lostsales.report(policy, log, path, methods=(), horizon=HORIZON).evaluation
    concerns = [{"level": each.level, "text": each.text} for each in found.concerns]
    return {"series": len(some), "sentence": found.sentence, "concerns": concerns}


def commit() -> str:
    """Commit of the code that runs."""
    asked = ["git", "rev-parse", "--short=7", "HEAD"]
    found = subprocess.run(asked, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)  # noqa: S603
    return found.stdout.strip() or "unknown"


def write(results: dict[str, Any], outcome: Outcome, unit: str, period: str, out: Path) -> None:
    """`results.json`, `ways.csv` and `ways.png`; prints the table of a page."""
    found = outcome.rows()
    gaps = {row.way: outcome.by_window(row.way) for row in found if row.way.startswith("lostsales")}
    whole = {**results, "unit": unit, "period": period, "ways": as_records(found)}
    whole["by_window"] = {way: [round(gap, 4) for gap in each] for way, each in gaps.items()}
    (out / "results.json").write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    pd.DataFrame(whole["ways"]).to_csv(out / "ways.csv", index=False)
    draw(whole, out / "ways.png")
    print(table(whole), flush=True)


def table(results: dict[str, Any]) -> str:
    """The methods of a study as Markdown."""
    unit, period = results["unit"], results["period"]
    heads = (
        "method",
        f"{unit} per series and {period}",
        "less the best baseline (standard error)",
        "demand lost",
        "left over",
    )
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|---|"]
    for row in results["ways"]:
        gap = "" if row["std_error"] is None else f"{row['behind_best_usual']:+.3f} ({row['std_error']:.3f})"
        cells = (row["way"], f"{row['profit']:.3f}", gap, f"{row['lost']:.1%}", f"{row['left']:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def draw(results: dict[str, Any], path: Path) -> None:
    """Profit of each way less that of the best usual way, over all windows and ours by window."""
    from matplotlib.figure import Figure

    base = next(row["way"] for row in results["ways"] if row["std_error"] is None)
    others = [row for row in results["ways"] if row["way"] != base][::-1]
    unit = f"{results['unit']} per series and {results['period']},\nless that of {base}"
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    place = np.arange(len(others))
    gap, error = (np.array([row[name] for row in others]) for name in ("behind_best_usual", "std_error"))
    colours = [OURS if row["way"].startswith("lostsales") else NEUTRAL for row in others]
    left.hlines(place, gap - margin(error), gap + margin(error), colors=colours)
    left.scatter(gap, place, c=colours, zorder=3)
    left.axvline(0, color=USUAL, linewidth=1)
    left.set_yticks(place, [row["way"] for row in others])
    left.set_xlabel(f"{unit} (95 % intervals)")
    for marker, (way, gaps) in zip("os^v", results["by_window"].items(), strict=False):
        right.plot(np.arange(len(gaps)) + 1, gaps, marker, color=OURS, label=way)
    right.axhline(0, color=USUAL, linewidth=1)
    right.set_xticks(np.arange(len(gaps)) + 1)
    right.set_xlabel("window, in order of time")
    right.set_ylabel("the same difference, by window")
    right.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120, metadata={"Software": None})
