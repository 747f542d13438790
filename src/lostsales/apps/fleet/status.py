"""Progress of a store, readable while it is written."""

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lostsales.apps.fleet.store import Entry, Store, Version

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
