"""Server: uvicorn in one process, with limits on the time and size of request heads."""

import asyncio
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lostsales.apps.service.gate import Gate
from lostsales.apps.service.settings import ServiceSettings

KEEP_ALIVE = 15  # seconds that an idle connection stays open
MOST_HEAD = 64_000  # bytes of a request line and its headers
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class TimedProtocol(HttpToolsProtocol):
    """HTTP protocol that closes connections whose request head is late or endless."""

    head_seconds = 20.0
    _late: asyncio.TimerHandle | None = None
    _is_head = True  # what comes next belongs to the head of a request
    _head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """Wait for a head."""
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Count the bytes of a head that has not ended yet: the parser would keep any number of them."""
        was_head = self._is_head
        super().data_received(data)
        if was_head and self._is_head:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD and not self.transport.is_closing():
                if self.cycle is None or self.cycle.response_complete:
                    self.transport.write(TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """Restart the clock for a further request on the connection."""
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        """Stop the clock: the head is complete, and the body has its own limits."""
        self._stop_clock()
        self._is_head = False
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait for the next head: the server's own clock for idle connections stops at any byte."""
        super().on_response_complete()
        if not self.pipeline and not self.transport.is_closing():
            self._expect_head(self.timeout_keep_alive)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def _expect_head(self, idle: float = 0.0) -> None:
        self._stop_clock()
        self._late = self.loop.call_later(idle + self.head_seconds, self._close_if_late)
        self._is_head, self._head_bytes = True, 0

    def _stop_clock(self) -> None:
        if self._late is not None:
            self._late.cancel()

    def _close_if_late(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


def server_of(app: Gate, settings: ServiceSettings) -> uvicorn.Server:
    """Server of an application."""
    protocol = type("Timed", (TimedProtocol,), {"head_seconds": settings.body_seconds})
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=settings.behind_tls,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=20,
        limit_concurrency=settings.connections,
        backlog=1024,
    )
    return uvicorn.Server(config)


def serve(app: Gate, settings: ServiceSettings, started: Any = None) -> None:
    """Serve until the process is stopped; `started` is called with the port once it listens."""
    server = server_of(app, settings)

    async def run() -> None:
        serving = asyncio.create_task(server.serve())
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started and started is not None:
            started(server.servers[0].sockets[0].getsockname()[1])
        await serving

    try:
        import uvloop

        uvloop.run(run())
    except ImportError:
        asyncio.run(run())
