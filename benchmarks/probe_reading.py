"""One reading in a process of its own: `python -m benchmarks.probe_reading raw|log PATH` prints a JSON object.

`raw` lets DuckDB fetch every column into memory with no checks; `log` is `read_log`.
"""

import json
import sys
import time
from pathlib import Path

import duckdb

from lostsales.data.reading import files, gate  # noqa: F401, imported before the baseline


def main() -> None:
    how, path = sys.argv[1:]
    baseline = _peak_bytes()
    began = time.perf_counter()
    found: dict[str, float] = {}
    if how == "raw":
        columns = duckdb.execute(f"FROM '{path}'").fetchnumpy()
        found["table"] = sum(column.nbytes for column in columns.values())
    else:
        found["rows"] = len(gate.read_log(path))
    found["seconds"] = time.perf_counter() - began
    found["peak"] = _peak_bytes() - baseline
    print(json.dumps(found))


def _peak_bytes() -> int:
    """Linux's high-water mark of this process; that of getrusage starts with the parent's."""
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()
