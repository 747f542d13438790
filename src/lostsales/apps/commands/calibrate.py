"""`lostsales calibrate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lostsales.apps.commands.options import (
    MOST,
    MOST_WORKERS,
    Estimators,
    Json,
    ScenarioName,
    ScenarioSettings,
    Seed,
    named_files,
    whole_numbers,
)

if TYPE_CHECKING:
    from lostsales.simulation.promise_study import PromiseStudy


def calibrate(
    scenario: ScenarioName,
    policy: Annotated[
        str, typer.Option(help="The policy to evaluate: base-stock:LEVEL@PRICE, uniform, or a file.")
    ] = "base-stock",
    behaviour: Annotated[
        str, typer.Option(help="Behaviour policy of the logs: uniform, base-stock:LEVEL@PRICE, or a file.")
    ] = "uniform",
    epsilon: Annotated[float, typer.Option(help="Share of the behaviour's decisions drawn uniformly.")] = 0.0,
    series: Annotated[str, typer.Option(help="Numbers of series in a log.")] = "5,20,50",
    replications: Annotated[int, typer.Option(min=1, max=MOST, help="Logs of each size.")] = 200,
    estimator: Estimators = None,
    workers: Annotated[int, typer.Option(min=1, max=MOST_WORKERS, help="Processes; results are the same.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Journal of the study; the same command resumes from it.")] = None,
    promise: Annotated[
        str | None,
        typer.Option(
            help="A method: study the gain that `compare` promises for it from logs by the scenario's manager."
        ),
    ] = None,
    settings: ScenarioSettings = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Measure in simulation, where the truth is known, how often the 95 % intervals of `evaluate` cover it.

    With `--promise METHOD`: how often the lower bound of the gain that `compare` promises lies above the true gain.

    Example: `lostsales calibrate steady --series 10 --replications 2 --out study.json`
    """
    from dataclasses import asdict

    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.coverage import print_coverage
    from lostsales.data.output_files import check_output
    from lostsales.errors import LostSalesError
    from lostsales.evaluation.estimators.estimator import ESTIMATORS
    from lostsales.simulation.coverage_study import Study, coverage, run_study
    from lostsales.simulation.promise_study import PromiseStudy
    from lostsales.simulation.scenario import Scenario

    if out is not None:
        check_output(out, named_files(scenario, policy, behaviour))
    sizes = whole_numbers("series", series, "5,20,50")
    if promise is not None:
        loaded = Scenario.load(scenario, tuple(settings or ()))
        _study_promise(PromiseStudy(loaded, promise, sizes[0], replications, seed), out, workers, as_json)
        return
    asked = Study(
        Scenario.load(scenario, tuple(settings or ())), policy, behaviour, epsilon, sizes, replications,
        tuple(estimator) if estimator else ESTIMATORS.names, seed,
    )  # fmt: skip
    try:
        with progress("evaluating logs") as report:
            truth = asked.truth()
            done = run_study(asked, out, workers, report)
    except KeyboardInterrupt:
        kept = f"; the same command resumes from {out}" if out else "; with --out it could be resumed"
        raise LostSalesError(f"stopped{kept}") from None
    rows = coverage(asked, done, truth)
    if as_json:
        table = [asdict(each) | {"enough": each.enough} for each in rows]
        print_json({"scenario": scenario, "truth": truth[0], "behaviour": truth[1], "coverage": table})
        return
    print_coverage(f"{policy} in {scenario}: the truth is {truth[0]:.2f}, {behaviour} earns {truth[1]:.2f}", rows)


def _study_promise(study: "PromiseStudy", out: Path | None, workers: int, as_json: bool) -> None:
    from dataclasses import asdict

    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.promise import print_promise
    from lostsales.errors import LostSalesError
    from lostsales.simulation.promise_study import PromiseTable, run_promise_study

    try:
        with progress("comparing on logs") as report:
            outcomes = run_promise_study(study, out, workers, report)
    except KeyboardInterrupt:
        kept = f"; the same command resumes from {out}" if out else "; with --out it could be resumed"
        raise LostSalesError(f"stopped{kept}") from None
    table = PromiseTable.of(outcomes)
    if as_json:
        print_json({"scenario": study.scenario.name, "method": study.method, **asdict(table)})
    else:
        print_promise(f"{study.method} in {study.scenario.name}, logs of {study.series} series by its manager", table)
