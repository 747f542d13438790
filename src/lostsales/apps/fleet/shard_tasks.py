"""Audit and comparison of every shard, resumable like learning."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from lostsales.apps.fleet.engine import Engine
from lostsales.apps.fleet.fit import shard_rows
from lostsales.apps.fleet.shard_log import ShardRows, read_shard
from lostsales.apps.fleet.store import Version
from lostsales.data.journal import JournalFolder
from lostsales.data.json_files import finite
from lostsales.data.parallel import single_threaded, using_workers
from lostsales.data.progress import Progress
from lostsales.data.settings import checked_json
from lostsales.demand.audit.audit import audit
from lostsales.demand.audit.product_facts import ProductFacts
from lostsales.errors import LostSalesError
from lostsales.evaluation.assortment import AssortmentGain
from lostsales.evaluation.compare import compare
from lostsales.evaluation.fleet_gain import ShardGain, times
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.results import plain
from lostsales.learn.learner import LEARNERS


@dataclass(frozen=True)
class ShardTask:
    """Shard to audit or compare, with method and settings."""

    rows: ShardRows
    method: str
    settings: dict[str, Any]
    quick: bool
    seed: int


Work = Callable[[ShardTask], tuple[int, dict[str, Any]]]


def run_on_shards(
    version: Version,
    work: Work,
    ledger: JournalFolder,
    shards: Iterable[int],
    engine: Engine,
    progress: Progress | None,
    *,
    quick: bool = False,
    seed: int = 0,
) -> dict[int, dict[str, Any]]:
    """Results of shards; those in the ledger are not computed again. Progress counts products."""
    manifest, wanted = version.manifest, list(shards)
    entries = version.entries()
    done = {shard: found for shard in wanted if (found := ledger.read(shard)) is not None}
    total = sum(entries[shard].products for shard in wanted)
    report = progress or (lambda _done, _total: None)
    report(sum(entries[shard].products for shard in done), total)
    tasks = (
        ShardTask(shard_rows(version, shard), manifest.method, manifest.settings, quick, seed)
        for shard in wanted
        if shard not in done
    )
    for shard, found in engine.run(work, tasks):
        ledger.add(shard, found)
        done[shard] = found
        report(sum(entries[shard].products for shard in done), total)
    return dict(sorted(done.items()))


def audit_shard(task: ShardTask) -> tuple[int, dict[str, Any]]:
    """Audit of a shard, and facts on each of its products."""
    log = read_shard(task.rows).log
    if log is None:
        return task.rows.shard, {"audit": None, "products": {}}
    with single_threaded(), using_workers(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = audit(log, seed=task.seed)
    facts = ProductFacts.of(log)
    return task.rows.shard, finite({"audit": found.as_json(), "products": plain(facts)})


def compare_shard(task: ShardTask) -> tuple[int, dict[str, Any]]:
    """Gain of the fleet's method in a shard, by product and in total, on products held out from the fit."""
    log = read_shard(task.rows).log
    shard = task.rows.shard
    if log is None:
        return shard, {"reason": "none of its products can be fitted", "gain": None, "products": []}
    learner = checked_json(LEARNERS.get(task.method), task.settings, f"method {task.method}")
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = compare(log, [learner], seed=task.seed, quick=task.quick, workers=1)
        except LostSalesError as error:
            return shard, {"reason": str(error), "gain": None, "products": []}
    best = found.candidates[0]
    if best.assortment is None or best.cash_gain is None:
        reason = best.reason or "its gain has no figures by product"
        return shard, {"reason": reason, "gain": None, "products": []}
    gain = _shard_gain(best.assortment, best.cash_gain, bool(best.concerns))
    products = [
        {
            "series": each.product,
            "rows": each.rows,
            "earned": each.earned.period.value,
            "gain": None if each.gain is None else plain(each.gain.period),
            "verdict": "doubtful" if best.concerns and each.gain is not None else each.verdict,
        }
        for each in best.assortment.products
    ]
    notes = [*found.notes, *best.assortment.notes]
    doubts = [each.text for each in best.concerns]
    return shard, finite({"reason": "", "gain": plain(gain), "products": products, "notes": notes, "doubts": doubts})


def _shard_gain(found: AssortmentGain, cash_gain: Interval, doubtful: bool) -> ShardGain:
    """Gain per period over all products of the shard; no product is proven if there is a concern."""
    return ShardGain(
        products=found.products_in_log,
        judged=sum(each.gain is not None for each in found.products),
        proven=0 if doubtful else sum(each.proven for each in found.products),
        gain=found.total.period,
        cash_gain=times(cash_gain, found.products_in_log),
        earned=found.earned.period,
    )
