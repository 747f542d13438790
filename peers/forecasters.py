"""`python peers/forecasters.py DATA OUT`: quantiles of a forecasting library for `benchmarks/forecasting.py`.

Runs in the environment of the peers. AutoETS has its own intervals, Croston's method conformal ones; both are given
the weeks in stock of each series up to the origin, one after the other.
"""

import argparse
from pathlib import Path

import pandas as pd
from statsforecast import StatsForecast
from statsforecast.models import AutoETS, CrostonOptimized
from statsforecast.utils import ConformalIntervals

LEVEL, AHEAD, ORIGINS, WINDOWS = 0.833, 3, 50, 20


def main() -> None:
    """Forecast from every origin and write the upper ends of central intervals, which are the quantiles."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    asked = parser.parse_args()
    history = pd.read_parquet(asked.data / "vn2_history.parquet")
    history["unique_id"] = history["store"].astype(str) + "/" + history["product"].astype(str)
    weeks = sorted(history["week"].unique())
    central = round(100 * (2 * LEVEL - 1), 1)
    rows = []
    for origin in range(len(weeks) - AHEAD - ORIGINS, len(weeks) - AHEAD):
        known = history[(history["week"] <= weeks[origin]) & history["in_stock"]].sort_values(["unique_id", "week"])
        table = pd.DataFrame(
            {"unique_id": known["unique_id"], "ds": known.groupby("unique_id").cumcount(), "y": known["sales"]}
        )
        conformal = ConformalIntervals(h=AHEAD, n_windows=WINDOWS)
        models = [AutoETS(season_length=1), CrostonOptimized(prediction_intervals=conformal)]
        found = StatsForecast(models=models, freq=1).forecast(df=table, h=AHEAD, level=[central])
        last = found.groupby("unique_id").tail(1).set_index("unique_id")
        upper = {model: last[f"{model}-hi-{central:g}"] for model in ("AutoETS", "CrostonOptimized")}
        rows.append(pd.DataFrame(upper).assign(week=weeks[origin + AHEAD]).reset_index())
        print(weeks[origin], flush=True)
    keys = pd.concat(rows, ignore_index=True)
    named = keys["unique_id"].str.split("/", expand=True).astype("int64")
    keys.drop(columns="unique_id").assign(store=named[0], product=named[1]).to_parquet(asked.out)


if __name__ == "__main__":
    main()
