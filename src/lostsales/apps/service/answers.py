"""Answers about one product: explanation, what-if and forecast."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lostsales.apps.service import models
from lostsales.apps.service.desk import Desk, ExplainedDecision, ProductToday, changed
from lostsales.data.pipelines import arrival_texts
from lostsales.errors import LostSalesError
from lostsales.evaluation.report.open_period import coming_features, coming_periods
from lostsales.policy.expected import Expected
from lostsales.policy.forecast import NO_LAW, forecast_demand
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.view import Action
from lostsales.types import Array

OUTLOOK = tuple(name for name in models.OutlookJson.model_fields if name != "expected_arrivals")
EXPECTED = tuple(models.ExpectedJson.model_fields)


def situation_of(desk: Desk, asked: models.About) -> ProductToday:
    """Situation of the product in a request."""
    if asked.series is not None:
        return desk.situation(asked.series)
    assert asked.row is not None
    return desk.situation_of(asked.row, asked.recent)


def explain_answer(desk: Desk, situation: ProductToday) -> models.ExplainAnswer:
    """Explain a recommended price and order."""
    found = desk.explain(situation)
    decision, view, reasons = found.decision, situation.view, found.reasons
    return models.ExplainAnswer(
        version=desk.version.version,
        series=situation.name,
        period=situation.period,
        recommended=_action(found),
        belief=models.BeliefJson(
            last_sales=figure(view.last_sales[0]),
            last_stockout=bool(view.last_stockout[0]),
            depth=int(view.depth[0]),
            last_demand=figure(decision.more["last_demand"][0]) if "last_demand" in decision.more else None,
        ),
        runner_up=models.RunnerUpJson(
            price=figure(decision.runner_up_price[0]),
            order=figure(decision.runner_up_order[0]),
            advantage=figure(decision.advantage[0]),
        ),
        value=figure(decision.value[0]),
        penalty=figure(decision.penalty[0]),
        safe_action=bool(decision.safe[0]),
        reason=reasons.get("price_reason", ""),
        order_reason=reasons.get("order_reason", ""),
        outlook=models.OutlookJson(
            **{name: figure(decision.more[name][0]) for name in OUTLOOK if name in decision.more},
            expected_arrivals=""
            if view.pipeline is None
            else str(arrival_texts(desk.policy.problem, view.pipeline)[0]),
        ),
        flags=list(found.flags),
    )


def what_if_answer(desk: Desk, asked: models.WhatIfRequest) -> models.WhatIfAnswer:
    """Compare another action, stock or cost with the recommendation.

    Outcomes are unknown at prices outside the range that the product was sold at.
    """
    situation = situation_of(desk, asked)
    as_it_is = desk.explain(situation)
    if as_it_is.expected is None:
        raise LostSalesError(NO_LAW)
    other = changed(situation, asked.stock)
    capacity = desk.policy.problem.capacity
    if capacity is not None and other.view.stock[0] > capacity:
        raise LostSalesError(f"stock must fit the capacity {capacity:g}, but {other.view.stock[0]:g} came")
    if asked.stock is None and asked.price is not None and asked.order is not None:
        price, order = asked.price, asked.order
    else:
        decided = desk.policy.explain(other.view)
        price = float(decided.price[0]) if asked.price is None else asked.price
        order = float(decided.order[0]) if asked.order is None else asked.order
    cost = None if asked.unit_cost is None else np.array([asked.unit_cost])
    expected = desk.policy.expect(other.view, Action(np.array([price]), np.array([order])), cost)
    if expected is None:
        raise LostSalesError(NO_LAW)
    low, high = sold_at(desk, situation.name)
    if not low <= price <= high and price != as_it_is.decision.price[0]:
        nothing = np.full(1, np.nan)
        expected = replace(expected, **dict.fromkeys(EXPECTED, nothing), unseen=np.ones(1, dtype=bool))
    return models.WhatIfAnswer(
        version=desk.version.version,
        series=situation.name,
        period=situation.period,
        recommended=_action(as_it_is),
        instead=_action_json(price, order, float(other.view.stock[0]), expected),
        difference=models.ExpectedJson(
            **{name: figure(getattr(expected, name)[0] - getattr(as_it_is.expected, name)[0]) for name in EXPECTED}
        ),
    )


def sold_at(desk: Desk, name: str) -> tuple[float, float]:
    """Lowest and highest price that a product was sold at; those of all products if it has no rows."""
    if desk.recent is None:
        return 0.0, math.inf
    log = desk.recent.log
    own = np.isin(log.series, np.flatnonzero(log.names == name))
    prices = log.price[own] if own.any() else log.price
    return float(prices.min()), float(prices.max())


def forecast_answer(desk: Desk, asked: models.ForecastRequest) -> models.ForecastAnswer:
    """Forecast demand of the coming periods; features continue as before."""
    situation = situation_of(desk, asked)
    price = float(desk.policy.explain(situation.view).price[0]) if asked.price is None else asked.price
    levels = sorted(set(asked.levels))
    features, carried = coming_features(
        None if desk.recent is None else desk.recent.log,
        situation.name,
        situation.view.features,
        asked.horizon - 1,
        situation.period,
    )
    seen = forecast_demand(desk.policy, situation.view, np.array([price]), features, [level / 100 for level in levels])
    periods = coming_periods(None if desk.recent is None else desk.recent.log, situation.period, asked.horizon)
    rows: list[dict[str, Any]] = []
    for at, period in enumerate(periods):
        quantiles = {f"q{level:g}": figure(seen.quantiles[place, 0, at]) for place, level in enumerate(levels)}
        rows.append({"series": situation.name, "period": period, "mean": figure(seen.mean[0, at])} | quantiles)
    return models.ForecastAnswer(
        version=desk.version.version, series=situation.name, price=price, rows=rows, carried_over=list(carried)
    )


def _action(found: ExplainedDecision) -> models.ActionJson:
    decision = found.decision
    return _action_json(
        float(decision.price[0]), float(decision.order[0]), float(found.situation.view.stock[0]), found.expected
    )


def _action_json(price: float, order: float, stock: float, expected: Expected | None) -> models.ActionJson:
    if expected is None:
        return models.ActionJson(price=price, order=order, stock=stock, expected=None)
    figures = {name: figure(getattr(expected, name)[0]) for name in EXPECTED}
    return models.ActionJson(
        price=price,
        order=order,
        stock=stock,
        unit_cost=figure(expected.unit_cost[0]),
        expected=models.ExpectedJson(**figures),
        unseen=bool(expected.unseen[0]),
        periods=int(expected.periods[0]),
    )


def figure(value: Any) -> float | None:
    """Number for JSON, None if it is not finite."""
    number = float(value)
    return number if math.isfinite(number) else None


def row_schema(policy: SavedPolicy) -> dict[str, Any]:
    """JSON Schema of a row of today that a policy decides for."""
    problem, names = policy.problem, policy.problem.columns
    amount = {"type": "number", "minimum": 0}
    columns: dict[str, Any] = {each: {"type": ["string", "integer"]} for each in names.series_parts}
    columns[names.period] = {"type": ["string", "integer"], "description": "A date, or the number of the period."}
    columns[names.stock] = amount | {"description": "Units when the period opens."}
    for each in policy.asks:
        if each.calendar is None:
            columns[each.name] = {"type": "number"} if each.kind == "numeric" else {"enum": list(each.levels or ())}
    needed = list(columns)
    columns |= {each: {"type": ["string", "number"], "description": "Attribute."} for each in problem.attributes}
    for at in range(problem.pipeline_length):
        columns[names.on_order_in(at + 1)] = amount | {"description": f"Units that arrive in {at + 1} periods."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": columns,
        "required": needed,
    }


def json_rows(rows: Sequence[dict[str, Any]], keys: Sequence[str], columns: dict[str, Array]) -> list[dict[str, Any]]:
    """Columns of a recommendation as one object per row, with the keys of the requested rows."""
    lists = {name: _plain(values) for name, values in columns.items()}
    named = [(name if name not in keys else f"recommended_{name}", values) for name, values in lists.items()]
    return [
        {key: row.get(key) for key in keys} | {name: values[at] for name, values in named}
        for at, row in enumerate(rows)
    ]


def _plain(values: Array) -> list[Any]:
    found: list[Any] = values.tolist()
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        return [each if math.isfinite(each) else None for each in found]
    return found
