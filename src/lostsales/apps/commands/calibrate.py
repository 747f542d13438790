"""`lostsales calibrate`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from lostsales.apps.commands import options
from lostsales.errors import SettingError


def calibrate(
    scenario: options.ScenarioName,
    policy: Annotated[
        str, typer.Option(help="The policy to evaluate: base-stock:LEVEL@PRICE, uniform, or a file.")
    ] = "base-stock",
    behaviour: Annotated[
        str, typer.Option(help="Behaviour policy of the logs: uniform, base-stock:LEVEL@PRICE, or a file.")
    ] = "uniform",
    epsilon: Annotated[float, typer.Option(help="Share of the behaviour policy's decisions drawn uniformly.")] = 0.0,
    series: Annotated[str, typer.Option(help="Numbers of series per log, with commas between.")] = "5,20,50",
    replications: Annotated[int, typer.Option(min=1, max=options.MOST, help="Number of logs of each size.")] = 200,
    estimator: options.Estimators = None,
    workers: options.Processes = 1,
    out: Annotated[
        Path | None, typer.Option(help="File of the results (JSON lines); the same command resumes from it.")
    ] = None,
    study: Annotated[
        Literal["intervals", "gain", "manager", "pilot"],
        typer.Option(
            help="intervals: coverage of the intervals of evaluate. gain: coverage of the lower bound of the gain that "
            "compare estimates for --method, from logs by the scenario's manager. manager: profit of --method from "
            "such logs against the manager's. pilot: error rates of pilots of --policy against --behaviour; SCENARIO "
            "may then be `assorted`, an assortment of unequal products. All but intervals take one number of --series."
        ),
    ] = "intervals",
    past: Annotated[int, typer.Option(min=10, max=options.MOST, help="pilot: periods of history before it.")] = 60,
    method: Annotated[
        str | None,
        typer.Option(help="gain: the method, by default planner. manager: the methods, by default c-fqi,pc-fqi."),
    ] = None,
    settings: options.ScenarioSettings = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Measure in simulation, where the truth is known, how often the 95 % intervals of `evaluate` cover it.

    With `--study gain`: how often the lower bound of the gain that `compare` estimates lies above the true gain.
    With `--study manager`: from what share of the manager's logs a method earns at least as much as the manager.
    With `--study pilot`: type I error, power and length of pilots, and the delay and rate of alarms.

    Example: `lostsales calibrate steady --series 10 --replications 2 --out study.jsonl`
    """
    from lostsales.apps.commands.studies import StudyRun, study_intervals, study_managers, study_pilots, study_promises
    from lostsales.data.output_files import check_output
    from lostsales.evaluation.estimators.estimator import ESTIMATORS
    from lostsales.lab.studies.coverage import IntervalStudy
    from lostsales.lab.studies.gain import PromiseStudy
    from lostsales.lab.studies.manager import METHODS, ManagerStudy
    from lostsales.lab.studies.pilot import PilotStudy
    from lostsales.simulation.scenario import Scenario

    if out is not None:
        check_output(out, options.named_files(scenario, policy, behaviour))
    sizes = options.whole_numbers("series", series, "5,20,50")
    changed, run = tuple(settings or ()), StudyRun(scenario, workers, out, as_json)
    if study == "gain":
        size = _one_size("gain", sizes, 14)
        asked_method = "planner" if method is None else method
        study_promises(PromiseStudy(Scenario.load(scenario, changed), size, replications, seed, asked_method), run)
    elif study == "manager":
        size, methods = _one_size("manager", sizes, 8), METHODS if method is None else options.names(method)
        study_managers(ManagerStudy(Scenario.load(scenario, changed), size, replications, seed, methods), run)
    elif study == "pilot":
        size = _one_size("pilot", sizes, 20)
        study_pilots(PilotStudy(scenario, changed, behaviour, policy, size, past, replications, seed), run)
    else:
        asked = IntervalStudy(
            Scenario.load(scenario, changed), policy, behaviour, epsilon, sizes, replications,
            tuple(estimator) if estimator else ESTIMATORS.names, seed,
        )  # fmt: skip
        study_intervals(asked, run)


def _one_size(study: str, sizes: tuple[int, ...], example: int) -> int:
    if len(sizes) != 1:
        wanted = f"--study {study} takes one number of series, such as --series {example}"
        raise SettingError(f"{wanted}, but {len(sizes)} came")
    return sizes[0]
