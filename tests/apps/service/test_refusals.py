"""What strangers and attackers try: each is refused with a clear answer, and nothing of the inside is told."""

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lostsales.apps.service.access import RateLimit
from lostsales.apps.service.keys import create_key, revoke_key
from lostsales.apps.service.morning import Query
from lostsales.apps.service.settings import ServiceSettings
from lostsales.errors import SettingError
from tests.apps.running import Fails, run_json
from tests.apps.service.desks import EVIL, HOST, ROW, Running, names, running, shop

ROUTES = (
    ("POST", "/v1/recommend", "read"),
    ("POST", "/v1/explain", "read"),
    ("POST", "/v1/what-if", "read"),
    ("POST", "/v1/forecast", "read"),
    ("GET", "/v1/policies", "read"),
    ("POST", "/v1/policies/rollback", "admin"),
    ("POST", "/v1/policies/planner-0123456789ab/activate", "admin"),
    ("GET", "/v1/decisions", "read"),
    ("POST", "/v1/decisions", "decide"),
    ("GET", "/metrics", "read"),
    ("GET", "/openapi.json", "read"),
)
BODIES: dict[str, Any] = {
    "/v1/recommend": {"rows": [ROW]},
    "/v1/decisions": {"decisions": [{"series": "1", "status": "declined"}]},
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("desk"), body_bytes=3_000_000, refused_burst=1000) as found:
        yield found


def ask(desk: Running, method: str, path: str, headers: dict[str, str]) -> Any:
    body = BODIES.get(path, {"series": "3"} if path.count("/") == 2 else {})
    desk.client.cookies.clear()
    return desk.client.request(method, path, json=body if method == "POST" else None, headers=headers)


@pytest.mark.parametrize(("method", "path", "scope"), ROUTES)
def test_every_route_asks_for_a_key_that_is_good_for_it(desk: Running, method: str, path: str, scope: str) -> None:
    strangers: tuple[dict[str, str], ...] = (
        {},
        {"Authorization": "Bearer x"},
        {"Authorization": "Basic eDp4"},
        desk.headers("expired"),
    )
    tampered = {"Authorization": desk.headers("admin")["Authorization"][:-1] + "!"}
    for headers in (*strangers, tampered, {"Cookie": "lostsales=x"}):
        answer = ask(desk, method, path, headers)
        assert answer.status_code == 401, headers
        assert answer.headers["www-authenticate"] == "Bearer"
    below = {"read": (), "decide": ("read",), "admin": ("read", "decide")}[scope]
    for key in below:
        answer = ask(desk, method, path, desk.headers(key))
        assert answer.status_code == 403
        assert f"the scope {scope}" in answer.json()["message"]
    assert ask(desk, method, path, desk.headers(scope)).status_code not in (401, 403)


@pytest.mark.parametrize("path", ["/", "/product?series=3", "/decisions", "/policies", "/today.csv", "/decisions.csv"])
def test_pages_send_strangers_to_the_sign_in(desk: Running, path: str) -> None:
    desk.client.cookies.clear()
    answer = desk.client.get(path, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert "product" not in answer.text


def test_a_session_is_closed_to_scripts_other_sites_and_the_past(desk: Running) -> None:
    desk.client.cookies.clear()
    answer = desk.client.post("/login", data={"key": desk.keys["decide"]}, follow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    old = answer.cookies["lostsales"]
    token = desk.client.get("/").text.split('name="csrf" content="')[1].split('"')[0]
    form = {"series": "1", "status": "accepted"}
    for forged in ({}, {"csrf": ""}, {"csrf": "x" * 43}, {"csrf": token[::-1]}):
        assert desk.client.post("/decide", data=form | forged).status_code == 403
        assert desk.client.post("/accept-unflagged", data=forged).status_code == 403
        assert desk.client.post("/logout", data=forged).status_code == 403
    body = BODIES["/v1/decisions"]
    assert desk.client.post("/v1/decisions", json=body).status_code == 403
    assert desk.client.post("/v1/decisions", json=body, headers={"X-CSRF-Token": token}).status_code == 201
    other = {"X-CSRF-Token": token, "Origin": "https://elsewhere.example"}
    assert desk.client.post("/v1/decisions", json=body, headers=other).status_code == 403
    assert desk.client.post("/policies/activate", data={"csrf": token}).status_code == 403  # decide is not admin
    assert desk.client.post("/logout", data={"csrf": token}, follow_redirects=False).status_code == 303
    replayed = {"Cookie": f"lostsales={old}"}
    desk.client.cookies.clear()
    assert desk.client.get("/", headers=replayed, follow_redirects=False).status_code == 303
    assert desk.client.post("/v1/decisions", json=body, headers=replayed | {"X-CSRF-Token": token}).status_code == 401


def test_a_key_with_too_many_sessions_loses_its_oldest_and_nobody_else_does(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        desk.sign_in("decide")
        sessions = desk.client.app.app.state.doorkeeper.sessions  # type: ignore[attr-defined]
        ring = desk.client.app.app.state.doorkeeper.ring  # type: ignore[attr-defined]
        reader = ring.find(desk.keys["read"], datetime.now(UTC), 0.0).id
        cookies = [sessions.open(reader)[0] for _ in range(20_000)]
        assert desk.client.get("/", follow_redirects=False).status_code == 200
        assert [sessions.find(each) is not None for each in cookies[-101:]] == [False, *[True] * 100]
        desk.client.cookies.clear()
        desk.sign_in("admin")


def test_a_cookie_of_another_site_does_not_end_the_session(desk: Running) -> None:
    desk.client.cookies.clear()
    answer = desk.client.post("/login", data={"key": desk.keys["read"]}, follow_redirects=False)
    own = answer.cookies["lostsales"]
    desk.client.cookies.clear()
    for foreign in ('prefs={"a":1}', "a b=c", "=", 'x="; y="', "\xe4=\xf6"):
        for cookie in (f"{foreign}; lostsales={own}", f"lostsales={own}; {foreign}"):
            found = desk.client.get("/", headers={b"Cookie": cookie.encode("latin-1")}, follow_redirects=False)
            assert found.status_code == 200, cookie


def test_a_writer_that_has_ended_is_told_by_the_probes(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        assert desk.client.get("/healthz").status_code == 200
        desk.service.store._waiting.put(None)
        desk.service.store._thread.join(10)
        assert desk.client.get("/healthz").status_code == 503
        assert desk.client.get("/readyz").status_code == 503


def test_a_revoked_key_ends_its_sessions(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        desk.sign_in("decide")
        assert desk.client.get("/", follow_redirects=False).status_code == 200
        revoke_key(tmp_path / "keys.json", "decide")
        desk.client.app.app.state.doorkeeper.ring._looked = -1e9  # type: ignore[attr-defined]
        assert desk.client.get("/", follow_redirects=False).status_code == 303
        assert desk.get("/v1/policies", "decide").status_code == 401
        assert desk.get("/v1/policies", "read").status_code == 200


def test_behind_tls_cookies_are_bound_to_it(tmp_path: Path) -> None:
    with running(tmp_path, behind_tls=True) as desk:
        answer = desk.client.post("/login", data={"key": desk.keys["read"]}, follow_redirects=False)
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-lostsales=")
        assert "Secure" in cookie
        assert "max-age" in answer.headers["strict-transport-security"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../keys.json", "/static/..%2f..%2fkeys.json", "/static/%2e%2e/app.py", "/static//etc/passwd",
        "/v1/policies/..%2f..%2fkeys.json/activate", "/v1/policies/../../etc/passwd", "/%00", "/static/desk.css%00.png",
        "//elsewhere.example/", "/product/../keys.json", "/static/", "/keys.json", "/decisions.db",
    ],
)  # fmt: skip
def test_path_tricks_find_nothing(desk: Running, path: str) -> None:
    for method in ("GET", "POST"):
        answer = desk.client.request(method, f"{HOST}{path}", headers=desk.headers("admin"))
        assert answer.status_code in (400, 404, 405, 422), (path, answer.text)
        assert "lsk_" not in answer.text
        assert "/lostsales/" not in answer.text


def test_a_redirect_stays_on_this_site(desk: Running) -> None:
    token = desk.sign_in("decide")
    for back in (
        "//elsewhere.example",
        "https://elsewhere.example",
        "/\\elsewhere.example",
        "x",
        "/a\r\nSet-Cookie: b=c",
    ):
        form = desk.form("1") | {"status": "accepted", "csrf": token, "back": back}
        answer = desk.client.post("/decide", data=form, follow_redirects=False)
        assert answer.headers["location"] == "/", back
        assert "set-cookie" not in answer.headers


def test_large_bodies_many_rows_and_deep_json(desk: Running) -> None:
    key = desk.headers("admin")
    json_head = key | {"Content-Type": "application/json"}

    def chunks() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 1_000_000

    for body in (b"x" * 100_000_000, chunks()):
        answer = desk.client.post("/v1/recommend", content=body, headers=json_head)
        assert answer.status_code == 413
        assert answer.json()["message"] == "a body may have 3 MB"
    deep = b'{"rows": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    for path in ("/v1/recommend", "/v1/explain", "/v1/decisions"):
        assert desk.client.post(path, content=deep, headers=json_head).status_code in (400, 422)
    count = 1_000_000
    table = pa.table({"series": pa.array(np.arange(count)).cast(pa.string()), "period": np.ones(count, np.int8)})
    small = pa.table({"series": ["a"] * count, "stock": np.zeros(count)})
    for one, kind in ((table, "arrow.stream"), (small, "parquet")):
        sink = io.BytesIO()
        if kind == "parquet":
            pq.write_table(one, sink)
        else:
            with pa.ipc.new_stream(sink, one.schema) as stream:
                stream.write_table(one, max_chunksize=10_000)
        headers = key | {"Content-Type": f"application/vnd.apache.{kind}"}
        answer = desk.client.post("/v1/recommend", content=sink.getvalue(), headers=headers)
        assert answer.status_code == 413, answer.text


def test_bodies_that_are_no_tables_or_no_json(desk: Running) -> None:
    key = desk.headers("read")
    for kind, name in (("arrow.stream", "Arrow stream"), ("parquet", "Parquet file")):
        for body in (b"", b"PAR1", b"\xff" * 100, b"ARROW1\x00\x00" + b"\x01" * 50):
            kinds = {"Content-Type": f"application/vnd.apache.{kind}"}
            answer = desk.client.post("/v1/recommend", content=body, headers=key | kinds)
            assert answer.status_code == 422
            assert answer.json()["findings"] == [f"the body is no {name}"]
    assert desk.client.post("/v1/recommend", content=b"a=b", headers=key).status_code == 415
    for text in ("", "{", "[]", '{"rows": []}', '{"rows": [{"series": NaN}]}', '{"rows": [{"series": "\\ud800"}]}'):
        head = key | {"Content-Type": "application/json"}
        assert desk.client.post("/v1/recommend", content=text, headers=head).status_code == 422, text


def test_more_rows_than_allowed_in_json(tmp_path: Path) -> None:
    with running(tmp_path, most_rows=100) as desk:
        rows = [ROW | {"series": name} for name in names(101)]
        answer = desk.post("/v1/recommend", {"rows": rows})
        assert answer.status_code == 413
        assert answer.json()["message"] == "a request may have at most 100 rows, but this has 101"


def test_who_asks_too_often_waits(tmp_path: Path) -> None:
    with running(tmp_path, rate=0.001, burst=3, refused_rate=0.001, refused_burst=2) as desk:
        assert [desk.get("/v1/decisions", "read").status_code for _ in range(4)] == [200, 200, 200, 429]
        assert int(desk.get("/v1/decisions", "read").headers["retry-after"]) > 100
        assert desk.get("/v1/decisions", "admin").status_code == 200  # another key has its own
        wrong = {"Authorization": "Bearer lsk_000000000000_x"}
        assert [desk.client.get("/v1/decisions", headers=wrong).status_code for _ in range(3)] == [401, 401, 429]


def test_a_rate_limit_forgets_the_address_that_was_quiet_longest_and_nobody_else() -> None:
    limit = RateLimit(rate=1e-9, burst=1, most=100)
    assert limit.take("attacker") == 0
    for number in range(10_000):
        limit.take(f"address {number}")
        assert limit.take("attacker") > 0
    assert len(limit._buckets) == 100
    assert limit.take("address 9999") > 0
    assert limit.take("address 0") == 0


def test_what_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    from lostsales.apps.service import api

    with running(tmp_path, seconds=0.05) as desk:
        monkeypatch.setattr(api, "what_if_answer", lambda *_: time.sleep(0.5))
        answer = desk.post("/v1/what-if", {"series": "3"})
        assert (answer.status_code, answer.json()["message"]) == (503, "this took too long")


def test_a_disk_that_fails_stores_nothing_and_says_so(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        desk.service.store._writer.execute("PRAGMA query_only = ON")
        answer = desk.post("/v1/decisions", BODIES["/v1/decisions"])
        assert answer.status_code == 503
        assert desk.service.desk.morning.counts(Query())["decided"] == 0


def test_names_are_shown_as_text(tmp_path: Path) -> None:
    shop(tmp_path)
    pd.DataFrame([ROW | {"series": EVIL}, ROW | {"series": "=1+1"}]).to_csv(tmp_path / "today.csv", index=False)
    with running(tmp_path, tmp_path / "planner") as desk:
        token = desk.sign_in("decide")
        quoted = "%3Cscript%3Ealert(1)%3C%2Fscript%3E%22%27%26"
        form = desk.form(EVIL) | {"status": "declined", "reason": EVIL, "csrf": token}
        assert desk.client.post("/decide", data=form).status_code == 200
        for path in ("/", f"/product?series={quoted}", "/decisions", f"/?q={quoted}", f"/decisions?series={quoted}"):
            text = desk.client.get(path).text
            assert "<script>alert" not in text
            assert "&lt;script&gt;alert(1)" in text
        assert "'=1+1" in desk.client.get("/today.csv").text


def test_every_answer_has_the_headers_of_safety_and_no_trace_of_the_inside(
    desk: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lostsales.apps.service.desk import Desk

    def fails(*_: object) -> None:
        raise RuntimeError("the secret of /home/someone")

    monkeypatch.setattr(Desk, "situation", fails)
    answers = [desk.post("/v1/explain", {"series": "3"}), desk.client.get("/nothing"), desk.client.get("/login")]
    assert answers[0].status_code == 500
    for each in answers:
        policy = each.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert each.headers["x-content-type-options"] == "nosniff"
        assert each.headers["cache-control"] == "no-store"
        assert "secret" not in each.text
        assert "Traceback" not in each.text


def test_the_log_has_no_keys_and_no_rows(desk: Running) -> None:
    desk.post("/v1/recommend", {"rows": [ROW | {"series": "nobody-knows-me"}]})
    desk.client.get("/product?series=nobody-knows-me", headers=desk.headers("admin"))
    lines = [json.loads(line) for line in desk.log.getvalue().splitlines()]
    assert lines[-1]["route"] == "/product"
    assert {"time", "event", "id", "method", "route", "status", "ms", "key", "address"} <= set(lines[-1])
    text = desk.log.getvalue()
    assert "nobody-knows-me" not in text
    assert not any(secret in text for secret in desk.keys.values())


def test_other_names_of_this_machine_are_not_served_without_keys(tmp_path: Path) -> None:
    with running(tmp_path, keys=None) as desk:
        assert desk.client.get("/").status_code == 200
        assert desk.client.get("/", headers={"Host": "elsewhere.example"}).status_code == 421
        body = BODIES["/v1/decisions"]
        assert (
            desk.client.post("/v1/decisions", json=body, headers={"Origin": "http://evil.example"}).status_code == 403
        )
        assert desk.client.post("/decide", data={"series": "1", "status": "accepted"}).status_code == 403


def test_without_keys_it_listens_here_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: Fails) -> None:
    policy = shop(tmp_path)
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org"):  # noqa: S104
        message = fails("serve", policy, "--host", host)
        assert "without keys it listens on 127.0.0.1 only" in message
    message = fails("serve", policy, "--behind-tls")
    assert "behind a proxy it needs keys" in message
    with monkeypatch.context() as environment:
        environment.setenv("LOSTSALES_SERVE_HOSTS", '["desk.example.org"]')
        for more in ((), ("--behind-tls",)):
            message = fails("serve", policy, *more)
            assert "behind a proxy it needs keys" in message
            assert "lostsales keys create" in message
    message = fails("serve", policy, "--keys", tmp_path / "none.json")
    assert "there is no file of keys" in message
    assert ServiceSettings().is_local


def test_keys_are_created_listed_and_revoked(tmp_path: Path, fails: Fails) -> None:
    file = tmp_path / "keys.json"
    made = run_json("keys", "create", "--keys", file, "--name", "anna", "--scope", "decide", "--days", "2")
    assert made["key"].startswith("lsk_")
    assert made["scopes"] == ["decide"]
    text = file.read_text()
    assert made["key"].split("_", 2)[2] not in text
    assert file.stat().st_mode & 0o077 == 0
    assert "already" in fails("keys", "create", "--keys", file, "--name", "anna")
    assert "a scope is" in fails("keys", "create", "--keys", file, "--name", "b", "--scope", "x")
    assert [each["name"] for each in run_json("keys", "list", "--keys", file)["keys"]] == ["anna"]
    assert run_json("keys", "revoke", "anna", "--keys", file)["revoked"] == made["id"]
    assert "has no key 'anna'" in fails("keys", "revoke", "anna", "--keys", file)
    file.write_text("{")
    assert "damaged" in fails("keys", "list", "--keys", file)
    with pytest.raises(SettingError, match="already"):
        create_key(_with(tmp_path, "b"), "b", ("read",), None)


def _with(folder: Path, name: str) -> Path:
    create_key(folder / "other.json", name, ("read",), None)
    return folder / "other.json"
