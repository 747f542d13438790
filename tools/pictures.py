"""Draws the pictures of the documentation, light and dark: `python -m tools.pictures` (not the screenshots)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

import lostsales

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
INK = {"light": "#1f2328", "dark": "#d6dae0"}
LINK = {"light": "#0072B2", "dark": "#56B4E9"}
OURS, OTHER, PAPER = "#0072B2", "#D55E00", {"light": "#eef2f7", "dark": "#22272e"}
PRODUCT = "Cola 1.5 l"  # sells out often

# What an alternative earns, in per cent of what lostsales earns; docs/evidence.md has the figures and their sources.
COMPARED = (
    ("Corner shops: the manager", 100 * 89.6 / 98.0),
    ("Orange juice: best sales forecast with safety stock", 100 * 47.059 / 60.955),
    ("Fresh food: best sales forecast with safety stock", 100 * 0.406 / 0.419),
    ("InventoryBench: best published", 100 * 0.538 / 0.611),
    ("The paper's experiment: C-FQI as published, ten times the rows", 100 * 31.3 / 33.2),
    ("VN2, no prices: Croston with safety stock", 100 * 1.338 / 1.427),
    ("Long runs of stock-outs (simulated): C-FQI", 100 * 21.4 / 22.4),
)
DAY = (  # a step, columns of the table that it fills, and a note
    ("Count the stock", "stock", ""),
    ("Decide", "price, order", ""),
    ("Delivery?", "received", 'arrival = "before"'),
    ("Sell", "sales, stockout", ""),
    ("Delivery?", "received", 'arrival = "after"'),
)


def main() -> None:
    """Draw each picture in both colour schemes."""
    drawn: dict[str, Callable[[str], Figure]] = {"cola": cola, "compared": compared, "day": day}
    for scheme, ink in INK.items():
        colours = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), ink)
        fixed: dict[Any, Any] = {"svg.hashsalt": "lostsales", "svg.fonttype": "none", "font.family": "sans-serif"}
        with mpl.rc_context(fixed | colours | {"legend.frameon": False, "savefig.transparent": True}):
            for name, draw in drawn.items():
                draw(scheme).savefig(PICTURES / f"{name}-{scheme}.svg", metadata={"Date": None})


def cola(_scheme: str) -> Figure:
    """Sales of a product, and the demand that stock-outs hid."""
    log = lostsales.load_example()
    figure: Figure = lostsales.impute(log).plot(log, PRODUCT)
    return figure


def compared(scheme: str) -> Figure:
    """Earnings of alternatives in per cent of ours."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    axes = figure.subplots()
    for place, (label, share) in enumerate(reversed(COMPARED)):
        axes.barh(place, share, color=OURS if share < 100 else OTHER, height=0.62)
        axes.text(share - 1.2, place, f"{share:.0f} %", va="center", ha="right", color="white")
        axes.text(-1.2, place, label, va="center", ha="right")
    axes.axvline(100, color=INK[scheme], linewidth=1, zorder=0)
    axes.set_xlim(0, 125)
    axes.set_yticks([])
    figure.suptitle("What the alternative earns, lostsales = 100 %", x=0.01, ha="left")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


def day(scheme: str) -> Figure:
    """Steps of a day, and the columns of a table that they fill."""
    figure = Figure(figsize=(9, 2.1), layout="constrained")
    axes = figure.subplots()
    axes.axis("off")
    axes.set_xlim(-0.5, len(DAY) - 0.5)
    axes.set_ylim(-0.75, 0.75)
    for place, (step, columns, note) in enumerate(DAY):
        line = {
            "edgecolor": INK[scheme] if note else OURS,
            "facecolor": PAPER[scheme],
            "linestyle": "--" if note else "-",
        }
        box = {"boxstyle": "round,pad=0.55", **line}
        axes.text(place, 0.2, step, ha="center", va="center", fontsize=12, bbox=box)
        axes.text(place, -0.28, columns, ha="center", family="monospace", fontsize=10, color=LINK[scheme])
        axes.text(place, -0.6, note, ha="center", family="monospace", fontsize=9)
        if place:
            arrow = {"arrowstyle": "->", "color": INK[scheme]}
            axes.annotate("", (place - 0.36, 0.2), (place - 0.56, 0.2), arrowprops=arrow)
    return figure


if __name__ == "__main__":
    main()
