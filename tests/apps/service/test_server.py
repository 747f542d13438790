"""A service in a process of its own: killed under load, switched under load, and slow, broken or rude clients."""

import json
import random
import signal
import socket
import sqlite3
import threading
import time
from collections import Counter
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from benchmarks.load import free_port, request, run_load, served
from tests.apps.service.desks import ROW, shop

QUICK_KILLS, SLOW_KILLS = 1, 50


def post(port: int, path: str, body: Any, timeout: float = 20) -> Any:
    asked = Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(asked, timeout=timeout) as answer:  # noqa: S310
        return json.load(answer)


def decide_until_it_dies(port: int, name: int, acknowledged: set[str], rng: random.Random) -> None:
    """Store decisions one after the other; what was acknowledged is noted."""
    for number in range(100_000):
        identity = f"client-{name}-{number}-{rng.randrange(10**9)}"
        decision = {"series": str(rng.randrange(6)), "status": "declined", "id": identity}
        try:
            answer = post(port, "/v1/decisions", {"decisions": [decision]})
        except (OSError, HTTPException):  # no answer, or a part of one
            return
        acknowledged.update(each["id"] for each in answer["decisions"])


def kill_under_load(policy: Path, kills: int, seed: int) -> tuple[int, int]:
    """Kill the service at random moments; decisions that were acknowledged, and those of them that are lost."""
    rng, acknowledged = random.Random(seed), set[str]()
    port = free_port()
    for _ in range(kills):
        with served(policy, port=port) as (_, process, _):
            clients = [
                threading.Thread(
                    target=decide_until_it_dies, args=(port, each, acknowledged, random.Random(rng.random()))
                )
                for each in range(4)
            ]
            for client in clients:
                client.start()
            time.sleep(rng.uniform(0.05, 1.0))
            process.send_signal(signal.SIGKILL)
            for client in clients:
                client.join()
    with served(policy, port=port):  # repairs by itself, and answers
        assert post(port, "/v1/decisions", {"decisions": [{"series": "1", "status": "declined"}]})["decisions"]
    with sqlite3.connect(policy.parent / "decisions.db") as store:
        kept = {row[0] for row in store.execute("SELECT id FROM lostsales_decisions")}
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return len(acknowledged), len(acknowledged - kept)


@pytest.mark.slow
def test_no_acknowledged_decision_is_lost_when_it_is_killed(tmp_path: Path) -> None:
    acknowledged, lost = kill_under_load(shop(tmp_path), QUICK_KILLS, seed=1)
    assert acknowledged > 0
    assert lost == 0


@pytest.mark.slow
def test_no_acknowledged_decision_is_lost_in_fifty_kills(tmp_path: Path) -> None:
    acknowledged, lost = kill_under_load(shop(tmp_path), SLOW_KILLS, seed=2)
    assert acknowledged > 20 * SLOW_KILLS
    assert lost == 0


@pytest.mark.slow
def test_every_answer_is_wholly_by_one_version_while_they_are_switched(tmp_path: Path) -> None:
    """Two policies that decide differently: an answer of many rows is that of the version that it names."""
    policy = shop(tmp_path)
    rows = [ROW | {"series": str(each), "stock": each} for each in range(6)]
    with served(policy) as (port, process, _):
        with urlopen(f"http://127.0.0.1:{port}/v1/policies") as answer:
            versions = [each["version"] for each in json.load(answer)["versions"]]
        wanted: dict[str, Any] = {}
        for version in versions:
            post(port, f"/v1/policies/{version}/activate", {})
            wanted[version] = post(port, "/v1/recommend", {"rows": rows})["rows"]
        assert wanted[versions[0]] != wanted[versions[1]]
        seen: Counter[str] = Counter()

        def check(status: int, body: bytes) -> None:
            assert status == 200, body
            answer = json.loads(body)
            found = [(row["price"], row["order"]) for row in answer["rows"]]
            assert found == [(row["price"], row["order"]) for row in wanted[answer["version"]]]
            seen[answer["version"]] += 1

        def switch() -> None:
            for number in range(20):
                post(port, f"/v1/policies/{versions[number % 2]}/activate", {"reason": "to and fro"})
                time.sleep(0.05)

        switching = threading.Thread(target=switch)
        switching.start()
        asked = request("/v1/recommend", json.dumps({"rows": rows}).encode())
        while switching.is_alive():
            load = run_load(port, process.pid, lambda _: asked, 1.0, 8, check=check)
            assert set(load.statuses) == {200}
        assert all(seen[version] for version in versions)


def talk(port: int, parts: list[bytes], wait: float = 0.0, timeout: float = 10) -> bytes:
    """What the service says to parts that are sent one by one; empty where it hangs up."""
    with socket.create_connection(("127.0.0.1", port), timeout) as own:
        try:
            for part in parts:
                own.sendall(part)
                time.sleep(wait)
            found = b""
            while not found.endswith(b"}") and (more := own.recv(65536)):
                found += more
            return found
        except OSError:
            return b""


@pytest.mark.slow
def test_slow_clients_and_split_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSTSALES_SERVE_BODY_SECONDS", "1")
    monkeypatch.setenv("LOSTSALES_SERVE_CONNECTIONS", "40")
    with served(shop(tmp_path)) as (port, _, _):
        started = time.monotonic()
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]  # and say nothing
        assert talk(port, [b"GET /healthz HTTP/1.1\r\n", b"Host: localhost\r\n", b"X: "], 0.6) == b""
        body = b"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n"
        assert b" 408 " in talk(port, [b"POST /v1/recommend HTTP/1.1\r\nHost: localhost\r\n" + body, b"{", b'"'], 0.1)
        assert time.monotonic() - started < 20
        for each in idle:
            each.settimeout(10)
            assert each.recv(10) == b""  # hung up
            each.close()
        for name in (b"X-A: b\r\n Set-Cookie: c=d", b"Host: localhost\r\nHost: evil.example", b"X\x00Y: z"):
            said = talk(port, [b"GET / HTTP/1.1\r\nHost: localhost\r\n" + name + b"\r\n\r\n"], timeout=3)
            assert b"Set-Cookie: c" not in said
            assert b"evil" not in said
        split = b"GET /?q=a%0d%0aSet-Cookie:%20x=y HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port), 10) as own:
            own.sendall(split)
            answer = b"".join(iter(lambda: own.recv(65536), b""))
        assert b"set-cookie" not in answer.partition(b"\r\n\r\n")[0].lower()
        assert post(port, "/v1/recommend", {"rows": [ROW]})["rows"]


def until_closed(own: socket.socket) -> bytes:
    """What the service says until it hangs up."""
    found = b""
    try:
        while more := own.recv(65536):
            found += more
    except ConnectionResetError:
        pass
    return found


def test_an_endless_head_is_cut_off_and_holds_nobody_up(tmp_path: Path) -> None:
    with served(shop(tmp_path)) as (port, _, _):
        for start in (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"GET /"):
            sent = 0
            with socket.create_connection(("127.0.0.1", port), 10) as own:
                own.sendall(start)
                try:
                    while sent < 50_000_000:
                        sent += own.send(b"a" * 10_000)
                except (ConnectionResetError, BrokenPipeError):
                    pass
            assert sent < 10_000_000  # what buffers on the way hold, and no more
        with socket.create_connection(("127.0.0.1", port), 10) as own:
            own.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20_000)
            own.sendall(b"\r\nConnection: close\r\n\r\n")
            assert b" 200 " in until_closed(own)[:20]


def test_a_connection_with_an_unread_body_is_closed_after_the_answer(tmp_path: Path) -> None:
    with served(shop(tmp_path)) as (port, _, _):
        for kind in (b"Content-Length: 1000000", b"Transfer-Encoding: chunked"):
            with socket.create_connection(("127.0.0.1", port), 10) as own:
                own.sendall(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\n" + kind + b"\r\n\r\n")
                said = until_closed(own)
            assert b" 404 " in said[:20]
            assert b"connection: close" in said.lower()
        with socket.create_connection(("127.0.0.1", port), 10) as own:  # one that was read stays open
            asked = request("/v1/recommend", json.dumps({"rows": [ROW]}).encode())
            for _ in range(2):
                own.sendall(asked)
                said = own.recv(65536)
                while not said.endswith(b"}"):
                    said += own.recv(65536)
                assert b" 200 " in said[:20]
