"""Addresses of databases, and how they are shown without passwords."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from lostsales.errors import LostSalesError

Kind = Literal["postgresql", "sqlite", "duckdb"]
SCHEMES: dict[str, Kind] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
}
WANTED = "postgresql://user@host/name, sqlite:///file.db or duckdb:///file.duckdb"
SHOWN = ("host", "port", "dbname", "user", "service", "sslmode")  # parameters of an address; others may be secret
SQLITE_HEAD, DUCKDB_HEAD = b"SQLite format 3\0", b"DUCK"
_HIDDEN = "***"


@dataclass(frozen=True)
class DatabaseAddress:
    """Address of a database; its text never contains a password.

    Examples
    --------
    >>> str(DatabaseAddress.of("postgresql://ann:secret@db.example/shop"))
    'postgresql://ann@db.example/shop'

    """

    kind: Kind
    shown: str
    place: str = field(repr=False)  # the address of a server as it was given, or the path of a file
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """Text for messages and artefacts, without secrets."""
        return self.shown

    @classmethod
    def of(cls, text: str) -> "DatabaseAddress":
        """Parse an address, or the path of an existing database file."""
        scheme = text.partition(":")[0].lower()
        if scheme not in SCHEMES:
            return cls._of_file(_kind_of(Path(text)), Path(text))
        kind = SCHEMES[scheme]
        return cls._of_server(text) if kind == "postgresql" else cls._of_file(kind, _path(text))

    @classmethod
    def _of_file(cls, kind: Kind, path: Path) -> "DatabaseAddress":
        if not path.name or "\0" in str(path):
            raise LostSalesError(f"the address of a database must be such as {WANTED}, but {str(path)!r} came")
        return cls(kind, f"{kind}:///{path}", str(path))

    @classmethod
    def _of_server(cls, text: str) -> "DatabaseAddress":
        try:
            parts = urlsplit(text)
            pairs = parse_qsl(parts.query, keep_blank_values=True)
            user, host = parts.netloc.rpartition("@")[::2]
        except ValueError:
            raise _no_address() from None
        if "@" in parts.path + parts.fragment or parts.fragment or not text[len(parts.scheme) :].startswith("://"):
            raise _no_address()
        name, _, password = user.partition(":")
        secrets = [password, *(value for key, value in pairs if key not in SHOWN)]
        plain = urlencode([(key, value) for key, value in pairs if key in SHOWN], safe="/:,")
        shown = urlunsplit((parts.scheme, f"{name}@{host}" if name else host, parts.path, plain, ""))
        if not parts.netloc:  # urlunsplit then leaves out the slashes too
            shown = shown.replace(":", "://", 1) if "://" not in shown else shown
        found = {each for secret in secrets for each in (secret, unquote(secret)) if each}
        return cls("postgresql", shown, text, tuple(sorted(found, key=len, reverse=True)))

    def without_secrets(self, message: str) -> str:
        """Remove passwords and the original address from a driver's message."""
        message = message.replace(self.place, self.shown)
        for secret in (*self.secrets, os.environ.get("PGPASSWORD", "")):
            message = message.replace(secret, _HIDDEN) if secret else message
        return without_passwords(message)

    @property
    def file(self) -> Path | None:
        """File of the database; None for a server."""
        return None if self.kind == "postgresql" else Path(self.place)


def is_address(text: object) -> bool:
    """Return True for the address of a database.

    >>> is_address("duckdb:///shop.duckdb"), is_address("shop.csv")
    (True, False)
    """
    return isinstance(text, str) and ":" in text and text.partition(":")[0].lower() in SCHEMES


def without_passwords(message: str) -> str:
    """Remove passwords from a message that may repeat an address, for example one about a missing file.

    >>> without_passwords("there is no file postgresql:/ann:secret@db/shop?password=secret")
    'there is no file postgresql:/ann@db/shop?password=***'
    >>> without_passwords("there is no folder postgresql:/ann:secret to write @db into, nor postgresql://db:5432/shop")
    'there is no folder postgresql:/ann:*** to write @db into, nor postgresql://db:5432/shop'
    """
    user = r"(postgres(?:ql)?:/{1,2}[^\s:/@]*):"
    message = re.sub(rf"{user}\S*@", r"\1@", message, flags=re.IGNORECASE)
    message = re.sub(rf"{user}(?!\d+(?:[/?,\s]|$))\S+", rf"\1:{_HIDDEN}", message, flags=re.IGNORECASE)
    return re.sub(r"(password\s*=\s*)\S+", rf"\1{_HIDDEN}", message, flags=re.IGNORECASE)


def _no_address() -> LostSalesError:
    """Error for an unreadable address; it does not repeat the text, which may contain a password."""
    return LostSalesError(
        f"the address of a database must be such as {WANTED}; write @ / : # in a password as %40 %2F %3A %23, or "
        "better, put the password into PGPASSWORD or ~/.pgpass"
    )


def _path(text: str) -> Path:
    """Path in an address: `sqlite:///shop.db` and `sqlite:shop.db` are relative, `sqlite:////shop.db` is absolute.

    `sqlite:/shop.db` is absolute as well. Three slashes before a path that exists only from the root mean that one.
    """
    rest = text.partition(":")[2]
    if not rest.startswith("//"):
        return Path(rest)
    relative, absolute = Path(rest[3:]), Path("/" + rest.lstrip("/"))
    if rest.startswith("////") or not relative.name:
        return absolute
    only_from_root = not relative.parent.is_dir() and absolute.parent.is_dir()
    return absolute if only_from_root or (not relative.exists() and absolute.is_file()) else relative


def _kind_of(path: Path) -> Kind:
    """Recognise the kind of a database file by its first bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(16) if path.is_file() else b""
    except (OSError, ValueError):
        head = b""
    if head == SQLITE_HEAD:
        return "sqlite"
    if head[8:12] == DUCKDB_HEAD:
        return "duckdb"
    raise LostSalesError(f"a query needs a database, but {path} is not one: give an address such as {WANTED}")
