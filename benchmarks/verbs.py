"""Time and memory of every command by the size of its log, beside what a user would run otherwise.

`python -m benchmarks.verbs [--shapes 1000x20,10000x200,...] [--limit SECONDS]` prints a Markdown table. Every figure is
one process from its start, in seconds of the processor (which other work on the machine moves little) with its peak
memory; peers run right after the command they stand beside. A run that was stopped resumes at the same commit.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.markdown import markdown_table, results_folder
from lostsales.data.parallel import worker_pool
from lostsales.data.writing import write_table
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

SHAPES = "1000x20,10000x200,100000x2000,100000x1,1000000x20000,10000000x100000"  # rows x series of `steady`
# Seconds of the processor after which a command is stopped. Nor is it tried on a log that would take longer if time
# grew as between the two largest logs before it, as the square root of the rows at least.
LIMIT = 600
COMMANDS: dict[str, tuple[str, ...]] = {
    "simulate": ("simulate", "steady", "--episodes", "SERIES", "--set", "horizon=PERIODS", "--out", "drawn.parquet"),
    "init": ("init", "log.parquet", "--out", "proposed.toml", "--force"),
    "inspect": ("inspect", "log.parquet"),
    "audit": ("audit", "log.parquet"),
    "impute": ("impute", "log.parquet", "--out", "filled.parquet"),
    "demand": ("demand", "log.parquet"),
    "forecast": ("forecast", "log.parquet", "--horizon", "7", "--out", "forecast.parquet"),
    "fit planner": ("fit", "log.parquet", "--method", "planner", "--out", "planner"),
    "recommend": ("recommend", "planner", "--today", "today.parquet", "--recent", "log.parquet", "--out", "do.parquet"),
    "fit c-fqi": ("fit", "log.parquet", "--method", "c-fqi", "--out", "cfqi"),
    "evaluate": ("evaluate", "planner", "log.parquet"),
    "compare": ("compare", "log.parquet", "--methods", "planner,base-stock", "--out", "best"),
    "backtest": ("backtest", "log.parquet"),
    "report": ("report", "planner", "log.parquet", "--out", "report.html"),
    "pilot": ("pilot", "log.parquet", "--policy", "planner", "--out", "pilot.json"),
}
ASK_A_POLICY = {"recommend", "evaluate", "report", "pilot"}


PEERS = {  # functions of `benchmarks.verb_peers`, as the table names them
    "cox_regression": "peer: Cox regression of lifelines",
    "statsforecast_then_base_stock": "peer: AutoETS of statsforecast and a safety stock",
    "discrete_cql": "peer: DiscreteCQL of d3rlpy, 5,000 steps",
    "kernel_ridge_q": "peer: FQI with kernel ridge of scikit-learn",
    "extra_trees_q": "peer: FQI with extra trees of scikit-learn",
}


@dataclass(frozen=True)
class Run:
    """One process: seconds of the processor and GiB at its peak, or why there are none."""

    name: str
    rows: int
    series: int
    seconds: float | None
    gibibytes: float | None
    ended: str = ""  # why it has no figures

    @property
    def text(self) -> str:
        """Text of a cell of the table."""
        return self.ended or f"{self.seconds:,.1f} s, {self.gibibytes:.1f} GiB"


@dataclass(frozen=True)
class Peer:
    """A peer: a function of `benchmarks.verb_peers`, and the largest log it is given."""

    beside: str  # the command
    function: str
    most: int
    python: Path = Path(sys.executable)


def peers(root: Path) -> list[Peer]:
    """Peers whose environment is there."""
    found = [
        Peer("fit c-fqi", "kernel_ridge_q", 10_000),
        Peer("fit c-fqi", "extra_trees_q", 100_000),
        Peer("impute", "cox_regression", 1_000_000, root / ".venv-studies/bin/python"),
        Peer("forecast", "statsforecast_then_base_stock", 1_000_000, root / ".venv-peers/bin/python"),
        Peer("fit planner", "discrete_cql", 1_000_000, root / ".venv-peers/bin/python"),
    ]
    return [each for each in found if each.python.exists()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--limit", type=int, default=LIMIT)
    given = parser.parse_args()
    shapes = [(int(rows), int(series)) for rows, series in (each.split("x") for each in given.shapes.split(","))]
    journal = results_folder("verbs") / "runs.jsonl"
    journal.parent.mkdir(parents=True, exist_ok=True)
    journal.touch()
    runs = [Run(**json.loads(line)) for line in journal.read_text().splitlines()]
    for shape in shapes:
        with TemporaryDirectory() as name:
            for run in measured(Path(name) / "shop", shape, runs, given.limit):
                runs.append(run)
                with journal.open("a") as file:
                    file.write(json.dumps(asdict(run)) + "\n")
                sys.stderr.write(f"{run.name}, {run.rows:,} rows: {run.text}\n")
    print(table(runs, shapes))


def measured(folder: Path, shape: tuple[int, int], runs: list[Run], limit: int) -> Iterator[Run]:
    """Every command and its peers on a log of one shape, but for those in `runs`."""
    rows, series = shape
    root = Path(__file__).parent.parent
    starts: dict[str, Callable[[], subprocess.Popen[bytes]]] = {}
    for command, arguments in COMMANDS.items():
        sizes = {"SERIES": str(series), "horizon=PERIODS": f"horizon={rows // series}"}
        starts[command] = own_command(tuple(sizes.get(each, each) for each in arguments), folder)
        for peer in peers(root):
            if peer.beside == command and rows <= peer.most and series > 1:
                starts[peer.function] = peer_command(peer, folder)
    known = {each.name for each in runs if (each.rows, each.series) == shape}
    missing = [name for name in starts if name not in known]
    if not missing:
        return
    with worker_pool(1) as pool:  # Linux counts the memory of this process for those that it starts
        pool.submit(write_log, folder, rows, series).result()
    if ASK_A_POLICY & set(missing) and "fit planner" not in missing:
        starts["fit planner"]().wait()  # the policy that is asked or judged
    for name in missing:
        if takes_longer([each for each in runs if each.name == name and each.series > 1], rows, limit):
            yield Run(name, rows, series, None, None, "not tried")
        else:
            yield waited(name, shape, starts[name](), limit)


def takes_longer(runs: list[Run], rows: int, limit: int) -> bool:
    """True if a log of so many rows would take longer than the limit, by what smaller ones took."""
    smaller = sorted((each for each in runs if each.rows < rows), key=lambda each: each.rows)
    done = [(each.rows, each.seconds) for each in smaller if each.seconds is not None]
    if len(done) < len(smaller):
        return True  # one of them ended early
    if len(done) < 2:
        return False
    (few, short), (many, long) = done[-2:]
    growth = np.log(long / short) / np.log(many / few)
    return bool(long * (rows / many) ** max(growth, 0.5) > limit)


def waited(name: str, shape: tuple[int, int], process: "subprocess.Popen[bytes]", limit: int) -> Run:
    """Wait for a process, at most `limit` seconds of its own."""
    with suppress(OSError):
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit, limit))
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:  # below 0 where the limit ended it
        return Run(name, *shape, None, None, f"over {limit} s" if process.returncode < 0 else "refused")
    return Run(name, *shape, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20)


def own_command(arguments: tuple[str, ...], folder: Path) -> Callable[[], "subprocess.Popen[bytes]"]:
    command = str(Path(sys.executable).with_name("lostsales"))
    return lambda: subprocess.Popen([command, *arguments], cwd=folder, stdout=subprocess.DEVNULL)  # noqa: S603


def peer_command(peer: Peer, folder: Path) -> Callable[[], "subprocess.Popen[bytes]"]:
    script = Path(__file__).with_name("verb_peers.py")
    return lambda: subprocess.Popen([str(peer.python), str(script), peer.function], cwd=folder)  # noqa: S603


def write_log(folder: Path, rows: int, series: int) -> None:
    """A log of `steady`, its problem, and one open row a series."""
    folder.mkdir(parents=True)
    log, _ = simulate(Scenario.load("steady", (f"horizon={rows // series}",)), episodes=series, seed=1)
    columns = {"series": log.names[log.series], "period": log.period}
    columns |= {each.name: log.features[:, at] for at, each in enumerate(log.problem.features)}
    columns |= {name: getattr(log, name) for name in ("stock", "price", "order", "sales", "stockout")}
    for name in ("log.parquet", "log.csv"):  # the second for peers without a reader of Parquet
        write_table(columns, folder / name)
    (folder / "log.toml").write_text(log.problem.to_toml())
    last = np.r_[log.starts[1:], len(log)] - 1
    today = {
        name: values[last] for name, values in columns.items() if name not in ("price", "order", "sales", "stockout")
    }
    today["period"] = today["period"] + 1
    write_table(today, folder / "today.parquet")


def table(runs: list[Run], shapes: list[tuple[int, int]]) -> str:
    """A row a command or peer, a column a shape, and the growth between the two largest logs that it did."""
    found = {(each.name, each.rows, each.series): each for each in runs}
    lines = []
    for name in dict.fromkeys(each.name for each in runs):
        own = [found.get((name, *shape)) for shape in shapes]
        done = {each.rows: each.seconds for each in own if each and each.seconds is not None and each.series > 1}
        growth = "-"
        if len(done) > 1:
            (few, short), (many, long) = sorted(done.items())[-2:]
            growth = f"rows^{np.log(long / short) / np.log(many / few):.2f}"
        lines.append([PEERS.get(name, name), *(each.text if each else "-" for each in own), growth])
    return markdown_table(["", *(f"{rows:,} rows, {series:,} series" for rows, series in shapes), "growth"], lines)


if __name__ == "__main__":
    main()
