"""Decisions of a day: each product by the policy of its shard, in the order of today's rows."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from lostsales.apps.fleet.fit import fit_fleet
from lostsales.apps.fleet.fleet import Fleet
from lostsales.apps.fleet.recommend import recommend_fleet
from lostsales.data.reading.table import open_table
from lostsales.data.writing import write_table
from lostsales.policy.recommendation import recommendation
from tests.apps.fleet.shops import shop_columns, taken, write_source
from tests.apps.running import Fails, run

PRODUCTS = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store by department, and the rows of a day in no order."""
    found = tmp_path_factory.mktemp("fleet")
    shop, columns = shop_columns(PRODUCTS)
    fit_fleet(write_source(found / "source", columns, shop), found / "store", "s-S-p", by=("department",), shard_size=4)
    order = np.random.default_rng(3).permutation(len(columns["period"]))
    mixed = taken(columns, order)
    write_table(taken(mixed, mixed["period"] == 39), found / "today.parquet")
    write_table(taken(mixed, (mixed["period"] < 39) & (mixed["period"] > 30)), found / "recent.parquet")
    return found


def frames(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.read_parquet(folder / "recent.parquet"), pd.read_parquet(folder / "today.parquet")


def test_each_product_is_decided_by_the_policy_of_its_shard(folder: Path) -> None:
    fleet, (recent, today) = Fleet.open(folder / "store"), frames(folder)
    found = fleet.recommend(recent, today)
    assert found["series"].tolist() == today["series"].tolist()
    shard_of = dict(zip(fleet.products["series"], fleet.products["shard"].tolist(), strict=True))
    assert len(set(shard_of.values())) > 2
    for name in today["series"]:
        own = [each[each["series"] == name] for each in (recent, today)]
        alone = recommendation(fleet.policy(shard_of[name]), *own).columns
        row = found[found["series"] == name]
        assert (row["price"].item(), row["order"].item()) == (alone["price"].item(), alone["order"].item())


def test_files_and_frames_are_decided_alike(folder: Path) -> None:
    fleet = Fleet.open(folder / "store")
    by_files = recommend_fleet(fleet, folder / "recent.parquet", folder / "today.parquet")
    by_frames = fleet.recommend(*frames(folder)).reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.DataFrame(by_files.table), by_frames, check_dtype=False)


def test_the_command_writes_one_row_a_product(folder: Path) -> None:
    out = folder / "decisions.csv"
    options = ("--recent", folder / "recent.parquet", "--today", folder / "today.parquet", "--out", out)
    assert f"written to {out}" in " ".join(run("fleet", "recommend", folder / "store", *options).split())
    rows = duckdb.connect().execute(f"SELECT count(*), count(DISTINCT series) FROM '{out}'").fetchall()
    assert rows == [(PRODUCTS, PRODUCTS)]


def test_a_product_that_the_fleet_never_had_goes_to_the_shard_of_its_attributes(folder: Path) -> None:
    fleet, (_, today) = Fleet.open(folder / "store"), frames(folder)
    members = set(zip(fleet.products["shard"].tolist(), fleet.products["by_department"], strict=True))
    unknown = today.assign(series=[f"new {at}" for at in range(len(today))])
    found = fleet.recommend(None, unknown)
    assert found[["price", "order"]].notna().all().all()
    shards = fleet.shards_of(open_table(unknown)).tolist()
    assert len(set(shards)) > 1
    assert set(zip(shards, unknown["department"], strict=True)) <= members


def test_a_bad_row_is_named_by_its_place_in_the_file(folder: Path, fails: Fails) -> None:
    _, today = frames(folder)
    today.loc[7, "stock"] = -3.0
    today.to_parquet(folder / "bad.parquet")
    message = fails("fleet", "recommend", folder / "store", "--today", folder / "bad.parquet")
    name = today["series"][7]
    assert f"stock must not be negative, but row 7 (series={name}, period=39) has -3" in " ".join(message.split())


def test_policies_are_loaded_when_they_are_needed(folder: Path) -> None:
    fleet, (recent, today) = Fleet.open(folder / "store", most_loaded=1), frames(folder)
    assert not fleet._loaded
    fleet.recommend(recent, today)
    assert len(fleet._loaded) == 1
