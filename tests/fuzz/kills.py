"""Writing commands killed at random moments: nothing half-written, no input changed, nothing left by the next run.

    python -m tests.fuzz.kills --cases 100 --seed 7

Commands run in forks of a process that has imported everything, so that most kills meet their work and not the start of
the interpreter; this process itself opens no table, and so has no threads when it forks.
"""

import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import chdir, suppress
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numba
import numpy as np
import pandas as pd

import lostsales
from lostsales.apps.cli import COMMANDS
from lostsales.apps.cli import main as lostsales_main
from lostsales.apps.fleet.store import Store
from lostsales.evaluation.pilot.plan import Pilot
from tests.fuzz.running import main, new_folder

IMPORTED = duckdb, numba, COMMANDS  # once, before the forks

EXPERIMENT = "--levels 5 --runs 1 --methods newsvendor,base-stock --workers 1 --test-episodes 5 --out folder"
WRITING = {
    "simulate": "simulate newsvendor --episodes 300 --out log.csv --truth truth.csv",
    "simulate parquet": "simulate newsvendor --episodes 300 --out log.parquet --truth truth.parquet",
    "init": "init small.csv --out proposed.toml --force",
    "inspect": "inspect bad.csv --problem small.toml --drop-bad-rows",
    "impute": "impute small.csv --replicates 2 --out filled.csv",
    "fit": "fit small.csv --method base-stock --out policy",
    "recommend": "recommend rule --today today.csv --out answer.csv",
    "compare": "compare small.csv --methods newsvendor --estimator fqe --quick --rows 300 --out chosen",
    "report": "report rule small.csv --methods= --horizon 5 --windows 0 --out page.html",
    "solve": "solve newsvendor --target oracle --horizon 5 --out oracle",
    "calibrate": "calibrate newsvendor --series 5 --replications 3 --estimator fqe --out study.jsonl",
    "experiment": f"experiment newsvendor {EXPERIMENT}",
    "forecast": "forecast small.csv --horizon 3 --out forecast.csv",
    "pilot": "pilot past.csv --problem small.toml --policy rule --out pilot.json",
    "monitor": "monitor started.json small.csv --out monitor.html",
    "fleet fit": "fleet fit small.csv --problem small.toml --method newsvendor --shard-size 3 --workers 1 --out store",
    "fleet recommend": "fleet recommend fleet --today today.csv --workers 1 --out decided.csv",
    "fleet report": "fleet report fleet --quick --workers 1 --out fleet.html",
}
OTHER_SEED = ("simulate", "simulate parquet", "fit", "impute")
INPUTS = ("small.csv", "small.toml", "bad.csv", "rule", "today.csv", "past.csv", "started.json")
STORE = "fleet"  # an input whose ledger may grow
LEFT = ".lostsales-*"


def kill_case(seed: int, number: int, folder: Path) -> str:
    """Kill one command, look at everything there is, then run it to its end."""
    rng = np.random.default_rng([seed, number])
    name = list(WRITING)[number % len(WRITING)]
    ready, seconds = prepared(name)
    shutil.copytree(ready, folder, dirs_exist_ok=True)
    if rng.random() < 0.3:  # else the outputs of an earlier run are there
        for path in ready.iterdir():
            if path.name not in (*INPUTS, STORE):
                shutil.rmtree(folder / path.name) if path.is_dir() else (folder / path.name).unlink()
    more = ("--seed", str(number)) if name in OTHER_SEED else ()
    command = [*WRITING[name].split(), *more]
    process = forked(lambda: run(command, folder))
    time.sleep(seconds * rng.uniform(0.0, 1.1))
    os.killpg(process, signal.SIGKILL)
    was_killed = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
    succeed(lambda: check_whole(folder), f"{name}: after the kill")
    for each in INPUTS:
        assert (folder / each).read_bytes() == (ready / each).read_bytes(), f"{name} changed {each}"
    succeed(lambda: run(command, folder), f"{name}: run again")
    succeed(lambda: check_whole(folder), f"{name}: run again")
    left = [str(path.relative_to(folder)) for path in folder.rglob(LEFT)]
    assert not left, f"{name} left {left}"
    return "killed" if was_killed else "ended before"


@cache
def inputs() -> Path:
    """A folder with one of every input."""
    folder = new_folder()
    succeed(lambda: make_inputs(folder), "the inputs")
    return folder


def make_inputs(folder: Path) -> None:
    """One of every input."""
    from lostsales.data.writing import write_log

    log, _ = lostsales.simulate("newsvendor", episodes=8, seed=1)
    write_log(log, folder / "small.csv")
    lostsales.fit(log, "newsvendor").save(folder / "rule")
    (folder / "today.csv").write_text("series,period,stock\n0,99,3\n")
    text = (folder / "small.csv").read_text()
    (folder / "bad.csv").write_text(text + text.splitlines()[1] + "\n")
    table = pd.read_csv(folder / "small.csv")
    table[table["period"] < 30].to_csv(folder / "past.csv", index=False)
    past = lostsales.read_log(folder / "past.csv", log.problem)
    lostsales.pilot(past, lostsales.load(folder / "rule"), seed=1).save(folder / "started.json")
    (folder / "started.schedule.csv").unlink()
    with chdir(folder), suppress(SystemExit):
        run(WRITING["fleet fit"].replace("--out store", f"--out {STORE}").split(), folder)


@cache
def prepared(name: str) -> tuple[Path, float]:
    """The folder after a command has ended in it, and how long that took, the second time."""
    folder = new_folder()
    shutil.copytree(inputs(), folder, dirs_exist_ok=True)
    succeed(lambda: run(WRITING[name].split(), folder), name)
    began = time.monotonic()
    again = new_folder()
    shutil.copytree(inputs(), again, dirs_exist_ok=True)
    succeed(lambda: run(WRITING[name].split(), again), name)
    return folder, time.monotonic() - began


def run(arguments: list[str], folder: Path) -> None:
    """The command line in a folder."""
    os.chdir(folder)
    sys.argv = ["lostsales", *arguments]
    lostsales_main()


def forked(work: Callable[[], Any], told: int | None = None) -> int:
    """A process, the first of its group, that works and ends; what it raises goes to the pipe `told`."""
    process = os.fork()
    if process:
        os.setpgid(process, process)
        return process
    os.setpgid(0, 0)
    code = 0
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        work()
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001, told to the parent
        code = 1
        if told is not None:
            os.write(told, traceback.format_exc()[-3000:].encode(errors="replace"))
    os._exit(code)


def succeed(work: Callable[[], Any], what: str) -> None:
    """Work in a fork that must end well."""
    ours, theirs = os.pipe()
    process = forked(work, theirs)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        message = pipe.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code == 0, f"{what}: ended with {code}\n{message}"


def check_whole(folder: Path) -> None:
    """Everything there is of the outputs is whole, and what belongs together is of one run."""
    for name in ("policy", "oracle", "chosen"):
        if (folder / name).exists():
            lostsales.load(folder / name)
    for name in ("store", STORE):
        if (folder / name / "current").exists():
            version = Store.at(folder / name).version()
            assert version.is_finished
            entries = version.entries()
            assert set(entries) == set(version.shards)
            assert all(map(version.is_whole, entries.values()))
    pilot = Pilot.load(folder / "pilot.json") if (folder / "pilot.json").exists() else None
    if (folder / "pilot.schedule.csv").exists():
        assert pilot is not None
        assert set(pd.read_csv(folder / "pilot.schedule.csv", dtype=str)["series"]) == set(pilot.names)
    for ending in ("csv", "parquet"):
        if (folder / f"log.{ending}").exists():
            log = lostsales.read_log(folder / f"log.{ending}")
            assert "written with it by lostsales" in (folder / "log.toml").read_text()
            path = folder / f"truth.{ending}"
            truth = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
            np.testing.assert_allclose(truth.iloc[:, 2] - truth.iloc[:, 3], log.sales)
    for name, rows in (
        ("filled.csv", 400),
        ("answer.csv", 1),
        ("bad.dropped.csv", 1),
        ("forecast.csv", 24),
        ("decided.csv", 1),
    ):
        if (folder / name).exists():
            assert len(pd.read_csv(folder / name)) == rows, name
    for name in ("page.html", "monitor.html", "fleet.html"):
        if (folder / name).exists():
            assert (folder / name).read_text().rstrip().endswith("</html>")
    if (folder / "proposed.toml").exists():
        lostsales.Problem.from_toml(folder / "proposed.toml")
    if (folder / "folder" / "manifest.json").exists():
        json.loads((folder / "folder" / "manifest.json").read_text())
    if (folder / "study.jsonl").exists():
        head, *_ = (folder / "study.jsonl").read_text().split("\n")[:-1]  # an incomplete last line is cut off later
        assert json.loads(head)["run"] == "a calibration study"


if __name__ == "__main__":
    main(kill_case, "tests.fuzz.kills")
