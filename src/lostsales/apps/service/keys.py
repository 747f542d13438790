"""Bearer keys: random, stored as hashes, with scopes and an expiry."""

import hmac
import json
import secrets
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Literal, get_args

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from lostsales.data.output_files import check_output, replacing
from lostsales.errors import LostSalesError, SettingError

Scope = Literal["read", "decide", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "lsk"
MOST_FILE = 1_000_000  # bytes
CHECK_SECONDS = 1.0  # between two checks of the file


class Key(BaseModel):
    """Stored key: a hash that recognises the secret and does not reveal it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[0-9a-f]{12}$")
    name: str = Field(min_length=1, max_length=80)
    scopes: tuple[Scope, ...] = Field(min_length=1)
    hash: str = Field(pattern=r"^[0-9a-f]{64}$")
    created: AwareDatetime
    expires: AwareDatetime | None = None
    only: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # products by a column, such as store; all if empty

    @property
    def part(self) -> str:
        """Part of the shop that the key is for, empty if it is all."""
        return ", ".join(f"{name} {' or '.join(values)}" for name, values in self.only.items())

    def allows(self, scope: Scope) -> bool:
        """Return True if the key has the scope: admin includes decide, and decide includes read."""
        return any(SCOPES.index(own) >= SCOPES.index(scope) for own in self.scopes)

    def is_expired(self, now: datetime) -> bool:
        """Return True if the key has expired."""
        return self.expires is not None and now >= self.expires


class _KeyFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    keys: list[Key] = Field(default_factory=list)


LOCAL = Key(
    id="0" * 12, name="this machine", scopes=("admin",), hash="0" * 64, created=datetime(2000, 1, 1, tzinfo=UTC)
)


def read_keys(path: Path) -> list[Key]:
    """The keys of a file."""
    try:
        if path.exists() and not path.is_file():
            raise SettingError(f"{path} is no file of keys: it is no regular file")
        if path.stat().st_size > MOST_FILE:
            raise SettingError(f"{path} is no file of keys: it has more than {MOST_FILE / 1e6:g} MB")
        return _KeyFile.model_validate_json(path.read_bytes()).keys
    except FileNotFoundError:
        raise SettingError(
            f"there is no file of keys {path}; `lostsales keys create --keys {path}` makes one"
        ) from None
    except ValidationError:
        raise SettingError(f"{path} is no file of keys, or it is damaged") from None


def create_key(
    path: Path,
    name: str,
    scopes: tuple[Scope, ...],
    days: float | None,
    only: dict[str, tuple[str, ...]] | None = None,
) -> tuple[str, Key]:
    """Add a key to a file, which is created if needed; the secret is returned and not stored."""
    known = read_keys(path) if path.exists() else []
    if any(each.name == name for each in known):
        raise SettingError(f"{path} has a key named {name!r} already; take another name, or revoke that one first")
    identity, secret, now = secrets.token_hex(6), secrets.token_urlsafe(32), datetime.now(UTC).replace(microsecond=0)
    key = Key(
        id=identity,
        name=name,
        scopes=tuple(dict.fromkeys(scopes)),
        hash=_hash(secret),
        created=now,
        expires=None if days is None else now + timedelta(days=days),
        only=only or {},
    )
    _write(path, [*known, key])
    return f"{PREFIX}_{identity}_{secret}", key


def revoke_key(path: Path, name: str) -> Key:
    """Remove the key of a name or an id."""
    known = read_keys(path)
    found = [each for each in known if name in (each.name, each.id)]
    if not found:
        raise SettingError(f"{path} has no key {name!r}; it has {', '.join(each.name for each in known) or 'none'}")
    _write(path, [each for each in known if each not in found])
    return found[0]


def _write(path: Path, keys: list[Key]) -> None:
    check_output(path)
    text = json.dumps({"keys": [json.loads(each.model_dump_json()) for each in keys]}, indent=1)
    with replacing(path) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8")
        if not path.exists():
            temporary.chmod(0o600)


def _hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


@dataclass
class KeyRing:
    """Keys of a file, read again when it changes: a revoked key ends at once."""

    path: Path
    _stamp: tuple[int, int, int] = (0, 0, 0)
    _keys: dict[str, Key] = field(default_factory=dict)
    _looked: float = -1e9
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if not read_keys(self.path) or not self._current(0.0):
            raise SettingError(f"{self.path} has no keys; `lostsales keys create --keys {self.path}` adds one")

    def find(self, secret: str, now: datetime, clock: float) -> Key | None:
        """Key of a bearer secret, None if it is unknown or expired.

        Hashes are compared in constant time, even if there is no key with that id.
        """
        parts = secret.split("_", 2)
        identity, text = (parts[1], parts[2]) if len(parts) == 3 and parts[0] == PREFIX else ("", "")
        key = self._current(clock).get(identity)
        same = hmac.compare_digest(_hash(text), "f" * 64 if key is None else key.hash)
        return key if same and key is not None and not key.is_expired(now) else None

    def by_id(self, identity: str, now: datetime, clock: float) -> Key | None:
        """Key of a session, None if it was revoked or has expired."""
        key = self._current(clock).get(identity)
        return None if key is None or key.is_expired(now) else key

    def _current(self, clock: float) -> dict[str, Key]:
        if clock - self._looked < CHECK_SECONDS:
            return self._keys
        with self._lock:
            self._looked = clock
            try:
                found = self.path.stat()
                stamp = found.st_mtime_ns, found.st_size, found.st_ino
                if stamp != self._stamp:
                    self._keys, self._stamp = {key.id: key for key in read_keys(self.path)}, stamp
            except (LostSalesError, OSError):
                if not self._keys:
                    raise
                self._keys, self._stamp = {}, (0, 0, 0)  # a file that is gone or damaged opens nothing
        return self._keys
