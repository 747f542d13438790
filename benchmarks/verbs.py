"""Time and memory of every command by the size of its log, beside what a user would run otherwise.

`python -m benchmarks.verbs [--sizes 1000,10000,...] [--out FILE]` writes a Markdown table. Every figure is one process
from its start, by the clock, with its peak memory; peers run right after the command they stand beside.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from lostsales.data.writing import write_table
from lostsales.simulation.simulator import simulate

PERIODS = 50  # of a series of `steady`
SIZES = (1_000, 10_000, 100_000, 1_000_000)
LIMIT = 1_800  # seconds, after which a command is stopped, and its larger sizes are not tried
COMMANDS: dict[str, tuple[str, ...]] = {
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
}


@dataclass(frozen=True)
class Run:
    """One process: seconds by the clock and GiB at its peak; None where it failed or was stopped."""

    seconds: float | None
    gibibytes: float | None

    @property
    def text(self) -> str:
        """As a cell of the table."""
        return "-" if self.seconds is None else f"{self.seconds:,.1f} s, {self.gibibytes:.1f} GiB"


@dataclass(frozen=True)
class Peer:
    """What a user would otherwise run: a function of `benchmarks.verb_peers`, and the largest log it is given."""

    beside: str  # the command
    function: str
    most: int
    python: Path = Path(sys.executable)


def peers(root: Path) -> list[Peer]:
    """Those whose environment is there."""
    found = [
        Peer("fit c-fqi", "kernel_ridge_q", 10_000),
        Peer("fit c-fqi", "extra_trees_q", 100_000),
        Peer("impute", "cox_regression", 1_000_000, root / ".venv-survival/bin/python"),
        Peer("forecast", "statsforecast_then_base_stock", 1_000_000, root / ".venv-peers/bin/python"),
        Peer("fit planner", "discrete_cql", 1_000_000, root / ".venv-peers/bin/python"),
    ]
    return [each for each in found if each.python.exists()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    sizes = [int(each) for each in given.sizes.split(",")]
    runs: dict[tuple[str, int], Run] = {}
    root = Path(__file__).parent.parent
    with TemporaryDirectory() as name:
        for size in sizes:
            folder = write_log(Path(name) / str(size), size)
            for command, arguments in COMMANDS.items():
                runs[command, size] = measured(runs, command, size, own_command(arguments, folder))
                for peer in peers(root):
                    if peer.beside == command and size <= peer.most:
                        runs[peer.function, size] = measured(runs, peer.function, size, peer_command(peer, folder))
    text = table(runs, sizes)
    print(text)
    if given.out:
        given.out.write_text(text)


def measured(
    runs: dict[tuple[str, int], Run], name: str, size: int, start: Callable[[], subprocess.Popen[bytes]]
) -> Run:
    """One run, unless a smaller log was too much already."""
    if any(each == name and run.seconds is None for (each, _), run in runs.items()):
        return Run(None, None)
    found = waited(start())
    print(f"{name}, {size:,} rows: {found.text}", file=sys.stderr, flush=True)
    return found


def waited(process: "subprocess.Popen[bytes]") -> Run:
    """Wait for a process, at most LIMIT seconds."""
    began = time.perf_counter()
    while True:
        done, status, used = os.wait4(process.pid, os.WNOHANG)
        seconds = time.perf_counter() - began
        if done:
            process.returncode = os.waitstatus_to_exitcode(status)
            ok = process.returncode == 0
            return Run(seconds, used.ru_maxrss / 2**20) if ok else Run(None, None)
        if seconds > LIMIT:
            process.kill()
        time.sleep(0.01)


def own_command(arguments: tuple[str, ...], folder: Path) -> Callable[[], "subprocess.Popen[bytes]"]:
    command = str(Path(sys.executable).with_name("lostsales"))
    return lambda: subprocess.Popen([command, *arguments], cwd=folder, stdout=subprocess.DEVNULL)  # noqa: S603


def peer_command(peer: Peer, folder: Path) -> Callable[[], "subprocess.Popen[bytes]"]:
    script = Path(__file__).with_name("verb_peers.py")
    return lambda: subprocess.Popen([str(peer.python), str(script), peer.function], cwd=folder)  # noqa: S603


def write_log(folder: Path, rows: int) -> Path:
    """A log of `steady`, its problem, and one open row a series."""
    folder.mkdir(parents=True)
    log, _ = simulate("steady", episodes=rows // PERIODS, seed=1)
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
    return folder


def table(runs: dict[tuple[str, int], Run], sizes: list[int]) -> str:
    """A row a command or peer, a column a size, and the growth from the last but one size to the last."""
    lines = [
        "| | " + " | ".join(f"{size:,} rows" for size in sizes) + " | growth |",
        "|---|" + "---|" * (len(sizes) + 1),
    ]
    for name in dict.fromkeys(name for name, _ in runs):
        own = [runs.get((name, size), Run(None, None)) for size in sizes]
        told = [(size, run.seconds) for size, run in zip(sizes, own, strict=True) if run.seconds is not None]
        growth = "-"
        if len(told) > 1:
            (few, short), (many, long) = told[-2:]
            growth = f"rows^{np.log(long / short) / np.log(many / few):.2f}"
        lines.append(f"| {name} | " + " | ".join(run.text for run in own) + f" | {growth} |")
    return "\n".join(lines) + "\n\n" + json.dumps({"cores": os.cpu_count()}) + "\n"


if __name__ == "__main__":
    main()
