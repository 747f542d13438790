"""Commands that judge policies from a log alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.commands.options import Json, Log, ProblemFile

if TYPE_CHECKING:
    from lostsales.evaluation.compare import Comparison
    from lostsales.evaluation.diagnostics.diagnostic import Diagnostics
    from lostsales.evaluation.results import Evaluation, Interval
    from lostsales.simulation.coverage_study import Coverage

PolicyFile = Annotated[Path, typer.Argument(help="A saved policy.")]
Horizon = Annotated[int | None, typer.Option(help="Periods to look ahead; the usual length of a series unless given.")]
StartStock = Annotated[
    float | None, typer.Option(help="Units in stock when every series starts; those of the log unless given.")
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same answer.")]


def evaluate(
    policy: PolicyFile,
    log: Log,
    problem: ProblemFile = None,
    estimator: Annotated[list[str] | None, typer.Option(help="Only these; all unless given.")] = None,
    horizon: Horizon = None,
    start_stock: StartStock = None,
    diagnose: Annotated[
        bool, typer.Option("--diagnose", help="Also measure the terms of the regret bound, and say what to do.")
    ] = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Say what a policy would earn, what was earned, and the gain, judged from a log alone.

    Example: `lostsales evaluate policy log.parquet`
    """
    from lostsales.apps.views.console import print_json, progress
    from lostsales.data.progress import stages
    from lostsales.data.reading.gate import read_log
    from lostsales.evaluation.diagnostics.diagnose import diagnose as measure
    from lostsales.evaluation.evaluate import checked_estimators, evaluate_on, prepare
    from lostsales.evaluation.task import EvaluationTask, check_policy
    from lostsales.policy.file_format import load

    decides = load(policy)
    only = checked_estimators(estimator)
    sales = read_log(log, problem)
    check_policy(decides, sales, horizon, start_stock)
    with progress("learning the law of demand, and judging by it") as report:
        learning, judging = stages(report, (1, 1))
        prepared, notes = prepare(sales, seed, learning)
        judged = evaluate_on(
            decides,
            prepared,
            estimators=only,
            horizon=horizon,
            start_stock=start_stock,
            seed=seed,
            notes=notes,
            progress=judging,
        )
    found = measure(EvaluationTask.of(decides, prepared, horizon, seed)) if diagnose else None
    if as_json:
        print_json(judged.to_json() | ({} if found is None else {"diagnostics": found.to_json()}))
        return
    _show_evaluation(f"{policy} on {log}", judged)
    if found is not None:
        _show_diagnostics(found)


def shown(interval: "Interval | None") -> str:
    """A figure with its interval as text."""
    return "-" if interval is None else f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _show_evaluation(title: str, judged: "Evaluation") -> None:
    from rich.table import Table
    from rich.text import Text

    from lostsales.apps.views.console import out

    out.print(Text(title, style="bold"))
    table = Table(box=None, header_style="cyan", pad_edge=False)
    for name in ("by", "", "a period", "gain"):
        table.add_column(name, no_wrap=True)
    earned = judged.earned
    lines: list[tuple[str, str, Interval | None, Interval | None]]
    lines = [("earned", "profit", earned.profit, None), ("", "cash", earned.cash, None)]
    for each in judged.estimates:
        if each.scored:
            lines += [(each.estimator, "profit", each.profit, each.gain), ("", "cash", each.cash, each.cash_gain)]
            lines += [("", "discounted", each.discounted, None)]
    for by, what, value, gain in lines:
        table.add_row(by, what, shown(value), "" if gain is None else shown(gain))
    out.print(table)
    said = [f"{judged.estimand}; 95 % intervals over {len(judged.units)} {judged.resampled}"]
    said += [f"discounted is the sum of these profits, each period's at {judged.estimand.discount:g} of the last"]
    said += [f"profit counts lost sales, cash does not: {judged.earned.lost_by} tells what stock-outs hid"]
    said += [*judged.notes, "a policy that was learned from these very rows looks a little too good; compare holds out"]
    for each in judged.estimates:
        refused = "refused: " if each.reason else ""
        said += [f"{each.estimator}: {refused}{each.reason or each.overlap.sentence}"]
        said += [f"{each.estimator}: {note}" for note in each.notes]
    for line in said:
        out.print(Text(f"- {line}"))
    by = "" if judged.best is None else f"By {judged.best.estimator}: "
    said_last = f"{by}{judged.sentence}."
    out.print(Text(said_last[0].upper() + said_last[1:], style="bold"))


def _show_diagnostics(found: "Diagnostics") -> None:
    from rich.table import Table
    from rich.text import Text

    from lostsales.apps.views.console import out

    table = Table(title="Terms of the regret bound", title_justify="left", title_style="bold", box=None)
    for name in ("term", "value", "what it says", "what to do"):
        table.add_column(name, header_style="cyan", justify="right" if name == "value" else "left")
    for each in found.items:
        values = [each.value] if each.by_depth is None else list(each.by_depth)
        figures = ", ".join("-" if value is None else f"{value:.3g}" for value in values)
        plug_in = " (plug-in)" if each.plug_in else ""
        table.add_row(*(Text(text) for text in (each.title + plug_in, figures, each.meaning, each.advice)))
    out.print(table)


def calibrate(
    scenario: Annotated[str, typer.Argument(help="A preset by name, or the path of a TOML file.")],
    policy: Annotated[str, typer.Option(help="The policy to judge: base-stock:LEVEL@PRICE, uniform, or a file.")] = (
        "base-stock"
    ),
    behaviour: Annotated[str, typer.Option(help="Who made the logs: uniform, base-stock:LEVEL@PRICE, or a file.")] = (
        "uniform"
    ),
    epsilon: Annotated[float, typer.Option(help="Share of the behaviour's decisions drawn uniformly.")] = 0.0,
    series: Annotated[str, typer.Option(help="Numbers of series in a log.")] = "5,20,50",
    replications: Annotated[int, typer.Option(help="Logs of each size.")] = 200,
    estimator: Annotated[list[str] | None, typer.Option(help="Only these; all unless given.")] = None,
    workers: Annotated[int, typer.Option(help="Processes; results are the same.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Keep what is done here; the same command goes on from it.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a field, such as demand.rho=0.6.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Check in simulation, where the truth is known, how often the 95 % intervals of `evaluate` cover it.

    Example: `lostsales calibrate steady --series 5 --replications 3 --out study.json`
    """
    from dataclasses import asdict

    from lostsales.apps.views.console import print_json, progress
    from lostsales.errors import LostSalesError, SettingError
    from lostsales.evaluation.estimators.estimator import ESTIMATORS
    from lostsales.simulation.coverage_study import Study, coverage, run_study
    from lostsales.simulation.scenario import Scenario

    try:
        sizes = tuple(int(part) for part in series.replace(",", " ").split())
    except ValueError:
        raise SettingError(f"series are whole numbers such as 5,20,50, but {series!r} came") from None
    asked = Study(
        Scenario.load(scenario, tuple(settings or ())), policy, behaviour, epsilon, sizes, replications,
        tuple(estimator) if estimator else ESTIMATORS.names, seed,
    )  # fmt: skip
    try:
        with progress("judging logs") as report:
            truth = asked.truth()
            done = run_study(asked, out, workers, report)
    except KeyboardInterrupt:
        kept = f"; the same command goes on from {out}" if out else "; with --out it could have gone on"
        raise LostSalesError(f"stopped{kept}") from None
    table = coverage(asked, done, truth)
    if as_json:
        rows = [asdict(each) | {"enough": each.enough} for each in table]
        print_json({"scenario": scenario, "truth": truth[0], "behaviour": truth[1], "coverage": rows})
        return
    _show_coverage(f"{policy} in {scenario}: the truth is {truth[0]:.2f}, {behaviour} earns {truth[1]:.2f}", table)


def _show_coverage(title: str, table: "list[Coverage]") -> None:
    from rich.table import Table
    from rich.text import Text

    from lostsales.apps.views.console import out

    view = Table(title=Text(title), title_justify="left", title_style="bold", box=None, header_style="cyan")
    for name in ("series", "estimator", "scored", "covers", "covers gain", "mean error", "width"):
        view.add_column(name, justify="left" if name == "estimator" else "right")
    said = []
    for each in table:
        judged = [f"{each.covers:.1%}", f"{each.covers_gain:.1%}", f"{each.error:+.2f} ± {2 * each.error_se:.2f}"]
        judged = [*judged, f"{each.width:.2f}"] if each.scored else ["-"] * 4
        view.add_row(str(each.series), each.estimator, f"{each.scored:.0%}", *judged)
        if each.errs:
            said.append(f"{each.estimator} from {each.series} series covers too seldom: it errs {each.errs}")
        elif not each.scored:
            said.append(f"{each.estimator} from {each.series} series refuses every log")
    out.print(view)
    for line in said or ["Every interval covers often enough."]:
        out.print(Text(f"- {line}" if said else line))


def compare(
    log: Log,
    methods: Annotated[str, typer.Option(help="Such as c-fqi,fusion,base-stock; a broad choice unless given.")] = "",
    problem: ProblemFile = None,
    estimator: Annotated[str | None, typer.Option(help="model, fqe or dr; model where one can be learned.")] = None,
    horizon: Horizon = None,
    out: Annotated[Path | None, typer.Option(help="Fit the chosen method to the whole log and save it here.")] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Fit several methods, let each run series that it was not taught, and name the one to deploy, or none.

    Example: `lostsales compare log.parquet --methods c-fqi,fusion,base-stock`
    """
    import warnings

    from lostsales.apps.views.console import print_json, progress
    from lostsales.data.reading.gate import read_log
    from lostsales.evaluation.compare import compare as choose
    from lostsales.evaluation.compare import usual_methods
    from lostsales.learn.fit import fit
    from lostsales.policy.file_format import check_place

    if out is not None:
        check_place(out)
    named = tuple(methods.replace(",", " ").split()) or usual_methods()
    sales = read_log(log, problem)
    with progress("fitting and judging") as report, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = choose(sales, named, estimator=estimator, horizon=horizon, seed=seed, progress=report)
        if out is not None and found.choice is not None:
            fit(sales, found.choice, seed=seed).save(out)
    if as_json:
        saved = str(out) if out is not None and found.choice is not None else None
        print_json(found.to_json() | {"policy": saved})
        return
    _show_comparison(f"Methods on {log}", found)
    if out is not None and found.choice is not None:
        from lostsales.apps.views.console import out as screen

        screen.print(f"{found.choice}, fitted to the whole log, is saved in {out}")


def _show_comparison(title: str, found: "Comparison") -> None:
    from rich.table import Table
    from rich.text import Text

    from lostsales.apps.views.console import out

    table = Table(title=Text(title), title_justify="left", title_style="bold", box=None, header_style="cyan")
    for name in ("method", "profit", "gain (95 % interval)", "behind the best"):
        table.add_column(name, justify="right" if name == "profit" else "left")
    table.add_row("what you do", f"{found.earned.profit.value:.2f}", "", "")
    for each in found.candidates:
        if each.profit is not None:
            table.add_row(each.method, f"{each.profit.value:.2f}", shown(each.gain), shown(each.behind))
    out.print(table)
    for each in found.candidates:
        if each.reason is not None:
            out.print(Text(f"- {each.method} is not judged: {each.reason}"))
    judged = f"every policy runs only what it was not taught ({found.held_out} held out)"
    for line in (f"{found.estimand}; by {found.estimator}; {judged}", *found.notes):
        out.print(Text(f"- {line}"))
    out.print(Text(f"{found.sentence[0].upper()}{found.sentence[1:]}.", style="bold"))
