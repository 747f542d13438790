"""The studies of `lostsales calibrate`: each is run, resumed from its journal, and printed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from lostsales.apps.views.console import print_json, progress
from lostsales.apps.views.coverage import print_coverage
from lostsales.apps.views.manager_study import print_manager_study
from lostsales.apps.views.pilot_study import print_pilot_study
from lostsales.apps.views.promise import print_promise
from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError
from lostsales.lab.studies.coverage import Study, coverage, run_study
from lostsales.lab.studies.gain import PromiseStudy, PromiseTable, run_promise_study
from lostsales.lab.studies.manager import ManagerStudy, manager_table, run_manager_study
from lostsales.lab.studies.pilot import PilotStudy, run_pilot_study


@dataclass(frozen=True)
class StudyRun:
    """How a study is run and shown."""

    scenario: str  # as it was named
    workers: int
    journal: Path | None
    as_json: bool

    @contextmanager
    def progress(self, title: str) -> Iterator[Progress]:
        """Progress on the screen; a study that is stopped says how to go on."""
        try:
            with progress(title) as report:
                yield report
        except KeyboardInterrupt:
            resumes = f"the same command resumes from {self.journal}"
            raise LostSalesError(f"stopped; {resumes if self.journal else 'with --out it could be resumed'}") from None


def study_intervals(study: Study, run: StudyRun) -> None:
    """How often intervals cover the truth."""
    with run.progress("evaluating logs") as report:
        truth = study.truth()
        done = run_study(study, run.journal, run.workers, report)
    rows = coverage(study, done, truth)
    if run.as_json:
        table = [asdict(each) | {"enough": each.enough} for each in rows]
        print_json({"scenario": run.scenario, "truth": truth[0], "behaviour": truth[1], "coverage": table})
    else:
        earned = f"true profit {truth[0]:.2f} per period, {study.behaviour} earns {truth[1]:.2f}"
        print_coverage(f"{study.policy} in {run.scenario}: {earned}", rows)


def study_pilots(study: PilotStudy, run: StudyRun) -> None:
    """Type I error and power of pilots, and their alarms."""
    with run.progress("simulating pilots") as report:
        found, _ = run_pilot_study(study, run.journal, run.workers, report)
    if run.as_json:
        print_json({"scenario": run.scenario, "series": study.series, **asdict(found)})
    else:
        print_pilot_study(f"{study.new} against {study.before} in {run.scenario}, {study.series} series", found)


def study_promises(study: PromiseStudy, run: StudyRun) -> None:
    """How often the lower bound of an estimated gain lies above the true one."""
    with run.progress("comparing on logs") as report:
        outcomes = run_promise_study(study, run.journal, run.workers, report)
    table = PromiseTable.of(outcomes)
    if run.as_json:
        print_json({"scenario": run.scenario, "method": study.method, "series": study.series, **asdict(table)})
    else:
        print_promise(f"{study.method} in {run.scenario}, logs of {study.series} series by its manager", table)


def study_managers(study: ManagerStudy, run: StudyRun) -> None:
    """What is earned from the logs of a manager, against him."""
    with run.progress("learning from logs") as report:
        outcomes = run_manager_study(study, run.journal, run.workers, report)
    rows, earned = manager_table(study, outcomes), outcomes[0].manager
    if run.as_json:
        figures = [asdict(each) for each in rows]
        print_json({"scenario": run.scenario, "series": study.series, "manager": earned, "methods": figures})
    else:
        print_manager_study(
            f"{run.scenario}, logs of {study.series} series by its manager, who earns {earned:.2f}", rows
        )
