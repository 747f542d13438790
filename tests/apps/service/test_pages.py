"""The tasks of a planner's morning in real Chromium: no console error, no request elsewhere, no finding of axe-core.

Skipped where there is no Chromium; axe-core comes from npm where it is at hand.
"""

import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import expect

from benchmarks.load import served
from lostsales.apps.service.keys import create_key
from tests.apps.service.desks import EVIL, shop

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
AXE = "axe-core@4.14.0"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """Address, key of an admin and the folder of a service in a process of its own."""
    folder = tmp_path_factory.mktemp("site")
    policy = shop(folder)
    rows = [
        {"series": name, "period": 20, "economy": 1, "interest": 0.0, "stock": stock}
        for name, stock in (("0", 5), ("1", 12), ("2", 0), ("3", 9), (EVIL, 4), ("10", 90))
    ]
    pd.DataFrame(rows).to_csv(folder / "today.csv", index=False)
    key, _ = create_key(folder / "keys.json", "Anna", ("admin",), 1)
    with served(policy, "--keys", str(folder / "keys.json")) as (port, _, _):
        yield f"http://localhost:{port}", key, folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def page(site: tuple[str, str, Path], browser: Any) -> Iterator[Any]:
    """A signed-in page that fails the test on any error of the console or request to another host."""
    address, key, _ = site
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(10_000)
    found, complaints = context.new_page(), []
    found.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.on("request", lambda asked: None if asked.url.startswith(address) else complaints.append(asked.url))
    found.on("dialog", lambda dialog: dialog.accept())
    found.goto(f"{address}/")
    found.fill("#key", key)
    found.click("text=Sign in >> nth=-1")
    found.wait_for_url(f"{address}/")
    yield found
    context.close()
    assert complaints == []


def names(page: Any) -> list[str]:
    return [each.strip() for each in page.locator("tbody th a").all_inner_texts()]


@pytest.mark.slow
def test_the_list_is_sorted_searched_and_filtered(page: Any) -> None:
    assert names(page)[:3] == ["0", "1", "2"]
    assert names(page)[-2:] == ["10", EVIL]  # by number, and as text
    page.click("thead th:nth-child(2) a")
    page.wait_for_selector('th[aria-sort="descending"]')
    assert names(page)[0] == "10"
    page.fill('input[type="search"]', "SCRIPT")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert names(page) == [EVIL]
    page.fill('input[type="search"]', "")
    expect(page.locator("tbody tr")).to_have_count(6)
    page.click("text=Exceptions")
    expect(page.locator("tbody tr:not(.flagged)")).to_have_count(0)
    assert "show=exceptions" in page.url


def test_one_by_one_accept_decline_and_change_with_a_reason(page: Any) -> None:
    page.click('button[aria-label="Accept 0"]')
    page.wait_for_selector("tr:has(a:text-is('0')) .status.accepted")
    page.click('button[aria-label="Decline 1"]')
    page.wait_for_selector("tr:has(a:text-is('1')) .status.declined")
    page.click('button[aria-label="Change 2"]')
    page.click("dialog >> text=Store")  # nothing happens: there is no reason yet
    assert page.locator("dialog[open]").count() == 1
    page.fill('dialog input[name="order"]', "7")
    page.fill('dialog input[name="reason"]', "a feast in the village")
    page.click("dialog >> text=Store")
    page.wait_for_selector("tr:has(a:text-is('2')) .status.changed")
    page.goto(page.url.split("?")[0] + "decisions")
    row = page.locator("tbody tr").first
    assert "a feast in the village" in row.inner_text()
    assert "Anna" in row.inner_text()


def test_all_that_are_unflagged_at_once_and_the_export(page: Any, site: tuple[str, str, Path]) -> None:
    page.goto(f"{site[0]}/?show=open")
    unflagged = page.locator("tbody tr:not(.flagged)").count()
    button = page.locator("form[action^='/accept-unflagged'] button")
    if unflagged:
        assert button.inner_text() == f"Accept {unflagged} unflagged"
        button.click()
        page.wait_for_selector("text=recommendations accepted")
    assert page.locator("tbody tr:not(.flagged)").count() == 0
    page.goto(f"{site[0]}/")
    with page.expect_download() as found:
        page.click("summary:text('Export')")
        page.click("a:text-is('CSV')")
    table = pd.read_csv(found.value.path(), dtype={"series": str})
    assert set(table["series"]) == {"0", "1", "2", "3", "10", EVIL}
    assert table["decision"].notna().sum() == page.locator(".status").count()


def test_what_if_answers_within_200_ms(page: Any, site: tuple[str, str, Path]) -> None:
    page.goto(f"{site[0]}/product?series=3")
    cell = page.locator('[data-out="instead.cover_leftover"]')
    before = cell.inner_text()
    with page.expect_response("**/v1/what-if") as first:
        page.locator("#w-stock").fill("20")
    first.value.finished()
    expect(cell).not_to_have_text(before)
    with page.expect_response("**/v1/what-if") as second:
        page.locator("#w-order").press("ArrowRight" if page.input_value("#w-order") == "0" else "ArrowLeft")
    second.value.finished()
    assert second.value.request.timing["responseEnd"] < 200
    page.click("text=As recommended")
    expect(cell).to_have_text(before)


def test_a_product_shows_its_past_response_forecast_policy_and_why(page: Any, site: tuple[str, str, Path]) -> None:
    page.goto(f"{site[0]}/product?series=3")
    for title in ("Recommended", "Why", "Your decision", "What if", "History", "Price response", "Forecast of demand",
                  "The policy for this product", "Decisions on this product"):  # fmt: skip
        assert page.locator(f"h2:text-is('{title}')").count() == 1, title
    assert page.locator("svg:visible").count() == 5
    assert page.locator("circle.today").count() == 2
    page.fill('.decide-form input[name="order"]', "4")
    page.fill('.decide-form input[name="reason"]', "enough on the way")
    page.click("text=Change to these")
    page.wait_for_selector(".heading .status.changed")
    page.goto(f"{site[0]}/product?series=%3Cscript%3Ealert(1)%3C%2Fscript%3E%22%27%26")
    assert page.locator("h1").inner_text() == EVIL


def test_versions_are_activated_and_rolled_back(page: Any, site: tuple[str, str, Path]) -> None:
    page.goto(f"{site[0]}/policies")
    assert "planner" in page.locator(".version.active").inner_text()
    page.click(".version:not(.active) >> text=See changes and activate")
    page.fill('[name="reason"]', "a trial")
    page.click("main button >> text=Activate")
    page.wait_for_selector(".version.active >> text=rule")
    assert "a trial" in page.locator("tbody tr").first.inner_text()
    page.click("text=Roll back to planner")
    page.wait_for_selector(".version.active >> text=planner")
    assert page.locator("tbody tr").count() == 3  # the first when the service began


def test_keys_move_and_decide_and_focus_stays_where_it_was(page: Any, site: tuple[str, str, Path]) -> None:
    page.goto(f"{site[0]}/?show=open")
    focus = "document.activeElement.closest('tr')?.querySelector('th a').textContent"
    first, second = names(page)[:2]
    page.keyboard.press("j")
    assert page.evaluate(focus) == first
    page.keyboard.press("j")
    assert page.evaluate(focus) == second
    page.keyboard.press("k")
    assert page.evaluate(focus) == first
    page.keyboard.press("c")
    page.wait_for_selector("dialog[open]")
    assert first in page.locator("dialog h2").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("jadc")  # in a field they are letters
    assert page.input_value('[name="q"]') == "jadc"
    page.fill('[name="q"]', "")
    expect(page.locator("tbody th a").first).to_have_text(first)
    page.locator("tbody th a").first.focus()
    page.keyboard.press("d")
    page.wait_for_selector(f"button[aria-label='Accept {first}']", state="detached")
    page.goto(f"{site[0]}/")
    page.locator("thead a", has_text="Order").last.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector('th[aria-sort="descending"]')
    assert page.evaluate("document.activeElement.textContent").startswith("Order")


def test_the_first_accept_is_reached_in_five_keys(page: Any, site: tuple[str, str, Path]) -> None:
    page.goto(f"{site[0]}/?show=open")
    for key in ("Tab", "Enter", "Tab"):  # skip to the first product, then its first button
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == f"Accept {names(page)[0]}"


def test_on_a_phone_the_list_is_sorted_and_exported(page: Any, site: tuple[str, str, Path]) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{site[0]}/")
    page.select_option('[name="sort"]', "stock")
    page.focus('[name="dir"]')
    page.select_option('[name="dir"]', "desc")
    page.wait_for_url("**sort=stock&dir=desc**")
    expect(page.locator("tbody th a").first).to_have_text("10")
    assert page.evaluate("document.activeElement.name") == "dir"
    for link in page.locator("[data-export]").all():
        assert "sort=stock&dir=desc" in link.get_attribute("href")


def test_every_chart_has_its_table(page: Any, site: tuple[str, str, Path]) -> None:
    page.goto(f"{site[0]}/product?series=3")
    tables = page.locator("details.as-table")
    assert tables.count() == page.locator("svg:visible").count() == 5
    for each in tables.all():
        each.locator("summary").click()
        assert each.locator("tbody tr").count() > 1
    cell = tables.nth(2).locator("tbody td").first.inner_text()
    assert float(cell) == pytest.approx(
        float(page.locator(".cards div:nth-child(3) small").inner_text().split()[-1]), rel=0.02
    )


def test_signing_out_ends_the_session(page: Any, site: tuple[str, str, Path]) -> None:
    page.click("text=Sign out")
    page.wait_for_url(f"{site[0]}/login")
    page.goto(f"{site[0]}/decisions")
    assert page.url == f"{site[0]}/login"


@cache
def axe() -> str | None:
    """The script of axe-core, None where npm or its registry is not at hand."""
    folder, npm = Path(mkdtemp(prefix="lostsales-axe-")), shutil.which("npm")
    if npm is None:
        return None
    try:
        subprocess.run([npm, "pack", AXE, "--silent"], cwd=folder, check=True, timeout=60, capture_output=True)  # noqa: S603
    except (subprocess.SubprocessError, OSError):
        return None
    packed = next(folder.glob("*.tgz"))
    shutil.unpack_archive(packed, folder, filter="data")
    return (folder / "package" / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_nothing_serious_for_axe_and_nothing_too_wide(browser: Any, site: tuple[str, str, Path], scheme: str) -> None:
    script = axe()
    if script is None:
        pytest.skip("axe-core cannot be had from npm here")
    address, key, _ = site
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{address}/login")
    found = {"/login": serious(page, script)}
    page.fill("#key", key)
    page.click("text=Sign in >> nth=-1")
    for path in (
        "/",
        "/?show=exceptions",
        "/product?series=3",
        "/decisions",
        "/data",
        "/orders",
        "/orders?supplier=no+supplier",
        "/policies",
        "/policies/refit",
        "/results",
        "/nothing",
    ):
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(f"{address}{path}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
            found[f"{path} {width}"] = serious(page, script)
    context.close()
    assert {path: each for path, each in found.items() if each} == {}


def serious(page: Any, script: str) -> list[str]:
    """Serious and critical findings of axe-core on a page."""
    page.evaluate(script)
    found = page.evaluate("axe.run({resultTypes: ['violations']}).then((all) => all.violations)")
    bad = [each for each in found if each["impact"] in ("serious", "critical")]
    return [f"{each['id']}: {each['nodes'][0]['target']}" for each in bad]
