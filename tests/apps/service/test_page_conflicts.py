"""In real Chromium: what a planner sees is what is stored, nothing typed is lost, and every failure is seen."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import expect

from benchmarks.load import free_port, served
from tests.apps.service.desks import shop
from tests.apps.service.test_pages import CHROMIUM, browser

__all__ = ["browser"]
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """Address of a service without keys, in a process of its own."""
    with served(shop(tmp_path)) as (port, _, _):
        yield f"http://localhost:{port}"


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(10_000)
    found = context.new_page()
    found.on("dialog", lambda dialog: dialog.accept())
    yield found
    context.close()


def activate(site: str, name: str) -> None:
    """Another version, as a nightly job or a colleague makes it active."""
    with urlopen(f"{site}/v1/policies") as answer:  # noqa: S310
        versions = json.load(answer)["versions"]
    version = next(each["version"] for each in versions if each["name"] == name)
    asked = Request(f"{site}/v1/policies/{version}/activate", b"{}", {"Content-Type": "application/json"})  # noqa: S310
    urlopen(asked).close()  # noqa: S310


def decisions(site: str) -> list[dict[str, Any]]:
    with urlopen(f"{site}/v1/decisions") as answer:  # noqa: S310
        found: list[dict[str, Any]] = json.load(answer)["decisions"]
    return found


def test_accept_on_the_list_after_another_version_was_activated(page: Any, site: str) -> None:
    page.goto(f"{site}/")
    row = page.locator("tr:has(a:text-is('3'))")
    activate(site, "rule")
    page.click('button[aria-label="Accept 3"]')
    expect(page.locator("#alert")).to_contain_text("This has changed")
    assert decisions(site) == []
    now = float(row.locator('[data-name="Order"]').inner_text())
    page.click("text=Close")
    page.click('button[aria-label="Accept 3"]')
    page.wait_for_selector("tr:has(a:text-is('3')) .status.accepted")
    assert [(each["order"], each["status"]) for each in decisions(site)] == [(now, "accepted")]


def test_accept_all_after_another_version_was_activated(page: Any, tmp_path: Path) -> None:
    with served(shop(tmp_path, "newsvendor")) as (port, _, _):  # most of its products have no flag
        site = f"http://localhost:{port}"
        page.goto(f"{site}/")
        activate(site, "rule")
        page.click("form[action^='/accept-unflagged'] button")
        expect(page.locator("#alert")).to_contain_text("This has changed")
        assert decisions(site) == []


def test_enter_on_a_product_stores_what_was_typed(page: Any, site: str) -> None:
    page.goto(f"{site}/product?series=3")
    expect(page.locator("text=Change to these")).to_be_hidden()
    page.fill('.decide-form [name="order"]', "1")
    expect(page.locator(".decide-form >> text=Accept")).to_be_hidden()
    page.press('.decide-form [name="order"]', "Enter")  # a reason is asked for, and nothing stored
    assert decisions(site) == []
    page.fill('.decide-form [name="reason"]', "a feast")
    page.press('.decide-form [name="reason"]', "Enter")
    page.wait_for_selector(".heading .status.changed")
    assert [(each["status"], each["order"]) for each in decisions(site)] == [("changed", 1.0)]


def test_a_product_that_has_changed_shows_the_new_figures_and_keeps_what_was_typed(page: Any, site: str) -> None:
    page.goto(f"{site}/product?series=3")
    page.fill('.decide-form [name="order"]', "1")
    page.fill('.decide-form [name="reason"]', "a feast")
    activate(site, "rule")
    page.click("text=Change to these")
    expect(page.locator(".beware[role=alert]")).to_contain_text("This has changed: for product 3, rule-")
    assert decisions(site) == []
    assert page.input_value('.decide-form [name="order"]') == "1"
    assert page.input_value('.decide-form [name="reason"]') == "a feast"
    price = page.locator('.decide-form [name="price"]')
    assert price.input_value() == price.get_attribute("data-own")  # not typed: as recommended now
    page.click("text=Change to these")
    page.wait_for_selector(".heading .status.changed")
    assert [each["version"].split("-")[0] for each in decisions(site)] == ["rule"]


def test_with_the_service_down_the_buttons_come_back_and_a_retry_stores_once(page: Any, tmp_path: Path) -> None:
    policy, port = shop(tmp_path), free_port()
    site = f"http://localhost:{port}"
    with served(policy, port=port) as (_, process, _):
        page.goto(f"{site}/product?series=3")
        page.fill('.decide-form [name="order"]', "1")
        page.fill('.decide-form [name="reason"]', "a feast")
        process.send_signal(signal.SIGKILL)
        process.wait()
        page.click("text=Change to these")
        expect(page.locator("#alert")).to_contain_text("The service does not answer")
        expect(page.locator("text=Change to these")).to_be_enabled()
        assert page.input_value('.decide-form [name="order"]') == "1"
    with served(policy, port=port):
        page.click("text=Try again")
        page.wait_for_selector(".heading .status.changed")
        assert [each["order"] for each in decisions(site)] == [1.0]
        page.goto(f"{site}/")
        page.route("**/decide", lambda route: route.abort())
        page.click('button[aria-label="Accept 1"]')
        expect(page.locator("#alert")).to_be_visible()
        expect(page.locator('button[aria-label="Accept 1"]')).to_be_enabled()
        page.unroute("**/decide")
        page.click("text=Try again")
        page.wait_for_selector("tr:has(a:text-is('1')) .status.accepted")
        expect(page.locator("#alert")).to_be_hidden()
        assert [each["series"] for each in decisions(site)] == ["1", "3"]


def test_what_if_beyond_the_prices_seen_says_not_known(page: Any, site: str) -> None:
    page.goto(f"{site}/product?series=3")
    page.fill('[data-for="w-price"]', "1000")
    expect(page.locator('[data-out="instead.profit"]')).to_have_text("not known")
    expect(page.locator('[data-out="difference.profit"]')).to_have_text("not known")
    expect(page.locator("[data-unknown]")).to_be_visible()
    page.click("text=As recommended")
    expect(page.locator('[data-out="instead.profit"]')).not_to_have_text("not known")
    expect(page.locator("[data-unknown]")).to_be_hidden()


def test_unusual_figures_are_asked_about_then_shown_and_undone(page: Any, site: str) -> None:
    page.goto(f"{site}/")
    row = page.locator("tr:has(a:text-is('3'))")
    page.click('button[aria-label="Change 3"]')
    page.fill('dialog input[name="price"]', "0.01")
    page.fill('dialog input[name="order"]', "99999999")
    page.fill('dialog input[name="reason"]', "a feast")
    page.click("dialog >> text='Store'")
    expect(page.locator("#alert")).to_contain_text("is below the unit cost")
    assert decisions(site) == []
    page.click("text=Store it all the same")
    expect(row.locator(".decided")).to_contain_text("to 0.01, order 99,999,999")
    page.goto(f"{site}/product?series=3")
    expect(page.locator(".decided-now")).to_contain_text("to 0.01, order 99,999,999 by this machine: a feast")
    page.click(".decided-now >> text=Undo")
    expect(page.locator(".decided-now")).to_have_count(0)
    page.goto(f"{site}/")
    page.click('button[aria-label="Accept 3"]')
    row.locator(".status.accepted").wait_for()
    page.click('button[aria-label="Undo 3"]')
    page.wait_for_selector('button[aria-label="Accept 3"]')
    assert [each["status"] for each in decisions(site)] == ["withdrawn", "accepted", "withdrawn", "changed"]


def test_an_uploaded_table_and_a_counted_stock_are_decided_for_at_once(page: Any, site: str) -> None:
    page.goto(f"{site}/product?series=3")
    page.fill("#counted", "40")
    page.click("text=Correct the stock")
    expect(page.locator(".heading p").first).to_contain_text("40 units in stock")
    page.goto(f"{site}/data")
    expect(page.locator("tbody tr")).to_have_count(1)
    bad = {"name": "../stock.csv", "mimeType": "text/csv", "buffer": b"series,stock\n1,-7\n"}
    page.select_option('[name="kind"]', "stock")
    page.set_input_files('[name="table"]', bad)
    page.click("main >> text=Upload >> nth=-1")
    expect(page.locator("#alert")).to_contain_text("stock must not be negative, but row 0 (series=1) has -7")
    page.set_input_files('[name="table"]', bad | {"buffer": b"series,stock\n1,7\n2,-1\n"})
    page.click("main >> text=Upload >> nth=-1")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.locator("tbody tr").first).to_contain_text("2: stock must not be negative")
    page.goto(f"{site}/")
    expect(page.locator("tr:has(a:text-is('1')) [data-name='Stock']")).to_have_text("7")
    page.goto(f"{site}/data")
    page.click("button >> text=Withdraw >> nth=0")
    expect(page.locator("tbody .status")).to_have_text("withdrawn")
    page.goto(f"{site}/")
    expect(page.locator("tr:has(a:text-is('1')) [data-name='Stock']")).not_to_have_text("7")
