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
    epsilon: Annotated[float, typer.Option(help="Share of the behaviour's decisions drawn uniformly.")] = 0.0,
    series: Annotated[str, typer.Option(help="Numbers of series in a log.")] = "5,20,50",
    replications: Annotated[int, typer.Option(min=1, max=options.MOST, help="Logs of each size.")] = 200,
    estimator: options.Estimators = None,
    workers: Annotated[int, typer.Option(min=1, max=options.MOST_WORKERS, help="Processes; results are the same.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Journal of the study; the same command resumes from it.")] = None,
    study: Annotated[
        Literal["intervals", "manager", "pilot", "promise"],
        typer.Option(
            help="What is measured: the intervals of evaluate; pilots of --policy against --behaviour, with one number "
            "of --series (SCENARIO may then be `assorted`, a shop that the simulator did not make); the gain that "
            "compare promises for --method from logs by the scenario's manager, with one number of --series; or what "
            "--method earns from such logs against the manager."
        ),
    ] = "intervals",
    past: Annotated[int, typer.Option(min=10, max=options.MOST, help="Periods before a pilot.")] = 60,
    method: Annotated[
        str | None,
        typer.Option(
            help="The method whose promised gain is studied, planner unless given; or methods that learn from a "
            "manager's logs, c-fqi,pc-fqi unless given."
        ),
    ] = None,
    settings: options.ScenarioSettings = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Measure in simulation, where the truth is known, how often the 95 % intervals of `evaluate` cover it.

    With `--study pilot`: how often a pilot without effect is stopped, one with a gain finds it, and alarms are raised.
    With `--study manager`: from how many logs of the scenario's manager a method earns as much as he does.
    With `--study promise`: how often the lower bound of the gain that `compare` promises lies above the true gain.

    Example: `lostsales calibrate steady --series 10 --replications 2 --out study.json`
    """
    from lostsales.apps.commands.studies import StudyRun, study_intervals, study_managers, study_pilots, study_promises
    from lostsales.data.output_files import check_output
    from lostsales.evaluation.estimators.estimator import ESTIMATORS
    from lostsales.simulation.coverage_study import Study
    from lostsales.simulation.manager_study import METHODS, ManagerStudy
    from lostsales.simulation.pilot_study import PilotStudy
    from lostsales.simulation.promise_study import PromiseStudy
    from lostsales.simulation.scenario import Scenario

    if out is not None:
        check_output(out, options.named_files(scenario, policy, behaviour))
    sizes = options.whole_numbers("series", series, "5,20,50")
    changed, run = tuple(settings or ()), StudyRun(scenario, workers, out, as_json)
    if study == "promise":
        size = _one_size("promises", sizes, 14)
        asked_method = "planner" if method is None else method
        study_promises(PromiseStudy(Scenario.load(scenario, changed), asked_method, size, replications, seed), run)
    elif study == "manager":
        size, methods = _one_size("managers", sizes, 8), METHODS if method is None else options.names(method)
        study_managers(ManagerStudy(Scenario.load(scenario, changed), methods, size, replications, seed), run)
    elif study == "pilot":
        size = _one_size("pilots", sizes, 20)
        study_pilots(PilotStudy(scenario, changed, behaviour, policy, size, past, replications, seed), run)
    else:
        asked = Study(
            Scenario.load(scenario, changed), policy, behaviour, epsilon, sizes, replications,
            tuple(estimator) if estimator else ESTIMATORS.names, seed,
        )  # fmt: skip
        study_intervals(asked, run)


def _one_size(of: str, sizes: tuple[int, ...], example: int) -> int:
    if len(sizes) != 1:
        wanted = f"a study of {of} takes one number of series, such as --series {example}"
        raise SettingError(f"{wanted}, but {len(sizes)} came")
    return sizes[0]
