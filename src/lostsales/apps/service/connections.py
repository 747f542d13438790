"""Connections to the database of decisions: SQLite, of one service at a time, or PostgreSQL."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from lostsales.apps.service.text import folded
from lostsales.data.output_files import check_output, try_lock
from lostsales.errors import SettingError

POSTGRES = ("postgresql://", "postgres://")
_MARKED = [chr(each) for each in range(0xC0, 0x250) if len(folded(chr(each))) == 1 and folded(chr(each)) != chr(each)]
ACCENTS = "".join(_MARKED), "".join(map(folded, _MARKED))
BUSY_SECONDS = 20  # to wait for a busy database, and for the writer to end


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
class StoreDatabase:
    """Connection and SQL dialect of a database."""

    connect: Callable[[], Connection]
    mark: str  # of a parameter
    serial: str
    real: str
    bytes: str
    folded: str  # expression for a text without upper case and accents

    def statements(self, schema: str) -> list[str]:
        """Statements of a schema, with the types of this database."""
        text = schema.format(serial=self.serial, real=self.real, bytes=self.bytes)
        return [each for each in text.split(";") if each.strip()]


Read = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]


def read_only(path: str) -> Connection:
    """SQLite beside a running service."""
    return sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)


def reading(connection: Connection) -> Read:
    """Queries within the transaction of a connection."""
    return lambda sql, parameters: list(connection.execute(sql, parameters).fetchall())


def again(connection: Connection, database: StoreDatabase) -> Connection:
    """New connection in place of one that failed."""
    with contextlib.suppress(Exception):
        connection.close()
    return database.connect()


def sqlite(path: Path) -> StoreDatabase:
    """SQLite in a file, in which a commit is on disk."""

    def connect() -> Connection:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # private, and so are the files that SQLite adds
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
        connection.create_function("folded", 1, folded, deterministic=True)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a commit is on disk when it returns
        return connection

    return StoreDatabase(connect, "?", "INTEGER PRIMARY KEY AUTOINCREMENT", "REAL", "BLOB", "folded({})")


def postgres(url: str) -> StoreDatabase:
    """PostgreSQL at an address."""
    try:
        import psycopg
    except ImportError:
        raise SettingError("decisions in PostgreSQL need psycopg: pip install 'lostsales[serve]'") from None

    def connect() -> Connection:
        connection: Connection = psycopg.connect(url, connect_timeout=10)
        return connection

    serial = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
    plain = f"translate(lower({{}}), '{ACCENTS[0]}', '{ACCENTS[1]}')"
    return StoreDatabase(connect, "%s", serial, "DOUBLE PRECISION", "BYTEA", plain)


def locked(path: Path) -> IO[bytes]:
    """Lock on the decisions of one service; it ends with the process, however that ends."""
    if path.is_dir() or not path.parent.is_dir():
        raise SettingError(f"decisions are stored in a file of a folder that exists, but {path} came")
    check_output(path)  # before a lock file is created next to it
    name = path.with_name(f".{path.name}.lock")
    try:
        lock = os.fdopen(os.open(name, os.O_CREAT | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600), "ab")
    except OSError as error:
        raise SettingError(f"{name} cannot be written: {error.strerror}") from None
    if try_lock(lock.fileno()) != "locked":
        lock.close()
        raise SettingError(f"another service stores its decisions in {path}")
    return lock


def shown(target: str) -> str:
    """Target without the password of a URL."""
    if not target.startswith(POSTGRES):
        return target
    head, _, tail = target.partition("://")
    return f"{head}://{tail.rpartition('@')[2]}"


def reason(error: Exception) -> str:
    """First line of an error."""
    return (str(error).splitlines() or [type(error).__name__])[0]
