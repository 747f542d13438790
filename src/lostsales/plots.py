"""Pictures of results, drawn with matplotlib (`pip install 'lostsales[plots]'`); each function returns a figure."""

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from importlib.util import find_spec
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from lostsales.errors import LostSalesError
from lostsales.types import Array, Bools

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEEN, HIDDEN, QUIET = "#0072B2", "#D55E00", "#8A94A6"  # readable for the colour-blind, on light and dark
NORMAL_95 = 1.96  # standard errors to either side of a 95 % band
MOST_SHOWN = 20  # products in a picture


def _canvas(title: str, height: float = 3.6) -> "tuple[Figure, Axes]":
    if find_spec("matplotlib") is None:
        raise LostSalesError("pictures need matplotlib: pip install 'lostsales[plots]'")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, height), layout="constrained")
    figure._repr_html_ = partial(_svg, figure)  # type: ignore[method-assign]  # notebooks show it
    axes = figure.subplots()
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _only(names: Array, name: str | None) -> tuple[str, Bools]:
    """The rows of a product, by default of the first."""
    chosen = str(names[0]) if name is None else name
    rows = np.asarray(names == chosen)
    if not rows.any():
        raise LostSalesError(f"there is no product {chosen!r}; the first are {', '.join(map(str, names[:3]))}")
    return chosen, rows


def draw_history(log: Any, name: str | None = None, filled: Any = None) -> "Figure":
    """Sales of a product and what was available; days out of stock shaded, or filled with expected lost sales."""
    chosen, rows = _only(log.names[log.series], name)
    period, sales, out = log.period[rows], log.sales[rows], log.censored[rows]
    figure, axes = _canvas(chosen)
    axes.bar(period, sales, color=SEEN, width=_width(period), label="sold")
    if not log.demand_only:
        axes.step(period, log.available[rows], where="mid", color=QUIET, linewidth=1, label="available")
    if filled is None:
        axes.bar(
            period[out], np.full(out.sum(), axes.get_ylim()[1]), color=HIDDEN, alpha=0.2, label="stock-out", zorder=0
        )
    else:
        lost, reach = filled.expected_lost[rows][out], NORMAL_95 * filled.error[rows][out]
        below = np.minimum(reach, lost)  # demand is at least what was sold
        axes.bar(
            period[out], lost, bottom=sales[out], color=HIDDEN, alpha=0.5, width=_width(period), label="lost, expected"
        )
        axes.errorbar(
            period[out],
            sales[out] + lost,
            yerr=[below, reach],
            fmt="none",
            color=HIDDEN,
            label="95 % interval of the mean",
        )
    axes.set_ylabel("units")
    axes.legend(frameon=False, ncols=4, loc="lower right", bbox_to_anchor=(1, 1))
    return figure


def _width(period: Array) -> Any:
    """Four fifths of a period."""
    return 0.8 * np.diff(period).min() if len(period) > 1 and period.dtype.kind != "M" else _days(period)


def _days(period: Array) -> float:
    if len(period) < 2:
        return 0.8
    return float(0.8 * np.diff(period).min() / np.timedelta64(1, "D"))


def draw_bars(counts: dict[int, int], title: str, label: str) -> "Figure":
    """Bars of counts by a whole number."""
    figure, axes = _canvas(title)
    axes.bar([str(each) for each in counts], list(counts.values()), color=SEEN)
    axes.set_xlabel(label)
    axes.set_ylabel("number")
    return figure


def draw_forecast(found: Any, name: str | None = None) -> "Figure":
    """Expected demand of a product, within its outermost quantiles."""
    chosen, rows = _only(found.names, name)
    figure, axes = _canvas(chosen)
    low, high = min(found.quantiles), max(found.quantiles)
    if low < high:
        band = found.quantiles[low][rows], found.quantiles[high][rows]
        axes.fill_between(found.period[rows], *band, color=SEEN, alpha=0.25, label=f"{low:g} to {high:g} %")
    axes.plot(found.period[rows], found.mean[rows], color=SEEN, marker="o", label="expected demand")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("units")
    axes.legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
    return figure


def draw_intervals(figures: Sequence[tuple[str, Any]], title: str, label: str) -> "Figure":
    """Figures with their 95 % intervals, one below the other; those that are None are named without a mark."""
    figure, axes = _canvas(title, height=1.4 + 0.4 * len(figures))
    for at, (_, each) in enumerate(figures):
        if each is not None:
            reach = [[each.value - each.low], [each.high - each.value]]
            axes.errorbar([each.value], [at], xerr=reach, fmt="o", color=SEEN, capsize=3)
    axes.axvline(0, color=QUIET, linewidth=1)
    axes.set_yticks(range(len(figures)), [name if each is not None else f"{name}: no figure" for name, each in figures])
    axes.set_ylim(len(figures) - 0.5, -0.5)
    axes.set_xlabel(label)
    return figure


def draw_decisions(found: Any, title: str) -> "Figure":
    """Recommended orders as bars, one a row, with prices next to the names."""
    names, columns = found.problem.columns, found.columns
    shown = slice(0, MOST_SHOWN)
    keys = [found.keys[part][shown].tolist() for part in names.series_parts]
    labels = [" / ".join(map(str, each)) for each in zip(*keys, strict=True)]
    price, order = columns[names.price][shown], columns[names.order][shown]
    figure, axes = _canvas(title, height=1.4 + 0.3 * len(labels))
    axes.barh(range(len(labels)), order, color=SEEN)
    axes.set_yticks(range(len(labels)), [f"{name}, {each:g}" for name, each in zip(labels, price, strict=True)])
    axes.invert_yaxis()
    axes.set_xlabel("order, in units; next to each product its price")
    return figure


def draw_demand(drivers: dict[str, float], found: Any) -> "Figure":
    """Shares of the variance of demand by driver, and elasticities with their 95 % bands, the largest first."""
    order = np.argsort(found.elasticity)[:MOST_SHOWN]
    figure = _canvas("", height=1.6 + 0.28 * max(len(drivers), len(order)))[0]
    figure.clear()
    left, right = figure.subplots(1, 2)
    left.barh(list(drivers), [100 * each for each in drivers.values()], color=SEEN)
    left.invert_yaxis()
    left.set_title("What drives demand", loc="left")
    left.set_xlabel("share of its variance, %")
    reach = NORMAL_95 * found.standard_error[order]
    right.errorbar(found.elasticity[order], np.arange(len(order)), xerr=reach, fmt="o", color=SEEN, capsize=3)
    right.axvline(0, color=QUIET, linewidth=1)
    right.set_yticks(np.arange(len(order)), [str(each) for each in found.names[order]])
    right.invert_yaxis()
    right.set_title("Price elasticity", loc="left")
    right.set_xlabel("change of demand in % where the price rises by 1 %")
    for each in (left, right):
        each.spines[["top", "right"]].set_visible(False)
    return figure


def draw_schedule(names: Array, new: Bools, title: str) -> "Figure":
    """Series by blocks of a pilot: coloured where the new policy decides."""
    figure, axes = _canvas(title, height=1.4 + 0.25 * len(names))
    axes.pcolormesh(new, cmap="Blues", vmin=0, vmax=1.5, edgecolors="white")
    axes.set_yticks(np.arange(len(names)) + 0.5, [str(each) for each in names])
    axes.set_xticks(np.arange(new.shape[1]) + 0.5, [str(each + 1) for each in range(new.shape[1])])
    axes.invert_yaxis()
    axes.set_xlabel("block (dark: the new policy decides)")
    return figure


def html(sentence: str, plot: "Callable[[], Figure]") -> str:
    """A sentence and, if matplotlib is installed, a picture, for notebooks."""
    text = f"<p>{escape(sentence)}</p>"
    if find_spec("matplotlib") is None:
        return text
    return text + _svg(plot())


def _svg(figure: "Figure") -> str:
    from matplotlib import rc_context

    drawn = StringIO()
    with rc_context({"svg.hashsalt": "lostsales"}):  # the same figure gives the same text
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()[drawn.getvalue().index("<svg") :]
