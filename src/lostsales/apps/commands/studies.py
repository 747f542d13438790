"""The studies of `lostsales calibrate`: each is run, resumed from its journal, and printed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lostsales.apps.console import print_facts, print_notes, print_table, progress, screen, show
from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError
from lostsales.lab.studies.coverage import Coverage, IntervalStudy, coverage
from lostsales.lab.studies.gain import PromiseStudy, PromiseTable
from lostsales.lab.studies.manager import ManagerStudy, MethodTable, manager_table
from lostsales.lab.studies.pilot import PilotFigures, PilotStudy, figures

NAIVE = "without allowance for confounding"


@dataclass(frozen=True)
class StudyRun:
    """Settings of running and showing a study."""

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

    def show(self, figures: dict[str, Any], text: Callable[[], None]) -> None:
        """Print the figures of the study as JSON, or the text for people."""
        show(self.as_json, lambda: {"scenario": self.scenario} | figures, text)


def study_intervals(study: IntervalStudy, run: StudyRun) -> None:
    """Run a study of how often intervals cover the truth."""
    with run.progress("evaluating logs") as report:
        truth = study.truth()
        done = study.run(run.journal, run.workers, report)
    rows = coverage(study, done, truth)
    table = [asdict(each) | {"enough": each.enough} for each in rows]
    earned = f"true profit {truth[0]:.2f} per period, {study.behaviour} earns {truth[1]:.2f}"
    run.show(
        {"truth": truth[0], "behaviour": truth[1], "coverage": table},
        lambda: print_coverage(f"{study.policy} in {run.scenario}: {earned}", rows),
    )


def study_pilots(study: PilotStudy, run: StudyRun) -> None:
    """Type I error and power of pilots, and their alarms."""
    with run.progress("simulating pilots") as report:
        found = figures(study.run(run.journal, run.workers, report), study.truth)
    title = f"{study.new} against {study.before} in {run.scenario}, {study.series} series"
    run.show({"series": study.series, **asdict(found)}, lambda: print_pilot_study(title, found))


def study_promises(study: PromiseStudy, run: StudyRun) -> None:
    """Run a study of how often the lower bound of an estimated gain lies above the true one."""
    with run.progress("comparing on logs") as report:
        outcomes = study.run(run.journal, run.workers, report)
    table = PromiseTable.of(outcomes)
    title = f"{study.method} in {run.scenario}, logs of {study.series} series by its manager"
    run.show({"method": study.method, "series": study.series, **asdict(table)}, lambda: print_promise(title, table))


def study_managers(study: ManagerStudy, run: StudyRun) -> None:
    """Run a study of profit learned from the logs of a manager, against the manager's own."""
    with run.progress("learning from logs") as report:
        outcomes = study.run(run.journal, run.workers, report)
    rows, earned = manager_table(study, outcomes), outcomes[0].manager
    title = f"{run.scenario}, logs of {study.series} series by its manager, who earns {earned:.2f}"
    table = {"series": study.series, "manager": earned, "methods": [asdict(each) for each in rows]}
    run.show(table, lambda: print_manager_study(title, rows))


def print_coverage(title: str, rows: list[Coverage]) -> None:
    """Coverage by size of the log and estimator, and a line on each that covers too seldom."""
    head = ("series", "estimator", "scored", "covers", "covers gain", "mean error", "width")
    lines, notes = [], []
    for each in rows:
        figures = [f"{each.covers:.1%}", f"{each.covers_gain:.1%}", f"{each.error:+.2f} ± {2 * each.error_se:.2f}"]
        figures = [*figures, f"{each.width:.2f}"] if each.scored else ["-"] * 4
        lines.append((str(each.series), each.estimator, f"{each.scored:.0%}", *figures))
        if each.errs:
            notes.append(f"{each.estimator} from {each.series} series has too low a coverage: it errs {each.errs}")
        elif not each.scored:
            notes.append(f"{each.estimator} from {each.series} series refuses every log")
    print_table(title, head, lines, words=("estimator",))
    print_notes(notes)
    if not notes:
        screen.print("No coverage is too low.")


def print_manager_study(title: str, rows: list[MethodTable]) -> None:
    """Profit of each method, from how many logs it is at least the manager's, and how far its stock rises."""
    head = ("method", "logs", "profit", "gain", "worst", "above", "above - s.e.", "most stock")
    lines = (
        (
            each.method,
            f"{each.logs:,}",
            f"{each.profit:.2f} ({each.profit_error:.2f})",
            f"{each.gain:+.2f}",
            f"{each.worst_gain:+.2f}",
            f"{each.above:.0%}",
            f"{each.above_less_error:.0%}",
            f"{each.stock_ratio:.2f} of the log's",
        )
        for each in rows
    )
    print_table(title, head, lines)


def print_pilot_study(title: str, found: PilotFigures) -> None:
    """Print error rates, power and alarms next to their targets."""
    gain = found.true_gain / abs(found.true_profit)
    lines = (
        ("type I error: pilots without effect that were stopped", f"{found.false_stops:.1%}", "at most 5 %"),
        ("- for harm, for success", f"{found.false_harm:.1%}, {found.false_success:.1%}", ""),
        (f"power: gain of {gain:.1%} detected by the planned end", f"{found.found:.1%}", f"{found.promised:.0%}"),
        ("- median length, designs without one", f"{found.planned:.0f} periods, {found.refused}", ""),
        ("median periods from a shift of demand to an alarm", f"{found.delay:.0f}", "at most 8"),
        ("false alarms in 200 periods", f"{found.false_alarms:.2f}", "at most 1"),
        ("pilots of each kind", f"{found.pilots:,}", ""),
    )
    print_table(title, ("", "found", "wanted"), lines)


def print_promise(title: str, found: PromiseTable) -> None:
    """True and estimated gains, how often the lower bound was too high, and the power."""
    settings = ", ".join(f"{name} {share:.0%}" for name, share in found.price_settings.items())
    print_facts(
        title,
        [
            ("logs", f"{found.logs:,}"),
            ("mean true gain", f"{found.true_gain:.2f} per period; estimated {found.promised:.2f}"),
            (
                "lower bound above true gain",
                f"{found.low_above_truth:.0%} of logs ({found.naive_above_truth:.0%} {NAIVE})",
            ),
            ("deployed", f"{found.deployed:.0%} of logs; at a true loss {found.deployed_at_a_loss:.0%}"),
            (
                "power",
                f"{found.found:.0%} of the true gains that are proven {NAIVE} ({found.found_naively:.0%} of logs)",
            ),
            ("prices were set", settings),
        ],
    )
