"""Store of people's decisions on recommendations, with reasons, in SQLite or PostgreSQL.

One thread writes. It puts all waiting requests into one transaction, and answers them once that is on disk.
"""

import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from lostsales.data.output_files import check_output, try_lock
from lostsales.errors import LostSalesError, SettingError

Status = Literal["accepted", "changed", "declined", "withdrawn"]
POSTGRES = ("postgresql://", "postgres://")
BUSY_SECONDS = 20  # to wait for a busy database, and for the writer to end
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
"""


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


@dataclass(frozen=True)
class Activation:
    """Activation of a version."""

    time: str
    who: str
    version: str
    previous: str
    reason: str
    seq: int = 0


class Connection(Protocol):
    """Database connection of sqlite3 or psycopg, in the parts used."""

    def execute(self, sql: str, parameters: Any = ...) -> Any:
        """Run one statement."""
        ...

    def cursor(self) -> Any:
        """Run many statements at once."""
        ...

    def commit(self) -> None:
        """End the transaction; what it wrote is on disk."""
        ...

    def rollback(self) -> None:
        """Undo the transaction."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


@dataclass(frozen=True)
class _Database:
    """Connection and SQL dialect of a database."""

    connect: Callable[[], Connection]
    mark: str  # of a parameter
    serial: str
    real: str


Work = Callable[[Connection], Any]
Read = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]


class DecisionStore:
    """Decisions and activations in a database, written by one thread."""

    def __init__(self, target: str | Path) -> None:
        text = str(target)
        self._lock: IO[bytes] | None = None
        if text.startswith(POSTGRES):
            self._database = _postgres(text)
        else:
            self._lock = _locked(Path(text))
            self._database = _sqlite(Path(text))
        try:
            self._writer = self._database.connect()
            self._reader = self._database.connect()
            for statement in SCHEMA.format(serial=self._database.serial, real=self._database.real).split(";"):
                if statement.strip():
                    self._writer.execute(statement)
            self._writer.commit()
        except Exception as error:  # noqa: BLE001, whatever a database driver raises
            if self._lock is not None:
                self._lock.close()
            raise LostSalesError(f"decisions cannot be stored in {_shown(text)}: {_reason(error)}") from None
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
            known = self._known(_reading(connection), [each.id for each in decisions])
            if any(_content(known[each.id]) != _content(each) for each in decisions if each.id in known):
                return TakenError("the id belongs to another decision")
            connection.cursor().executemany(self._insert(StoredDecision), [_values(each) for each in decisions])
            found = self._known(_reading(connection), [each.id for each in decisions])
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
                taken = _reading(connection)(self._latest, (period, period))
                if any((row[5], row[6]) in wanted for row in taken if row[7] != "withdrawn"):
                    return TakenError("someone has decided meanwhile")
            connection.cursor().executemany(self._insert(StoredDecision), rows)
            return int(connection.execute("SELECT max(seq) FROM lostsales_decisions").fetchone()[0] or 0)

        return self._submit(work)

    def add_activation(self, activation: Activation) -> "Future[None]":
        """Store that a version was activated."""
        sql = self._insert(Activation)
        return self._submit(lambda connection: connection.execute(sql, _values(activation)) and None)

    def decisions(
        self, *, series: str = "", period: str = "", status: str = "", before: int = 0, limit: int = 100
    ) -> list[StoredDecision]:
        """Decisions, the newest first; `before` is a sequence number, for the next page."""
        where = {"series = ": series, "period = ": period, "status = ": status, "seq < ": before}
        given = {column: value for column, value in where.items() if value}
        condition = " AND ".join(f"{column}{self._database.mark}" for column in given) or "1 = 1"
        sql = f"SELECT * FROM lostsales_decisions WHERE {condition} ORDER BY seq DESC LIMIT {int(limit)}"
        return [_decision(row) for row in self._read(sql, tuple(given.values()))]

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
        last = f"SELECT max(seq) FROM lostsales_decisions WHERE period = {mark} GROUP BY series"
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

    def _insert(self, kind: type[StoredDecision] | type[Activation]) -> str:
        names = [each.name for each in fields(kind) if each.name != "seq"]
        columns = ", ".join(f'"{name}"' for name in names)
        marks = ", ".join([self._database.mark] * len(names))
        if kind is Activation:
            return f"INSERT INTO lostsales_activations ({columns}) VALUES ({marks})"
        return f"INSERT INTO lostsales_decisions ({columns}) VALUES ({marks}) ON CONFLICT (id) DO NOTHING"

    def _read(self, sql: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._reading:
            try:
                rows: list[tuple[Any, ...]] = self._reader.execute(sql, parameters).fetchall()
                self._reader.rollback()  # so that the next query sees what was written meanwhile
            except Exception:
                self._reader = _again(self._reader, self._database)
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
                future.set_exception(LostSalesError(f"the decision could not be stored: {_reason(error)}"))
            if self._database.mark != "?":
                with contextlib.suppress(Exception):
                    self._writer = _again(self._writer, self._database)
            return
        for (_, future), result in zip(jobs, results, strict=True):
            if isinstance(result, TakenError):
                future.set_exception(result)
            else:
                future.set_result(result)


def _reading(connection: Connection) -> Read:
    """Queries within the transaction of a connection."""
    return lambda sql, parameters: list(connection.execute(sql, parameters).fetchall())


def _again(connection: Connection, database: _Database) -> Connection:
    with contextlib.suppress(Exception):
        connection.close()
    return database.connect()


def _values(record: StoredDecision | Activation) -> tuple[Any, ...]:
    return tuple(getattr(record, each.name) for each in fields(record) if each.name != "seq")


def _content(decision: StoredDecision) -> StoredDecision:
    """Decision without its time and number."""
    return replace(decision, time="", seq=0)


def _decision(row: tuple[Any, ...]) -> StoredDecision:
    return StoredDecision(*(*row[1:], row[0]))


def _sqlite(path: Path) -> _Database:
    def connect() -> Connection:
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a commit is on disk when it returns
        return connection

    return _Database(connect, "?", "INTEGER PRIMARY KEY AUTOINCREMENT", "REAL")


def _postgres(url: str) -> _Database:
    try:
        import psycopg
    except ImportError:
        raise SettingError("decisions in PostgreSQL need psycopg: pip install 'lostsales[serve]'") from None

    def connect() -> Connection:
        connection: Connection = psycopg.connect(url, connect_timeout=10)
        return connection

    return _Database(connect, "%s", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "DOUBLE PRECISION")


def _locked(path: Path) -> IO[bytes]:
    """Lock on the decisions of one service; it ends with the process, however that ends."""
    if path.is_dir() or not path.parent.is_dir():
        raise SettingError(f"decisions are stored in a file of a folder that exists, but {path} came")
    check_output(path)  # before a lock file is created next to it
    name = path.with_name(f".{path.name}.lock")
    try:
        lock = os.fdopen(os.open(name, os.O_CREAT | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o666), "ab")
    except OSError as error:
        raise SettingError(f"{name} cannot be written: {error.strerror}") from None
    if try_lock(lock.fileno()) != "locked":
        lock.close()
        raise SettingError(f"another service stores its decisions in {path}")
    return lock


def _shown(target: str) -> str:
    """Target without the password of a URL."""
    if not target.startswith(POSTGRES):
        return target
    head, _, tail = target.partition("://")
    return f"{head}://{tail.rpartition('@')[2]}"


def _reason(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
