"""`python -m benchmarks.experiments [NAME ...]`: run experiments in full, and print their tables of docs/results.

Without a name all of them, one after the other; finished cells are not repeated, so that the same call resumes. Tables,
pictures and manifest take the place of those in docs/results/NAME. `behaviours` needs the policy that
`make ppo` writes to build/ppo.
"""

import csv
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.markdown import ROOT, markdown_table, results_folder

EXPERIMENTS = {
    "released": "released",
    "appendix": "appendix",
    "steady": "steady",
    # To the letter next to our defaults: 50 runs, the paper's learners at ten levels, the others at three.
    **{
        f"faithful-{name}": f"{name} --behaviours {behaviours} --methods c-fqi,pc-fqi,fusion,"
        "c-fqi-default,pc-fqi-default,fusion-default,fqi-imputed,fqi-plugin"
        for name, behaviours in {
            "released": "uniform,near-optimal,softmax",
            "steady": "uniform,near-optimal",
            "appendix": "uniform,near-optimal",
        }.items()
    },
    "behaviours": "released --behaviours pi-star,softmax,ppo --ppo build/ppo --levels 10,50 "
    "--methods c-fqi,pc-fqi,fusion,c-fqi-default,pc-fqi-default,fusion-default",
}
KEPT = (".csv", ".md", ".png", ".parquet", "manifest.json")
METHODS = {
    "c-fqi": "C-FQI",
    "pc-fqi": "PC-FQI",
    "fusion": "fusion",
    "c-fqi-default": "C-FQI with our defaults",
    "pc-fqi-default": "PC-FQI with our defaults",
    "fusion-default": "fusion with our defaults",
    "planner": "planner",
    "fqi-imputed": "FQI, one Q-function, imputed profit",
    "fqi-plugin": "FQI, one Q-function, imputed demand",
    "fqi-observed": "FQI, stock-outs taken for demand",
    "fqi-dropped": "FQI without stock-outs",
    "behaviour": "behaviour, cloned",
    "s-S-p": "(s, S, p)",
    "base-stock": "base-stock",
    "newsvendor": "newsvendor",
}


def run(name: str) -> Path:
    """Run or resume an experiment, and return its folder in docs/results."""
    done, kept = results_folder(name), ROOT / "docs" / "results" / name
    command = [sys.executable, "-m", "lostsales", "experiment", *shlex.split(EXPERIMENTS[name]), "--out", str(done)]
    subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=True)  # noqa: S603
    kept.mkdir(exist_ok=True)
    for path in done.iterdir():
        if path.name.endswith(KEPT):
            shutil.copyfile(path, kept / path.name)
    return kept


def distribution(folder: Path) -> str:
    """Mean, median and least over runs of C-FQI, PC-FQI and fusion, to the letter and with our defaults."""
    with (folder / "summary.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["behaviour"] != "reference"]
    columns = list(dict.fromkeys((row["behaviour"], row["episodes"]) for row in rows))
    found = {(row["method"], row["behaviour"], row["episodes"]): row for row in rows}
    lines = [
        [METHODS[method], *(_spread(found[method, *column]) for column in columns)]
        for method in dict.fromkeys(row["method"] for row in rows)
    ]
    return markdown_table(
        ["mean (median, least)", *(f"{name}, {episodes} episodes" for name, episodes in columns)], lines
    )


def _spread(row: dict[str, str]) -> str:
    return f"{float(row['mean']):.1f} ({float(row['median']):.1f}, {float(row['least']):.1f})"


def verdicts(folders: dict[str, Path]) -> str:
    """Every claim by experiment and behaviour: its verdict, and the mean difference."""
    found: dict[tuple[str, str, str], str] = {}
    columns: list[tuple[str, str]] = []
    for name, folder in folders.items():
        with (folder / "claims.csv").open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if int(row["n"])]
        behaviours = list(dict.fromkeys(row["behaviour"] for row in rows if row["behaviour"] != "any"))
        columns += [(name, each) for each in behaviours]
        for row in rows:
            for each in behaviours if row["behaviour"] == "any" else (row["behaviour"],):
                found[row["claim"], name, each] = f"{row['verdict']}, {float(row['mean']):.1f}"
    claims = list(dict.fromkeys(claim for claim, *_ in found))
    lines = [[claim, *(found.get((claim, *column), "") for column in columns)] for claim in claims]
    return markdown_table(["claim", *(f"`{name.removeprefix('faithful-')}`, {each}" for name, each in columns)], lines)


if __name__ == "__main__":
    done = {name: run(name) for name in sys.argv[1:] or EXPERIMENTS}
    print(verdicts(done))
    for name, folder in done.items():
        print("\n\n".join([name, distribution(folder)]))
