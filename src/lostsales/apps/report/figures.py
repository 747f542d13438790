"""The figures of a report."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from lostsales.apps.figures_shown import number, numbers
from lostsales.apps.report.svg import LETTER, Frame, Tick, label, path, rect, svg, ticks
from lostsales.data.labels import spelled
from lostsales.demand.law.price_response import PriceResponse
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.report.action_changes import DistributionChange
from lostsales.evaluation.report.policy_map import DepthMap
from lostsales.evaluation.report.traces import Trace
from lostsales.evaluation.trade_off import TradeOff
from lostsales.types import Array, Floats

HEADROOM = 1.08  # of an axis above the largest value
STOCK_NAME = 80.0  # pixels of its length
# Light to dark, so that a print without colours reads the same.
RAMPS = {
    "price": ((255, 243, 219), (240, 159, 40), (150, 60, 0)),
    "order": ((240, 246, 251), (86, 170, 222), (0, 62, 110)),
}


def draw_trace(trace: Trace, period: str, width: float) -> Markup:
    """Sales as bars before what was available, stock-outs shaded, hidden demand as a mark with its band."""
    periods = len(trace.period)
    shown = np.r_[trace.sales, *(each[~np.isnan(each)] for each in (trace.high, trace.expected))]
    # Stock may pile up far beyond what is sold: then its line leaves the frame at the top.
    most = max(float(shown.max()), min(float(trace.available.max()), 2.0 * float(shown.max())), 1.0) * HEADROOM
    frame = Frame(width, 270, (-0.6, periods - 0.4), (0, most))
    inside = np.minimum(trace.available, most)
    parts = [frame.axes(period_ticks(trace.period, width), ticks(0, most), period, f"units per {period}")]
    parts += [frame.box(at - 0.5, at + 0.5, 0, most, "out") for at in np.flatnonzero(trace.hidden).tolist()]
    parts += [frame.box(at - 0.38, at + 0.38, 0, sold, "sold") for at, sold in enumerate(trace.sales)]
    steps = np.repeat(np.arange(periods + 1) - 0.5, 2)[1:-1]
    parts.append(frame.line(steps, np.repeat(inside, 2), "shelf"))
    for at in np.flatnonzero(~np.isnan(trace.expected)).tolist():
        if not np.isnan(trace.low[at]):
            parts.append(frame.box(at - 0.2, at + 0.2, trace.low[at], trace.high[at], "likely"))
        parts.append(frame.dot(at, trace.expected[at], "guess", 2.4))
    parts += [frame.box(at - 0.5, at + 0.5, 0, most, "touch", _tip(trace, at)) for at in range(periods)]
    return frame.svg(f"Sales, stock and censored demand of {trace.name}", parts)


def _tip(trace: Trace, at: int) -> str:
    lines = [
        spelled(trace.period[at]),
        f"sold {trace.sales[at]:g} of {trace.available[at]:g} units at a price of {trace.price[at]:g}",
        f"stock {trace.stock[at]:g}, ordered {trace.order[at]:g}"
        + ("" if trace.on_order is None else f", on the way {trace.on_order[at]:g}"),
    ]
    if trace.hidden[at]:
        mean, *band_figures = numbers(trace.expected[at], trace.low[at], trace.high[at])
        band = f"stock-out: demand about {mean}"
        if not np.isnan(trace.low[at]):
            band += " (90 % interval {} to {})".format(*band_figures)
        lines.append("stock-out: demand is not identified" if np.isnan(trace.expected[at]) else band)
    return "\n".join(lines)


def period_ticks(period: Array, width: float) -> list[Tick]:
    """Some of the periods, by their place."""
    texts = [spelled(each) for each in period]
    step = max(1, int(np.ceil(len(texts) / (width / (LETTER * max(map(len, texts)) + 22)))))
    step = next((each for each in (1, 2, 5, 10, 20, 50) if each >= step), step)
    return [(float(at), texts[at]) for at in range(0, len(texts), step)]


def draw_bars(
    groups: Sequence[str], bars: dict[str, Floats], x_label: str, y_label: str, width: float, percent: bool = False
) -> Markup:
    """Bars side by side for each group, each kind in its own colour, the figure above it where there is room."""
    most = max(max(float(each.max(initial=0)) for each in bars.values()), 1e-9) * 1.12
    frame = Frame(width, 240, (-0.5, len(groups) - 0.5), (0, most))
    y_ticks = ticks(0, most, 5)
    # Rows and runs are whole.
    y_ticks = [(at, f"{number(100 * at)}%") for at, _ in y_ticks] if percent else [t for t in y_ticks if t[0] % 1 == 0]
    parts = [frame.axes([(float(at), text) for at, text in enumerate(groups)], y_ticks, x_label, y_label)]
    thick = min(0.84 / len(bars), 46 / (frame.x(1) - frame.x(0)))
    for place, (kind, values) in enumerate(bars.items()):
        for at, value in enumerate(values):
            left = at + (place - len(bars) / 2) * thick
            text = f"{value:.0%}" if percent else number(float(value), 6)
            tip = f"{kind.replace('-', ' ')}, {groups[at]}: {text}"
            parts.append(frame.box(left, left + 0.94 * thick, 0, float(value), kind, tip))
            if LETTER * len(text) + 4 < thick * (frame.x(1) - frame.x(0)):
                parts.append(label(frame.x(left + 0.47 * thick), frame.y(float(value)) - 4, text, "small mid"))
    return frame.svg(f"{y_label} by {x_label}", parts)


def draw_shift(shift: DistributionChange, unit: str, width: float) -> Markup:
    """Frequency of each price, or order: now and by the policy."""
    bars = {"now": shift.now, "policy": shift.then}
    return draw_bars(shift.labels, bars, f"{shift.what} ({unit})", "share of the rows", width, percent=True)


def draw_response(response: PriceResponse, period: str, width: float) -> Markup:
    """Mean demand at each price with its interval, and what was sold there."""
    prices = response.prices
    price_name = "price relative to the product's usual price" if response.relative else "price (money a unit)"
    most = max(float(response.high.max()), float(response.sales.max())) * HEADROOM
    edge = 0.06 * (float(prices[-1] - prices[0]) or 1.0)
    frame = Frame(width, 240, (float(prices[0]) - edge, float(prices[-1]) + edge), (0.0, most))
    few = [(float(price), f"{price:g}") for price in prices] if len(prices) <= 8 else ticks(*frame.x_range)
    parts = [frame.axes(few, ticks(0, most), price_name, f"units per {period}")]
    parts.append(frame.band(prices, response.low, response.high, "band"))
    parts.append(frame.line(prices, response.demand, "demand"))
    columns = (prices, response.rows, response.sales, response.demand, response.low, response.high)
    for price, rows, sold, demand, low, high in zip(*columns, strict=True):
        tip = f"at a price of {price:g}, {rows:,} rows\nsold {number(sold)} per {period}"
        parts.append(frame.dot(price, sold, "seen", 4.5, tip))
        parts.append(frame.line([price, price], [low, high], "whisker"))
        mean, *band = numbers(demand, low, high)
        tip = f"at a price of {price:g}\ndemand {mean} per {period} ({' to '.join(band)})"
        parts.append(frame.dot(price, demand, "known", 4, tip))
    return frame.svg("Demand by price", parts)


def draw_map(
    panel: DepthMap, what: str, values: Floats, scale: Floats, width: float, mark: tuple[float, float] | None = None
) -> Markup:
    """A number and a shade for every stock and last known demand; faded where the policy lies outside the data.

    A ring marks one stock and demand, where that is wanted.
    """
    rows, columns = values.shape
    left, bottom = 46.0, 38.0
    cell = (width - left - 4) / columns
    high = min(cell, 26.0)
    top = max(4.0, (STOCK_NAME - high * rows) / 2)  # the name of the stock must not run into the caption
    base = top + high * rows
    parts = [label(left - 5, base - high * (at + 0.5) + 3.5, f"{panel.stocks[at]:g}", "tick end") for at in range(rows)]
    for value in np.unique(values):
        for outside in (False, True):
            stock, demand = np.nonzero((values == value) & (panel.outside == outside))
            spots = [(left + cell * x, base - high * (y + 1)) for y, x in zip(stock, demand, strict=True)]
            parts.append(_cells(spots, cell, high, f"{value:g}", *_shade(what, value, scale), outside))
    texts = [f"{demand:g}" for demand in panel.demands]
    every = int(np.ceil((LETTER * max(map(len, texts)) + 4) / cell))
    parts += [label(left + cell * (at + 0.5), base + 14, texts[at], "tick mid") for at in range(0, columns, every)]
    if mark is not None:
        y, x = (
            float(np.interp(each, at, np.arange(len(at))))
            for each, at in zip(mark, (panel.stocks, panel.demands), strict=True)
        )
        ring = Markup('<circle class="today" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>')
        parts.append(ring.format(left + cell * (x + 0.5), base - high * (y + 0.5), min(high, cell) * 0.62))
    parts.append(label(left + cell * columns / 2, base + bottom - 5, "last known demand (units)", "name mid"))
    parts.append(label(-(base - high * rows / 2), 11, "stock (units)", "name mid", turned=True))
    return svg(width, base + bottom, f"{what} by stock and last known demand after {panel.depth} stock-outs", parts)


def _cells(
    spots: list[tuple[float, float]], width: float, height: float, text: str, shade: str, dark: bool, outside: bool
) -> Markup:
    """All cells of one value: one path, and the value in each."""
    if not spots:
        return Markup("")
    area = "".join(f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z" for x, y in spots)
    digits = Markup("").join(
        Markup('<tspan x="{:.1f}" y="{:.1f}">{}</tspan>').format(x + width / 2, y + height / 2 + 3.2, text)
        for x, y in spots
    )
    return Markup('<path class="cell{}" fill="{}" d="{}"/><text class="digit{}">{}</text>').format(
        " outside" if outside else "", shade, area, " light" if dark and not outside else "", digits
    )


def _shade(what: str, value: float, scale: Floats) -> tuple[str, bool]:
    """The colour of a value on the grid of all values, and whether it is dark."""
    spread = float(scale[-1] - scale[0]) or 1.0
    at = 2 * float(np.clip((value - scale[0]) / spread, 0, 1))
    part = min(int(at), 1)
    first, second = RAMPS[what][part : part + 2]
    red, green, blue = (round(a + (b - a) * (at - part)) for a, b in zip(first, second, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}", 0.3 * red + 0.59 * green + 0.11 * blue < 130


def draw_fit(shares: Floats, width: float) -> Markup:
    """Calibration of the demand model: a tenth of the observed demands in every tenth of its distribution."""
    names = [str(place) for place in range(1, len(shares) + 1)]
    return draw_bars(names, {"now": shares}, "predicted probability, in tenths", "share of the rows", width, True)


def draw_trade_off(found: TradeOff, money: str, period: str, width: float) -> Markup:
    """Profit against the stock that it takes, each point with its fill rate; the log by a mark of its own."""
    every = (found.log, *found.points)
    xs, ys = [each.service.stock_value for each in every], [each.profit for each in every]
    x_edge, y_edge = 0.15 * (max(xs) - min(xs) or 1.0), 0.2 * (max(ys) - min(ys) or 1.0)
    frame = Frame(
        width, 250, (max(min(xs) - x_edge, 0.0), max(xs) + x_edge), (min(ys) - y_edge, max(ys) + y_edge), left=62
    )
    axes = frame.axes(ticks(*frame.x_range), ticks(*frame.y_range), f"stock value ({money})", f"profit per {period}")
    parts = [axes, frame.line(xs[1:], ys[1:], "demand")]
    for each, x, y in zip(every, xs, ys, strict=True):
        tip = f"{each.added}\nfill rate {each.service.fill_rate:.1%}, stock {number(x)}, profit {number(y)}"
        kind = "seen" if each is found.log else "known"
        parts.append(frame.dot(x, y, kind, 6 if each.is_own else 4, tip))
        parts.append(label(frame.x(x), frame.y(y) - 9, f"{each.service.fill_rate:.0%}", "small mid"))
    return frame.svg("Profit, stock value and fill rate", parts)


def draw_gains(gains: Sequence[tuple[str, Interval, str]], unit: str, width: float) -> Markup:
    """A line for each name: the gain as a mark, its interval as a bar, both in figures; the third entry colours it."""
    stacked = width < 500  # names stand above their bars
    left = 14.0 if stacked else LETTER * 1.12 * max(len(name) for name, _, _ in gains) + 20
    finite = [edge for _, gain, _ in gains for edge in (gain.low, gain.high, gain.value) if np.isfinite(edge)]
    low, high = min(0.0, *finite), max(0.0, *finite)
    reach, row = 0.06 * (high - low or 1.0), 46 if stacked else 40
    frame = Frame(width, row * len(gains) + 54, (low - reach, high + reach), (0, 1), left, 14, 8, 46)
    base, parts = frame.height - frame.bottom, []
    for value, text in ticks(*frame.x_range, most=max(3, int((width - left) / 80))):
        kind = "zero" if value == 0 else "grid"
        parts.append(path(f"M{frame.x(value):.1f} {frame.top:.1f}V{base:.1f}", kind))
        parts.append(label(frame.x(value), base + 15, text, "tick mid"))
    for place, (name, gain, kind) in enumerate(gains):
        y = frame.top + row * (place + 0.64)
        figures = "{} ({} to {})".format(*numbers(gain.value, gain.low, gain.high))
        ends = [frame.x(float(np.clip(edge, *frame.x_range))) for edge in (gain.low, gain.high)]
        middle, half = frame.x(gain.value), LETTER * len(figures) / 2
        parts.append(rect(ends[0], y - 3, max(ends[1] - ends[0], 1), 6, f"bar {kind}", f"{name}: {figures}"))
        parts.append(Markup('<circle class="mark {}" cx="{:.1f}" cy="{:.1f}" r="5.5"/>').format(kind, middle, y))
        if stacked:
            parts += [label(left, y - 12, name, "name"), label(width - 4, y - 12, figures, "small end")]
        else:
            parts.append(label(left - 14, y + 4, name, "name end"))
            parts.append(label(float(np.clip(middle, left + half, width - half)), y - 11, figures, "small mid"))
    parts.append(label((left + width - frame.right) / 2, frame.height - 8, unit, "name mid"))
    return frame.svg("Gains with their intervals", parts)
