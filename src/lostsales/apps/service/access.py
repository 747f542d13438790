"""Authentication and rate limits: bearer keys for systems, session cookies for browsers."""

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

from fastapi import Request

from lostsales.apps.service.keys import LOCAL, Key, KeyRing, Scope
from lostsales.apps.service.problems import Refused
from lostsales.apps.service.settings import ServiceSettings

MOST_SESSIONS = 10_000  # of all keys: bounds memory
MOST_OF_KEY = 100  # sessions of one key
MOST_ADDRESSES = 100_000  # buckets of a rate limit: bounds memory
CSRF_HEADER = "x-csrf-token"
UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class SignedIn(NamedTuple):
    """Session of a browser that is signed in."""

    key_id: str
    csrf: str
    ends: float  # on the clock of the process


class Principal(NamedTuple):
    """Key of the caller, and the session if it is a browser."""

    key: Key
    session: SignedIn | None = None


@dataclass
class Sessions:
    """Sessions by the hash of their cookie, in memory: a restart or a sign-out ends them."""

    hours: float
    _sessions: dict[str, SignedIn] = field(default_factory=dict)

    def open(self, key_id: str) -> tuple[str, SignedIn]:
        """Open a session; a key with too many loses its oldest, so that it cannot lock out others."""
        now = time.monotonic()
        own = [each for each, session in self._sessions.items() if session.key_id == key_id]
        for each in own[: max(0, len(own) + 1 - MOST_OF_KEY)]:
            del self._sessions[each]
        if len(self._sessions) >= MOST_SESSIONS:
            self._sessions = {each: own for each, own in self._sessions.items() if own.ends > now}
        if len(self._sessions) >= MOST_SESSIONS:
            raise Refused(503, "too many browsers are signed in", retry=60)
        cookie, session = (
            secrets.token_urlsafe(32),
            SignedIn(key_id, secrets.token_urlsafe(32), now + 3600 * self.hours),
        )
        self._sessions[_hash(cookie)] = session
        return cookie, session

    def find(self, cookie: str) -> SignedIn | None:
        """Session of a cookie, None if there is none or it has ended."""
        session = self._sessions.get(_hash(cookie))
        return session if session is not None and session.ends > time.monotonic() else None

    def close(self, cookie: str) -> None:
        """Sign out: the cookie opens nothing any more."""
        self._sessions.pop(_hash(cookie), None)


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()


@dataclass
class RateLimit:
    """Token buckets: `burst` at once, then `rate` per second."""

    rate: float
    burst: float
    most: int = MOST_ADDRESSES
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, name: str, cost: float = 1.0) -> float:
        """Take from the bucket of a name; return the seconds to wait if it is empty, else 0."""
        now = time.monotonic()
        tokens, since = self._buckets.pop(name, (self.burst, now))
        tokens = min(self.burst, tokens + (now - since) * self.rate)
        if len(self._buckets) >= self.most:  # the one that was used least recently goes
            del self._buckets[next(iter(self._buckets))]
        if tokens < cost:
            self._buckets[name] = tokens, now
            return (cost - tokens) / self.rate
        self._buckets[name] = tokens - cost, now
        return 0.0


@dataclass
class Doorkeeper:
    """Authenticates callers, and refuses unknown ones and those who exceed the rate."""

    settings: ServiceSettings
    ring: KeyRing | None  # None: only this machine, without keys
    sessions: Sessions
    by_key: RateLimit
    refused: RateLimit
    local_csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))  # of forms if there are no keys

    @classmethod
    def of(cls, settings: ServiceSettings) -> "Doorkeeper":
        """Build from the settings."""
        return cls(
            settings=settings,
            ring=None if settings.keys is None else KeyRing(settings.keys),
            sessions=Sessions(settings.session_hours),
            by_key=RateLimit(settings.rate, settings.burst),
            refused=RateLimit(settings.refused_rate, settings.refused_burst),
        )

    @property
    def cookie_name(self) -> str:
        """Name of the session cookie; behind TLS one that browsers bind to this host and to https."""
        return "__Host-lostsales" if self.settings.behind_tls else "lostsales"

    def known(self, bearer: str | None, cookie: str | None, address: str) -> Principal | None:
        """Caller by key or cookie; None if there is neither, or the cookie has no session."""
        if bearer is not None:
            return Principal(self.key_of(bearer, address))
        session = None if cookie is None else self.sessions.find(cookie)
        if self.ring is None:
            return Principal(LOCAL, session)
        key = None if session is None else self.ring.by_id(session.key_id, datetime.now(UTC), time.monotonic())
        return None if key is None else Principal(key, session)

    def key_of(self, secret: str, address: str) -> Key:
        """Key of a secret, or a refusal; many refusals slow an address down."""
        if self.ring is None:
            return LOCAL
        key = self.ring.find(secret, datetime.now(UTC), time.monotonic())
        if key is None:
            wait = self.refused.take(address)
            if wait:
                raise Refused(429, "too many refused keys", retry=int(wait) + 1)
            raise Refused(401, "the key is unknown, revoked or expired")
        return key

    def check_rate(self, principal: Principal | None, address: str) -> None:
        """Refuse callers that exceed the rate."""
        wait = self.by_key.take(address if principal is None else principal.key.id)
        if wait:
            raise Refused(429, f"more than {self.settings.rate:g} requests per second", retry=int(wait) + 1)


def principal_of(request: Request) -> Principal:
    """Caller of a request that the gate has admitted."""
    principal: Principal | None = request.scope.get("principal")
    if principal is None:
        raise Refused(401)
    return principal


def needs(scope: Scope) -> Callable[[Request], Awaitable[Principal]]:
    """Dependency of a route that requires a scope, and a CSRF token of browsers if something changes."""

    async def check(request: Request) -> Principal:  # in the loop: a thread would take longer than the check
        principal = principal_of(request)
        if not principal.key.allows(scope):
            raise Refused(403, f"this key may not do this: it needs the scope {scope}")
        if request.method in UNSAFE and principal.session is not None:
            shown = request.headers.get(CSRF_HEADER, "")
            check_csrf(principal.session.csrf, shown)
        return principal

    return check


def check_csrf(wanted: str, shown: str) -> None:
    """Refuse a form that another site made."""
    if not hmac.compare_digest(shown.encode("utf-8", "replace"), wanted.encode()):
        raise Refused(403, "the form has expired or was not made here: load the page again")
