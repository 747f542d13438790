"""Orders by supplier: totals by hand, exports, and a webhook that gets each order once, signed, whatever fails."""

import hmac
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from playwright.sync_api import expect

from benchmarks.load import served
from lostsales.apps.service.orders import SupplierTerms, read_terms
from lostsales.apps.service.webhook import OrderWebhook, check_address
from lostsales.errors import LogError, SettingError
from tests.apps.service.desks import ROW, Running, running, shop
from tests.apps.service.test_page_conflicts import page
from tests.apps.service.test_pages import CHROMIUM, browser

__all__ = ["browser", "page"]
SECRET = "a secret of the shop's own"  # noqa: S105
UNIT_COST = 3.0  # of the scenario
SUPPLIERS = {"0": "Dairy", "1": "Dairy", "2": "bakery & co", "3": "bakery & co", "4": "Dairy", "5": "=SUM(A1)"}


def supplied(folder: Path) -> Path:
    """A shop whose rows of today name suppliers."""
    policy = shop(folder)
    rows = [ROW | {"series": name, "supplier": supplier, "stock": 4} for name, supplier in SUPPLIERS.items()]
    pd.DataFrame(rows).to_csv(folder / "today.csv", index=False)
    return policy


def decide(desk: Running, **orders: float) -> None:
    """Order so many units of products, which are named s0, s1, ..."""
    new = [
        {"series": name[1:], "status": "changed", "price": 6, "order": units, "reason": "a feast", "confirmed": True}
        for name, units in orders.items()
    ]
    answer = desk.post("/v1/decisions", {"decisions": new}, "decide")
    assert answer.status_code == 201, answer.text


def orders(desk: Running) -> dict[str, Any]:
    return {each["supplier"]: each for each in desk.get("/v1/orders", "read").json()["orders"]}


def test_totals_of_suppliers_and_what_is_short(tmp_path: Path) -> None:
    (tmp_path / "suppliers.csv").write_text("supplier,minimum,budget\nDairy,40,\nbakery & co,,30\n")
    with running(tmp_path, supplied(tmp_path), suppliers=tmp_path / "suppliers.csv") as desk:
        assert list(orders(desk)) == ["=SUM(A1)", "bakery & co", "Dairy"]
        assert all(not each["lines"] for each in orders(desk).values())
        decide(desk, s0=5, s1=6, s2=12)
        desk.post("/v1/decisions", {"decisions": [{"series": "3", "status": "declined"}]}, "decide")
        found = orders(desk)
        assert [line["series"] for line in found["Dairy"]["lines"]] == ["0", "1"]
        assert (found["Dairy"]["units"], found["Dairy"]["value"]) == (11, 11 * UNIT_COST)
        assert (found["Dairy"]["below_minimum"], found["Dairy"]["above_budget"]) == (40 - 33, 0)
        assert (found["bakery & co"]["below_minimum"], found["bakery & co"]["above_budget"]) == (0, 36 - 30)
        listed = desk.service.desk.morning
        assert found["Dairy"]["open_products"] == int(listed.order[listed.place["4"]] > 0)
        assert found["bakery & co"]["running_out"] == int(listed.chance[listed.place["3"]] > 0.5)
        assert found["bakery & co"]["open_products"] == 0
        text = desk.get("/orders").text
        assert "7.0 below the minimum of 40.0" in text
        assert "6.0 above the budget of 30.0" in text
        assert "bakery &amp; co" in text
        assert "s 0" not in desk.get("/orders?supplier=Dairy").text
        assert desk.get("/orders?supplier=nobody").status_code == 404


def test_a_withdrawn_decision_and_another_period_order_nothing(tmp_path: Path) -> None:
    with running(tmp_path, supplied(tmp_path)) as desk:
        decide(desk, s0=5, s1=6)
        desk.post("/v1/decisions", {"decisions": [{"series": "0", "status": "withdrawn"}]}, "decide")
        assert [each["series"] for each in orders(desk)["Dairy"]["lines"]] == ["1"]
        rows = [ROW | {"series": name, "supplier": supplier, "period": 21} for name, supplier in SUPPLIERS.items()]
        pd.DataFrame(rows).to_csv(tmp_path / "today.csv", index=False)
        assert desk.service.reload_if_changed()
        assert orders(desk)["Dairy"]["lines"] == []


def test_exports_as_csv_and_excel(tmp_path: Path) -> None:
    with running(tmp_path, supplied(tmp_path)) as desk:
        decide(desk, s0=5, s5=6)
        text = desk.get("/orders.csv").text
        assert "'=SUM(A1)" in text  # no formula
        table = pd.read_csv(io.StringIO(text))
        assert table["order_units"].tolist() == [6, 5]
        assert table["value_money"].tolist() == [18, 15]
        sheet = pl.read_excel(desk.get("/orders.xlsx?supplier=Dairy").content)
        assert (sheet["series"].to_list(), sheet["order_units"].to_list()) == (["0"], [5])
        desk.client.cookies.clear()
        assert "Sign in" in desk.get("/orders.xlsx", key="").text


def test_without_a_column_of_suppliers_all_are_together(tmp_path: Path) -> None:
    with running(tmp_path) as desk:
        decide(desk, s0=5)
        assert list(orders(desk)) == ["no supplier"]
        assert "no column names their supplier" in desk.get("/orders").text


def test_the_column_of_suppliers_may_be_in_the_log(tmp_path: Path) -> None:
    policy = shop(tmp_path)
    table = pd.read_parquet(tmp_path / "log.parquet")
    table.assign(vendor=table["series"].astype(str).map(SUPPLIERS)).to_parquet(tmp_path / "log.parquet")
    with running(tmp_path, policy, supplier="vendor") as desk:
        assert desk.service.desk.data.suppliers == SUPPLIERS
    (tmp_path / "keys.json").unlink()
    with pytest.raises(SettingError, match="--supplier must name a column"), running(tmp_path, policy, supplier="none"):
        pass


def test_terms_of_suppliers_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "suppliers.csv"
    path.write_text("supplier,minimum\na,10\nb,\n")
    found = read_terms(path)
    np.testing.assert_equal(found["a"], SupplierTerms(10.0))
    np.testing.assert_equal(found["b"], SupplierTerms())
    for text, wanted in (
        ("supplier,minimum\na,-1\n", "minimum must not be negative"),
        ("supplier,minimum\na,1\na,2\n", "supplier must come once"),
        ("supplier\na\n", "must have the columns supplier and minimum"),
    ):
        path.write_text(text)
        with pytest.raises(LogError, match=wanted):
            read_terms(path)


class Receiver(BaseHTTPRequestHandler):
    """A system of the shop that answers as it is told."""

    answers: list[int]
    got: list[tuple[dict[str, str], bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
        status = self.answers.pop(0) if self.answers else 200
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "http://localhost:1/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def receiver(*answers: int) -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    """Address of the receiver, and what it got."""
    kind = type("Own", (Receiver,), {"answers": list(answers), "got": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/orders", kind.got  # type: ignore[attr-defined]
        server.shutdown()


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts follow at once."""
    monkeypatch.setattr(OrderWebhook, "__init__", _quick(OrderWebhook.__init__))


def _quick(made: Callable[..., None]) -> Callable[..., None]:
    return lambda self, url, secret, store: made(self, url, secret, store, (0.01, 0.01))


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("answers", "attempts", "status"),
    [
        ((200,), 1, "sent"),
        ((500, 429, 204), 3, "sent"),
        ((503, 503, 503, 503), 3, "failed: the answer was 503"),
        ((400, 200), 1, "failed: the answer was 400"),
        ((302, 200), 1, "failed: the answer was 302"),
    ],
)
def test_an_order_is_sent_signed_and_again_where_that_may_help(
    tmp_path: Path, answers: tuple[int, ...], attempts: int, status: str
) -> None:
    with (
        receiver(*answers) as (url, got),
        running(tmp_path, supplied(tmp_path), webhook=url, webhook_secret=SECRET) as desk,
    ):
        decide(desk, s0=5, s1=6)
        asked = {"supplier": "Dairy", "id": "0123456789"}
        assert desk.post("/v1/orders/send", asked, "read").status_code == 403
        for _ in range(2):  # the same id is sent once
            answer = desk.post("/v1/orders/send", asked, "decide")
            assert answer.status_code == 202, answer.text
        wait_for(lambda: desk.service.store.sent()[0].status == status)
        assert len(got) == attempts
        headers, body = got[-1]
        told = hmac.new(SECRET.encode(), headers["x-lostsales-time"].encode() + b"." + body, sha256).hexdigest()
        assert (headers["x-lostsales-signature"], headers["idempotency-key"]) == (told, "0123456789")
        order = json.loads(body)
        assert (order["supplier"], order["units"], order["value"], order["by"]) == ("Dairy", 11, 33, "decide")
        assert [(each["series"], each["units"]) for each in order["lines"]] == [("0", 5), ("1", 6)]
        assert len(desk.service.store.sent()) == 1
        text = desk.get("/orders").text
        assert status in text
        assert "the order has changed since" not in text
        decide(desk, s4=2)
        assert "the order has changed since" in desk.get("/orders").text


def test_an_order_that_waits_is_sent_after_the_next_start(tmp_path: Path) -> None:
    with receiver(500) as (url, got):
        with running(tmp_path, supplied(tmp_path), webhook=url, webhook_secret=SECRET) as desk:
            decide(desk, s0=5)
            desk.post("/v1/orders/send", {"supplier": "Dairy"}, "decide")
            wait_for(lambda: len(got) == 1)  # the next attempt would follow a second later
        (tmp_path / "keys.json").unlink()
        with running(tmp_path, tmp_path / "planner", webhook=url, webhook_secret=SECRET) as desk:
            wait_for(lambda: desk.service.store.sent()[0].status == "sent")
        assert got[0][1] == got[1][1]


@pytest.mark.usefixtures("quick")
def test_what_is_not_sent(tmp_path: Path) -> None:
    (tmp_path / "suppliers.csv").write_text("supplier,minimum\nDairy,40\n")
    with (
        receiver() as (url, got),
        running(
            tmp_path, supplied(tmp_path), webhook=url, webhook_secret=SECRET, suppliers=tmp_path / "suppliers.csv"
        ) as desk,
    ):
        for supplier, status, wanted in (
            ("nobody", 404, "no such supplier"),
            ("bakery & co", 409, "nothing was decided"),
            ("Dairy", 409, "10.00 below the minimum"),
        ):
            decide(desk, s0=10)
            answer = desk.post("/v1/orders/send", {"supplier": supplier}, "decide")
            assert (answer.status_code, wanted in answer.json()["message"]) == (status, True), answer.text
        token = desk.sign_in("decide")
        for form in ({"csrf": "guessed"}, {}):
            answer = desk.client.post("/orders/send", data={"supplier": "Dairy"} | form)
            assert answer.status_code == 403
        assert desk.client.post("/orders/send", data={"supplier": "Dairy", "csrf": token}).status_code == 409
        assert got == []
    (tmp_path / "keys.json").unlink()
    with running(tmp_path, tmp_path / "planner") as desk:
        assert desk.post("/v1/orders/send", {"supplier": "Dairy"}, "decide").status_code == 409


@pytest.mark.parametrize(
    ("url", "secret", "wanted"),
    [
        ("ftp://shop.example.org/", SECRET, "an address such as"),
        ("https://anna:pass@shop.example.org/", SECRET, "without a password"),
        ("http://shop.example.org/", SECRET, "by https only"),
        ("https://shop.example.org/", "short", "at least 16 characters"),
    ],
)
def test_addresses_and_secrets_that_do_not_do(url: str, secret: str, wanted: str) -> None:
    with pytest.raises(SettingError, match=wanted):
        check_address(url, secret.encode())


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
def test_a_planner_orders_and_sends_in_a_browser(page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSTSALES_SERVE_WEBHOOK_SECRET", SECRET)
    with receiver() as (url, got), served(supplied(tmp_path), "--webhook", url) as (port, _, _):
        site = f"http://localhost:{port}"
        page.goto(f"{site}/product?series=0")
        page.fill('.decide-form [name="order"]', "5")
        page.fill('.decide-form [name="reason"]', "a feast")
        page.click("text=Change to these")
        confirm = page.locator("text=Store it all the same")
        done = page.locator(".decided-now")
        expect(confirm.or_(done)).to_be_visible()
        if confirm.is_visible():
            confirm.click()
        expect(done).to_be_visible()
        page.click("nav >> text=Orders")
        row = page.locator("tr:has(a:text-is('Dairy'))")
        expect(row.locator('[data-name="Cost"]')).to_have_text("15.0")
        page.click('button[aria-label="Send the order of Dairy"]')
        expect(row.locator(".status")).to_be_visible()
        wait_for(lambda: len(got) == 1)
        page.wait_for_timeout(300)
        page.reload()
        expect(row.locator(".status")).to_have_text("sent")
        expect(row.locator("button")).to_have_count(0)
        page.click("text=Dairy")
        expect(page.locator("tbody tr")).to_have_count(1)
        with page.expect_download() as found:
            page.click("text=Export Excel")
        assert pl.read_excel(found.value.path())["order_units"].to_list() == [5]
