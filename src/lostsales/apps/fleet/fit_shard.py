"""Learning one shard: a pure function of its rows and settings, so that it may run anywhere, and again."""

import warnings
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lostsales.apps.fleet.shard_log import ShardRows, read_shard
from lostsales.apps.fleet.store import Entry, Failure
from lostsales.data.describe import doubts
from lostsales.data.log import SalesLog
from lostsales.data.parallel import single_threaded, using_workers
from lostsales.data.settings import checked_json
from lostsales.errors import LostSalesError
from lostsales.evaluation.replayed_value import with_replayed_value
from lostsales.learn.fit import fit
from lostsales.learn.learner import LEARNERS
from lostsales.policy.policy import SavedPolicy


@dataclass(frozen=True)
class FitTask:
    """Shard to learn, with method and settings."""

    rows: ShardRows
    method: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class FittedShard:
    """Entry in the ledger, and file of the policy."""

    entry: Entry
    policy: bytes | None


def fit_shard(task: FitTask) -> FittedShard:
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


def _learn(task: FitTask, log: SalesLog) -> tuple[SavedPolicy, tuple[str, ...]]:
    """Policy of a log, and notes on it."""
    learner = checked_json(LEARNERS.get(task.method), task.settings, f"method {task.method}")
    with single_threaded(), using_workers(1), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
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
