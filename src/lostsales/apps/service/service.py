"""The state of a service: the active desk, which is replaced as a whole, and what belongs to it."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from lostsales.apps.service.batching import Batcher
from lostsales.apps.service.decisions import Activation, DecisionStore, StoredDecision
from lostsales.apps.service.desk import Desk, ShopData, ShopFiles
from lostsales.apps.service.metrics import Metrics
from lostsales.apps.service.morning import Query
from lostsales.apps.service.problems import Refused, refusal_of
from lostsales.apps.service.settings import ServiceSettings
from lostsales.apps.service.store_versions import StoreVersions, is_store
from lostsales.apps.service.versions import PolicyFolder, PolicyVersion
from lostsales.errors import LostSalesError

EVALUATION = ".evaluation.json"  # beside a policy, as `lostsales evaluate --json` prints it
MOST_EVALUATION = 20_000_000  # bytes
Result = TypeVar("Result")


@dataclass
class Service:
    """One policy with its versions, its shop and the decisions on it."""

    settings: ServiceSettings
    folder: PolicyFolder | StoreVersions
    files: ShopFiles
    store: DecisionStore
    metrics: Metrics
    desk: Desk  # the active one: read it once in a request
    previous: PolicyVersion | None = None
    executor: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "decide"))
    _changing: threading.Lock = field(default_factory=threading.Lock)
    _deciding: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def start(cls, path: Path, files: ShopFiles, settings: ServiceSettings) -> "Service":
        """Load the active version and decide for today's rows."""
        folder = StoreVersions(path) if is_store(path) else PolicyFolder.of(path)
        store = DecisionStore(settings.decisions or folder.folder / "decisions.db")
        try:
            activations = store.activations()
            version = folder.initial(activations[0].version if activations else None)
            known = {each.version: each for each in folder.versions()}
            if isinstance(folder, StoreVersions) and files.log is None:
                rows, problem = folder.rows(version)
                files = replace(files, log=rows, problem=files.problem or problem)
            desk = Desk.of(version, folder.load(version), ShopData.read(files))
            service = cls(
                settings,
                folder,
                files,
                store,
                Metrics(),
                desk,
                previous=_before(activations, version.version, known),
                executor=ThreadPoolExecutor(settings.workers, "decide"),
            )
        except BaseException:
            store.close()
            raise
        service._show(desk)
        return service

    def __post_init__(self) -> None:
        self.batcher = Batcher(lambda: self.desk, self.executor)

    def close(self) -> None:
        """End: what was acknowledged is on disk already."""
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.store.close()

    async def run(self, work: Any, *arguments: Any) -> Any:
        """Something that takes long, in a thread and within the time."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.settings.seconds):
                return await loop.run_in_executor(self.executor, work, *arguments)
        except TimeoutError:
            raise Refused(503, "this took too long", retry=5) from None
        except LostSalesError as error:
            raise refusal_of(error) from None

    def activate(self, version: str, who: str, reason: str) -> Desk:
        """Make a version the active one: it decides for all of today's rows first, then takes the place of the other.

        Requests that have begun are answered by the version with which they began.
        """
        with self._changing:
            known = {each.version: each for each in self.folder.versions()}
            if version not in known:
                raise Refused(404, "there is no such version of the policy")
            data = self.desk.data if self.desk.data.stamp == self.files.stamp else ShopData.read(self.files)
            desk = Desk.of(known[version], self.folder.load(known[version]), data)
            before = self.desk.version
            now = _now()
            self.store.add_activation(Activation(now, who, version, before.version, reason)).result()
            self._show(desk)
            if before.version != version:
                self.previous = before
            self.metrics.activations.inc()
            return desk

    def roll_back(self, who: str, reason: str) -> Desk:
        """Activate the version before."""
        if self.previous is None:
            raise Refused(409, "there is no version before this one")
        return self.activate(self.previous.version, who, reason or "rolled back")

    def reload_if_changed(self) -> bool:
        """Read the shop's files again where they have changed."""
        with self._changing:
            if self.desk.data.stamp == self.files.stamp:
                return False
            self._show(Desk.of(self.desk.version, self.desk.policy, ShopData.read(self.files)))
            return True

    def _show(self, desk: Desk) -> None:
        for period in np.unique(desk.morning.period.astype(str)) if len(desk.morning) else ():
            desk.morning.mark(self.store.latest(str(period)).values())
        self.desk = desk
        self.metrics.activated(desk.version.version, len(desk.morning), int(desk.morning.is_flagged.sum()))

    async def decide(self, decisions: Sequence[StoredDecision]) -> list[StoredDecision]:
        """Store decisions; when this returns they are on disk."""
        try:
            stored = await asyncio.wrap_future(self.store.add(decisions))
        except LostSalesError as error:
            raise Refused(503, str(error), retry=5) from None
        self._count(stored)
        return stored

    async def accept_all(self, query: Query, who: str) -> int:
        """Accept every unflagged product that a query shows and nobody has decided on."""
        count: int = await self.run(self._accept_all, self.desk, query, who)
        return count

    def _accept_all(self, desk: Desk, query: Query, who: str) -> int:
        with self._deciding:  # two who press the button at once do not store everything twice
            decisions = [accepted(desk, at, who) for at in desk.morning.acceptable(query).tolist()]
            try:
                self.store.add_many(decisions).result()
            except LostSalesError as error:
                raise Refused(503, str(error), retry=5) from None
            self._count(decisions)
            return len(decisions)

    def _count(self, decisions: Sequence[StoredDecision]) -> None:
        self.desk.morning.mark(decisions)
        for status, count in Counter(each.status for each in decisions).items():
            self.metrics.decisions.labels(status).inc(count)

    def evaluation_of(self, version: PolicyVersion) -> dict[str, Any] | None:
        """What `lostsales evaluate --json` said of a version, where it lies beside the policy and is not older."""
        path = version.path.with_name(f"{version.path.name}{EVALUATION}")
        try:
            stat = path.stat()
            if stat.st_size > MOST_EVALUATION or stat.st_mtime < version.modified.timestamp():
                return None
            found = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return _without_contributions(found) if isinstance(found, dict) else None


def _before(activations: list[Activation], active: str, known: dict[str, PolicyVersion]) -> PolicyVersion | None:
    """The version that was active before the active one, where its file is still there."""
    earlier = (each.previous for each in activations if each.version == active and each.previous != active)
    return known.get(next(earlier, ""))


def _without_contributions(found: dict[str, Any]) -> dict[str, Any]:
    """An evaluation without the figures of single units, which are many."""
    kept = {name: each for name, each in found.items() if name not in ("contributions", "no_figure")}
    return {
        name: _without_contributions(each)
        if isinstance(each, dict)
        else [_without_contributions(one) if isinstance(one, dict) else one for one in each]
        if isinstance(each, list)
        else each
        for name, each in kept.items()
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def accepted(desk: Desk, at: int, who: str) -> StoredDecision:
    """The recommendation for a product of the list, accepted."""
    listed = desk.morning
    price, order = float(listed.price[at]), float(listed.order[at])
    version, name, period = desk.version.version, str(listed.name[at]), str(listed.period[at])
    return StoredDecision(uuid4().hex, _now(), who, version, name, period, "accepted", price, order, price, order, "")


def decision_json(decision: StoredDecision) -> dict[str, Any]:
    """A stored decision as the service shows it."""
    return asdict(decision)


def stored(desk: Desk, given: Any, who: str) -> StoredDecision:
    """What is stored of a new decision: the recommendation is the desk's own, where it lists the product."""
    at = desk.morning.place.get(given.series)
    period = None if given.period is None else str(given.period)
    is_listed = at is not None and period in (None, desk.morning.period[at])
    if is_listed and at is not None:
        listed = accepted(desk, at, who)
        version, period = desk.version.version, listed.period
        price, order = listed.recommended_price, listed.recommended_order
        if given.recommended is not None:
            version, price, order = given.recommended.version, given.recommended.price, given.recommended.order
    elif given.recommended is not None and period is not None:
        version, price, order = given.recommended.version, given.recommended.price, given.recommended.order
    else:
        wanted = "a product of today's list, or else its period and what was recommended"
        raise Refused(422, findings=(f"series must be {wanted}, but {given.series[:200]!r} came",))
    chosen = {"accepted": (price, order), "changed": (given.price, given.order), "declined": (None, None)}
    own_price, own_order = chosen[given.status]
    return StoredDecision(
        id=given.id or uuid4().hex,
        time=_now(),
        who=who,
        version=version,
        series=given.series,
        period=period or "",
        status=given.status,
        recommended_price=price,
        recommended_order=order,
        price=own_price,
        order=own_order,
        reason=given.reason.strip(),
    )
