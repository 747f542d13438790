"""Made-up files in the layouts of the publishers."""

from pathlib import Path

import numpy as np
import pandas as pd

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 114\n"


def inventorybench_folder(home: Path, periods: int = 6) -> Path:
    """One instance of each kind and lead time."""
    rng = np.random.default_rng(0)
    for kind in ("real", "synthetic"):
        for lead in ("0", "4", "stochastic"):
            at = home / "benchmark" / f"{kind}_trajectory" / f"lead_time_{lead}" / "a" / "r1"
            at.mkdir(parents=True)
            times = ["1", "2", "inf", "3", "1", "2"][:periods] if lead == "stochastic" else [lead] * periods
            test = {"exact_dates_x": range(periods), "demand_x": rng.poisson(20, periods), "lead_time_x": times}
            pd.DataFrame(test | {"profit_x": 4.0, "holding_cost_x": 1.0}).to_csv(at / "test.csv", index=False)
            train = {"exact_dates_x": range(5), "demand_x": rng.poisson(20, 5)}
            pd.DataFrame(train).to_csv(at / "train.csv", index=False)
    return home


def vn2_folder(home: Path, weeks: int = 75, series: int = 8) -> Path:
    """History, state and the eight official weeks."""
    rng = np.random.default_rng(1)
    keys = pd.DataFrame({"Store": 1, "Product": range(series)})
    dates = [str(each.date()) for each in pd.date_range("2022-11-07", periods=weeks + 8, freq="7D")]
    sales = pd.DataFrame(rng.poisson(3.0, (series, weeks + 8)), columns=dates)
    in_stock = pd.DataFrame(rng.random((series, weeks)) > 0.05, columns=dates[:weeks])
    home.mkdir(exist_ok=True)
    for week in range(9):
        shown = pd.concat([keys, sales[dates[: weeks + week]]], axis=1)
        shown.to_csv(home / f"Week {week} - {dates[weeks + week - 1]} - Sales.csv", index=False)
    pd.concat([keys, in_stock], axis=1).to_csv(home / "Week 0 - In Stock.csv", index=False)
    state = keys.assign(**{"End Inventory": 4, "In Transit W+1": 3, "In Transit W+2": 3})
    state.to_csv(home / f"Week 0 - {dates[weeks - 1]} - Initial State.csv", index=False)
    return home


def freshretail_file(path: Path, series: int = 8, days: int = 60) -> Path:
    """Independent demand by the hour; on a third of the days the product is sold out from some hour to close."""
    rng = np.random.default_rng(2)
    count = series * days
    hourly = rng.poisson(np.repeat(rng.uniform(0.2, 0.6, series), days)[:, None], (count, 24)) * (np.arange(24) >= 6)
    from_hour = np.where(rng.random(count) < 1 / 3, rng.integers(9, 21, count), 24)[:, None]
    out = np.arange(24) >= from_hour
    sold = np.where(out, 0, hourly).astype(float)
    table = {
        "store_id": 1,
        "product_id": np.repeat(np.arange(series), days),
        "dt": [str(each.date()) for each in pd.date_range("2024-03-28", periods=days)] * series,
        "sale_amount": sold.sum(axis=1),
        "hours_sale": list(sold),
        "stock_hour6_22_cnt": out[:, 6:22].sum(axis=1),
        "hours_stock_status": list(out.astype(int)),
        "discount": 1.0,
        "activity_flag": 0,
        "holiday_flag": 0,
    }
    weather = dict.fromkeys(("precpt", "avg_temperature", "avg_humidity", "avg_wind_level"), 1.0)
    pd.DataFrame(table | weather).to_parquet(path)
    return path
