"""Run an experiment: solve the references once, then every unfinished cell, on several processes."""

import os
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

from lostsales.data.journal import Journal, open_journal
from lostsales.data.json_files import write_json
from lostsales.data.parallel import check_workers
from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError
from lostsales.lab.exact.solve import Target, criterion_of, solve_reference
from lostsales.lab.experiments.cells import run_cell
from lostsales.lab.experiments.design import Cell, CellResult, Experiment, learner_and_settings
from lostsales.lab.experiments.folder import CELLS, JOURNAL, prepare_folder, reference_path, write_manifest
from lostsales.lab.experiments.ppo_behaviour import keep_ppo
from lostsales.learn.learner import LEARNERS

WORKERS = min(2, os.cpu_count() or 1)
SOLVED = "references.json"


def run_experiment(
    experiment: Experiment,
    folder: Path,
    workers: int = WORKERS,
    progress: Progress | None = None,
    ppo: Path | None = None,
) -> list[CellResult]:
    """All cells of an experiment, in order; those in the journal of the folder are not repeated, unless they failed.

    So an experiment can be resumed, and can grow by runs, levels and methods. Results do not depend on `workers`.
    Progress counts cells. The behaviour `ppo` needs a policy file; the folder keeps a copy.
    """
    check_workers(workers)
    LEARNERS.check(*(learner_and_settings(method)[0] for method in experiment.methods))
    prepare_folder(folder, experiment)
    with open_journal(folder / JOURNAL, CELLS) as journal:
        write_manifest(folder, experiment)
        cells = list(experiment.cells())
        done = {each.cell: each for each in journal.entries if not each.failure}
        try:
            if "ppo" in experiment.behaviours:
                keep_ppo(experiment, folder, ppo)
            _solve_references(experiment, folder)
            work = partial(run_cell, folder)
            return journal.complete(cells, done, lambda each: each.cell, work, workers, progress)
        except KeyboardInterrupt:
            raise LostSalesError(f"stopped with {_done(cells, journal)}; the same command goes on from there") from None
        except BrokenProcessPool:
            raise LostSalesError(
                f"a worker died, most likely out of memory, with {_done(cells, journal)}; "
                "the same command goes on from there, and --workers 1 needs half as much"
            ) from None


def _done(cells: list[Cell], journal: Journal[CellResult]) -> str:
    finished = {each.cell for each in journal.entries if not each.failure}
    return f"{sum(cell in finished for cell in cells):,} of {len(cells):,} cells done"


def _solve_references(experiment: Experiment, folder: Path) -> None:
    """Solve for the horizon, by which results are measured, and for the discount, by which learners plan."""
    if (folder / SOLVED).is_file():
        return
    scenario = experiment.scenario
    wanted: dict[str, tuple[Target, int | None]] = {
        "oracle-horizon": ("oracle", scenario.horizon),
        "pi-star-horizon": ("pi-star", scenario.horizon),
        "oracle": ("oracle", None),
        "pi-star": ("pi-star", None),
    }
    facts = {}
    for name, (target, horizon) in wanted.items():
        solved = solve_reference(scenario, target, criterion_of(scenario, None, horizon))
        solved.policy.save(reference_path(folder, name))
        facts[name] = {
            "discount": solved.criterion.discount,
            "horizon": solved.criterion.horizon,
            "value": solved.value,
            "value_a_period": solved.a_period,
            "grid_error": solved.grid_error,
            "method": solved.method,
        }
    write_json(facts, folder / SOLVED)
