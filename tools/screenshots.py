"""Screenshots of the page for README and docs: `python -m tools.screenshots`, light and dark, of the corner shop.

They show the list of a day and the history of a product with hidden demand.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import sync_playwright

import lostsales
from lostsales.data.example import write_example

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]
PRODUCT = "Cola 1.5 l"  # sells out often
WIDTH, HEIGHT = 1200, 660
COLOURS = 64  # enough for a flat page, at a third of the size


def main() -> None:
    """Fit the planner to the example, serve it on a free port, and take the pictures."""
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
            page.goto(address)
            page.screenshot(path=PICTURES / f"list-{scheme}.png")
            page.goto(f"{address}/product?series={quote(PRODUCT)}")
            history(page).screenshot(path=PICTURES / f"history-{scheme}.png")
            page.close()
        browser.close()
    for path in PICTURES.glob("*-*.png"):
        with Image.open(path) as picture:
            small = picture.convert("RGB").quantize(COLOURS)
        small.save(path, optimize=True)


def history(page: Any) -> Any:
    """The chart of sales and hidden demand on the page of a product."""
    return page.locator("section[aria-labelledby=history]")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a service for the example."""
    write_example("corner-shop", folder / "sales.csv")
    lostsales.fit(lostsales.read_log(folder / "sales.csv")).save(folder / "policy")
    program, data = [sys.executable, "-m", "lostsales"], [str(folder / "policy"), str(folder / "sales.csv")]
    report = [*program, "report", *data, "--windows", "0", "--methods", "", "--out", str(folder / "report.html")]
    subprocess.run(report, check=True, stdout=subprocess.DEVNULL)  # noqa: S603, its verdict is shown
    command = [*program, "serve", str(folder / "policy")]
    command += ["--log", str(folder / "sales.csv"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as service:  # noqa: S603, our own command
        try:
            assert service.stdout is not None
            said = next(line for line in service.stdout if "http://" in line)
            yield "http://" + said.split("http://")[1].split()[0]
        finally:
            service.terminate()


if __name__ == "__main__":
    main()
