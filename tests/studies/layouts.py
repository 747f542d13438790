"""Made-up tables in the layouts of the publishers, small enough for tests."""

from pathlib import Path

import numpy as np
import pandas as pd

from lostsales.types import Array


def write_vn2(folder: Path, series: int = 8, weeks: int = 70) -> Path:
    """Weekly sales with flags of stock, as one Parquet file."""
    rng = np.random.default_rng(0)
    demand = rng.poisson(rng.gamma(2.0, 2.0, series)[:, None], (series, weeks))
    in_stock = rng.random((series, weeks)) > 0.1
    return _written(
        folder / "vn2_history.parquet",
        {
            "store": np.repeat(np.arange(series) // 4, weeks),
            "product": np.repeat(np.arange(series), weeks),
            "week": np.tile(pd.date_range("2022-01-03", periods=weeks, freq="7D"), series),
            "sales": np.where(in_stock, demand, demand // 2).ravel().astype(np.float64),
            "in_stock": in_stock.ravel(),
        },
    )


def write_freshretail(folder: Path, series: int = 8, days: int = 60) -> Path:
    """Days with sales and flags of 24 hours, under the published names."""
    rng = np.random.default_rng(1)
    usual = rng.gamma(3.0, 1.0, series)[:, None, None]
    profile = np.r_[np.zeros(6), np.full(16, 1 / 16), 0.0, 0.0]
    price = rng.choice([1.0, 0.8], (series, days), p=[0.7, 0.3])
    hourly = rng.poisson(10 * usual * profile * price[..., None] ** -2) / 10
    is_out = rng.random((series, days)) < 0.3
    out = is_out[..., None] & (np.arange(24) >= rng.integers(12, 22, (series, days))[..., None])
    hourly = np.where(out, 0.0, hourly)
    return _written(
        folder / "train.parquet",
        {
            "store_id": np.repeat(np.arange(series) // 4, days),
            "product_id": np.repeat(np.arange(series), days),
            "dt": np.tile(pd.date_range("2024-03-28", periods=days).strftime("%Y-%m-%d"), series),
            "discount": price.ravel(),
            "sale_amount": hourly.sum(axis=2).ravel(),
            "stock_hour6_22_cnt": out[..., 6:22].sum(axis=2).ravel(),
            "activity_flag": (price < 1).ravel().astype(np.int64),
            "holiday_flag": np.tile(np.arange(days) % 7 == 6, series).astype(np.int64),
            **{name: rng.normal(20, 1, series * days) for name in ("precpt", "avg_temperature", "avg_humidity")},
            "avg_wind_level": np.ones(series * days),
            "hours_sale": list(hourly.reshape(-1, 24)),
            "hours_stock_status": list(out.reshape(-1, 24).astype(np.int64)),
        },
    )


def write_orange_juice(folder: Path, stores: int = 2, weeks: int = 80) -> Path:
    """`yx` of orangeJuice as R writes it, eleven brands a store; some weeks have no row."""
    rng = np.random.default_rng(2)
    price = rng.choice([0.05, 0.04, 0.03], (stores, 11, weeks), p=[0.6, 0.2, 0.2])
    ounces = np.full(11, 64.0)
    ounces[[1, 5]], ounces[10] = 96.0, 128.0
    cartons = rng.poisson(40 * (price / 0.05) ** -2.5) + 1
    keys = np.stack(np.meshgrid(np.arange(stores) + 2, np.arange(11) + 1, np.arange(weeks) + 40, indexing="ij"))
    columns: dict[str, Array] = dict(zip(("store", "brand", "week"), keys.reshape(3, -1), strict=True))
    columns |= {"logmove": np.log(cartons * ounces[:, None]).ravel(), "constant": np.ones(cartons.size)}
    for brand in range(11):
        columns[f"price{brand + 1}"] = np.broadcast_to(price[:, brand : brand + 1], price.shape).ravel()
    columns |= {"deal": (price < 0.05).ravel().astype(np.int64), "feat": (price < 0.04).ravel().astype(np.float64)}
    table = pd.DataFrame(columns | {"profit": np.full(cartons.size, 30.0)})
    path = folder / "orangeJuice.csv"
    table[rng.random(len(table)) > 0.002].to_csv(path, index=False)
    return path


def _written(path: Path, columns: dict[str, object]) -> Path:
    pd.DataFrame(columns).to_parquet(path)
    return path
