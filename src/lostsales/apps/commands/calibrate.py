"""`lostsales calibrate`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from lostsales.apps.commands import options


def calibrate(
    scenario: options.ScenarioName,
    policy: Annotated[
        str, typer.Option(help="The policy to evaluate: base-stock:LEVEL@PRICE, uniform, or a file.")
    ] = "base-stock",
    behaviour: Annotated[
        str, typer.Option(help="Behaviour policy of the logs: uniform, base-stock:LEVEL@PRICE, or a file.")
    ] = "uniform",
    epsilon: Annotated[float, typer.Option(help="Share of the behaviour's decisions drawn uniformly.")] = 0.0,
    series: Annotated[str, typer.Option(help="Numbers of series in a log.")] = "5,20,50",
    replications: Annotated[int, typer.Option(min=1, max=options.MOST, help="Logs of each size.")] = 200,
    estimator: options.Estimators = None,
    workers: Annotated[int, typer.Option(min=1, max=options.MOST_WORKERS, help="Processes; results are the same.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Journal of the study; the same command resumes from it.")] = None,
    study: Annotated[
        Literal["intervals", "pilot", "promise"],
        typer.Option(
            help="What is measured: the intervals of evaluate; pilots of --policy against --behaviour, with one number "
            "of --series (SCENARIO may then be `assorted`, a shop that the simulator did not make); or the gain that "
            "compare promises for --method from logs by the scenario's manager, with one number of --series."
        ),
    ] = "intervals",
    past: Annotated[int, typer.Option(min=10, max=options.MOST, help="Periods before a pilot.")] = 60,
    method: Annotated[str, typer.Option(help="The method whose promised gain is studied.")] = "planner",
    settings: options.ScenarioSettings = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Measure in simulation, where the truth is known, how often the 95 % intervals of `evaluate` cover it.

    With `--study pilot`: how often a pilot without effect is stopped, one with a gain finds it, and alarms are raised.
    With `--study promise`: how often the lower bound of the gain that `compare` promises lies above the true gain.

    Example: `lostsales calibrate steady --series 10 --replications 2 --out study.json`
    """
    from dataclasses import asdict

    from lostsales.apps.views.console import print_json, progress
    from lostsales.apps.views.coverage import print_coverage
    from lostsales.data.output_files import check_output
    from lostsales.errors import LostSalesError
    from lostsales.evaluation.estimators.estimator import ESTIMATORS
    from lostsales.simulation.coverage_study import Study, coverage, run_study
    from lostsales.simulation.scenario import Scenario

    if out is not None:
        check_output(out, options.named_files(scenario, policy, behaviour))
    sizes = options.whole_numbers("series", series, "5,20,50")
    if study == "promise":
        from lostsales.apps.commands.promise_calibration import calibrate_promises

        calibrate_promises(scenario, tuple(settings or ()), method, sizes, replications, seed, workers, out, as_json)
        return
    if study == "pilot":
        from lostsales.apps.commands.pilot_calibration import calibrate_pilots

        calibrate_pilots(
            scenario, tuple(settings or ()), behaviour, policy, sizes, past, replications, seed, workers, out, as_json
        )
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
