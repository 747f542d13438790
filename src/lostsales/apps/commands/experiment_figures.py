"""The figures of an experiment: what was earned against how much there was to learn from."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lostsales.data.output_files import replacing
from lostsales.lab.experiments.against_published import published_of
from lostsales.lab.experiments.design import REFERENCE
from lostsales.lab.experiments.published import Published, published_results
from lostsales.lab.experiments.results import ExperimentResults, Row, summarise_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Style(NamedTuple):
    """Label, colour and marker of a method in every figure."""

    label: str
    colour: str
    marker: str


# Okabe and Ito's colours, which colour-blind readers can tell apart; in print the markers do.
STYLES = {
    "c-fqi": Style("C-FQI", "#0072B2", "o"),
    "pc-fqi": Style("PC-FQI", "#D55E00", "s"),
    "fusion": Style("fusion", "#009E73", "^"),
    "c-fqi-default": Style("C-FQI, our defaults", "#E69F00", "v"),
    "pc-fqi-default": Style("PC-FQI, our defaults", "#F0E442", "<"),
    "planner": Style("planner (ours)", "#CC79A7", "D"),
    "replay-fqi": Style("Replay-FQI (ours)", "#56B4E9", "P"),
}
BASELINE_MARKERS = "vPX*<>hpdH1+"
GREY = "#8C8C8C"
SHOWN = 0.4  # of the way from pi* down to uniform decisions
LINEAR = 0.1  # gaps below this are drawn on a linear scale
DOTS = 160  # an inch


def draw_figures(results: ExperimentResults, folder: Path) -> list[Path]:
    """The paper's two figures, one a behaviour, and a third of every method's gap to pi*."""
    figures = {f"{behaviour}.png": figure_of_values(results, behaviour) for behaviour in results.experiment.behaviours}
    figures["gaps.png"] = figure_of_gaps(results)
    for name, figure in figures.items():
        with replacing(folder / name) as temporary:
            figure.savefig(temporary, format="png", dpi=DOTS, metadata={"Software": None})
    return [folder / name for name in figures]


def figure_of_values(results: ExperimentResults, behaviour: str) -> "Figure":
    """Methods that have a style, published curves, and references as lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5.2), layout="constrained")
    axes, rows = figure.subplots(), summarise_results(results)
    published = published_of(behaviour, published_results(results.experiment.scenario))
    shown = [name for name in STYLES if results.has(name)]
    for place, method in enumerate(shown):
        _curve(axes, STYLES[method], _offset(results, place, shown), _rows(rows, behaviour, method))
    for method in STYLES:
        _published_curve(axes, STYLES[method], [point for point in published if point.method == method])
    known = _references(axes, results, rows)
    best = max(known.values())
    means = [row.mean for method in shown for row in _rows(rows, behaviour, method)]
    lowest = np.nanmin([best, *means, *(point.mean for point in published)])
    floor = max(lowest, best - SHOWN * (best - known["uniform"]))  # one failure must not flatten all the others
    if floor < best:  # else no method of the figure was run
        axes.set_ylim(floor - 0.08 * (best - floor), best + 0.06 * (best - floor))
    if lowest < floor:
        axes.text(0.99, 0.02, "curves go on below the frame: see gaps.png", transform=axes.transAxes, ha="right")
    axes.set_ylabel("profit per period (money), 95 % interval")
    _finish(axes, behaviour, results, {point.episodes for point in published})
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def figure_of_gaps(results: ExperimentResults) -> "Figure":
    """Every method, baselines in grey; the scale is logarithmic, and linear around nought."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5 * max(len(results.experiment.behaviours), 2), 6), layout="constrained")
    rows = summarise_results(results)
    baselines = [method for method in results.experiment.methods if method not in STYLES]
    styles = {
        name: Style(name, GREY, BASELINE_MARKERS[at % len(BASELINE_MARKERS)]) for at, name in enumerate(baselines)
    }
    styles |= {name: style for name, style in STYLES.items() if results.has(name)}
    behaviours = results.experiment.behaviours
    both = figure.subplots(1, len(behaviours), sharey=True, squeeze=False)[0]
    for axes, behaviour in zip(both, behaviours, strict=True):
        for place, (method, style) in enumerate(styles.items()):
            points = _rows(rows, behaviour, method)
            gaps = [replace(row, mean=row.gap, low=row.gap_low, high=row.gap_high) for row in points]
            _curve(axes, style, _offset(results, place, list(styles)), gaps)
        axes.axhline(0, color="black", lw=1)
        axes.set_yscale("symlog", linthresh=LINEAR, linscale=0.3)
        axes.yaxis.set_major_formatter("{x:g}")
        _finish(axes, behaviour, results, set())
    means, discount = [row.gap for row in rows if row.behaviour != REFERENCE], results.experiment.scenario.discount
    both[0].set_ylim(1.5 * np.nanmin([-LINEAR / 3, *means]), 1.5 * np.nanmax([1.0, *means]))
    both[0].set_ylabel(f"profit per period (money) short of pi* (discount {discount:g}), 95 % interval")
    handles, labels = both[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8, frameon=False)
    return figure


def _references(axes: "Axes", results: ExperimentResults, rows: list[Row]) -> dict[str, float]:
    """Lines at oracle and pi*, ours in black and the published in grey; what our references earn."""
    known = {row.method: row.mean for row in rows if row.behaviour == REFERENCE}
    discount = results.experiment.scenario.discount
    lines = [
        ("pi*, undiscounted, knows the last period", known["pi-star-horizon"], ":", "black"),
        (f"oracle for discount {discount:g}", known["oracle"], "--", "black"),
        (f"pi* for discount {discount:g}", known["pi-star"], "-", "black"),
    ]
    for point in published_results(results.experiment.scenario):
        if point.behaviour == REFERENCE:
            label, dashes = ("oracle by PPO", "--") if point.method == "oracle" else ("pi*", "-")
            lines.append((f"{label}, published", point.mean, dashes, GREY))
    for label, value, dashes, colour in lines:
        axes.axhline(value, color=colour, ls=dashes, lw=1, label=f"{label} ({value:.2f})", zorder=1)
    return known


def _published_curve(axes: "Axes", style: Style, points: list[Published]) -> None:
    if not points:
        return
    axes.errorbar(
        [point.episodes for point in points],
        [point.mean for point in points],
        [point.reach for point in points],
        color=style.colour,
        marker=style.marker,
        label=f"{style.label}, published",
        mfc="white",
        ls=":",
        alpha=0.75,
    )


def _curve(axes: "Axes", style: Style, offset: float, points: list[Row]) -> None:
    """A line with intervals; baselines are thin and have none, as a dozen intervals would hide each other."""
    baseline = style.colour == GREY
    reach = [[row.mean - row.low for row in points], [row.high - row.mean for row in points]]
    axes.errorbar(
        [row.episodes + offset for row in points],
        [row.mean for row in points],
        None if baseline else reach,
        color=style.colour,
        marker=style.marker,
        label=style.label,
        capsize=2.5,
        lw=0.9 if baseline else 1.6,
        elinewidth=1,
        ms=5,
    )


def _offset(results: ExperimentResults, place: int, methods: list[str]) -> float:
    """Horizontal shift of a method, so that no interval hides another."""
    levels = results.experiment.levels
    return 0.004 * (levels[-1] - levels[0] or levels[0]) * (place - (len(methods) - 1) / 2)


def _finish(axes: "Axes", behaviour: str, results: ExperimentResults, more_levels: set[int]) -> None:
    scenario = results.experiment.scenario
    axes.set_title(f"{scenario.name}: learned from {behaviour} behaviour", fontsize=11)
    axes.set_xlabel(f"episodes to learn from (of {scenario.horizon} periods)")
    axes.set_xticks(sorted({*results.experiment.levels, *more_levels}))
    axes.grid(alpha=0.25)


def _rows(rows: list[Row], behaviour: str, method: str) -> list[Row]:
    return [row for row in rows if (row.behaviour, row.method) == (behaviour, method)]
