"""The site of `make docs`: built without a warning, and read in Chromium without a request to another host."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--fail-on-warning", "--keep-going", "--doctree-dir", str(folder / "trees")]
    subprocess.run([sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(folder / "html")], check=True)  # noqa: S603
    return folder / "html"


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    pages = [*site.rglob("*.html")]
    assert len(pages) > 50
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"([^\"]+)", text)
        loaded += re.findall(r"<link\b(?=[^>]*rel=\"(?:stylesheet|preload|icon)\")[^>]*\bhref=\"([^\"]+)", text)
        assert loaded
        assert not [each for each in loaded if "//" in each], page.name
    for sheet in site.rglob("*.css"):
        assert not re.findall(
            r"url\(['\"]?(?:https?:)?//|@import\s+['\"](?:https?:)?//", sheet.read_text(encoding="utf-8")
        )


def test_options_are_shown_with_their_two_hyphens(site: Path) -> None:
    """A typographic dash in their place cannot be copied into a shell."""
    for page in site.rglob("*.html"):
        assert not re.findall(r"[\u2013\u2014][a-z]+(?:-[a-z]+)*\b", page.read_text(encoding="utf-8")), page.name
    assert "--quick" in (site / "commands" / "prove.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_the_screen_and_the_search_finds(site: Path, browser: Any, width: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    elsewhere: list[str] = []
    page.on("request", lambda sent: None if sent.url.startswith(("file:", "data:")) else elsewhere.append(sent.url))
    for name in (
        "index",
        "start",
        "commands",
        "problem",
        "methods",
        "results/README",
        "decisions/evaluation",
        "api/learning",
        "api/names/lostsales.CFQI",
        "method",
    ):
        page.goto(f"{(site / name).as_uri()}.html")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
    page.goto(f"{(site / 'search').as_uri()}.html?q=newsvendor")
    page.wait_for_selector("#search-results li a")
    assert page.locator("#search-results li a").count() > 3
    page.goto(f"{(site / 'search').as_uri()}.html?q=pilot")
    page.wait_for_function("document.querySelector('.search-summary')?.textContent.startsWith('Search finished')")
    found = [each.get_attribute("href") for each in page.locator("#search-results li > a").all()]
    assert "decisions/pilot.html" in [each.split("?")[0].split("#")[0] for each in found]
    assert found[0].startswith("pilot.html"), "guides are ranked before decision pages"
    page.goto(f"{(site / 'method').as_uri()}.html")
    page.wait_for_selector("mjx-container[display=true]")  # mathematics, typeset without a network
    page.close()
    assert elsewhere == []
