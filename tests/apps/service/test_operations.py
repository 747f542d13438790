"""What an operator sees: the log of sign-ins and refusals, tracebacks without rows, private files, and previews."""

import json
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from benchmarks.load import served
from lostsales.apps.service.desk import Desk
from tests.apps.service.desks import ROW, Running, running, shop


def lines(desk: Running) -> list[dict[str, Any]]:
    return [json.loads(each) for each in desk.log.getvalue().splitlines()]


def test_sign_ins_and_refusals_are_logged_with_their_route(tmp_path: Path) -> None:
    with running(tmp_path, rate=1.0, burst=8) as desk:
        desk.client.post("/login", data={"key": "lsk_wrong"})
        desk.sign_in("decide")
        desk.client.cookies.clear()
        desk.get("/v1/decisions", "expired")
        assert desk.get("/v1/nothing/lsk_here?key=lsk_secret", "read").status_code == 404
        while desk.get("/v1/today", "read").status_code != 429:
            pass
        told = lines(desk)
        signed = [each.get("signed_in") for each in told if each["route"] == "/login"]
        assert signed[:2] == [None, "decide"]
        assert {(each["route"], each["status"]) for each in told} >= {
            ("/login", 401), ("/login", 303), ("/v1/decisions", 401), ("unknown", 404), ("/v1/today", 429),
        }  # fmt: skip
        assert next(each["path"] for each in told if each["status"] == 404) == "/v1/nothing/lsk_here"
        assert "lsk_secret" not in desk.log.getvalue()
        assert all(key not in desk.log.getvalue() for key in desk.keys.values())


def test_an_error_leaves_its_places_in_the_log_and_nothing_of_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("stock 4711 of product secret")

    with running(tmp_path) as desk:
        monkeypatch.setattr(Desk, "situation", broken)
        desk.client._transport.raise_server_exceptions = False  # type: ignore[attr-defined]
        answer = desk.post("/v1/explain", {"series": "3"})
        assert answer.status_code == 500
        assert "4711" not in answer.text
        told = lines(desk)[-1]
        assert (told["error"], told["route"]) == ("ZeroDivisionError", "/v1/explain")
        assert any(each.startswith("answers.py:") and each.endswith(" situation_of") for each in told["trace"])
        assert "4711" not in desk.log.getvalue()


def test_head_is_answered_like_get_without_a_body(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        for path in ("/healthz", "/v1/today", "/", "/static/desk.css"):
            found = desk.client.head(path, headers=desk.headers("read"))
            got = desk.get(path, "read")
            assert (found.status_code, found.content) == (got.status_code, b""), path
            assert found.headers["content-type"] == got.headers["content-type"]


def test_a_host_name_that_cannot_be_read_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    with running(tmp_path, keys=None) as desk:
        for name in ("[::1", "[", "]["):
            assert desk.client.get("/healthz", headers={"Host": name}).status_code == 400, name


def test_decisions_are_private(tmp_path: Path) -> None:
    with running(tmp_path):
        found = sorted(tmp_path.glob("decisions.db*")) + sorted(tmp_path.glob(".decisions.db*"))
        assert len(found) >= 2
        assert {stat.S_IMODE(each.stat().st_mode) for each in found} == {0o600}


def test_a_client_that_sends_too_much_can_read_the_answer(tmp_path: Path) -> None:
    with served(shop(tmp_path)) as (port, _, _):
        for path, size in (("/v1/recommend", 48_000_000), ("/v1/decisions", 9_000_000)):
            with socket.create_connection(("127.0.0.1", port), 20) as own:
                head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                own.sendall(f"{head}Content-Length: {size}\r\n\r\n".encode())
                own.sendall(b" " * size)
                answer = b""
                while part := own.recv(65536):
                    answer += part
            assert answer.startswith(b"HTTP/1.1 413 "), path
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["message"].startswith("a body may have")


def test_findings_name_the_place_and_no_type_of_the_code(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        rows = [ROW, ROW | {"series": ["a", "list"], "stock": {"a": 1}}]
        found = desk.post("/v1/recommend", {"rows": rows}).json()["findings"]
        wanted = "must be text, a number, true, false or null"
        assert found == [f"rows.1.series: {wanted}", f"rows.1.stock: {wanted}"]
        new = {"series": "3", "period": [1], "status": "accepted"}
        found = desk.post("/v1/decisions", {"decisions": [new]}).json()["findings"]
        assert len(found) == 1
        assert found[0].startswith("decisions.0.period: ")
        assert "function" not in str(found)


def test_an_activation_shows_its_changes_and_verdict_and_keeps_its_reason(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        versions = {each["name"]: each["version"] for each in desk.get("/v1/policies").json()["versions"]}
        told = desk.get(f"/v1/policies/{versions['rule']}/changes").json()
        other = desk.service.desk_of(versions["rule"])
        now, then = desk.service.desk.morning, other.morning
        assert told["orders"] == int((now.order != then.order).sum()) > 0
        assert told["prices"] == int((now.price != then.price).sum())
        first = told["rows"][0]
        assert first["order"] == [now.order[now.place[first["series"]]], then.order[then.place[first["series"]]]]
        assert desk.get("/v1/policies/nothing-0123456789ab/changes").status_code == 404
        csrf = desk.sign_in("admin")
        page = desk.client.get("/policies/preview", params={"version": versions["rule"]})
        assert "This policy has not been evaluated." in page.text
        form = {"csrf": csrf, "version": versions["rule"]}
        desk.client.post("/policies/activate", data=form | {"reason": "a trial"})
        assert desk.service.desk.version.name == "rule"
        assert desk.service.store.activations(1)[0].reason == "a trial"
