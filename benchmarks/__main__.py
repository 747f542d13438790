"""`python -m benchmarks [NAME ...]`: run every `benchmarks/bench_NAME.py` and print one table, in Markdown to a file.

A benchmark file has a function `run() -> list[Row]`. One that takes minutes is called `slow_NAME.py` and runs only
where it is named.
"""

import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.markdown import markdown_table
from benchmarks.rows import Row

HEAD = ("what", "ours", "peer", "ratio", "wanted", "")


def main() -> None:
    files = {kind: sorted(Path(__file__).parent.glob(f"{kind}_*.py")) for kind in ("bench", "slow")}
    known = {file.stem.removeprefix(f"{kind}_"): file.stem for kind, each in files.items() for file in each}
    chosen = sys.argv[1:] or [name for name, stem in known.items() if stem.startswith("bench_")]
    if unknown := sorted(set(chosen) - set(known)):
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    lines: list[list[str]] = []
    for name in chosen:
        rows: list[Row] = import_module(f"benchmarks.{known[name]}").run()
        whose = "" if len(chosen) == 1 else f"{name}: "
        lines += [[f"{whose}{row.what}", row.ours, row.peer, f"{row.ratio:.2f}", row.wanted, row.mark] for row in rows]
    if sys.stdout.isatty():
        table = Table(*HEAD)
        for line in lines:
            table.add_row(*line, style="red" if line[-1] == "missed" else "")
        Console().print(table)
    else:
        print(markdown_table(HEAD, lines))


if __name__ == "__main__":
    main()
