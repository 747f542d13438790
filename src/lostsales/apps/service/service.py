"""State of a service: the active desk, which is replaced as a whole, versions, decisions and metrics."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import numpy as np

from lostsales.apps.service import models
from lostsales.apps.service.batching import Batcher
from lostsales.apps.service.decisions import Activation, DecisionStore, StoredDecision, Upload
from lostsales.apps.service.desk import Desk, ShopData, ShopFiles
from lostsales.apps.service.metrics import Metrics
from lostsales.apps.service.morning import Query
from lostsales.apps.service.problems import Refused, refusal_of
from lostsales.apps.service.settings import ServiceSettings
from lostsales.apps.service.uploads import FILE, Incoming, Kind, incoming_correction, incoming_rows, read_body
from lostsales.apps.service.versions import PolicyFolder, PolicyVersion, StoreVersions, is_store
from lostsales.data.reading.table import Table
from lostsales.errors import LogError, LostSalesError
from lostsales.types import Ints

CHANGED = "this has changed"
EVALUATION = ".evaluation.json"  # next to a policy, output of `lostsales evaluate --json`
MOST_EVALUATION = 20_000_000  # bytes of such a file
Result = TypeVar("Result")


class RefusedData(NamedTuple):
    """Newer data of the shop that cannot be used."""

    moment: str
    reasons: tuple[str, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Reasons without names and values of rows, which must not appear in the log."""
        return tuple(each.partition(", but ")[0] for each in self.reasons)


@dataclass
class Service:
    """Policy with its versions, its shop and the decisions on it."""

    settings: ServiceSettings
    folder: PolicyFolder | StoreVersions
    files: ShopFiles
    store: DecisionStore
    metrics: Metrics
    desk: Desk  # the active one: read it once in a request
    line: list[str] = field(default_factory=list)  # versions that led to the active one, which is the last
    uploads: tuple[Incoming, ...] = ()  # all data that came in, the oldest first
    refused: RefusedData | None = None  # newer data than those of the desk
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
            if isinstance(folder, StoreVersions) and files.log is None:
                rows, problem = folder.rows(version)
                files = replace(files, log=rows, problem=files.problem or problem)
            incoming = tuple(Incoming(each) for each in store.uploads())
            policy = folder.load(version)
            used = [each for each in incoming if not each.upload.withdrawn]
            desk = Desk.of(version, policy, ShopData.read(files, used, policy.problem))
            service = cls(
                settings,
                folder,
                files,
                store,
                Metrics(),
                desk,
                line=_line(activations, version.version),
                uploads=incoming,
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
        """Shut down; everything acknowledged is on disk already."""
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.store.close()

    async def run(self, work: Any, *arguments: Any) -> Any:
        """Run long work in a thread, within the time limit."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.settings.seconds):
                return await loop.run_in_executor(self.executor, work, *arguments)
        except TimeoutError:
            raise Refused(503, "this took too long", retry=5) from None
        except LostSalesError as error:
            raise refusal_of(error) from None

    def activate(self, version: str, who: str, reason: str) -> Desk:
        """Activate a version: it decides for all of today's rows first, then replaces the other.

        Requests in progress are answered by the version with which they began.
        """
        with self._changing:
            known = {each.version: each for each in self.folder.versions()}
            if version not in known:
                raise Refused(404, "there is no such version of the policy")
            before = self.desk.version.version
            if version == before:
                return self.desk
            # With the data on display: newer ones may be broken, which must not prevent leaving a version.
            desk = Desk.of(known[version], self.folder.load(known[version]), self.desk.data)
            self.store.add_activation(Activation(_now(), who, version, before, reason)).result()
            self._show(desk)
            self.line = _followed(self.line, version)
            self.metrics.activations.inc()
            return desk

    @property
    def previous(self) -> PolicyVersion | None:
        """Version to roll back to: the one before the active one, never one that was left by a roll-back."""
        known = {each.version: each for each in self.folder.versions()}
        return next((known[each] for each in reversed(self.line[:-1]) if each in known), None)

    def roll_back(self, who: str, reason: str) -> Desk:
        """Activate the previous version."""
        previous = self.previous
        if previous is None:
            raise Refused(409, "there is no version before this one")
        return self.activate(previous.version, who, reason or "rolled back")

    def reload_if_changed(self) -> bool:
        """Reload the shop's files if they have changed; unusable ones are reported, and the old data stay."""
        with self._changing:
            try:
                if self.desk.data.stamp == self.files.stamp:
                    self._refuse(None)
                    return False
                desk = self._desk_with(self.uploads)
            except (LostSalesError, OSError) as error:
                reasons = error.findings if isinstance(error, LogError) else (str(error),)
                self._refuse(RefusedData(self.files.moment, reasons))
                return False
            self._show(desk)
            self._refuse(None)
            return True

    def _desk_with(self, uploads: Sequence[Incoming]) -> Desk:
        used, policy = [each for each in uploads if not each.upload.withdrawn], self.desk.policy
        return Desk.of(self.desk.version, policy, ShopData.read(self.files, used, policy.problem))

    def receive(self, kind: Kind, body: bytes | Table, who: str, identity: str = "") -> Upload:
        """Store data that came in, and decide anew; what cannot be used as a whole is refused, and leaves nothing."""
        table = read_body(body, self.settings.most_rows) if isinstance(body, bytes) else body
        with self._changing:
            if known := [each.upload for each in self.uploads if each.upload.id == identity]:
                return known[0]
            before, data = self.desk, self.desk.data
            if kind == "deliveries" and data.problem.columns.received not in data.columns:
                column = data.problem.columns.received
                wanted = f"deliveries need a column {column!r} in the log, which has none: its orders arrive in full"
                raise LostSalesError(wanted)
            if kind in ("log", "today"):
                new = incoming_rows(kind, table, data.problem, data.columns, self.store.latest, who, identity)
                desk = self._desk_with((*self.uploads, new))
            else:
                new = incoming_correction(kind, table, data.problem, before.periods, who, identity)
                desk = self._corrected(new)
            names = set(new.names(data.problem))
            rejected = {name: why for name, why in desk.left_out.items() if name in names}
            if names and names <= set(rejected):
                raise LogError(FILE, tuple(dict.fromkeys(f"{name}: {why}" for name, why in rejected.items())))
            upload = replace(new.upload, rejected=json.dumps(json.loads(new.upload.rejected) | rejected))
            self.store.add_upload(upload).result()
            self.uploads = (*self.uploads, Incoming(upload))
            self._show(desk)
            return upload

    def _corrected(self, new: Incoming) -> Desk:
        """Desk after a correction: the log is read again only if its periods are concerned."""
        uploads, periods = (*self.uploads, new), set(self.desk.morning.period.tolist())
        if new.upload.kind == "stock" and {new.upload.first, new.upload.last} <= periods:
            used = [each for each in uploads if not each.upload.withdrawn]
            return Desk.of(self.desk.version, self.desk.policy, self.desk.data.counted(used), self.desk.recent)
        return self._desk_with(uploads)

    def withdraw(self, upload: str, who: str) -> Upload:
        """Leave out data that came in, and decide anew."""
        with self._changing:
            found = next((each.upload for each in self.uploads if each.upload.id == upload), None)
            if found is None:
                raise Refused(404, "there is no such upload")
            if found.withdrawn:
                return found
            found = replace(found, withdrawn=f"{_now()} {who}")
            uploads = tuple(Incoming(found) if each.upload.id == upload else each for each in self.uploads)
            desk = self._desk_with(uploads)
            self.store.withdraw(upload, found.withdrawn).result()
            self.uploads = uploads
            self._show(desk)
            return found

    def _refuse(self, refused: RefusedData | None) -> None:
        self.refused = refused
        self.metrics.refused.set(refused is not None)

    def _show(self, desk: Desk) -> None:
        for period in np.unique(desk.morning.period.astype(str)) if len(desk.morning) else ():
            desk.morning.mark(self.store.latest(str(period)).values())
        self.desk = desk
        exceptions = int(desk.morning.is_flagged.sum())
        self.metrics.activated(desk.version.version, len(desk.morning), exceptions, len(desk.left_out))

    async def decide(self, decisions: Sequence[StoredDecision]) -> list[StoredDecision]:
        """Store decisions; they are on disk when this returns."""
        try:
            stored = await asyncio.wrap_future(self.store.add(decisions))
        except LostSalesError as error:
            raise Refused(503, str(error), retry=5) from None
        self._count(stored)
        return stored

    async def accept_all(self, query: Query, shown: str, who: str) -> int:
        """Accept every unflagged, undecided product that a query shows, if they are as `shown`."""
        count: int = await self.run(self._accept_all, self.desk, query, shown, who)
        return count

    def _accept_all(self, desk: Desk, query: Query, shown: str, who: str) -> int:
        with self._deciding:  # two simultaneous requests must not store everything twice
            rows = desk.morning.acceptable(query)
            if digest(desk, rows) != shown:
                raise Refused(409, f"{CHANGED} since the list was loaded: nothing was stored, look at it again")
            decisions = [accepted(desk, at, who) for at in rows.tolist()]
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
        """Output of `lostsales evaluate --json` for a version, if it is next to the policy and not older."""
        path = version.path.with_name(f"{version.path.name}{EVALUATION}")
        try:
            stat = path.stat()
            if stat.st_size > MOST_EVALUATION or stat.st_mtime < version.modified.timestamp():
                return None
            found = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return _without_contributions(found) if isinstance(found, dict) else None


def _line(activations: list[Activation], active: str) -> list[str]:
    """Versions that led to the active one, from activations sorted from new to old."""
    line: list[str] = []
    for each in reversed(activations):
        line = _followed(line or [each.previous], each.version)
    return _followed(line, active)


def _followed(line: list[str], version: str) -> list[str]:
    """Append a version to the line; going back to an earlier one drops those after it.

    >>> _followed(["a", "b"], "c"), _followed(["a", "b", "c"], "a")
    (['a', 'b', 'c'], ['a'])
    """
    return [*(line[: line.index(version)] if version in line else line), version]


def _without_contributions(found: dict[str, Any]) -> dict[str, Any]:
    """Evaluation without contributions of single resampling units, which are many."""
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
    """Acceptance of the recommendation for a product of the list."""
    listed = desk.morning
    price, order = float(listed.price[at]), float(listed.order[at])
    version, name, period = desk.version.version, str(listed.name[at]), str(listed.period[at])
    return StoredDecision(uuid4().hex, _now(), who, version, name, period, "accepted", price, order, price, order, "")


def digest(desk: Desk, rows: Ints) -> str:
    """Hash of the recommendations for some products of the list."""
    listed = desk.morning
    texts = [desk.version.version, *listed.name[rows].tolist(), *listed.period[rows].tolist()]
    figures = listed.price[rows].tobytes() + listed.order[rows].tobytes()
    return sha256(json.dumps(texts).encode() + figures).hexdigest()


def decision_json(decision: StoredDecision) -> dict[str, Any]:
    """Stored decision for JSON."""
    return asdict(decision)


def stored(desk: Desk, given: models.NewDecision, who: str) -> StoredDecision:
    """Record of a new decision; refused if a listed product has another recommendation than the one that was seen."""
    at = desk.morning.place.get(given.series)
    period = None if given.period is None else str(given.period)
    if at is not None:
        listed, version = desk.morning, desk.version.version
        price, order, today = float(listed.price[at]), float(listed.order[at]), str(listed.period[at])
        seen = given.recommended
        if seen is None and given.status == "accepted":
            raise Refused(422, findings=("recommended: the version, price and order that are accepted are needed",))
        if period not in (None, today) or (seen and (seen.version, seen.price, seen.order) != (version, price, order)):
            now = f"{version} recommends a price of {price:.10g} and an order of {order:.10g} for period {today}"
            raise Refused(409, f"{CHANGED}: for product {given.series[:100]}, {now}; nothing was stored")
        period = today
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
