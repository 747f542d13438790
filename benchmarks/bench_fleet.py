"""Fleets: products a second against a loop of `fit`, Ray against processes, the decisions of a day, and earnings."""

import logging
import time
import warnings
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.assortments import Assortment, AssortmentManager
from benchmarks.rows import Row
from lostsales.apps.fleet.engine import Engine, Processes, Ray
from lostsales.apps.fleet.fit import fit_fleet
from lostsales.apps.fleet.fleet import Fleet
from lostsales.apps.fleet.recommend import recommend_fleet
from lostsales.data.json_files import read_json, write_json
from lostsales.data.log import SalesLog
from lostsales.data.parallel import using_workers
from lostsales.data.reading.gate import read_log
from lostsales.data.sublogs import series_of
from lostsales.data.writing import write_table
from lostsales.learn.fit import fit
from lostsales.policy.base import PolicyBase
from lostsales.policy.codec import Draft, encode
from lostsales.policy.file_format import load
from lostsales.policy.policy import POLICIES, Observes, SavedPolicy
from lostsales.policy.view import Action, View
from lostsales.types import Array, Ints

WEEKS = 104
SECONDS_A_PRODUCT = 0.29  # of one core
PRODUCTS_A_MINUTE = 100_000


def run() -> list[Row]:
    warnings.simplefilter("ignore")
    with TemporaryDirectory() as name:
        folder = Path(name)
        return [*against_a_loop(folder / "loop"), ray_against_processes(folder / "ray"), decisions(folder / "day")]


def write_shop(folder: Path, products: int, seed: int = 0) -> Assortment:
    """A source of products with 104 periods each, in four files."""
    shop = replace(Assortment.draw(products, seed), periods=np.full(products, WEEKS))
    columns = shop.columns(seed)
    folder.mkdir(parents=True)
    for file in range(4):
        rows = columns["period"] % 4 == file
        table = {name: values[rows] for name, values in columns.items() if name != "demand"}
        write_table(table, folder / f"part-{file}.parquet")
    (folder / "problem.toml").write_text(shop.problem.to_toml())
    return shop


def against_a_loop(folder: Path, products: int = 500, alone: int = 20) -> list[Row]:
    """One shard against a loop that fits each product, in processor time; and what both earn in simulation."""
    shop = write_shop(folder / "source", products)
    log = read_log(folder / "source")
    began = time.process_time()
    version = fit_fleet(folder / "source", folder / "store")
    pooled = (time.process_time() - began) / products
    chosen = np.flatnonzero(np.isin(log.names, shop.names[:alone]))
    loop, policies = _loop(log, chosen)
    sample = replace(shop, **{name: getattr(shop, name)[:alone] for name in SHOP_COLUMNS})
    by_fleet = sample.profits(load(version.policy_path(0))).mean(axis=0)
    by_loop = sample.profits(EachAlone(policies)).mean(axis=0)
    ratio = float(np.mean(by_fleet / np.maximum(by_loop, 1e-9)))
    manager = sample.profits(AssortmentManager(sample)).mean(axis=0).sum()
    earned = f"{by_fleet.sum():.1f} a day, the manager {manager:.1f}"
    return [
        Row(
            f"{products:,} products x {WEEKS} weeks in one shard",
            f"{pooled:.3f} core-s a product",
            f"{SECONDS_A_PRODUCT} s",
            pooled / SECONDS_A_PRODUCT,
            at_most=1,
        ),
        Row("a loop that fits each product", f"{pooled:.3f} s", f"{loop:.2f} s", loop / pooled, at_least=5),
        Row(
            f"earnings of {alone} of them in simulation", earned, f"{by_loop.sum():.1f} by the loop", ratio, at_least=1
        ),
    ]


SHOP_COLUMNS = (
    *("names", "department", "usual_price", "unit_cost", "holding_cost", "size", "elasticity", "weekday"),
    *("variance_ratio", "case", "stockout_share", "periods"),
)


def _loop(log: SalesLog, chosen: Ints) -> tuple[float, dict[str, SavedPolicy]]:
    """Processor seconds of a fit of one product, and the policies by name."""
    fit(series_of(log, chosen[:1]))  # compiled code is loaded once
    policies = {}
    began = time.process_time()
    with using_workers(1):
        for each in chosen:
            policies[str(log.names[each])] = fit(series_of(log, np.array([each])))
    return (time.process_time() - began) / len(chosen), policies


@dataclass(frozen=True, eq=False)
class EachAlone(PolicyBase):
    """Every product by a policy of its own."""

    policies: dict[str, SavedPolicy]
    observes: Observes = "history"

    @property
    def problem(self) -> Any:
        """Problem that all of them share."""
        return next(iter(self.policies.values())).problem

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every product."""
        assert view.names is not None
        found = [self.policies[str(name)].decide(view.take(np.array([at])), rng) for at, name in enumerate(view.names)]
        return Action(*(np.concatenate(each) for each in zip(*found, strict=True)))


def ray_against_processes(folder: Path, products: int = 60, shard_size: int = 5) -> Row:
    """The same shards on two processes and on a Ray cluster of two cores, each with its start."""
    import ray

    write_shop(folder / "source", products)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    engines: dict[str, Engine] = {"processes": Processes(2), "ray": Ray("local")}
    seconds = {}
    for name, engine in engines.items():
        began = time.perf_counter()
        fit_fleet(folder / "source", folder / name, "planner", shard_size=shard_size, engine=engine)
        seconds[name] = time.perf_counter() - began
    ray.shutdown()
    what = f"Ray, {products:,} products in {products // shard_size} shards"
    ours, peer = f"{seconds['ray']:.0f} s", f"{seconds['processes']:.0f} s, two processes"
    return Row(what, ours, peer, seconds["ray"] / seconds["processes"], at_most=1.1)


def decisions(folder: Path, shards: int = 200, workers: int = 2) -> Row:
    """`fleet recommend` of 100,000 products: a store whose shards are copies of one of 500 under other names."""
    copied_store(folder, shards)
    fleet = Fleet.open(folder / "store")
    products = len(fleet.products["series"])
    began = time.perf_counter()
    found = recommend_fleet(fleet, folder / "recent.parquet", folder / "today.parquet", Processes(workers))
    write_table(found.table, folder / "decisions.parquet")
    rate = 60 * products / (time.perf_counter() - began)
    what = f"decisions of {products:,} products: reading, deciding, writing"
    return Row(what, f"{rate:,.0f} a minute", f"{PRODUCTS_A_MINUTE:,}", rate / PRODUCTS_A_MINUTE, at_least=1)


def copied_store(folder: Path, shards: int, products: int = 500, recent: int = 4) -> None:
    """A store of many shards, each the same policy under other names, and the rows of a day for all its products."""
    shop = write_shop(folder / "source", products)
    version = fit_fleet(folder / "source", folder / "store")
    policy, entry = load(version.policy_path(0)), version.entry(0)
    assert entry is not None
    names = []
    for shard in range(shards):
        renamed = _renamed(policy, shard)
        renamed.save(version.policy_path(shard))
        digest = sha256(version.policy_path(shard).read_bytes()).hexdigest()
        version.ledger.add(shard, entry.model_dump(mode="json") | {"shard": shard, "sha256": digest})
        names.append(np.array([f"{shard} {name}" for name in shop.names], dtype=object))
    every = np.concatenate(names)
    table = {"series": every, "shard": np.repeat(np.arange(shards), products), "rows": np.full(len(every), WEEKS)}
    write_table(table, version.folder / "products.parquet")
    manifest = read_json(version.folder / "fleet.json")
    write_json(manifest | {"shard_rows": ["" for _ in range(shards)]}, version.folder / "fleet.json")
    columns = shop.columns(0)
    for name, rows in (
        ("today", columns["period"] == WEEKS - 1),
        ("recent", (columns["period"] < WEEKS - 1) & (columns["period"] >= WEEKS - 1 - recent)),
    ):
        part = {key: np.tile(values[rows], shards) for key, values in columns.items() if key != "demand"}
        part["series"] = np.concatenate(
            [np.array([f"{shard} {each}" for each in columns["series"][rows]], dtype=object) for shard in range(shards)]
        )
        write_table(part, folder / f"{name}.parquet")


def _renamed(policy: SavedPolicy, shard: int) -> SavedPolicy:
    """The policy with other names of its products, wherever its file has them."""
    kind, (keys, saved) = POLICIES.name_of(type(policy)), encode(policy)
    if "own" in keys:
        keys["own"] = {f"{shard} {key}": unit for key, unit in keys["own"].items()}
    draft, arrays = Draft(kind, keys), dict[str, Array]()
    for key, array in saved.items():
        is_names = array.dtype.kind == "U" and array.ndim == 1 and array.size and str(array[0]).startswith("product ")
        named = np.array([f"{shard} {each}" for each in array]) if is_names else array
        draft.places[key].check_shape((named.dtype, named.shape))
        arrays[key] = named
    return draft.built({key: draft.places[key].checked(array) for key, array in arrays.items()})
