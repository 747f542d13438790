"""Store of people's decisions on recommendations, with reasons, and of uploaded data, in SQLite or PostgreSQL.

One thread writes. It puts all waiting requests into one transaction, and answers them once that is on disk.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from lostsales.apps.service.connections import (
    BUSY_SECONDS,
    POSTGRES,
    Connection,
    Read,
    again,
    locked,
    postgres,
    read_only,
    reading,
    reason,
    shown,
    sqlite,
)
from lostsales.apps.service.text import folded
from lostsales.errors import LostSalesError

Status = Literal["accepted", "changed", "declined", "withdrawn", "proposed", "comment"]
MOST_TOGETHER = 500  # requests in one transaction
MOST_MARKS = 500  # ids in one statement
SCHEMA = """
CREATE TABLE IF NOT EXISTS lostsales_decisions (
    seq {serial}, id TEXT NOT NULL UNIQUE, time TEXT NOT NULL, who TEXT NOT NULL, version TEXT NOT NULL,
    series TEXT NOT NULL, period TEXT NOT NULL, status TEXT NOT NULL,
    recommended_price {real}, recommended_order {real}, price {real}, "order" {real}, reason TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS lostsales_decisions_series ON lostsales_decisions (series, seq);
CREATE INDEX IF NOT EXISTS lostsales_decisions_period ON lostsales_decisions (period, seq);
CREATE TABLE IF NOT EXISTS lostsales_activations (
    seq {serial}, time TEXT NOT NULL, who TEXT NOT NULL, version TEXT NOT NULL, previous TEXT NOT NULL,
    reason TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS lostsales_sent_orders (
    seq {serial}, id TEXT NOT NULL UNIQUE, time TEXT NOT NULL, who TEXT NOT NULL, supplier TEXT NOT NULL,
    lines INTEGER NOT NULL, content TEXT NOT NULL, status TEXT NOT NULL, kind TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS lostsales_lists (
    seq {serial}, id TEXT NOT NULL UNIQUE, time TEXT NOT NULL, version TEXT NOT NULL, content {bytes} NOT NULL
);
CREATE TABLE IF NOT EXISTS lostsales_uploads (
    seq {serial}, id TEXT NOT NULL UNIQUE, time TEXT NOT NULL, who TEXT NOT NULL, kind TEXT NOT NULL,
    rows INTEGER NOT NULL, products INTEGER NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL,
    filled INTEGER NOT NULL, rejected TEXT NOT NULL, content {bytes} NOT NULL, withdrawn TEXT NOT NULL
);
"""


class TrailQuery(NamedTuple):
    """Decisions that are looked for; what is empty does not matter."""

    series: str = ""  # name of a product
    q: str = ""  # words of its name
    period: str = ""
    status: str = ""
    who: str = ""
    since: str = ""  # first day, UTC
    until: str = ""  # last day


ALL = TrailQuery()


class TakenError(LostSalesError):
    """Another decision is stored already; nothing was written."""


@dataclass(frozen=True)
class StoredDecision:
    """One decision on one product in one period."""

    id: str  # of the request: the same id is stored once
    time: str  # UTC
    who: str  # name of the key
    version: str  # of the policy that recommended
    series: str
    period: str
    status: Status
    recommended_price: float | None
    recommended_order: float | None
    price: float | None  # None if it was declined
    order: float | None
    reason: str
    seq: int = 0  # given by the store, rising

    @property
    def is_order(self) -> bool:
        """True if its price and order count: it was not declined, and needs no second person."""
        return self.status in ("accepted", "changed")


@dataclass(frozen=True)
class Activation:
    """Activation of a version."""

    time: str
    who: str
    version: str
    previous: str
    reason: str
    seq: int = 0


@dataclass(frozen=True)
class Upload:
    """Table of data that came in."""

    id: str  # of the request: the same id is stored once
    time: str  # UTC
    who: str  # name of the key
    kind: str  # what its rows are
    rows: int
    products: int
    first: str  # period
    last: str
    filled: int  # prices and orders that it lacked, taken from decisions
    rejected: str  # JSON: products that are left out because of it, and why
    content: bytes  # Parquet
    withdrawn: str = ""  # when and by whom
    seq: int = 0


@dataclass(frozen=True)
class ShownList:
    """First list of some periods that a version has shown."""

    id: str  # of version and periods
    time: str  # UTC
    version: str
    content: bytes  # Parquet
    seq: int = 0


@dataclass(frozen=True)
class SentOrder:
    """Order of a supplier, or an alert, that was given to its webhook."""

    id: str
    time: str
    who: str
    supplier: str
    lines: int
    content: str  # JSON as it is sent
    status: str  # waiting, sent, or why it failed
    kind: str = "order"  # or alert
    seq: int = 0


Record = StoredDecision | Activation | Upload | SentOrder | ShownList
TABLES: dict[type[Record], str] = {
    StoredDecision: "lostsales_decisions",
    Activation: "lostsales_activations",
    Upload: "lostsales_uploads",
    SentOrder: "lostsales_sent_orders",
    ShownList: "lostsales_lists",
}


Work = Callable[[Connection], Any]


class DecisionStore:
    """Decisions and activations in a database, written by one thread."""

    def __init__(self, target: str | Path) -> None:
        text = str(target)
        self._lock: IO[bytes] | None = None
        if text.startswith(POSTGRES):
            self._database = postgres(text)
        else:
            self._lock = locked(Path(text))
            self._database = sqlite(Path(text))
        try:
            self._writer = self._database.connect()
            self._reader = self._database.connect()
            for statement in self._database.statements(SCHEMA):
                self._writer.execute(statement)
            self._writer.commit()
        except Exception as error:  # noqa: BLE001, whatever a database driver raises
            if self._lock is not None:
                self._lock.close()
            raise LostSalesError(f"decisions cannot be stored in {shown(text)}: {reason(error)}") from None
        self._reading = threading.Lock()
        self._waiting: queue.SimpleQueue[tuple[Work, Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_all, name="decisions", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write what is waiting, and end."""
        self._waiting.put(None)
        self._thread.join(BUSY_SECONDS)
        self._reader.close()
        if self._lock is not None:
            self._lock.close()

    def add(self, decisions: Sequence[StoredDecision]) -> "Future[list[StoredDecision]]":
        """Store decisions; the future is done once they are on disk.

        A known id returns the stored decision; if that says something else, nothing is stored.
        """

        def work(connection: Connection) -> list[StoredDecision] | TakenError:
            known = self._known(reading(connection), [each.id for each in decisions])
            if any(_content(known[each.id]) != _content(each) for each in decisions if each.id in known):
                return TakenError("the id belongs to another decision")
            connection.cursor().executemany(self._insert(StoredDecision), [_values(each) for each in decisions])
            found = self._known(reading(connection), [each.id for each in decisions])
            return [found[each.id] for each in decisions]

        return self._submit(work)

    def add_many(self, decisions: Sequence[StoredDecision]) -> "Future[int]":
        """Store decisions with new ids in one transaction, as fast as possible: the last number given.

        Nothing is stored if one of the products has a decision by now.
        """
        rows = [_values(each) for each in decisions]
        wanted = {(each.series, each.period) for each in decisions}

        def work(connection: Connection) -> int | TakenError:
            for period in {each.period for each in decisions}:
                taken = reading(connection)(self._latest, (period, period))
                if any((row[5], row[6]) in wanted for row in taken if row[7] != "withdrawn"):
                    return TakenError("someone has decided meanwhile")
            connection.cursor().executemany(self._insert(StoredDecision), rows)
            return int(connection.execute("SELECT max(seq) FROM lostsales_decisions").fetchone()[0] or 0)

        return self._submit(work)

    def add_activation(self, activation: Activation) -> "Future[None]":
        """Store that a version was activated."""
        sql = self._insert(Activation)
        return self._submit(lambda connection: connection.execute(sql, _values(activation)) and None)

    def add_upload(self, upload: Upload) -> "Future[None]":
        """Store data that came in."""
        sql = self._insert(Upload)
        return self._submit(lambda connection: connection.execute(sql, _values(upload)) and None)

    def withdraw(self, upload: str, by: str) -> "Future[None]":
        """Mark data that came in as withdrawn."""
        mark = self._database.mark
        sql = f"UPDATE lostsales_uploads SET withdrawn = {mark} WHERE id = {mark} AND withdrawn = ''"
        return self._submit(lambda connection: connection.execute(sql, (by, upload)) and None)

    def add_sent(self, order: SentOrder) -> "Future[None]":
        """Store an order before it is sent."""
        return self._submit(lambda connection: connection.execute(self._insert(SentOrder), _values(order)) and None)

    def told(self, order: str, status: str) -> "Future[None]":
        """Store what came of sending an order."""
        mark = self._database.mark
        sql = f"UPDATE lostsales_sent_orders SET status = {mark} WHERE id = {mark}"
        return self._submit(lambda connection: connection.execute(sql, (status, order)) and None)

    def sent(self, kind: str = "order", limit: int = 1000) -> list[SentOrder]:
        """Orders or alerts given to their webhook, the newest first."""
        where = f"WHERE kind = {self._database.mark} ORDER BY seq DESC LIMIT {int(limit)}"
        rows = self._read(f"SELECT * FROM lostsales_sent_orders {where}", (kind,))
        return [SentOrder(*(*row[1:], row[0])) for row in rows]

    def add_list(self, shown: ShownList) -> "Future[None]":
        """Store a list, unless the same version has shown one of these periods already."""
        sql = self._insert(ShownList)
        return self._submit(lambda connection: connection.execute(sql, _values(shown)) and None)

    def lists(self, limit: int) -> list[ShownList]:
        """Lists that were shown, the newest first."""
        rows = self._read(f"SELECT * FROM lostsales_lists ORDER BY seq DESC LIMIT {int(limit)}", ())
        return [ShownList(*(*row[1:], row[0])) for row in rows]

    def latest_number(self) -> int:
        """Number of the last decision, 0 if there is none."""
        return int(self._read("SELECT max(seq) FROM lostsales_decisions", ())[0][0] or 0)

    def uploads(self) -> list[Upload]:
        """All data that came in, the oldest first."""
        rows = self._read("SELECT * FROM lostsales_uploads ORDER BY seq", ())
        return [Upload(*(*row[1:], row[0])) for row in rows]

    def decisions(self, asked: TrailQuery = ALL, *, before: int = 0, limit: int = 100) -> list[StoredDecision]:
        """Decisions, the newest first; `before` is a sequence number, for the next page."""
        mark, text = self._database.mark, self._database.folded.format("series")
        where = [(f"{name} = {mark}", getattr(asked, name)) for name in ("series", "period", "status", "who")]
        where += [(f"seq < {mark}", before), (f"substr(time, 1, 10) >= {mark}", asked.since)]
        where += [(f"substr(time, 1, 10) <= {mark}", asked.until)]
        where += [(f"replace({text}, {mark}, '') <> {text}", word) for word in folded(asked.q).split()]
        given = [(text, value) for text, value in where if value]
        condition = " AND ".join(text for text, _ in given) or "1 = 1"
        sql = f"SELECT * FROM lostsales_decisions WHERE {condition} ORDER BY seq DESC LIMIT {int(limit)}"
        return [_decision(row) for row in self._read(sql, tuple(value for _, value in given))]

    def people(self) -> list[str]:
        """Names of those who have decided."""
        return [str(each[0]) for each in self._read("SELECT DISTINCT who FROM lostsales_decisions ORDER BY who", ())]

    def latest(self, period: str) -> dict[str, StoredDecision]:
        """Last decision on every product in a period, by series, unless it was withdrawn."""
        found = (_decision(row) for row in self._read(self._latest, (period, period)))
        return {each.series: each for each in found if each.status != "withdrawn"}

    def known(self, ids: Sequence[str]) -> dict[str, StoredDecision]:
        """Stored decisions with some ids."""
        return self._known(self._read, ids)

    @property
    def _latest(self) -> str:
        """Statement for the last decision on every product in a period, which it takes twice."""
        mark = self._database.mark
        last = f"SELECT max(seq) FROM lostsales_decisions WHERE period = {mark} AND status <> 'comment' GROUP BY series"
        return f"SELECT * FROM lostsales_decisions WHERE period = {mark} AND seq IN ({last})"

    def _known(self, read: Read, ids: Sequence[str]) -> dict[str, StoredDecision]:
        found: dict[str, StoredDecision] = {}
        for start in range(0, len(ids), MOST_MARKS):
            some = tuple(ids[start : start + MOST_MARKS])
            marks = ", ".join([self._database.mark] * len(some))
            rows = read(f"SELECT * FROM lostsales_decisions WHERE id IN ({marks})", some)
            found |= {row[1]: _decision(row) for row in rows}
        return found

    def activations(self, limit: int = 100) -> list[Activation]:
        """Activations, the newest first."""
        rows = self._read(f"SELECT * FROM lostsales_activations ORDER BY seq DESC LIMIT {int(limit)}", ())
        return [Activation(*(*row[1:], row[0])) for row in rows]

    @property
    def is_writing(self) -> bool:
        """True if the writing thread is alive."""
        return self._thread.is_alive()

    def is_alive(self) -> bool:
        """Return True if the store can be read and written."""
        try:
            self._read("SELECT 1", ())
            return self.is_writing
        except Exception:  # noqa: BLE001, whatever a database driver raises
            return False

    def _insert(self, kind: type[Record]) -> str:
        names = [each.name for each in fields(kind) if each.name != "seq"]
        columns = ", ".join(f'"{name}"' for name in names)
        marks = ", ".join([self._database.mark] * len(names))
        known = " ON CONFLICT (id) DO NOTHING" if kind in (StoredDecision, ShownList) else ""
        return f"INSERT INTO {TABLES[kind]} ({columns}) VALUES ({marks}){known}"

    def _read(self, sql: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._reading:
            try:
                rows: list[tuple[Any, ...]] = self._reader.execute(sql, parameters).fetchall()
                self._reader.rollback()  # so that the next query sees what was written meanwhile
            except Exception:
                self._reader = again(self._reader, self._database)
                raise
            return rows

    def _submit(self, work: Work) -> "Future[Any]":
        future: Future[Any] = Future()
        self._waiting.put((work, future))
        return future

    def _write_all(self) -> None:
        going = True
        while going:
            together = [self._waiting.get()]
            with contextlib.suppress(queue.Empty):
                while len(together) < MOST_TOGETHER:
                    together.append(self._waiting.get_nowait())
            going = None not in together
            # Cancelled requests are skipped; from here on a future cannot be cancelled any more.
            jobs = [job for job in together if job is not None and job[1].set_running_or_notify_cancel()]
            try:
                self._write(jobs)
            except Exception as error:  # noqa: BLE001, without this thread nobody could decide any more
                for _, future in jobs:
                    if not future.done():
                        future.set_exception(LostSalesError(f"the decision could not be stored: {error!r}"))
        self._writer.close()

    def _write(self, jobs: list[tuple[Work, "Future[Any]"]]) -> None:
        """Write all jobs in one transaction; if that fails, each alone, so that one does not spoil the others."""
        try:
            results = [work(self._writer) for work, _ in jobs]
            self._writer.commit()
        except Exception as error:  # noqa: BLE001, whatever a database driver raises
            with contextlib.suppress(Exception):
                self._writer.rollback()
            if len(jobs) > 1:
                for job in jobs:
                    self._write([job])
                return
            for _, future in jobs:
                future.set_exception(LostSalesError(f"the decision could not be stored: {reason(error)}"))
            if self._database.mark != "?":
                with contextlib.suppress(Exception):
                    self._writer = again(self._writer, self._database)
            return
        for (_, future), result in zip(jobs, results, strict=True):
            if isinstance(result, TakenError):
                future.set_exception(result)
            else:
                future.set_result(result)


def last_activated(target: str | Path) -> str | None:
    """Version that was activated last, read beside a running service; None if there is none yet."""
    text = str(target)
    if not text.startswith(POSTGRES) and not Path(text).is_file():
        return None
    try:
        with contextlib.closing(postgres(text).connect() if text.startswith(POSTGRES) else read_only(text)) as store:
            found = reading(store)("SELECT version FROM lostsales_activations ORDER BY seq DESC LIMIT 1", ())
    except Exception as error:  # noqa: BLE001, whatever a database driver raises
        raise LostSalesError(f"decisions cannot be read in {shown(text)}: {reason(error)}") from None
    return str(found[0][0]) if found else None


def _values(record: Record) -> tuple[Any, ...]:
    return tuple(getattr(record, each.name) for each in fields(record) if each.name != "seq")


def _content(decision: StoredDecision) -> StoredDecision:
    """Decision without its time and number."""
    return replace(decision, time="", seq=0)


def _decision(row: tuple[Any, ...]) -> StoredDecision:
    return StoredDecision(*(*row[1:], row[0]))
