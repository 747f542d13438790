"""`python -m benchmarks.partly_available DATA [--seeds N]`: demand of days that were cut, recovered from real sales.

DATA is a folder with `frn_demo.parquet`, or the path of FreshRetailNet-50K itself (not part of the project). A fifth of
the days without a stock-out is cut at the hours of real stock-outs of other days, as in `examples/freshretail.py`, and
filled in by `impute` from all days, real stock-outs as well.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from examples.freshretail import SHARE, cut_at_hours, fill, read_days, scalings


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--series", type=int, default=10**9)
    asked = parser.parse_args()
    days = read_days(asked.data / "frn_demo.parquet" if asked.data.is_dir() else asked.data, asked.series)
    for seed in range(asked.seeds):
        rng = np.random.default_rng(seed)
        clean = np.flatnonzero(days.clean)
        cut = cut_at_hours(days, np.sort(rng.choice(clean, int(SHARE * len(clean)), replace=False)), rng)
        learned = days.clean.copy()
        learned[cut.rows] = False
        ways = {"sales are demand": cut.sales} | scalings(days, cut, learned)
        ways["impute, all days"] = fill(days, cut, np.ones_like(learned))[0]
        for what, filled in ways.items():
            error = filled - days.sales[cut.rows]
            bias = error.mean() / days.sales[cut.rows].mean()
            print(f"seed {seed}, {what}: bias {bias:+.1%}, mean absolute error {np.abs(error).mean():.3f}", flush=True)


if __name__ == "__main__":
    main()
