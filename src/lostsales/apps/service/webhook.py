"""Orders to the shop's own system: to one address, signed, tried again a few times, and not lost by a restart."""

import hmac
import http.client
import queue
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from lostsales.apps.service.decisions import DecisionStore, SentOrder
from lostsales.apps.service.settings import LOOPBACK, ServiceSettings
from lostsales.errors import LostSalesError, SettingError

WAITS = (1.0, 4.0, 16.0, 64.0)  # seconds between attempts
SECONDS = 10.0  # to wait for an answer
LEAST_SECRET = 16  # characters
WAITING, SENT = "waiting", "sent"
AGAIN = frozenset({408, 425, 429})  # refusals that may pass; so may those from 500 on


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are not followed: only the address that was given at the start is called."""

    def redirect_request(self, *_: Any) -> None:
        """Follow nothing."""


@dataclass
class OrderWebhook:
    """Sender of orders, with a thread of its own."""

    url: str
    secret: bytes
    store: DecisionStore
    waits: tuple[float, ...] = WAITS
    _orders: queue.SimpleQueue[SentOrder | None] = field(default_factory=queue.SimpleQueue)
    _closing: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def of(cls, settings: ServiceSettings, store: DecisionStore, kind: str = "order") -> "OrderWebhook | None":
        """Sender of orders or alerts by the settings, None without an address; those that were waiting are sent now."""
        url = settings.webhook if kind == "order" else settings.alerts
        if url is None:
            return None
        found = cls(url, settings.webhook_secret.get_secret_value().encode(), store)
        for each in reversed(store.sent(kind)):
            if each.status == WAITING:
                found.send(each)
        return found

    def __post_init__(self) -> None:
        check_address(self.url, self.secret)
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._thread = threading.Thread(target=self._send_all, name="webhook", daemon=True)
        self._thread.start()

    def send(self, order: SentOrder) -> None:
        """Send an order that is stored; what comes of it is stored too."""
        self._orders.put(order)

    def close(self) -> None:
        """End; what is waiting is sent after the next start."""
        self._closing.set()
        self._orders.put(None)
        self._thread.join(SECONDS)

    def _send_all(self) -> None:
        while (order := self._orders.get()) is not None and not self._closing.is_set():
            status = self._send(order)
            if status != WAITING:
                try:
                    self.store.told(order.id, status).result()
                except LostSalesError:  # sent again after the next start: its id tells the receiver
                    continue

    def _send(self, order: SentOrder) -> str:
        """Send an order, again where that may help; return what came of it."""
        for wait in (*self.waits, None):
            told, may_pass = self._attempt(order)
            if not may_pass:
                return told
            if wait is None:
                return told
            if self._closing.wait(wait):
                return WAITING
        raise AssertionError

    def _attempt(self, order: SentOrder) -> tuple[str, bool]:
        """What came of one attempt, and whether another may help."""
        body, moment = order.content.encode(), str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": order.id,
            "X-Lostsales-Time": moment,
            "X-Lostsales-Signature": signature(self.secret, moment, body),
        }
        request = urllib.request.Request(self.url, body, headers, method="POST")  # noqa: S310, checked at the start
        try:
            with self._opener.open(request, timeout=SECONDS):
                return SENT, False
        except urllib.error.HTTPError as error:
            error.close()
            return f"failed: the answer was {error.code}", error.code >= 500 or error.code in AGAIN
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            return f"failed: {type(reason).__name__}", True


def signature(secret: bytes, moment: str, body: bytes) -> str:
    """HMAC-SHA256 of the time, a dot and the body, in hexadecimal digits.

    >>> signature(b"a secret of the shop", "1700000000", b"{}")[:16]
    '4e7b5deb0502d0a3'
    """
    return hmac.new(secret, moment.encode() + b"." + body, sha256).hexdigest()


def check_address(url: str, secret: bytes) -> None:
    """Refuse an address that is not http or https, plain http to another machine, and short secrets."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise SettingError("the webhook must be an address such as https://shop.example.org/orders, without a password")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise SettingError(f"orders go to {parts.hostname} by https only, but the webhook begins with http")
    if len(secret) < LEAST_SECRET:
        wanted = f"LOSTSALES_SERVE_WEBHOOK_SECRET must have at least {LEAST_SECRET} characters"
        raise SettingError(f"{wanted}: it signs the orders that are sent to the webhook")
