"""Run an experiment: solve the references once, then every unfinished cell, on several processes."""

import os
from collections.abc import Callable, Generator
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial
from pathlib import Path

from lostsales.data.json_files import write_json
from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError, SettingError
from lostsales.learn.learner import LEARNERS
from lostsales.simulation.exact.solve import Target, criterion_of, solve_reference
from lostsales.simulation.experiments.cells import run_cell
from lostsales.simulation.experiments.design import Cell, Experiment, learner_and_settings
from lostsales.simulation.experiments.folder import JOURNAL, prepare_folder, reference_path, write_manifest
from lostsales.simulation.experiments.journal import CellResult, open_journal
from lostsales.simulation.experiments.ppo_behaviour import keep_ppo
from lostsales.simulation.workers import worker_pool

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
    Progress counts cells. The behaviour `ppo` needs a policy file, of which the folder keeps a copy.
    """
    if workers < 1:
        raise SettingError(f"workers must be at least 1, but {workers} came")
    LEARNERS.check(*(learner_and_settings(method)[0] for method in experiment.methods))
    prepare_folder(folder, experiment)
    with open_journal(folder / JOURNAL) as (journal, held):
        write_manifest(folder, experiment)
        cells = list(experiment.cells())
        done = {cell: held[cell] for cell in cells if cell in held and not held[cell].failure}
        left = [cell for cell in cells if cell not in done]
        report = progress or (lambda _done, _total: None)
        try:
            if "ppo" in experiment.behaviours:
                keep_ppo(experiment, folder, ppo)
            _solve_references(experiment, folder)
            report(len(done), len(cells))
            with closing(_each_cell(folder, left, workers)) as finishing:  # an exception must stop the workers
                for finished in finishing:
                    journal.add(finished)
                    done[finished.cell] = finished
                    report(len(done), len(cells))
        except KeyboardInterrupt:
            raise LostSalesError(
                f"stopped with {len(done):,} of {len(cells):,} cells done; the same command goes on from there"
            ) from None
        except BrokenProcessPool:
            raise LostSalesError(
                f"a worker died, most likely for want of memory, with {len(done):,} of {len(cells):,} cells done; "
                "the same command goes on from there, and --workers 1 needs half as much"
            ) from None
        return [done[cell] for cell in cells]


def _solve_references(experiment: Experiment, folder: Path) -> None:
    """Over the horizon they are optimal by the measure; infinite and discounted they are the target of the learners."""
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


def _each_cell(folder: Path, cells: list[Cell], workers: int) -> Generator[CellResult]:
    """Results of cells, in order of completion."""
    run: Callable[[Cell], CellResult] = partial(run_cell, folder)
    if workers == 1 or len(cells) <= 1:
        yield from map(run, cells)
        return
    with worker_pool(min(workers, len(cells))) as pool:
        try:
            for future in as_completed([pool.submit(run, cell) for cell in cells]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)
