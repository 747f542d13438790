"""Commands that judge policies from a log alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.options import Json, Log, ProblemFile

if TYPE_CHECKING:
    from lostsales.evaluate.results import Evaluation, Interval

PolicyFile = Annotated[Path, typer.Argument(help="A saved policy.")]
Horizon = Annotated[int | None, typer.Option(help="Periods to look ahead; the usual length of a series unless given.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same answer.")]


def evaluate(
    policy: PolicyFile,
    log: Log,
    problem: ProblemFile = None,
    estimator: Annotated[list[str] | None, typer.Option(help="Only these; all unless given.")] = None,
    horizon: Horizon = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Say what a policy would earn, what was earned, and the gain, judged from a log alone.

    Example: `lostsales evaluate policy log.parquet`
    """
    from lostsales.apps.console import print_json, progress
    from lostsales.data.gate import read_log
    from lostsales.evaluate.judge import evaluate as judge
    from lostsales.policy.artefact import load

    decides = load(policy)
    with progress("evaluating"):
        judged = judge(
            decides, read_log(log, problem), estimators=tuple(estimator) if estimator else None, horizon=horizon,
            seed=seed,
        )  # fmt: skip
    if as_json:
        print_json(judged.to_json())
    else:
        _show_evaluation(f"{policy} on {log}", judged)


def shown(interval: "Interval | None") -> str:
    """A figure with its interval as text."""
    return "-" if interval is None else f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _show_evaluation(title: str, judged: "Evaluation") -> None:
    from rich.table import Table
    from rich.text import Text

    from lostsales.apps.console import out

    table = Table(title=Text(title), title_justify="left", title_style="bold", box=None, header_style="cyan")
    for name in ("", "profit", "cash", "gain", "discounted profit"):
        table.add_column(name)
    table.add_row("earned", shown(judged.earned.profit), shown(judged.earned.cash), "", "")
    for each in judged.estimates:
        figures = (each.profit, each.cash, each.gain, each.discounted)
        table.add_row(each.estimator, *(shown(figure) for figure in figures))
    out.print(table)
    said = [f"{judged.estimand}; 95 % intervals over {len(judged.units)} {judged.resampled}"]
    said += [f"profit counts lost sales, cash does not: {judged.earned.lost_by} tells what stock-outs hid"]
    said += list(judged.notes)
    for each in judged.estimates:
        refused = "refused: " if each.reason else ""
        said += [f"{each.estimator}: {refused}{each.reason or each.overlap.sentence}"]
        said += [f"{each.estimator}: {note}" for note in each.notes]
    for line in said:
        out.print(Text(f"- {line}"))
    best = judged.best
    if best is None or best.gain is None:
        out.print(Text("No estimator can judge this policy from this log."))
    else:
        gain, sure = best.gain, "a proven gain" if best.gain.proven else "no gain is proven"
        out.print(Text(f"By {best.estimator}: {sure}, {shown(gain)} a period."))
