"""`python -m benchmarks [NAME ...]`: run every `benchmarks/bench_NAME.py` and print one table.

A benchmark file has a function `run() -> list[Row]`. One that takes minutes is called `slow_NAME.py` and runs only
where it is named.
"""

import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.rows import Row


def main() -> None:
    files = {kind: sorted(Path(__file__).parent.glob(f"{kind}_*.py")) for kind in ("bench", "slow")}
    known = {file.stem.removeprefix(f"{kind}_"): file.stem for kind, each in files.items() for file in each}
    chosen = sys.argv[1:] or [name for name, stem in known.items() if stem.startswith("bench_")]
    if unknown := sorted(set(chosen) - set(known)):
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    table = Table("what", "ours", "peer", "ratio", "wanted", "")
    for name in chosen:
        rows: list[Row] = import_module(f"benchmarks.{known[name]}").run()
        for row in rows:
            mark = "reached" if row.reached else "[red]missed"
            table.add_row(f"{name}: {row.what}", row.ours, row.peer, f"{row.ratio:.2f}", row.wanted, mark)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
