"""Content of the page of one product."""

from typing import Any

import numpy as np
from markupsafe import Markup

from lostsales.apps.service import models
from lostsales.apps.service.answers import explain_answer, figure, forecast_answer, sold_at, what_if_answer
from lostsales.apps.service.decisions import DecisionStore
from lostsales.apps.service.desk import Desk, ProductToday
from lostsales.apps.service.figures import (
    HALF,
    NARROW,
    Figures,
    forecast_figure,
    map_figures,
    response_figure,
    trace_figures,
)
from lostsales.apps.service.numbers_shown import Shown
from lostsales.errors import LostSalesError
from lostsales.evaluation.report.product import (
    ProductRange,
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


def product_page(desk: Desk, store: DecisionStore, asked: models.WhatIfRequest) -> dict[str, Any]:
    """Variables of the product template."""
    name = str(asked.series)
    situation = desk.situation(name)
    why = explain_answer(desk, situation)
    at = desk.morning.place[name]
    trace = None if desk.recent is None else product_trace(desk.policy_of(name), desk.recent, name)
    recommended = why.recommended
    choice = product_range(desk.policy_of(name), desk.recent, situation.view, recommended.price, recommended.order)
    instead = None if recommended.expected is None else what_if_answer(desk, asked)
    decided = store.decisions(series=name, limit=DECISIONS)
    return {
        "name": name,
        "period": situation.period,
        "why": why,
        "listed": {"flag": desk.morning.flag[at], "status": int(desk.morning.status[at])},
        "latest": next((each for each in decided if each.period == situation.period), None),
        "last_price": figure(situation.view.last_price[0]),
        "trace": None if trace is None else trace_figures(trace),
        "stockout_share": None if trace is None else trace.stockout_share,
        "response": _response(desk, situation, choice, recommended.price),
        "forecast": _forecast(desk, situation, trace),
        "maps": map_figures(
            product_map(desk.policy_of(name), desk.recent, situation.view),
            float(situation.view.stock[0]),
            float(anchor_demand(situation.view)[0]),
        ),
        "depth": int(situation.view.depth[0]),
        "instead": instead,
        "sold_at": sold_at(desk, name),
        "sliders": None if instead is None else _sliders(instead, choice, desk.policy.problem.capacity),
        "decisions": decided,
    }


def _response(desk: Desk, situation: ProductToday, choice: ProductRange, price: float) -> Markup | None:
    found = product_response(desk.policy_of(situation.name), desk.recent, situation.view, choice.prices)
    last = float(situation.view.last_price[0])
    return None if found is None else response_figure(found, price, last, Shown(desk.currency).money_name)


def _forecast(desk: Desk, situation: ProductToday, trace: Trace | None) -> Figures | None:
    try:
        found = forecast_answer(desk, models.ForecastRequest(series=situation.name, horizon=HORIZON))
    except LostSalesError:
        return None
    return {"wide": forecast_figure(trace, found.rows, HALF), "narrow": forecast_figure(trace, found.rows, NARROW)}


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
