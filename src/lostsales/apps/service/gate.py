"""Gate before all routes: authentication, limits on size and rate, headers of every answer, log lines and metrics."""

import asyncio
import contextlib
import itertools
import json
import secrets
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

from starlette.requests import cookie_parser
from starlette.routing import Match

from lostsales.apps.service.access import UNSAFE, Doorkeeper, Principal
from lostsales.apps.service.metrics import Metrics
from lostsales.apps.service.problems import Refused
from lostsales.apps.service.settings import LOOPBACK, ServiceSettings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = frozenset({"/healthz", "/readyz", "/login"})
PROBES = OPEN - {"/login"}
STATIC = "/static/"
MACHINES = ("/v1/", "/metrics", "/openapi.json")
UNKNOWN = "unknown"  # route of a path that there is none for
BOOT, NUMBERS = secrets.token_hex(4), itertools.count(1)  # parts of the id of a request
LARGE = ("/v1/recommend", "/v1/data", "/data")  # routes that take tables
MOST_SMALL = 4_000_000  # bytes of a body of other routes
MOST_PATH = 4000  # characters of path and query
SHOWN_PATH = 100  # of a path without a route in the log
DRAIN_SECONDS = 5.0  # to read the rest of a refused body, as a client looks at the answer once it has sent all
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Gate:
    """ASGI application around another."""

    def __init__(
        self,
        app: App,
        settings: ServiceSettings,
        doorkeeper: Doorkeeper,
        metrics: Metrics,
        log: TextIO | None = None,
    ) -> None:
        self.app, self.settings, self.doorkeeper, self.metrics = app, settings, doorkeeper, metrics
        self.log = log or sys.stderr
        self.waiting = 0
        self.routes: Sequence[Any] = ()  # of the application, to name those of requests that are refused here
        headers = dict(HEADERS)
        if settings.behind_tls:
            headers["strict-transport-security"] = "max-age=31536000"
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever it is."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        answer = _Exchange(self, scope, receive, send)
        self.waiting += 1
        try:
            await self._within_time(answer)
        finally:
            self.waiting -= 1
            self._tell(answer)

    async def _within_time(self, answer: "_Exchange") -> None:
        try:
            async with asyncio.timeout(self.settings.seconds + self.settings.body_seconds):
                self._admit(answer)
                await self.app(answer.scope, answer.receive, answer.send)
        except Refused as refused:
            await answer.refuse(refused)
        except TimeoutError:
            await answer.refuse(Refused(503, "this took too long", retry=5))
        except Exception as error:  # noqa: BLE001, nothing of an error may reach the client
            answer.error, answer.trace = type(error).__name__, _trace(error)
            await answer.refuse(Refused(500))

    def _admit(self, answer: "_Exchange") -> None:
        scope, path = answer.scope, answer.scope["path"]
        if self.waiting > self.settings.waiting:
            raise Refused(503, "too many requests wait for an answer", retry=1)
        if len(scope.get("raw_path") or path) + len(scope.get("query_string", b"")) > MOST_PATH:
            raise Refused(400, "the address is too long")
        host = answer.header(b"host")
        self._check_host(host)
        if scope["method"] in UNSAFE:
            _check_origin(answer.header(b"origin"), host)
        length = answer.header(b"content-length")
        if length.isdecimal() and int(length[:18]) > answer.most_bytes:
            raise answer.too_large
        if path in PROBES:
            return
        kind, _, secret = answer.header(b"authorization").partition(" ")
        bearer = secret.strip() if kind.lower() == "bearer" else None
        cookie = cookie_parser(answer.header(b"cookie")).get(self.doorkeeper.cookie_name)
        principal = self.doorkeeper.known(bearer, cookie, answer.address)
        self.doorkeeper.check_rate(principal, answer.address)
        scope["principal"] = answer.principal = principal
        if principal is None and path not in OPEN and not path.startswith(STATIC):
            if path.startswith(MACHINES) or scope["method"] in UNSAFE:
                raise Refused(401)
            raise SignIn

    def _check_host(self, host: str) -> None:
        """Refuse unknown host names: another site may point its own name at this machine (DNS rebinding)."""
        try:
            name = urlsplit(f"//{host}").hostname or "" if host and "@" not in host else ""
        except ValueError:  # such as half an address in brackets
            raise Refused(400, "the host name cannot be read") from None
        allowed = set(self.settings.hosts) | (LOOPBACK if self.settings.is_local else set())
        if self.doorkeeper.ring is not None and not self.settings.hosts:
            return
        if name not in allowed:
            raise Refused(421)

    def _tell(self, answer: "_Exchange") -> None:
        route = "static" if answer.is_static else self._route(answer.scope)
        seconds = time.perf_counter() - answer.started
        self.metrics.answered(answer.scope["method"], route, answer.status, seconds)
        if answer.is_static or route in PROBES:
            return
        line = {
            "id": answer.identity,
            "method": answer.scope["method"],
            "route": route,
            "status": answer.status,
            "ms": round(1000 * seconds, 1),
            "key": None if answer.principal is None else answer.principal.key.name,
            "address": answer.address,
        }
        if route == UNKNOWN:
            line["path"] = answer.scope["path"][:SHOWN_PATH]
        if answer.error:
            line |= {"error": answer.error, "trace": answer.trace}
        if route == "/login" and answer.scope["method"] == "POST":
            line["signed_in"] = answer.scope.get("state", {}).get("signed_in")
        self.write("request", **line)

    def _route(self, scope: Scope) -> str:
        """Route of a request, also of one that was refused before it got there."""
        if "route" not in scope:
            paths = (each for each in self.routes if hasattr(each, "path"))
            scope["route"] = next((each for each in paths if each.matches(scope)[0] is not Match.NONE), None)
        return getattr(scope["route"], "path", UNKNOWN)

    def write(self, event: str, **facts: Any) -> None:
        """Write a line of the log."""
        line = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": event} | facts
        with contextlib.suppress(OSError, ValueError):
            self.log.write(f"{json.dumps(line)}\n")


def _trace(error: BaseException) -> list[str]:
    """Places in the code that led to an error, without its message, which may have values of rows."""
    places = traceback.extract_tb(error.__traceback__)
    return [f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in places]


class SignIn(Refused):
    """Redirect of a browser that has to sign in first."""

    def __init__(self) -> None:
        super().__init__(401)

    @property
    def headers(self) -> dict[str, str]:
        """Headers that redirect to the sign-in page."""
        return {"Location": "/login"}


class _Exchange:
    """Request and its answer, with the limits on its body."""

    def __init__(self, gate: Gate, scope: Scope, receive: Receive, send: Send) -> None:
        self.is_head = scope["method"] == "HEAD"  # answered as GET, by the head of its response
        self.gate, self.scope = gate, {**scope, "method": "GET"} if self.is_head else scope
        self._receive, self._send = receive, send
        self.started, self.identity = time.perf_counter(), f"{BOOT}-{next(NUMBERS):x}"
        self.deadline = time.monotonic() + gate.settings.body_seconds
        self.status, self.received, self.has_started = 0, 0, False
        self.principal: Principal | None = None
        self.error, self.trace = "", list[str]()
        self._headers = dict(reversed(scope["headers"]))
        # Other bodies are read in the event loop.
        most = gate.settings.body_bytes
        self.most_bytes = most if scope["path"].startswith(LARGE) else min(most, MOST_SMALL)
        self.is_unread = self.header(b"content-length") not in ("", "0") or bool(self.header(b"transfer-encoding"))

    @property
    def address(self) -> str:
        """Address of the client."""
        return str((self.scope.get("client") or ("unknown",))[0])

    @property
    def is_static(self) -> bool:
        """True if a static file is requested."""
        return str(self.scope["path"]).startswith(STATIC)

    @property
    def too_large(self) -> Refused:
        """Refusal of the body."""
        return Refused(413, f"a body may have {self.most_bytes / 1e6:g} MB")

    def header(self, name: bytes) -> str:
        """Header of the request, empty if there is none."""
        return str(self._headers.get(name, b"").decode("latin-1"))

    async def receive(self) -> Message:
        """Receive the next part of the body, if it arrives in time and is not too large."""
        left = self.deadline - time.monotonic()
        try:
            async with asyncio.timeout(max(left, 0.001)) if not self.has_started else contextlib.nullcontext():
                message = await self._receive()
        except TimeoutError:
            raise Refused(408) from None
        self.received += len(message.get("body", b""))
        if self.received > self.most_bytes:
            raise self.too_large
        if message["type"] == "http.request" and not message.get("more_body"):
            self.deadline = float("inf")  # the body is here; what follows is the end of the connection
            self.is_unread = False
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer; give up on clients that do not read it."""
        if message["type"] == "http.response.start":
            self.has_started, self.status = True, message["status"]
            headers = [*message.get("headers", ()), *self.gate.headers, (b"x-request-id", self.identity.encode())]
            if not self.is_static:
                headers.append((b"cache-control", b"no-store"))
            if self.is_unread:  # nobody waits for the rest of the body, which may never come
                headers.append((b"connection", b"close"))
            message = {**message, "headers": headers}
        elif self.is_head:
            message = {**message, "body": b""}
        async with asyncio.timeout(self.gate.settings.body_seconds):
            await self._send(message)

    async def refuse(self, refused: Refused) -> None:
        """Answer with a refusal, unless an answer has begun; the rest of a body is read for a moment, and not kept."""
        if self.has_started:
            return
        response = refused.response()
        status = 303 if isinstance(refused, SignIn) else refused.status
        response.status_code = status
        with contextlib.suppress(Exception):
            await self.send({"type": "http.response.start", "status": status, "headers": response.raw_headers})
            await self.send({"type": "http.response.body", "body": response.body, "more_body": True})
            if status == 413:  # closed at once, the client would see a broken connection in place of the answer
                await self._drain()
            await self.send({"type": "http.response.body", "body": b""})

    async def _drain(self) -> None:
        """Read what a client still sends, for a moment: it looks at the answer once it has sent all."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while (await self._receive()).get("more_body"):
                    continue


def _check_origin(origin: str, host: str) -> None:
    """Refuse requests from pages of other sites; systems send no origin."""
    if origin and urlsplit(origin).netloc != host:
        raise Refused(403, "this came from a page of another site")
