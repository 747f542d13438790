"""Page of one product: its content and figures."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from lostsales.apps.figures_shown import Shown, number, numbers
from lostsales.apps.report.figures import HEADROOM, draw_map, draw_trace, period_ticks
from lostsales.apps.report.svg import Frame, ticks
from lostsales.apps.service import models
from lostsales.apps.service.answers import explain_answer, figure, forecast_answer, sold_at, what_if_answer
from lostsales.apps.service.decisions import DecisionStore, TrailQuery
from lostsales.apps.service.desk import Desk, ProductToday
from lostsales.data.assortment import period_word
from lostsales.data.labels import spelled
from lostsales.errors import LostSalesError
from lostsales.evaluation.report.policy_map import DepthMap
from lostsales.evaluation.report.product import (
    ProductRange,
    ProductResponse,
    anchor_demand,
    product_map,
    product_range,
    product_response,
    product_trace,
)
from lostsales.evaluation.report.traces import Trace

HORIZON = 7  # periods of the forecast
STEPS = 200  # of a slider, at most
DECISIONS = 20  # shown on the page
WIDE, HALF, NARROW = 980.0, 460.0, 350.0  # pixels
PAST = 14  # periods before a forecast
NARROW_PERIODS = 40  # shown on a phone

Figures = dict[str, Markup]  # wide and narrow


def product_page(desk: Desk, store: DecisionStore, asked: models.WhatIfRequest) -> dict[str, Any]:
    """Variables of the product template."""
    name = str(asked.series)
    situation = desk.situation(name)
    why = explain_answer(desk, situation)
    at = desk.morning.place[name]
    trace = None if desk.recent is None else product_trace(desk.policy_of(name), desk.recent, name)
    alone = replace(situation.view, settled=None)  # without limits that it shares with other products
    panel = product_map(desk.policy_of(name), desk.recent, alone)
    recommended = why.recommended
    choice = offered(desk, situation, recommended.price, recommended.order)
    instead = None if recommended.expected is None else what_if_answer(desk, asked)
    decided = store.decisions(TrailQuery(name), limit=DECISIONS)
    response = product_response(desk.policy_of(name), desk.recent, alone, choice.prices)
    ahead = _forecast(desk, situation)
    last_price, money = float(situation.view.last_price[0]), Shown(desk.currency).money_name
    tables = {
        "history": trace and trace_table(trace),
        "response": response and response_table(response),
        "forecast": ahead and forecast_table(ahead),
        "price": map_table(panel, panel.price),
        "order": map_table(panel, panel.order),
    }
    word = "period" if desk.recent is None else period_word(desk.recent.log)
    latest = next((each for each in decided if each.period == situation.period and each.status != "comment"), None)
    return {
        "name": name,
        "period": situation.period,
        "period_word": word,
        "why": why,
        "listed": {"flag": desk.morning.flag[at], "status": int(desk.morning.status[at])},
        "latest": latest if latest is not None and latest.status != "withdrawn" else None,
        "last_price": figure(situation.view.last_price[0]),
        "trace": None if trace is None else trace_figures(trace, word),
        "stockout_share": None if trace is None else trace.stockout_share,
        "response": response and response_figure(response, recommended.price, last_price, money, word),
        "forecast": ahead
        and {"wide": forecast_figure(trace, ahead, word, HALF), "narrow": forecast_figure(trace, ahead, word, NARROW)},
        "maps": map_figures(panel, float(situation.view.stock[0]), float(anchor_demand(situation.view)[0])),
        "depth": int(situation.view.depth[0]),
        "instead": instead,
        "sold_at": sold_at(desk, name),
        "sliders": None if instead is None else _sliders(instead, choice, desk.policy.problem.capacity),
        "decisions": decided,
        "tables": tables,
    }


def offered(desk: Desk, situation: ProductToday, price: float, order: float) -> ProductRange:
    """Prices and orders of the sliders: candidates within the prices that the product was sold at, and a given pair."""
    found = product_range(
        desk.policy_of(situation.name), desk.recent, replace(situation.view, settled=None), price, order
    )
    low, high = sold_at(desk, situation.name)
    ends = [low, high] if len(found.prices) > 1 and np.isfinite(high) else []
    return replace(found, prices=np.unique(np.r_[np.clip(found.prices, low, high), ends, price]))


def _forecast(desk: Desk, situation: ProductToday) -> list[dict[str, Any]] | None:
    try:
        return forecast_answer(desk, models.ForecastRequest(series=situation.name, horizon=HORIZON)).rows
    except LostSalesError:
        return None


ChartTable = list[list[str]]  # heading, then rows: what a chart shows


def trace_table(trace: Trace) -> ChartTable:
    """Sales, stock and hidden demand by period, the newest first."""
    columns = trace.sales, trace.available, trace.price, trace.expected, trace.low, trace.high
    rows = [
        [spelled(period), *(f"{each:g}" for each in (sales, available, price)), "yes" if hidden else "no"]
        + (["", "", ""] if demand[0] != demand[0] else numbers(*demand))
        for period, hidden, sales, available, price, *demand in zip(trace.period, trace.hidden, *columns, strict=True)
    ]
    return [["Period", "Sold", "Available", "Price", "Stock-out", "Hidden demand", "from", "to"], *rows[::-1]]


def response_table(response: ProductResponse) -> ChartTable:
    """Expected demand by price with its band."""
    columns = response.prices, response.demand, response.low, response.high
    rows = [
        [f"{price:g}", *numbers(*demand)] for price, *demand in zip(*(each.tolist() for each in columns), strict=True)
    ]
    return [["Price", "Demand", "from", "to"], *rows]


def forecast_table(ahead: Sequence[dict[str, Any]]) -> ChartTable:
    """Demand of the coming periods with its band."""
    return [["Period", "Demand", "from", "to"]] + [
        [str(row["period"]), *numbers(*(float(row[name]) for name in ("mean", "q10", "q90")))] for row in ahead
    ]


def map_table(panel: DepthMap, values: Any) -> ChartTable:
    """Price or order by stock (rows) and last known demand (columns)."""
    rows = [[f"{stock:g}", *(f"{each:g}" for each in own)] for stock, own in zip(panel.stocks, values, strict=True)]
    return [["Stock, by demand", *(f"{each:g}" for each in panel.demands)], *rows[::-1]]


def _sliders(instead: models.WhatIfAnswer, choice: ProductRange, capacity: float | None) -> list[dict[str, Any]]:
    """Sliders of the what-if form: name, range and step."""
    action = instead.instead
    cost = action.unit_cost or 0.0
    stocks = max(4 * max(action.stock, 1.0), float(choice.orders[-1]), 10.0)
    most_stock = min(stocks, capacity) if capacity is not None else stocks
    whole = bool((choice.orders == np.rint(choice.orders)).all())
    prices = choice.prices
    return [
        _slider("price", "Price", "money", float(prices[0]), float(prices[-1]), _step(prices), action.price),
        _slider("order", "Order", "units", 0.0, float(choice.orders[-1]), 1.0 if whole else 0.1, action.order),
        _slider("stock", "Stock", "units", 0.0, float(np.ceil(most_stock)), 1.0 if whole else 0.1, action.stock),
        _slider("unit_cost", "Unit cost", "money", 0.0, max(2 * cost, 1.0), 0.01, cost),
    ]


def _slider(name: str, title: str, kind: str, low: float, high: float, step: float, value: float) -> dict[str, Any]:
    low, high = min(low, value), max(high, value)
    return {"name": name, "title": title, "kind": kind, "low": low, "high": high, "step": step, "value": value}


def _step(prices: Any) -> float:
    """Step of a price slider: whole cents that reach every price, if prices are in whole cents."""
    gaps = np.diff(prices)
    least = float(gaps.min()) if len(gaps) else 0.01
    if (np.abs(prices * 100 - np.rint(prices * 100)) > 1e-6).any():
        return max(float(prices[-1] - prices[0]) / STEPS, 1e-4)
    return 0.01 if least < 0.05 or prices[-1] - prices[0] <= 2 else 0.05 if least < 0.5 else 0.1


def trace_figures(trace: Trace, period: str) -> Figures:
    """Sales, stock and imputed demand over time."""
    return {"wide": draw_trace(trace, period, WIDE), "narrow": draw_trace(trace.last(NARROW_PERIODS), period, NARROW)}


def response_figure(response: ProductResponse, price: float, last_price: float, money: str, period: str) -> Markup:
    """Expected demand by price with its prediction band; past sales, and the recommended price."""
    prices = response.prices
    most = max(float(response.high.max()), float(response.seen_sales.max(initial=0)), 1.0) * HEADROOM
    edge = 0.06 * (float(prices[-1] - prices[0]) or 1.0)
    frame = Frame(HALF, 250, (float(prices[0]) - edge, float(prices[-1]) + edge), (0.0, most))
    few = [(float(each), f"{each:g}") for each in prices] if len(prices) <= 8 else ticks(*frame.x_range)
    parts = [frame.axes(few, ticks(0, most), f"price ({money} a unit)", f"units per {period}")]
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


def forecast_figure(trace: Trace | None, rows: Sequence[dict[str, object]], period: str, width: float) -> Markup:
    """Last sales as bars, then the demand forecast with its band."""
    past = 0 if trace is None else min(PAST, len(trace.sales))
    mean, low, high = (np.array([float(str(row[name])) for row in rows]) for name in ("mean", "q10", "q90"))
    before = np.zeros(0) if trace is None else trace.sales[len(trace.sales) - past :]
    most = max(float(high.max()), float(before.max(initial=0)), 1.0) * HEADROOM
    frame = Frame(width, 250, (-0.6, past + len(rows) - 0.4), (0.0, most))
    earlier = [] if trace is None else list(trace.period[len(trace.period) - past :])
    periods = np.array([*earlier, *(row["period"] for row in rows)], dtype=object)
    parts = [frame.axes(period_ticks(periods, width), ticks(0, most), period, f"units per {period}")]
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
