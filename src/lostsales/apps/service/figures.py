"""Figures of a product's page."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from lostsales.apps.figures_shown import number, numbers
from lostsales.apps.report.figures import HEADROOM, draw_map, draw_trace, period_ticks
from lostsales.apps.report.svg import Frame, ticks
from lostsales.evaluation.report.policy_map import DepthMap
from lostsales.evaluation.report.product import ProductResponse
from lostsales.evaluation.report.traces import Trace

WIDE, HALF, NARROW = 980.0, 460.0, 350.0  # pixels
PAST = 14  # periods before a forecast
NARROW_PERIODS = 40  # shown on a phone

Figures = dict[str, Markup]  # wide and narrow


def trace_figures(trace: Trace) -> Figures:
    """Sales, stock and imputed demand over time."""
    return {"wide": draw_trace(trace, WIDE), "narrow": draw_trace(trace.last(NARROW_PERIODS), NARROW)}


def response_figure(response: ProductResponse, price: float, last_price: float, money: str) -> Markup:
    """Expected demand by price with its prediction band; past sales, and the recommended price."""
    prices = response.prices
    most = max(float(response.high.max()), float(response.seen_sales.max(initial=0)), 1.0) * HEADROOM
    edge = 0.06 * (float(prices[-1] - prices[0]) or 1.0)
    frame = Frame(HALF, 250, (float(prices[0]) - edge, float(prices[-1]) + edge), (0.0, most))
    few = [(float(each), f"{each:g}") for each in prices] if len(prices) <= 8 else ticks(*frame.x_range)
    parts = [frame.axes(few, ticks(0, most), f"price ({money} a unit)", "units a period")]
    parts.append(frame.box(price - edge / 5, price + edge / 5, 0, most, "chosen", f"recommended: {price:g}"))
    parts.append(frame.band(prices, response.low, response.high, "band"))
    parts.append(frame.line(prices, response.demand, "demand"))
    for seen, sold in zip(response.seen_prices, response.seen_sales, strict=True):
        if frame.x_range[0] <= seen <= frame.x_range[1]:
            tip = f"in the past at {seen:g}\nsold {number(float(sold))} a period"
            parts.append(frame.dot(float(seen), float(sold), "seen", 4.5, tip))
    for each, demand, low, high in zip(prices, response.demand, response.low, response.high, strict=True):
        tip = "at a price of {}\ndemand {} today ({} to {})".format(f"{each:g}", *numbers(demand, low, high))
        parts.append(frame.dot(float(each), float(demand), "known", 4 if len(prices) <= 20 else 2.5, tip))
    return frame.svg(f"Demand by price; the last price was {last_price:g}", parts)


def forecast_figure(trace: Trace | None, rows: Sequence[dict[str, object]], width: float) -> Markup:
    """Last sales as bars, then the demand forecast with its band."""
    past = 0 if trace is None else min(PAST, len(trace.sales))
    mean, low, high = (np.array([float(str(row[name])) for row in rows]) for name in ("mean", "q10", "q90"))
    before = np.zeros(0) if trace is None else trace.sales[len(trace.sales) - past :]
    most = max(float(high.max()), float(before.max(initial=0)), 1.0) * HEADROOM
    frame = Frame(width, 250, (-0.6, past + len(rows) - 0.4), (0.0, most))
    earlier = [] if trace is None else list(trace.period[len(trace.period) - past :])
    periods = np.array([*earlier, *(row["period"] for row in rows)], dtype=object)
    parts = [frame.axes(period_ticks(periods, width), ticks(0, most), "period", "units a period")]
    hidden = np.zeros(past, dtype=bool) if trace is None else trace.hidden[len(trace.hidden) - past :]
    parts += [frame.box(at - 0.5, at + 0.5, 0, most, "out") for at in np.flatnonzero(hidden).tolist()]
    parts += [frame.box(at - 0.38, at + 0.38, 0, sold, "sold", f"sold {sold:g}") for at, sold in enumerate(before)]
    places = np.arange(past, past + len(rows)).astype(np.float64)
    parts.append(frame.band(places, low, high, "band"))
    parts.append(frame.line(places, mean, "demand"))
    for at, row in enumerate(rows):
        tip = "period {}\ndemand {} ({} to {})".format(row["period"], *numbers(mean[at], low[at], high[at]))
        parts.append(frame.dot(float(places[at]), float(mean[at]), "known", 4, tip))
    return frame.svg("Demand of the coming periods", parts)


def map_figures(panel: DepthMap, stock: float, demand: float) -> list[tuple[str, Markup]]:
    """Price and order by stock and last known demand, with a ring where the product is today."""
    return [
        (what, draw_map(panel, what, values, np.unique(values), HALF, (stock, demand)))
        for what, values in (("price", panel.price), ("order", panel.order))
    ]
