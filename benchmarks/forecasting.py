"""`python -m benchmarks.forecasting DATA [--peers FILE]`: forecasts of real weekly sales, three weeks ahead.

DATA is a folder with `vn2_history.parquet`, the history of the VN2 inventory planning challenge (not part of the
project): store, product, week, sales, in_stock. From each of the last 50 origins the demand of week t + 3 is forecast
from the weeks to t; the pinball loss at level 0.833 is taken over weeks in stock. Whatever is chosen is chosen by
`lostsales.forecast` itself, from weeks to t. `--peers` has the quantiles that `peers/forecasters.py` wrote.
"""

import argparse
import time
from pathlib import Path

import duckdb
import numpy as np

from lostsales.data.problem import Columns, Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.forecast import forecast
from lostsales.types import Array, Floats

LEVEL, AHEAD, ORIGINS = 0.833, 3, 50
COLUMNS = Columns(series=("store", "product"), period="week", in_stock="in_stock")


def pinball(demand: Array, quantile: Array) -> Floats:
    """The loss of a quantile, (rows,)."""
    error = demand - quantile
    return np.maximum(LEVEL * error, (LEVEL - 1) * error)


def columns_of(found: duckdb.DuckDBPyConnection) -> dict[str, Array]:
    """The columns of a result."""
    return {name: np.asarray(values) for name, values in found.fetchnumpy().items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--origins", type=int, default=ORIGINS)
    parser.add_argument("--peers", type=Path)
    asked = parser.parse_args()
    connection = duckdb.connect()
    path = asked.data / "vn2_history.parquet"
    connection.execute(f"CREATE TABLE history AS FROM '{path}' ORDER BY store, product, week")
    weeks = [each for (each,) in connection.execute("SELECT DISTINCT week FROM history ORDER BY week").fetchall()]
    losses: dict[str, list[Floats]] = {}
    began = time.process_time()
    for origin in range(len(weeks) - AHEAD - asked.origins, len(weeks) - AHEAD):
        known = connection.execute("FROM history WHERE week <= ?", [weeks[origin]]).df()
        log = read_log(known, Problem(columns=COLUMNS), sales_only=True)
        found = forecast(log, AHEAD, (100 * LEVEL,)).quantiles[100 * LEVEL].reshape(-1, AHEAD)[:, -1]
        target = "SELECT sales, in_stock FROM history WHERE week = ? ORDER BY store, product"
        later = columns_of(connection.execute(target, [weeks[origin + AHEAD]]))
        seen = later["in_stock"]
        losses.setdefault("lostsales forecast", []).append(pinball(later["sales"], found)[seen])
        if asked.peers is not None:
            peers = (
                f"SELECT * EXCLUDE (store, product, week) FROM '{asked.peers}' WHERE week = ? ORDER BY store, product"
            )
            for name, quantile in columns_of(connection.execute(peers, [weeks[origin + AHEAD]])).items():
                losses.setdefault(name, []).append(pinball(later["sales"], quantile)[seen])
        so_far = ", ".join(f"{name} {np.concatenate(each).mean():.4f}" for name, each in losses.items())
        print(f"{weeks[origin]:%Y-%m-%d}: {so_far} ({time.process_time() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
