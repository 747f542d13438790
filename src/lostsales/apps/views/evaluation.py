"""An off-policy evaluation and its diagnostics as a person reads them."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from lostsales.apps.views.assortment import print_assortment
from lostsales.apps.views.console import out
from lostsales.evaluation.diagnostics.diagnostic import Diagnostics
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.promise.advice import Concern
from lostsales.evaluation.promise.sensitivity import Sensitivity
from lostsales.evaluation.results import Evaluation

CHECKS = "checks are less accurate than the first estimator: from few rows they underestimate the gain"


def interval_text(interval: Interval | None) -> str:
    """A figure with its interval."""
    return "-" if interval is None else f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def print_evaluation(title: str, evaluation: Evaluation) -> None:
    """Figures by estimator, notes, and a last line with the conclusion."""
    out.print(Text(title, style="bold"))
    table = Table(box=None, header_style="cyan", pad_edge=False)
    assortment = evaluation.assortment
    for name in ("by", "", "per period" if assortment is None else "per period and product", "gain"):
        table.add_column(name, no_wrap=True)
    earned = evaluation.earned
    lines: list[tuple[str, str, Interval | None, Interval | None]]
    lines = [("earned", "profit", earned.profit, None), ("", "cash", earned.cash, None)]
    best = evaluation.best
    if best is not None:
        lines += [(best.estimator, "profit", best.profit, best.gain), ("", "cash", best.cash, best.cash_gain)]
        lines += [("", "discounted", best.discounted, None)]
    for by, what, value, gain in lines:
        table.add_row(by, what, interval_text(value), "" if gain is None else interval_text(gain))
    checks = [each for each in evaluation.estimates if each.scored and each is not best]
    for each in checks:
        if each.profit is not None and each.gain is not None:
            table.add_row(f"{each.estimator} (check)", "profit", f"{each.profit.value:.2f}", f"{each.gain.value:.2f}")
    out.print(table)
    notes = [f"{evaluation.estimand}; 95 % intervals over {len(evaluation.units)} {evaluation.resampled}"]
    notes += [f"discounted is the discounted sum of these profits, discount factor {evaluation.estimand.discount:g}"]
    notes += [f"profit counts lost sales, cash does not; censored demand is estimated by {earned.lost_by}"]
    notes += [*evaluation.notes, "for a policy fitted to these rows the gain is biased upwards; compare holds rows out"]
    if checks:
        notes += [CHECKS]
    for each in evaluation.estimates:
        refused = "refused: " if each.reason else ""
        notes += [f"{each.estimator}: {refused}{each.reason or each.overlap.sentence}"]
        notes += [f"{each.estimator}: {note}" for note in each.notes]
    for line in notes:
        out.print(Text(f"- {line}"))
    print_doubts(evaluation.concerns, None if best is None else best.sensitivity)
    if assortment is not None:
        out.print()
        print_assortment(assortment)
        choice = assortment.choice.sentence
        out.print(Text(f"{choice[0].upper()}{choice[1:]}.", style="bold"))
    by = "" if evaluation.best is None else f"By {evaluation.best.estimator}: "
    conclusion = f"{by}{evaluation.sentence}."
    out.print(Text(conclusion[0].upper() + conclusion[1:], style="bold"))


def print_doubts(concerns: Sequence[Concern], sensitivity: Sensitivity | None) -> None:
    """How strong a confounder would erase the gain, and the concerns in their colours."""
    if sensitivity is not None and sensitivity.sentence:
        out.print(Text(f"- {sensitivity.sentence}"))
    for each in concerns:
        out.print(Text(f"- {each.level}: {each.text}", style="red" if each.level == "red" else "yellow"))


def print_diagnostics(found: Diagnostics) -> None:
    """The terms of the regret bound with their meaning and advice."""
    table = Table(title="Terms of the regret bound", title_justify="left", title_style="bold", box=None)
    for name in ("term", "value", "meaning", "advice"):
        table.add_column(name, header_style="cyan", justify="right" if name == "value" else "left")
    for each in found.items:
        values = [each.value] if each.by_depth is None else list(each.by_depth)
        figures = ", ".join("-" if value is None else f"{value:.3g}" for value in values)
        plug_in = " (plug-in)" if each.plug_in else ""
        table.add_row(*(Text(text) for text in (each.title + plug_in, figures, each.meaning, each.advice)))
    out.print(table)
