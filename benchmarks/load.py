"""A small load generator for the service: plain sockets, so that it takes little of the processor that it measures."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

START_SECONDS = 60


@dataclass
class Load:
    """Result of a run."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)  # seconds
    statuses: dict[int, int] = field(default_factory=dict)
    server_seconds: float = 0.0  # of the processor

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.latencies) / self.seconds

    def latency(self, percent: float) -> float:
        """A percentile in milliseconds."""
        return 1000 * float(np.percentile(self.latencies, percent))


def request(path: str, body: bytes, kind: str = "application/json", key: str = "", method: str = "POST") -> bytes:
    """A request as it is sent."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return (head + (f"Authorization: Bearer {key}\r\n" if key else "") + "\r\n").encode() + body


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    length = next(int(line[15:]) for line in lines if line[:15].lower() == b"content-length:")
    return int(lines[0].split()[1]), await reader.readexactly(length)


async def _client(
    port: int,
    make: Callable[[int], bytes],
    due: Iterator[float],
    load: Load,
    check: Callable[[int, bytes], None] | None,
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number, moment in enumerate(due):
        wait = moment - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        started = max(moment, 0.0) or time.perf_counter()
        writer.write(make(number))
        status, body = await _answer(reader)
        load.latencies.append(time.perf_counter() - started)
        load.statuses[status] = load.statuses.get(status, 0) + 1
        if check is not None:
            check(status, body)
    writer.close()


def run_load(
    port: int,
    pid: int,
    make: Callable[[int], bytes],
    seconds: float,
    clients: int,
    rate: float | None = None,
    check: Callable[[int, bytes], None] | None = None,
) -> Load:
    """Ask for some seconds: as fast as answers come, or at a rate, counted from when a request was due."""
    load = Load()

    def due(client: int) -> Iterator[float]:
        begin = time.perf_counter()
        if rate is None:
            while time.perf_counter() - begin < seconds:
                yield 0.0
            return
        step = clients / rate
        for at in range(int(seconds / step)):
            yield begin + (at + client / clients) * step

    async def all_clients() -> None:
        await asyncio.gather(*(_client(port, make, due(each), load, check) for each in range(clients)))

    before, started = processor_seconds(pid), time.perf_counter()
    asyncio.run(all_clients())
    load.seconds, load.server_seconds = time.perf_counter() - started, processor_seconds(pid) - before
    return load


def processor_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    """Memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return int(own.getsockname()[1])


@contextmanager
def served(
    policy: Path, *options: str, port: int | None = None
) -> Iterator[tuple[int, subprocess.Popen[bytes], float]]:
    """A service of its own process: its port, the process, and how long it took to answer."""
    port = port or free_port()
    command = [str(Path(sys.executable).with_name("lostsales")), "serve", str(policy), "--port", str(port), *options]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        _wait(port, process)
        yield port, process, time.perf_counter() - started
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(START_SECONDS * 50):
        try:
            with socket.create_connection(("127.0.0.1", port), 1) as own:
                own.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                if b" 200 " in own.recv(100):
                    return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError("the service did not start") from None
        time.sleep(0.02)
    raise RuntimeError("the service did not answer")
