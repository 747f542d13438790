"""Work on one shard: fit, audit and compare are pure functions of rows and settings, so that they may run anywhere.

`run_on_shards` runs such work on every shard that is not in a ledger.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from lostsales.apps.fleet.engine import Engine
from lostsales.apps.fleet.sharding import ShardRows, read_shard
from lostsales.apps.fleet.store import Entry, Failure, Version
from lostsales.data.describe import doubts
from lostsales.data.json_files import finite
from lostsales.data.log import SalesLog
from lostsales.data.parallel import single_threaded, using_workers
from lostsales.data.progress import Progress
from lostsales.data.settings import checked_json
from lostsales.demand.audit.audit import audit
from lostsales.demand.audit.product_facts import ProductFacts
from lostsales.errors import LostSalesError
from lostsales.evaluation.assortment import AssortmentGain
from lostsales.evaluation.compare import compare
from lostsales.evaluation.fleet_gain import ShardGain
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.replayed_value import with_replayed_value
from lostsales.evaluation.results import plain
from lostsales.learn.fit import fit
from lostsales.learn.learner import LEARNERS, Learner
from lostsales.policy.policy import SavedPolicy

Result = TypeVar("Result")
Found = TypeVar("Found")


@dataclass(frozen=True)
class ShardTask:
    """Rows of a shard, with the method of the fleet and its settings."""

    rows: ShardRows
    method: str
    settings: dict[str, Any]
    quick: bool = False
    seed: int = 0

    @property
    def learner(self) -> Learner:
        """Learner of the fleet."""
        return checked_json(LEARNERS.get(self.method), self.settings, f"method {self.method}")


def run_on_shards(
    version: Version,
    work: Callable[[ShardTask], Result],
    done: dict[int, Found],
    finish: Callable[[Result], tuple[int, Found]],
    shards: Iterable[int],
    engine: Engine,
    progress: Progress | None,
    *,
    quick: bool = False,
    seed: int = 0,
) -> dict[int, Found]:
    """Results of shards; those that are `done` are not computed again, and `finish` puts a new one into its ledger.

    Progress counts products.
    """
    manifest, wanted = version.manifest, list(shards)
    products = version.products_by_shard()
    total = sum(products[shard] for shard in wanted)
    done = {shard: done[shard] for shard in wanted if shard in done}
    report = progress or (lambda _done, _total: None)
    report(sum(products[shard] for shard in done), total)
    tasks = (
        ShardTask(version.shard_rows(shard), manifest.method, manifest.settings, quick, seed)
        for shard in wanted
        if shard not in done
    )
    with closing(engine.run(work, tasks)) as results:  # an exception must stop the workers
        for result in results:
            shard, found = finish(result)
            done[shard] = found
            report(sum(products[shard] for shard in done), total)
    return dict(sorted(done.items()))


@contextmanager
def _alone() -> Iterator[list[warnings.WarningMessage]]:
    """One thread, so that the order of sums is fixed; the warnings of the work."""
    with single_threaded(), using_workers(1), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield warned


@dataclass(frozen=True)
class FittedShard:
    """Entry in the ledger, and file of the policy."""

    entry: Entry
    policy: bytes | None


def fit_shard(task: ShardTask) -> FittedShard:
    """Learn the policy of a shard on one thread, so that the order of sums is fixed."""
    shard = read_shard(task.rows)
    failures = dict(shard.failures)
    policy: bytes | None = None
    notes: tuple[str, ...] = ()
    if shard.log is not None:
        try:
            learned, notes = _learn(task, shard.log)
        except (MemoryError, OSError):  # of the machine, not of the shard
            raise
        except Exception as error:  # noqa: BLE001, of any kind: the other shards are worth having
            failures |= dict.fromkeys(shard.log.names.tolist(), f"its shard could not be fitted: {_one_line(error)}")
        else:
            policy = _file_of(learned)
    entry = Entry(
        shard=task.rows.shard,
        products=shard.products,
        learned=shard.products - len(failures),
        rows=shard.rows,
        sha256=None if policy is None else sha256(policy).hexdigest(),
        notes=notes,
        failures=tuple(Failure(series=name, reason=reason) for name, reason in sorted(failures.items())),
    )
    return FittedShard(entry, policy)


def _learn(task: ShardTask, log: SalesLog) -> tuple[SavedPolicy, tuple[str, ...]]:
    """Policy of a log, and notes on it."""
    learner = task.learner
    with _alone() as warned:
        policy = with_replayed_value(fit(log, learner), log, learner.seed)
    return policy, tuple(sorted({*doubts(log), *(str(each.message) for each in warned)}))


def _file_of(policy: SavedPolicy) -> bytes:
    with TemporaryDirectory(prefix="lostsales-") as folder:
        path = Path(folder) / "policy"
        policy.save(path)
        return path.read_bytes()


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, LostSalesError) else f"{type(error).__name__}: {text}"


def audit_shard(task: ShardTask) -> tuple[int, dict[str, Any]]:
    """Audit of a shard, and facts on each of its products."""
    log = read_shard(task.rows).log
    if log is None:
        return task.rows.shard, {"audit": None, "products": {}}
    with _alone():
        found = audit(log, seed=task.seed)
    facts = ProductFacts.of(log)
    return task.rows.shard, finite({"audit": found.as_json(), "products": plain(facts)})


def compare_shard(task: ShardTask) -> tuple[int, dict[str, Any]]:
    """Gain of the fleet's method in a shard, by product and in total, on products held out from the fit."""
    log = read_shard(task.rows).log
    shard = task.rows.shard
    if log is None:
        return shard, {"reason": "none of its products can be fitted", "gain": None, "products": []}
    try:
        with _alone():
            found = compare(log, [task.learner], seed=task.seed, quick=task.quick, workers=1)
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
        cash_gain=cash_gain.times(found.products_in_log),
        earned=found.earned.period,
    )
