"""The figures of an experiment: what was earned against how much there was to learn from."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lostsales.data.write import replacing
from lostsales.errors import LostSalesError
from lostsales.simulate.experiments.plan import BEHAVIOURS, REFERENCE
from lostsales.simulate.experiments.published import published_results
from lostsales.simulate.experiments.results import Results, Row, summarise_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Style(NamedTuple):
    """How a method is drawn everywhere."""

    label: str
    colour: str
    marker: str


# Okabe and Ito's colours, which colour-blind readers can tell apart; in print the markers do.
STYLES = {
    "c-fqi": Style("C-FQI", "#0072B2", "o"),
    "pc-fqi": Style("PC-FQI", "#D55E00", "s"),
    "fusion": Style("fusion", "#009E73", "^"),
    "planner": Style("planner (ours)", "#CC79A7", "D"),
}
BASELINE_MARKERS = "vPX*<>hp"
GREY = "#8C8C8C"
LINEAR = 0.1  # gaps below this are drawn on a linear scale
DOTS = 160  # an inch


def draw_figures(results: Results, folder: Path) -> list[Path]:
    """The paper's two figures, one a behaviour, and a third of every method's gap to pi*."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise LostSalesError("figures need matplotlib: pip install 'lostsales[plots]'") from None
    rows, paths = summarise_results(results), []
    for behaviour in BEHAVIOURS:
        figure = Figure(figsize=(7.5, 5.2), layout="constrained")
        _draw_values(figure.subplots(), behaviour, results, rows)
        paths.append(_save(figure, folder / f"{behaviour}.png"))
    figure = Figure(figsize=(11, 6), layout="constrained")
    _draw_gaps(figure, results, rows)
    return [*paths, _save(figure, folder / "gaps.png")]


def _draw_values(axes: "Axes", behaviour: str, results: Results, rows: list[Row]) -> None:
    """The methods that have a style, the references as lines, and the published curves beside them."""
    shown = [name for name in STYLES if results.has(name)]
    means = []
    for place, method in enumerate(shown):
        points, style = _rows(rows, behaviour, method), STYLES[method]
        _curve(axes, style, style.label, _spread(results, place, shown), points)
        means += [row.mean for row in points]
    published = published_results(results.experiment.scenario)
    for method, style in STYLES.items():
        if curve := [point for point in published if (point.behaviour, point.method) == (behaviour, method)]:
            at, mean, reach = zip(*(point[2:] for point in curve), strict=True)
            axes.errorbar(
                at,
                mean,
                reach,
                color=style.colour,
                marker=style.marker,
                label=f"{style.label}, published",
                mfc="white",
                ls=":",
                alpha=0.75,
            )
            means += mean
    known = {row.method: row.mean for row in rows if row.behaviour == REFERENCE}
    best = max(known["oracle"], known["pi-star"])
    lines = [("oracle, exact", known["oracle"], "--", "black"), ("pi*, exact", known["pi-star"], "-", "black")]
    theirs = {point.method: point.mean for point in published if point.behaviour == REFERENCE}
    if theirs:
        lines += [
            ("oracle by PPO, published", theirs["oracle"], "--", GREY),
            ("pi*, published", theirs["pi-star"], "-", GREY),
        ]
    for label, value, dashes, colour in lines:
        axes.axhline(value, color=colour, ls=dashes, lw=1, label=f"{label} ({value:.2f})", zorder=1)
    floor = max(np.nanmin([*means, best]), known["uniform"])  # what is worse than uniform decisions leaves the frame
    axes.set_ylim(floor - 0.08 * (best - floor), best + 0.06 * (best - floor))
    axes.set_ylabel("profit a period (money), 95 % interval")
    _finish(axes, behaviour, results, {point.episodes for point in published if point.episodes})
    axes.figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)


def _draw_gaps(figure: "Figure", results: Results, rows: list[Row]) -> None:
    """Every method, baselines in grey; the scale is logarithmic, and linear around nought."""
    baselines = [method for method in results.experiment.methods if method not in STYLES]
    styles = {name: Style(name, GREY, BASELINE_MARKERS[at % 8]) for at, name in enumerate(baselines)}
    styles |= {name: style for name, style in STYLES.items() if results.has(name)}
    both = figure.subplots(1, len(BEHAVIOURS), sharey=True)
    for axes, behaviour in zip(both, BEHAVIOURS, strict=True):
        for place, (method, style) in enumerate(styles.items()):
            points = [
                replace(row, mean=row.gap, low=row.gap_low, high=row.gap_high) for row in _rows(rows, behaviour, method)
            ]
            _curve(axes, style, style.label, _spread(results, place, list(styles)), points)
        axes.axhline(0, color="black", lw=1)
        axes.set_yscale("symlog", linthresh=LINEAR)
        axes.yaxis.set_major_formatter("{x:g}")
        _finish(axes, behaviour, results, set())
    gaps = [row.gap for row in rows if row.behaviour != REFERENCE]
    both[0].set_ylim(min(-LINEAR, np.nanmin(gaps)), 1.5 * max(1.0, np.nanmax(gaps)))
    both[0].set_ylabel("profit a period (money) short of pi*, 95 % interval")
    handles, labels = both[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8, frameon=False)


def _curve(axes: "Axes", style: Style, label: str, at: list[float], points: list[Row]) -> None:
    reach = [[row.mean - row.low for row in points], [row.high - row.mean for row in points]]
    width = 0.9 if style.colour == GREY else 1.6
    axes.errorbar(
        at,
        [row.mean for row in points],
        reach,
        color=style.colour,
        marker=style.marker,
        label=label,
        capsize=2.5,
        lw=width,
        ms=5,
    )


def _spread(results: Results, place: int, methods: list[str]) -> list[float]:
    """The levels, a little apart for each method so that no interval hides another."""
    levels = results.experiment.levels
    step = 0.004 * (levels[-1] - levels[0] or levels[0])
    return [level + step * (place - (len(methods) - 1) / 2) for level in levels]


def _finish(axes: "Axes", behaviour: str, results: Results, more_levels: set[int]) -> None:
    scenario = results.experiment.scenario
    axes.set_title(f"{scenario.name}: learned from {behaviour} behaviour", fontsize=11)
    axes.set_xlabel(f"episodes to learn from (of {scenario.horizon} periods)")
    axes.set_xticks(sorted({*results.experiment.levels, *more_levels}))
    axes.grid(alpha=0.25)


def _rows(rows: list[Row], behaviour: str, method: str) -> list[Row]:
    return [row for row in rows if (row.behaviour, row.method) == (behaviour, method)]


def _save(figure: "Figure", path: Path) -> Path:
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=DOTS, metadata={"Software": None})
    return path
