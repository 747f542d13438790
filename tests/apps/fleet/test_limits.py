"""Limits that the products of a fleet share, over all its shards."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lostsales.apps.fleet.fit import fit_fleet
from lostsales.apps.fleet.fleet import Fleet
from lostsales.apps.fleet.recommend import recommend_fleet
from lostsales.apps.service.fleet_policy import FleetPolicy
from lostsales.data.limits import Limit
from lostsales.data.writing import write_table
from lostsales.policy.recommendation import recommendation
from tests.apps.fleet.shops import PERIODS, shop_columns, taken, write_source

PRODUCTS = 8


def test_one_budget_holds_for_all_shards(tmp_path: Path) -> None:
    shop, columns = shop_columns(PRODUCTS)
    columns["stock"] = np.where(columns["period"] == PERIODS - 1, 0.0, columns["stock"])
    write_table(taken(columns, columns["period"] == PERIODS - 1), tmp_path / "today.parquet")
    past = taken(columns, columns["period"] < PERIODS - 1)
    free = None
    for most in (1e9, 0.0):
        if free is not None:
            most = 0.5 * free
        source = write_source(tmp_path / f"source-{most:.0f}", past, shop)
        limited = shop.problem.model_copy(update={"limits": (Limit(most=most),)})
        (source / "problem.toml").write_text(limited.to_toml())
        store = tmp_path / f"store-{most:.0f}"
        fit_fleet(source, store, "lookahead", by=("department",), shard_size=4)
        fleet = Fleet.open(store)
        assert len(set(fleet.policy_shard)) > 1
        found = recommend_fleet(fleet, None, tmp_path / "today.parquet")
        today = pd.read_parquet(tmp_path / "today.parquet")
        money = float(found.columns["order"] @ today["unit_cost"])
        (limit,) = found.limits
        assert limit.used == pytest.approx(money)
        if free is None:
            free, bound = money, limit.price
            assert bound == 0
            continue
        assert 0.85 * most < money <= most
        assert limit.price > 0
        by_frames = fleet.recommendation(None, today)
        as_one = recommendation(FleetPolicy.of(fleet), None, today)
        for other in (by_frames, as_one):
            assert other.columns["order"].tolist() == found.columns["order"].tolist()
