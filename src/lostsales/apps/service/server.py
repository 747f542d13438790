"""The server: uvicorn with one process, whose connections must say within a time what they want."""

import asyncio
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lostsales.apps.service.gate import Gate
from lostsales.apps.service.settings import ServiceSettings

KEEP_ALIVE = 15  # seconds that an idle connection stays open


class TimedProtocol(HttpToolsProtocol):
    """Closes connections whose head of a request does not come in time."""

    head_seconds = 20.0

    def connection_made(self, transport: Any) -> None:
        """Start the clock."""
        super().connection_made(transport)
        self._late = self.loop.call_later(self.head_seconds, self._close_if_late)

    def on_message_begin(self) -> None:
        """A further request on the connection has its own time."""
        super().on_message_begin()
        self._late.cancel()
        self._late = self.loop.call_later(self.head_seconds, self._close_if_late)

    def on_headers_complete(self) -> None:
        """The head is here; the body has limits of its own."""
        self._late.cancel()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._late.cancel()
        super().connection_lost(exc)

    def _close_if_late(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


def server_of(app: Gate, settings: ServiceSettings) -> uvicorn.Server:
    """The server of an application."""
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
    """Serve until the process is told to end; `started` is called with the address once it listens."""
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
