"""State of a service: the active desk, which is replaced as a whole, versions, decisions and metrics."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lostsales.apps.service import models
from lostsales.apps.service.batching import Batcher
from lostsales.apps.service.bulk_process import BulkProcesses
from lostsales.apps.service.deciding import (
    CHANGED,
    accepted,
    check_part,
    check_usual,
    digest,
    now,
    records,
    repeats,
    shown_list,
)
from lostsales.apps.service.decisions import (
    Activation,
    DecisionStore,
    SentOrder,
    StoredDecision,
    TakenError,
    Upload,
    last_activated,
)
from lostsales.apps.service.desk import Desk
from lostsales.apps.service.keys import Key
from lostsales.apps.service.metrics import Metrics
from lostsales.apps.service.morning import ExceptionLimits, Query
from lostsales.apps.service.orders import read_terms
from lostsales.apps.service.problems import Refused, refusal_of
from lostsales.apps.service.settings import ServiceSettings
from lostsales.apps.service.shop_data import ShopData, ShopFiles
from lostsales.apps.service.uploads import FILE, Incoming, Kind, incoming_correction, incoming_rows, read_body, used
from lostsales.apps.service.versions import PolicyFolder, PolicyVersion, StoreVersions, is_store
from lostsales.apps.service.webhook import OrderWebhook
from lostsales.data.reading.table import Table
from lostsales.errors import LogError, LostSalesError

STARTED = "start"  # in place of a name
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
    refit: Any = None  # the last job
    refitting: threading.Lock = field(default_factory=threading.Lock)
    results: tuple[Any, Any] | None = None  # of decisions, and what they were worked out from
    executor: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "decide"))
    _listed: set[str] = field(default_factory=set)  # ids of lists that are stored
    _changing: threading.Lock = field(default_factory=threading.Lock)
    _deciding: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def start(cls, path: Path, files: ShopFiles, settings: ServiceSettings) -> "Service":
        """Load the active version and decide for today's rows."""
        folder, files = folder_of(path), _asked(files, settings)
        store = DecisionStore(decisions_of(folder, settings))
        try:
            activations = store.activations()
            incoming = tuple(Incoming(each) for each in store.uploads())
            recorded = activations[0].version if activations else None
            desk, files = opened(folder, files, recorded, incoming)
            version = desk.version.version
            if not activations or activations[0].version != version:
                before = activations[0].version if activations else ""
                store.add_activation(Activation(now(), STARTED, version, before, "the service began with it")).result()
            line = _line(activations, version)
            executor = ThreadPoolExecutor(settings.workers, "decide")
            service = cls(
                settings, folder, files, store, Metrics(), desk, line=line, uploads=incoming, executor=executor
            )
        except BaseException:
            store.close()
            raise
        service._show(desk)
        return service

    def __post_init__(self) -> None:
        read_terms(self.settings.suppliers)  # so that a mistake in it is told at the start
        self.webhook = OrderWebhook.of(self.settings, self.store)
        self.alerts = OrderWebhook.of(self.settings, self.store, "alert")
        self.batcher = Batcher(lambda: self.desk, self.executor)
        self.bulk = BulkProcesses(self.settings)

    def close(self) -> None:
        """Shut down; everything acknowledged is on disk already."""
        self.bulk.close()
        self.executor.shutdown(wait=False, cancel_futures=True)
        for each in (self.webhook, self.alerts):
            if each is not None:
                each.close()
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

    def desk_of(self, version: str) -> Desk:
        """Desk of a version with the data on display: newer ones may be broken."""
        known = {each.version: each for each in self.folder.versions()}
        if version not in known:
            raise Refused(404, "there is no such version of the policy")
        wanted, data = known[version], self.desk.data
        if files_of(self.files, wanted) != self._files:
            data = self.data_of(files_of(self.files, wanted))
        return Desk.of(wanted, self.folder.load(wanted), data)

    @property
    def _files(self) -> ShopFiles:
        """Files of the active version."""
        return files_of(self.files, self.desk.version)

    def data_of(self, files: ShopFiles) -> ShopData:
        """Data of some files with what came in."""
        return ShopData.read(files, used(self.uploads), self.desk.policy.problem)

    def activate(self, version: str, who: str, reason: str) -> Desk:
        """Activate a version: it decides for all of today's rows first, then replaces the other.

        Requests in progress are answered by the version with which they began.
        """
        with self._changing:
            before = self.desk.version.version
            if version == before:
                return self.desk
            desk = self.desk_of(version)
            self.store.add_activation(Activation(now(), who, version, before, reason)).result()
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
                if self.desk.data.stamp == self._files.stamp:
                    self._refuse(None)
                    return False
                desk = self._desk_with(self.uploads)
            except (LostSalesError, OSError) as error:
                reasons = error.findings if isinstance(error, LogError) else (str(error),)
                self._refuse(RefusedData(self._files.moment, reasons))
                return False
            self._show(desk)
            self._refuse(None)
            return True

    def _desk_with(self, uploads: Sequence[Incoming]) -> Desk:
        policy = self.desk.policy
        return Desk.of(self.desk.version, policy, ShopData.read(self._files, used(uploads), policy.problem))

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
            data = self.desk.data.counted(used(uploads))
            return Desk.of(self.desk.version, self.desk.policy, data, self.desk.recent)
        return self._desk_with(uploads)

    def send(self, order: SentOrder, to: OrderWebhook) -> SentOrder:
        """Store an order or an alert and give it to its webhook; one with the same id is sent once."""
        with self._changing:
            known = next((each for each in self.store.sent(order.kind) if each.id == order.id), None)
            if known is None:
                self.store.add_sent(order).result()
                to.send(order)
            return known or order

    def withdraw(self, upload: str, who: str) -> Upload:
        """Leave out data that came in, and decide anew."""
        with self._changing:
            found = next((each.upload for each in self.uploads if each.upload.id == upload), None)
            if found is None:
                raise Refused(404, "there is no such upload")
            if found.withdrawn:
                return found
            found = replace(found, withdrawn=f"{now()} {who}")
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
        """Replace the desk. A decision stored meanwhile is in the store when it is read, or marks the new list."""
        with self._deciding:
            self.desk = desk
            for period in desk.morning.periods:
                desk.morning.mark(self.store.latest(period).values())
        if (shown := shown_list(desk)) is not None and shown.id not in self._listed:
            self._listed.add(shown.id)
            self.store.add_list(shown)
        exceptions = int(desk.morning.is_flagged.sum())
        self.metrics.activated(desk.version.version, len(desk.morning), exceptions, len(desk.left_out))

    async def decide(self, given: Sequence[models.NewDecision], key: Key) -> list[StoredDecision]:
        """Store decisions; they are on disk when this returns. Those that are stored already are answered again."""
        desk, ids, who = self.desk, [each.id for each in given if each.id], key.name
        check_part(desk, given, key)
        known = await self.run(self.store.known, ids) if ids else {}
        for each in given:
            if each.id in known and not repeats(each, who, known[each.id]):
                raise Refused(409, f"the id {each.id} belongs to another decision: nothing was stored")
        new = [each for each in given if each.id not in known]
        proposals = {} if all(each.status != "approved" for each in new) else await self.run(self._proposals)
        found = records(desk, new, who, proposals)
        if any(each.status == "changed" for each in new):
            await self.run(check_usual, desk, new)
        try:
            stored = await asyncio.wrap_future(self.store.add(found))
        except TakenError as error:
            raise Refused(409, f"{error}: nothing was stored") from None
        except LostSalesError as error:
            raise Refused(503, str(error), retry=5) from None
        self._count(stored)
        fresh = iter(stored)
        return [known[each.id] if each.id in known else next(fresh) for each in given]

    def _proposals(self) -> dict[str, StoredDecision]:
        """Decisions on today's products that wait for a second person."""
        latest = {
            name: each for period in self.desk.morning.periods for name, each in self.store.latest(period).items()
        }
        return {name: each for name, each in latest.items() if each.status == "proposed"}

    async def accept_all(self, query: Query, shown: str, who: str) -> int:
        """Accept every unflagged, undecided product that a query shows, if they are as `shown`."""
        count: int = await self.run(self._accept_all, query, shown, who)
        return count

    def _accept_all(self, query: Query, shown: str, who: str) -> int:
        with self._deciding:  # two simultaneous requests must not store everything twice
            desk = self.desk
            rows = desk.morning.acceptable(query)
            if digest(desk, rows) != shown:
                raise Refused(409, f"{CHANGED} since the list was loaded: nothing was stored, look at it again")
            decisions = [accepted(desk, at, who) for at in rows.tolist()]
            try:
                last = self.store.add_many(decisions).result()
            except TakenError as error:
                raise Refused(409, f"{CHANGED}: {error}, and nothing was stored; look at it again") from None
            except LostSalesError as error:
                raise Refused(503, str(error), retry=5) from None
            self._count([replace(each, seq=last) for each in decisions])
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


def checked(path: Path, files: ShopFiles, settings: ServiceSettings) -> Desk:
    """Desk that a service would start with; nothing is written, and another service may run meanwhile."""
    folder, files = folder_of(path), _asked(files, settings)
    return opened(folder, files, last_activated(decisions_of(folder, settings)))[0]


def _thresholds(settings: ServiceSettings) -> ExceptionLimits:
    return ExceptionLimits(settings.flag_chance, settings.flag_money, settings.four_eyes or np.inf)


def _asked(files: ShopFiles, settings: ServiceSettings) -> ShopFiles:
    """Files of a shop with what the settings say about it."""
    return replace(files, supplier=settings.supplier, thresholds=_thresholds(settings))


def folder_of(path: Path) -> PolicyFolder | StoreVersions:
    """Versions of a store of a fleet, or of a policy file and its folder."""
    return StoreVersions(path) if is_store(path) else PolicyFolder.of(path)


def decisions_of(folder: PolicyFolder | StoreVersions, settings: ServiceSettings) -> str | Path:
    """Where decisions are stored: by default next to the policy."""
    return settings.decisions or folder.folder / "decisions.db"


def opened(
    folder: PolicyFolder | StoreVersions, files: ShopFiles, recorded: str | None, uploads: Sequence[Incoming] = ()
) -> tuple[Desk, ShopFiles]:
    """Desk of the version to begin with, and the files of its shop."""
    version = folder.initial(recorded)
    if isinstance(folder, StoreVersions) and files.log is None:
        rows, problem = folder.rows(version)
        files = replace(files, log=rows, problem=files.problem or problem)
    policy = folder.load(version)
    return Desk.of(version, policy, ShopData.read(files_of(files, version), used(uploads), policy.problem)), files


def problem_of(path: Path) -> Path:
    """Problem that a policy was fitted with, if its rules or costs were edited."""
    return path.with_name(f"{path.name}.problem.toml")


def files_of(files: ShopFiles, version: PolicyVersion) -> ShopFiles:
    """Files of a shop as a version reads them: with its own rules and costs if they were edited."""
    own = problem_of(version.path)
    return replace(files, problem=own) if own.is_file() else files


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
