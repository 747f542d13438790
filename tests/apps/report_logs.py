"""Logs and policies to report on, small enough to be quick."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_log
from lostsales.learn.fit import fit
from lostsales.simulation.simulator import simulate
from tests.evaluation.shop import Assortment
from tests.learn.small import frame_of, scenario, small_log

NASTY = '<script>document.title="caught"</script> & "co"'


def released(folder: Path) -> None:
    """A log of the simulator, and C-FQI."""
    write_log(small_log("released", 10), folder / "log.parquet")
    fit(small_log("released", 10), "c-fqi", iterations=2).save(folder / "policy")


def assortment(folder: Path) -> None:
    """Three products with dates, of which one has a single price, and a rule of thumb."""
    shop = Assortment(np.full(3, 5.0), np.array([8.0, 10.0, 12.0]), np.full(3, -2.0), np.full(3, 1.5))
    log = shop.log(60, 1)
    log = replace(log, price=np.where(log.series == 1, 5.0, log.price))
    write_log(log, folder / "products.parquet")
    with pytest.warns(UserWarning, match="1 of 3 products were sold at one price only"):
        policy = fit(log, "newsvendor")
    policy.save(folder / "newsvendor")


def own_names(folder: Path) -> None:
    """One long series of dates under a shop's own column names and a name that is markup; a rule of thumb."""
    log, _ = simulate(scenario("steady"), episodes=3, seed=2)
    frame = frame_of(log).drop(columns=["last_sales", "last_stockout", "stockout"])
    frame = frame.assign(sku=NASTY, day=pd.date_range("2026-01-01", periods=len(frame)).astype(str))
    frame = frame.drop(columns=["series", "period"])
    names = {"stock": "on hand", "price": "Preis", "order": "ordered", "sales": "sold"}
    frame.rename(columns=names).to_csv(folder / "shop.csv", index=False)
    problem = log.problem.to_toml().split("[columns]")[0]
    columns = {"series": "sku", "period": "day"} | names
    problem += "\n[columns]\n" + "".join(f'{key} = "{name}"\n' for key, name in columns.items())
    (folder / "shop.toml").write_text(problem)
    fit(read_log(folder / "shop.csv"), "base-stock").save(folder / "rule")
