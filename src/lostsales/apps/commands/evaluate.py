"""`lostsales evaluate`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from lostsales.apps.commands import options
from lostsales.apps.commands.reading import LogInput, reads_log
from lostsales.apps.console import print_json, print_notes, print_table, print_verdict, progress, screen, sentence

if TYPE_CHECKING:
    from lostsales.evaluation.diagnostics.diagnostic import Diagnostics
    from lostsales.evaluation.interval import Interval
    from lostsales.evaluation.results import Evaluation

IN_SAMPLE = "for a policy fitted to these rows the gain is biased upwards; compare and report hold rows out"
CHECKS = "checks are less accurate than the first estimator: from few rows they underestimate the gain"


@reads_log
def evaluate(
    policy: options.PolicyFile,
    log: LogInput,
    estimator: options.Estimators = None,
    horizon: options.Horizon = None,
    start_stock: Annotated[
        float | None, typer.Option(help="Units in stock when every series starts; by default those of the log.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Add cash, discounted profit, the checks by other estimators, and notes.")
    ] = False,
    diagnose: Annotated[
        bool, typer.Option("--diagnose", help="Also estimate the terms of the regret bound, with advice.")
    ] = False,
    seed: options.Seed = 0,
    rows: options.Rows = None,
    quick: options.Quick = False,
    workers: options.Workers = None,
    as_json: options.Json = False,
) -> None:
    """Estimate from a log alone what a policy would earn, what was earned, and the gain, with 95 % intervals.

    The verdict is stored in the policy file, for `recommend` and `serve` to show. A gain on rows that the policy was
    fitted to is biased upwards, so at most a pilot is advised; `compare` and `report` hold rows out.

    Example: `lostsales evaluate policy log.parquet`
    """
    from lostsales.apps.gains import store_verdict
    from lostsales.data.memory import evaluated_rows
    from lostsales.data.parallel import using_workers, usual_workers
    from lostsales.data.progress import stages
    from lostsales.data.sublogs import EVALUATED_ROWS, QUICK_ROWS
    from lostsales.evaluation.diagnostics.diagnose import diagnose as run_diagnostics
    from lostsales.evaluation.evaluate import SHARES, checked_estimators, evaluate_on, prepare
    from lostsales.evaluation.policy_on_log import check_policy
    from lostsales.evaluation.task import EvaluationTask
    from lostsales.policy.file_format import load

    decides = load(policy)
    checked_estimators(estimator)
    sales = log.read_decisions("evaluate", (policy,))
    check_policy(decides, sales, horizon, start_stock)
    threads = workers or usual_workers()
    most, fewer = evaluated_rows(rows or (QUICK_ROWS if quick else EVALUATED_ROWS), threads, log.memory)
    with progress("fitting the demand model and evaluating") as report, using_workers(threads):
        preparing, evaluating = stages(report, SHARES)
        prepared, notes = prepare(sales, seed, preparing, most, quick)
        evaluation = evaluate_on(
            decides,
            prepared,
            estimators=estimator or None,
            horizon=horizon,
            start_stock=start_stock,
            seed=seed,
            notes=(*fewer, *notes),
            progress=evaluating,
        )
    found = run_diagnostics(EvaluationTask.of(decides, prepared, horizon, seed)) if diagnose else None
    store_verdict(decides, evaluation.policy_verdict(held_out=False), policy)
    if as_json:
        print_json(evaluation.to_json() | ({} if found is None else {"diagnostics": found.to_json()}))
        return
    print_evaluation(f"{policy} on {log}", evaluation, full=full)
    if found is not None:
        print_diagnostics(found)


def print_evaluation(title: str, evaluation: "Evaluation", *, full: bool = False) -> None:
    """The verdict, gains by product, and doubts; `full` adds all figures by estimator and notes."""
    from lostsales.apps.gains import LEVELS, print_assortment, print_doubts, print_service

    assortment, best = evaluation.assortment, evaluation.best
    by = "" if best is None else f"By {best.estimator}: "
    print_verdict(LEVELS[evaluation.verdict], sentence(f"{by}{evaluation.sentence}"))
    if assortment is not None:
        screen.print(Text(sentence(assortment.choice.sentence), style="bold"))
    screen.print()
    if full or assortment is None:
        screen.print(Text(title, style="bold"))
        _print_figures(evaluation, full=full)
    else:
        print_notes([IN_SAMPLE])
    print_doubts(evaluation.concerns, None if best is None else best.sensitivity)
    if assortment is not None:
        screen.print()
        print_assortment(assortment)
    if best is not None and best.service is not None:
        screen.print()
        print_service([("log", best.service.log), ("policy", best.service.policy)])
    if not full:
        screen.print("--full adds cash, discounted profit, checks by other estimators, and notes.", style="dim")


def _print_figures(evaluation: "Evaluation", *, full: bool) -> None:
    """Profit and gain by estimator, and what they rest on."""
    from lostsales.apps.gains import interval_text

    table = Table(box=None, header_style="cyan", pad_edge=False)
    for name in ("by", "", "per period" if evaluation.assortment is None else "per period and product", "gain"):
        table.add_column(name, no_wrap=True)
    earned = evaluation.earned
    lines: list[tuple[str, str, Interval | None, Interval | None]]
    lines = [("earned", "profit", earned.profit, None), ("", "cash", earned.cash, None)]
    best = evaluation.best
    if best is not None:
        lines += [(best.estimator, "profit", best.profit, best.gain), ("", "cash", best.cash, best.cash_gain)]
        lines += [("", "discounted", best.discounted, None)]
    lines = lines if full else [each for each in lines if each[1] == "profit"]
    for by, what, value, gain in lines:
        table.add_row(by, what, interval_text(value), "" if gain is None else interval_text(gain))
    checks = [each for each in evaluation.estimates if full and each.scored and each is not best]
    for each in checks:
        if each.profit is not None and each.gain is not None:
            table.add_row(f"{each.estimator} (check)", "profit", f"{each.profit.value:.2f}", f"{each.gain.value:.2f}")
    screen.print(table)
    notes = [f"{evaluation.estimand}; 95 % intervals over {len(evaluation.units)} {evaluation.resampled}"]
    if not full:
        refused = [f"{each.estimator}: refused: {each.reason}" for each in evaluation.estimates if each.reason]
        print_notes([*notes, *([] if best is None else [IN_SAMPLE]), *([] if best is not None else refused)])
        return
    notes += [f"discounted is the discounted sum of these profits, discount factor {evaluation.estimand.discount:g}"]
    notes += [f"profit counts lost sales, cash does not; censored demand is estimated by {earned.lost_by}"]
    notes += [*evaluation.notes, IN_SAMPLE]
    if checks:
        notes += [CHECKS]
    for each in evaluation.estimates:
        prefix = "refused: " if each.reason else ""
        notes += [f"{each.estimator}: {prefix}{each.reason or each.overlap.sentence}"]
        notes += [f"{each.estimator}: {note}" for note in each.notes]
    print_notes(notes)


def print_diagnostics(found: "Diagnostics") -> None:
    """The terms of the regret bound with their meaning and advice."""
    rows = []
    for each in found.items:
        values = [each.value] if each.by_depth is None else list(each.by_depth)
        figures = ", ".join("-" if value is None else f"{value:.3g}" for value in values)
        plug_in = " (plug-in)" if each.plug_in else ""
        rows.append((each.title + plug_in, figures, each.meaning, each.advice))
    print_table("Terms of the regret bound", ("term", "value", "meaning", "advice"), rows, words=("meaning", "advice"))
