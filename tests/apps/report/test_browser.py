"""The report in a real browser: nothing fails, nothing is fetched, every figure is drawn, and a phone shows it all."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.apps.report_logs import assortment, own_names, released
from tests.apps.running import run

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")

FIGURES = '[...document.querySelectorAll("svg")].filter(svg => svg.checkVisibility())'
EMPTY = f"""() => {FIGURES}.filter(svg => {{
    const box = svg.getBBox();
    const marks = [...svg.querySelectorAll("rect, polyline, polygon, circle, path.cell")].map(mark => mark.getBBox());
    return box.width < 100 || box.height < 30 || !marks.some(mark => mark.width > 4 && mark.height > 1);
}}).map(svg => svg.getAttribute("aria-label"))"""
# Texts of a figure that lie upon each other, or outside of it.
CLASHES = f"""() => {FIGURES}.flatMap(svg => {{
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text:not(.digit)")].map(text => [text, text.getBoundingClientRect()]);
    const leaves = box => box.left < frame.left - 2 || box.right > frame.right + 2
        || box.top < frame.top - 2 || box.bottom > frame.bottom + 2;
    const across = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = (a, b) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    const meets = (a, at) => texts.slice(at + 1).some(([, b]) => across(a, b) > 1 && down(a, b) > 3);
    return texts.filter(([, box], at) => leaves(box) || meets(box, at)).map(
        ([text]) => `${{svg.getAttribute("aria-label")}}: ${{text.textContent}}`);
}})"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("browser")
    released(place)
    own_names(place)
    assortment(place)
    found = {name: place / f"{name}.html" for name in ("released", "own names", "assortment")}
    commands = (
        [place / "policy", place / "log.parquet", "--out", found["released"], "--methods", "base-stock"],
        [place / "rule", place / "shop.csv", "--out", found["own names"], "--methods", ""],
        [place / "newsvendor", place / "products.parquet", "--out", found["assortment"], "--methods", ""],
    )
    for command in commands:
        run("report", *command, "--horizon", 8, "--windows", 0)
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


class Opened:
    """A page of the report, and everything that went wrong or out while it was open."""

    def __init__(self, browser: Browser, path: Path, width: int) -> None:
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900})
        self.errors: list[str] = []
        self.requests: list[str] = []
        own = path.as_uri()
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: None if request.url == own else self.requests.append(request.url))
        self.page.goto(own)
        self.page.evaluate('document.querySelectorAll("details").forEach(each => { each.open = true; })')


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("name", ["released", "own names", "assortment"])
def test_every_figure_is_drawn_and_nothing_leaves_the_page(
    browser: Browser, pages: dict[str, Path], name: str, width: int
) -> None:
    assert pages[name].stat().st_size < 6e6
    opened = Opened(browser, pages[name], width)
    page = opened.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(f"{FIGURES}.length") >= 9
    for select in page.query_selector_all("select"):
        for option in select.query_selector_all("option"):
            select.select_option(option.get_attribute("value"))
            assert page.evaluate(EMPTY) == []
            assert page.evaluate(CLASHES) == []
    assert opened.errors == []
    assert opened.requests == []
    assert page.title() != "caught"
    page.close()


def test_a_choice_shows_another_figure_and_the_pointer_tells_what_it_is(
    browser: Browser, pages: dict[str, Path]
) -> None:
    opened = Opened(browser, pages["released"], 1200)
    page = opened.page
    captions = page.locator("#lost figure:visible figcaption")
    first = captions.inner_text()
    page.select_option("select[data-chooses=series]", "1")
    assert captions.count() == 1
    assert captions.inner_text() != first
    panels = page.locator("#policy [data-depth]:visible")
    assert panels.evaluate_all("each => each.map(panel => panel.dataset.depth)") == ["0", "1", "2", "3"]
    assert page.locator("#tip").is_hidden()
    page.locator("#lost figure:visible .touch:visible").nth(3).hover()
    assert "sold" in page.locator("#tip").inner_text()
    assert opened.errors == []
    page.close()


def test_it_prints(browser: Browser, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["released"], 1200)
    opened.page.emulate_media(media="print")
    assert opened.page.locator("nav").is_hidden()
    assert opened.page.evaluate(EMPTY) == []
    printed = opened.page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") <= 12
    opened.page.close()
