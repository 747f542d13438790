"""Running an experiment: killed, resumed, on one process or two, the table is the same and no cell is repeated."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.journal import open_journal
from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.data.sublogs import series_of
from lostsales.errors import LostSalesError, SettingError
from lostsales.lab.experiments.cells import run_cell
from lostsales.lab.experiments.claims import check_claims
from lostsales.lab.experiments.design import BEHAVIOURS, Cell, CellResult, Experiment
from lostsales.lab.experiments.experiment import experiment
from lostsales.lab.experiments.folder import CELLS, JOURNAL, MANIFEST, READS_RESULTS, prepare_folder, read_manifest
from lostsales.lab.experiments.results import ExperimentResults, summarise_results
from lostsales.lab.experiments.run import run_experiment
from lostsales.lab.experiments.tables import write_tables
from lostsales.learn.baselines.threshold_tuning import BaseStock
from lostsales.learn.baselines.thresholds import ThresholdPolicy
from lostsales.learn.learner import LEARNERS
from lostsales.simulation.simulator import simulate
from tests.lab.experiments.small import TINY, small


def without_times(finished: list[CellResult]) -> list[tuple[Any, ...]]:
    return [(*each.cell, each.value, each.std_error, each.uncensored_share, each.failure) for each in finished]


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """The whole lines of a journal."""
    journal = folder / JOURNAL
    text = journal.read_bytes() if journal.exists() else b""
    return [json.loads(line) for line in text.split(b"\n")[:-1]]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[CellResult]]:
    """A small experiment on one process."""
    folder = tmp_path_factory.mktemp("one") / "experiment"
    return folder, run_experiment(small(), folder, workers=1)


def test_every_cell_is_run_once_and_in_order(done: tuple[Path, list[CellResult]]) -> None:
    folder, finished = done
    assert [each.cell for each in finished] == list(small().cells())
    assert len(finished) == 2 * (6 + 2 * 2 * 2)
    assert len(lines_of(folder)) == len(finished)
    assert all(each.value is not None and not each.failure for each in finished)
    by_method = {
        row.method: row.mean for row in summarise_results(ExperimentResults(small(), finished)) if not row.episodes
    }
    assert by_method["oracle-horizon"] >= by_method["pi-star-horizon"] > by_method["pi-star"]
    assert by_method["oracle-horizon"] >= by_method["oracle"] > by_method["near-optimal"] > by_method["uniform"]


def test_two_processes_give_the_same_table_to_the_bit(done: tuple[Path, list[CellResult]], tmp_path: Path) -> None:
    _, one = done
    two = run_experiment(small(), tmp_path / "two", workers=2)
    assert without_times(two) == without_times(one)
    for name, finished in (("one", one), ("two", two)):
        (tmp_path / "tables" / name).mkdir(parents=True)
        results = ExperimentResults(small(), finished)
        write_tables(results, summarise_results(results), check_claims(results), tmp_path / "tables" / name)
    for table in ("results.parquet", "summary.csv", "claims.csv"):
        written = [(tmp_path / "tables" / name / table).read_bytes() for name in ("one", "two")]
        assert written[0] == written[1]


def test_resuming_repeats_no_cell(done: tuple[Path, list[CellResult]], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, finished = done
    monkeypatch.setattr("lostsales.lab.experiments.run.run_cell", pytest.fail)
    assert run_experiment(small(), folder, workers=1) == finished


@pytest.mark.slow
def test_killed_experiment_resumes_without_loss(tmp_path: Path) -> None:
    """Two kills -9 of the command, early and late: no line is lost or repeated, no worker is left."""
    folder = tmp_path / "experiment"
    asked = ["--levels", "5,10", "--runs", "6", "--methods", "c-fqi", "--iterations", "2", "--test-episodes", "20"]
    call = [sys.executable, "-c", "from lostsales.apps.cli import main; main()", "experiment", str(TINY)]
    call += ["--out", str(folder), *asked, "--workers", "2", "--json"]
    before: list[dict[str, Any]] = []
    for more in (1, 20):
        process = subprocess.Popen(call, stdout=subprocess.DEVNULL)  # noqa: S603, our own
        while len(lines_of(folder)) < len(before) + more:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.005)
        process.kill()
        process.wait()
        assert lines_of(folder)[: len(before)] == before
        before = lines_of(folder)
    ended = subprocess.run(call, capture_output=True, text=True, check=True)  # noqa: S603, our own
    after = lines_of(folder)
    assert after[: len(before)] == before
    cells = Counter(Cell(*(line[key] for key in Cell._fields)) for line in after)
    whole = small(runs=6, methods=("c-fqi",))
    assert cells == Counter(whole.cells())
    assert json.loads(ended.stdout)["cells"] == len(after)
    alone = {each.cell: each for each in run_experiment(whole, tmp_path / "alone", workers=1)}
    table = pd.read_parquet(folder / "results.parquet")
    keys = zip(*(table[key].tolist() for key in Cell._fields), strict=True)
    expected = [
        alone[Cell(behaviour, int(episodes), int(run), method)].value for behaviour, episodes, run, method in keys
    ]
    assert table["value"].tolist() == expected


def test_incomplete_line_of_the_journal_is_cut_off(tmp_path: Path, done: tuple[Path, list[CellResult]]) -> None:
    journal = tmp_path / JOURNAL
    text = (done[0] / JOURNAL).read_bytes()
    journal.write_bytes(text[:-20])
    with open_journal(journal, CELLS) as found:
        assert found.entries == done[1][:-1]
    assert journal.read_bytes() == text[: text[:-20].rindex(b"\n") + 1]
    journal.write_bytes(b"nonsense\n")
    with pytest.raises(LostSalesError, match="is damaged"), open_journal(journal, CELLS):
        pass


@pytest.mark.parametrize("key", ["behaviour", "episodes", "value", "std_error", "failure", "fit_seconds"])
@pytest.mark.parametrize("value", [[], {}])
def test_a_line_of_the_journal_with_another_type_is_refused(
    tmp_path: Path, done: tuple[Path, list[CellResult]], key: str, value: object
) -> None:
    first = json.loads((done[0] / JOURNAL).read_bytes().splitlines()[0])
    (tmp_path / JOURNAL).write_text(json.dumps(first | {key: value}) + "\n")
    with pytest.raises(LostSalesError, match="is damaged"), open_journal(tmp_path / JOURNAL, CELLS):
        pass


@pytest.mark.parametrize("text", ["[]", "5", "[" * 100_000, "{"])
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    prepare_folder(tmp_path / "folder", small())
    (tmp_path / "folder" / "manifest.json").write_text(text)
    with pytest.raises(LostSalesError, match=r"manifest\.json cannot be read"):
        prepare_folder(tmp_path / "folder", small())


def test_a_folder_is_written_by_one_process_at_a_time(tmp_path: Path) -> None:
    prepare_folder(tmp_path / "busy", small())
    busy = open_journal(tmp_path / "busy" / JOURNAL, CELLS)
    with busy, pytest.raises(LostSalesError, match="another process is writing"):
        run_experiment(small(), tmp_path / "busy", workers=1)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"seed": 1}, "seed was 0, now 1"),
        ({"levels": (5, 60)}, "episodes_a_run was 50, now 60"),
        ({"test_episodes": 21}, "test_episodes was 20, now 21"),
        ({"scenario": small().scenario.model_copy(update={"horizon": 13})}, r"scenario\.horizon was 12, now 13"),
    ],
)
def test_the_folder_of_another_experiment_is_refused(
    done: tuple[Path, list[CellResult]], changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SettingError, match=f"holds another experiment: {reason}.*Choose another folder"):
        run_experiment(small(**changes), done[0], workers=1)


@pytest.mark.slow
def test_growing_and_shrinking_repeats_no_cell(tmp_path: Path) -> None:
    folder = tmp_path / "experiment"
    first = run_experiment(small(levels=(5,), runs=1, methods=("c-fqi",)), folder, workers=1)
    grown = run_experiment(small(), folder, workers=1)
    assert set(first) < set(grown)
    assert len(lines_of(folder)) == len(grown)
    assert without_times(grown) == without_times(run_experiment(small(), tmp_path / "at once", workers=1))
    assert run_experiment(small(levels=(5,), runs=1, methods=("c-fqi",)), folder, workers=1) == first
    assert read_manifest(folder).runs == 1


def test_other_code_and_other_files_are_refused(
    done: tuple[Path, list[CellResult]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other.txt").write_text("text")
    with pytest.raises(SettingError, match="is not empty and holds no experiment"):
        run_experiment(small(), tmp_path, workers=1)
    monkeypatch.setattr("lostsales.lab.experiments.folder.code_checksum", lambda: "other")
    with pytest.raises(SettingError, match="the code of lostsales has changed since"):
        run_experiment(small(), done[0], workers=1)


def test_manifest_holds_what_results_depend_on(done: tuple[Path, list[CellResult]]) -> None:
    manifest = json.loads((done[0] / MANIFEST).read_text())
    assert Experiment.model_validate(manifest["experiment"]) == small()
    assert {"python", "lostsales", "numpy", "scipy"} <= set(manifest["versions"])
    assert len(manifest["scenario_checksum"]) == len(manifest["code_checksum"]) == 64


def test_code_outside_the_checksum_exists() -> None:
    """A renamed file would enter the checksum unnoticed."""
    assert all((Path(lostsales.__file__).parent / name).exists() for name in READS_RESULTS)


def test_failed_method_is_a_result_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fails(BaseStock):
        def fit(self, log: SalesLog, progress: Progress | None = None) -> ThresholdPolicy:  # noqa: ARG002
            raise ZeroDivisionError(f"{len(log.names)} series\nare not enough")

    monkeypatch.setitem(LEARNERS._registered, "fails", Fails)
    asked = small(methods=("c-fqi", "fails"), runs=2)
    results = ExperimentResults(asked, run_experiment(asked, tmp_path / "experiment", workers=1))
    bad = [each for each in results.finished if each.method == "fails"]
    assert {each.failure for each in bad if each.episodes == 5} == {"ZeroDivisionError: 5 series are not enough"}
    assert all(each.value is None for each in bad)
    assert results.failures["fails", "ZeroDivisionError: 10 series are not enough"] == 4
    rows = summarise_results(results)
    assert [(row.n, row.failed) for row in rows if row.method == "fails"] == [(0, 2)] * 4
    assert [(row.n, row.failed) for row in rows if row.method == "c-fqi"] == [(2, 0)] * 4
    write_tables(results, rows, check_claims(results), tmp_path)
    assert np.isnan(pd.read_parquet(tmp_path / "results.parquet")["value"]).sum() == len(bad)


def test_ctrl_c_reports_how_to_resume(tmp_path: Path) -> None:
    def interrupt(done: int, _: int) -> None:
        if done == 7:  # raised here, as a background run may ignore the signal
            raise KeyboardInterrupt

    with pytest.raises(LostSalesError, match="stopped with 7 of 28 cells done; the same command goes on from there"):
        run_experiment(small(), tmp_path / "experiment", workers=1, progress=interrupt)
    assert len(lines_of(tmp_path / "experiment")) == 7


def test_levels_are_nested_and_seeds_do_not_depend_on_the_rest() -> None:
    asked, other = small(), small(levels=(10, 20, 40), runs=9, methods=("fusion",))
    for behaviour in BEHAVIOURS:
        assert asked.log_seed(behaviour, 1) == other.log_seed(behaviour, 1) != asked.log_seed(behaviour, 0)
    assert asked.test_seed(1) == other.test_seed(1)
    assert asked.episodes == other.episodes == 50
    assert len({asked.log_seed("uniform", 0), asked.fit_seed("uniform", 0), asked.test_seed(0)}) == 3
    log, _ = simulate(asked.scenario, episodes=6)
    first = series_of(log, np.arange(2))
    assert (len(first), first.names.tolist()) == (24, log.names[:2].tolist())
    for column in ("series", "period", "features", "price", "sales", "stock", "order", "stockout"):
        np.testing.assert_array_equal(getattr(first, column), getattr(log, column)[:24])
    for column in ("last_sales", "last_stockout"):
        np.testing.assert_array_equal(getattr(first, column), getattr(log, column)[:2])


def test_cell_result_does_not_depend_on_other_cells(done: tuple[Path, list[CellResult]]) -> None:
    folder, finished = done
    last = finished[-1]
    assert without_times([run_cell(folder, last.cell)]) == without_times([last])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"levels": (10, 5)}, "levels must rise"),
        ({"levels": (0, 5)}, "levels"),
        ({"methods": ("c-fqi", "c-fqi")}, "methods must be named once each"),
        ({"runs": 0}, "runs"),
    ],
)
def test_settings_out_of_range_are_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        small(**changes)


def test_unknown_method_creates_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no method 'magic'; there are planner, c-fqi"):
        run_experiment(small(methods=("magic",)), tmp_path / "experiment", workers=1)
    with pytest.raises(SettingError, match="workers must be at least 1"):
        run_experiment(small(), tmp_path / "experiment", workers=0)
    assert not (tmp_path / "experiment").exists()


def test_experiment_writes_the_tables_of_the_same_cells(done: tuple[Path, list[CellResult]]) -> None:
    folder, finished = done
    asked = small()
    keys = asked.model_dump(include={"levels", "runs", "methods", "iterations", "test_episodes"})
    found = experiment(TINY, folder, **keys, workers=1)
    assert (found.experiment, found.finished) == (asked, finished)
    assert pd.read_parquet(folder / "results.parquet")["value"].tolist() == [each.value for each in finished]
    assert {"summary.csv", "claims.csv", "times.csv"} <= {path.name for path in folder.iterdir()}
