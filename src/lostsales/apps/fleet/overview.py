"""Overview of a fleet from the results of its shards: audit, and gains of its policies by group and product."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.apps.fleet.engine import Engine
from lostsales.apps.fleet.fleet import Fleet
from lostsales.apps.fleet.shard_tasks import audit_shard, compare_shard, run_on_shards
from lostsales.apps.fleet.store import Entry, Store, Version
from lostsales.data.journal import JournalFolder
from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError
from lostsales.evaluation.advice import Advice, Concern, advice
from lostsales.evaluation.fleet_gain import FleetGain, ShardGain, fleet_gain
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.results import plain

ShardResult = tuple[int, dict[str, Any]]  # number of the shard, and its result for JSON
Results = dict[int, dict[str, Any]]
ALL = "all products"
MOST_DOUBTFUL = 0.1  # share of shards with the same doubt that may be false alarms
LEAST_SHARDS = 4  # drawn at least, as two say little about the others


@dataclass(frozen=True)
class FleetAudit:
    """Audit of a fleet: products, stock-outs, prices, failures and advice."""

    products: int
    products_learned: int
    rows: int
    stockout_share: float  # of rows
    products_of_one_price: int  # whose price never varied
    cash: float | None  # per period, of all products
    failures: dict[str, int]  # products by reason
    balance: dict[str, int]  # shards by the balance that their stock follows
    advice: dict[str, int]  # shards by what to collect next
    notes: dict[str, int]  # shards by note on their policies
    by: dict[str, dict[str, float]]  # products, rows, cash and share of stock-outs by group

    @property
    def findings(self) -> list[tuple[str, dict[str, int], str]]:
        """Findings of each kind that occurs: title, counts by text, and what is counted."""
        found = [
            ("Products that could not be fitted", self.failures, "products"),
            ("Warnings of the fits", self.notes, "shards"),
            ("Balance equation of the stock", self.balance, "shards"),
            ("What to collect next", self.advice, "shards"),
        ]
        return [each for each in found if each[1]]

    def as_json(self) -> dict[str, Any]:
        """Content for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class FleetComparison:
    """Gain of the policies of a fleet, estimated on products held out from each fit."""

    method: str
    total: FleetGain
    by: dict[str, FleetGain]  # by group
    products: tuple[dict[str, Any], ...]  # judged: series, rows, earned, gain, verdict; the greatest gain first
    not_judged: dict[str, int]  # shards by reason
    doubts: dict[str, int]  # shards by reason to doubt their gain

    @property
    def verdict(self) -> Advice:
        """Recommendation for the fleet; a few doubtful shards among many are false alarms."""
        doubtful = max(self.doubts.values(), default=0) > MOST_DOUBTFUL * self.total.shards_judged
        concerns = [Concern("amber", text) for text in self.doubts] if doubtful else []
        return advice(self.total.gain, concerns)

    def as_json(self) -> dict[str, Any]:
        """Content for JSON."""
        totals = {"total": _gain_json(self.total), "by": {name: _gain_json(each) for name, each in self.by.items()}}
        notes = {"not_judged": self.not_judged, "doubts": self.doubts, "verdict": self.verdict}
        return {"method": self.method, **totals, **notes, "products": list(self.products)}


def _gain_json(found: FleetGain) -> dict[str, Any]:
    shown: dict[str, Any] = plain(found)
    return shown | {"proven_share": found.proven_share}


def audit_fleet(fleet: Fleet, engine: Engine, progress: Progress | None = None) -> FleetAudit:
    """Audit every shard that has not been audited yet, and summarise."""
    done, finish = _ledger(fleet.version, "audit")
    shards = fleet.version.shards
    return _audit(fleet, run_on_shards(fleet.version, audit_shard, done, finish, shards, engine, progress))


def known_audit(fleet: Fleet) -> FleetAudit | None:
    """Audit of the fleet, None if it is not complete yet."""
    found = _ledger(fleet.version, "audit")[0]
    return _audit(fleet, found) if len(found) == len(fleet.version.shards) else None


def compare_fleet(
    fleet: Fleet,
    engine: Engine,
    progress: Progress | None = None,
    *,
    products: int | None = None,
    quick: bool = False,
    seed: int = 0,
) -> FleetComparison:
    """Evaluate the method of the fleet on products held out from it.

    Parameters
    ----------
    fleet : Fleet
        What `Fleet.open` gives.
    engine : Engine
        Executor of the work.
    progress : callable, optional
        Called with products done and products in total.
    products : int, optional
        Approximate number of products to evaluate, in shards drawn at random; by default all.
    quick : bool
        Use fewer rows of each shard, for a first impression.
    seed : int
        Seed of the draw and of the comparison.

    """
    version = fleet.version
    shards = _drawn(version, products, seed)
    done, finish = _ledger(version, _compared(quick, seed))
    found = run_on_shards(version, compare_shard, done, finish, shards, engine, progress, quick=quick, seed=seed)
    return _comparison(fleet, found)


def known_comparison(fleet: Fleet, quick: bool = False, seed: int = 0) -> FleetComparison | None:
    """Comparison of the shards evaluated so far, None if there are none."""
    found = _ledger(fleet.version, _compared(quick, seed))[0]
    return _comparison(fleet, found) if found else None


def _compared(quick: bool, seed: int) -> str:
    return f"compare{'-quick' if quick else ''}-seed{seed}"


def _ledger(version: Version, name: str) -> tuple[Results, Callable[[ShardResult], ShardResult]]:
    """Results of finished shards, and a function that adds one."""
    ledger = JournalFolder(version.folder / name)

    def finish(result: ShardResult) -> ShardResult:
        ledger.add(*result)
        return result

    return {shard: found for shard in ledger.numbers() if (found := ledger.read(shard)) is not None}, finish


def _drawn(version: Version, products: int | None, seed: int) -> list[int]:
    products_by_shard = version.products_by_shard()
    order = np.random.default_rng(seed).permutation(len(version.shards)).tolist()
    if products is None:
        return sorted(order)
    counts = np.cumsum([products_by_shard[shard] for shard in order])
    enough = max(int(np.searchsorted(counts, products)) + 1, LEAST_SHARDS)
    return sorted(order[:enough])


def _groups(fleet: Fleet) -> dict[str, str]:
    """Group of every product, by the attributes of `--by`."""
    by = [fleet.products[f"by_{name}"].tolist() for name in fleet.version.manifest.by]
    names = fleet.products["series"].tolist()
    texts = [" / ".join(group) for group in zip(*by, strict=True)] if by else [ALL] * len(names)
    return dict(zip(names, texts, strict=True))


def _audit(fleet: Fleet, found: dict[int, dict[str, Any]]) -> FleetAudit:
    entries, group_of = fleet.entries, _groups(fleet)
    audits = [each["audit"] for each in found.values() if each["audit"] is not None]
    rows = sum(each["periods"] for each in audits)
    by: dict[str, dict[str, float]] = {}
    one_price, cash = 0, 0.0
    for each in found.values():
        facts = each["products"]
        columns = [facts.get(name, ()) for name in ("names", "rows", "cash", "stockout_share", "prices")]
        for name, of_product, earned, share, prices in zip(*columns, strict=True):
            group = by.setdefault(group_of[name], {"products": 0, "rows": 0, "cash": 0.0, "stockouts": 0.0})
            group["products"] += 1
            group["rows"] += of_product
            group["cash"] += 0.0 if earned is None else earned
            group["stockouts"] += share * of_product
            one_price += prices == 1
            cash += 0.0 if earned is None else earned
    for group in by.values():
        group["stockout_share"] = group.pop("stockouts") / group["rows"]
    return FleetAudit(
        products=fleet.version.manifest.products,
        products_learned=sum(entry.learned for entry in entries.values()),
        rows=rows,
        stockout_share=sum(each["censored_share"] * each["periods"] for each in audits) / max(rows, 1),
        products_of_one_price=one_price,
        cash=cash,
        failures=dict(Counter(each.reason for entry in entries.values() for each in entry.failures).most_common()),
        balance=dict(Counter(each["follows"] for each in audits).most_common()),
        advice=dict(Counter(line for each in audits for line in each["collect_next"]).most_common()),
        notes=dict(Counter(line for entry in entries.values() for line in entry.notes).most_common()),
        by=dict(sorted(by.items(), key=lambda each: -each[1]["cash"])),
    )


def _comparison(fleet: Fleet, found: dict[int, dict[str, Any]]) -> FleetComparison:
    manifest, group_of = fleet.version.manifest, _groups(fleet)
    gains = {shard: _shard_gain(each["gain"]) for shard, each in found.items() if each["gain"] is not None}
    if not gains:
        reasons = "; ".join(sorted({each["reason"] for each in found.values()}))
        raise LostSalesError(f"no shard could be evaluated: {reasons}")
    products = [product for each in found.values() for product in each["products"]]
    products = [product | {"group": group_of[product["series"]]} for product in products]
    products.sort(key=lambda each: (each["gain"] is None, -(each["gain"] or {"value": 0.0})["value"], each["series"]))
    return FleetComparison(
        method=manifest.method,
        total=fleet_gain(list(gains.values()), manifest.products, len(manifest.shard_rows)),
        by=_by_group(fleet, gains, group_of),
        products=tuple(products),
        not_judged=dict(Counter(each["reason"] for each in found.values() if each["gain"] is None).most_common()),
        doubts=dict(Counter(text for each in found.values() for text in each.get("doubts", ())).most_common()),
    )


def _by_group(fleet: Fleet, gains: dict[int, ShardGain], group_of: dict[str, str]) -> dict[str, FleetGain]:
    """Gain of each group; small groups that share a shard are one."""
    members: dict[int, set[str]] = {}
    for name, shard in zip(fleet.products["series"].tolist(), fleet.products["shard"].tolist(), strict=True):
        members.setdefault(shard, set()).add(group_of[name])
    label = {
        shard: " and ".join(sorted(groups)[:3]) + (" ..." if len(groups) > 3 else "")
        for shard, groups in members.items()
    }
    size = fleet.version.products_by_shard()
    found: dict[str, FleetGain] = {}
    for name in sorted(set(label.values())):
        own = [shard for shard, each in label.items() if each == name]
        judged = [gains[shard] for shard in own if shard in gains]
        if judged:
            found[name] = fleet_gain(judged, sum(size[shard] for shard in own), len(own))
    return dict(sorted(found.items(), key=lambda each: -each[1].gain.value))


def _shard_gain(keys: dict[str, Any]) -> ShardGain:
    money = {name: Interval(**keys[name]) for name in ("gain", "cash_gain", "earned")}
    return ShardGain(keys["products"], keys["judged"], keys["proven"], **money)


LATEST = 20  # last shards over which the speed is measured


@dataclass(frozen=True)
class FleetStatus:
    """Progress of the newest version of a store, and the other versions."""

    store: str
    version: str | None  # the newest, finished or not
    current: str | None
    versions: tuple[str, ...]
    is_being_written: bool
    is_finished: bool
    method: str
    shards: int
    shards_finished: int
    products: int
    products_finished: int
    products_learned: int
    products_failed: int
    products_per_second: float | None  # of the last shards; None before there are some, and when all is finished
    seconds_left: float | None
    failures: dict[str, int]  # products by reason, the most frequent first

    def as_json(self) -> dict[str, Any]:
        """Content for JSON."""
        return asdict(self)


def status_of(folder: str | Path) -> FleetStatus:
    """Status of a store."""
    store = Store.at(folder)
    versions = store.versions()
    newest = versions[-1] if versions else None
    entries = {} if newest is None else newest.entries()
    done = sum(entry.products for entry in entries.values())
    total = 0 if newest is None else newest.manifest.products
    is_finished = newest is not None and newest.is_finished
    speed = None if newest is None or is_finished else _speed(newest, entries)
    return FleetStatus(
        store=str(folder),
        version=None if newest is None else newest.name,
        current=store.current_name(),
        versions=tuple(version.name for version in versions),
        is_being_written=store.is_being_written,
        is_finished=is_finished,
        method="" if newest is None else newest.manifest.method,
        shards=0 if newest is None else len(newest.shards),
        shards_finished=len(entries),
        products=total,
        products_finished=done,
        products_learned=sum(entry.learned for entry in entries.values()),
        products_failed=sum(len(entry.failures) for entry in entries.values()),
        products_per_second=speed,
        seconds_left=(total - done) / speed if speed else None,
        failures=dict(Counter(each.reason for entry in entries.values() for each in entry.failures).most_common()),
    )


def _speed(version: Version, entries: dict[int, Entry]) -> float | None:
    """Products per second, by the times at which the last entries were written."""
    times = sorted((version.ledger.path(shard).stat().st_mtime, entry.products) for shard, entry in entries.items())
    first, *rest = times[-LATEST - 1 :] or [(0.0, 0)]
    seconds = rest[-1][0] - first[0] if rest else 0.0
    return sum(products for _, products in rest) / seconds if seconds > 0 else None
