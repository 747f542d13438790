"""Known prices and features of coming periods: read from a table, or changed from the usual ones."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lostsales.data.encoding import feature_columns
from lostsales.data.problem import Problem
from lostsales.data.reading.columns import ColumnReader
from lostsales.data.reading.findings import Findings
from lostsales.data.reading.table import open_table
from lostsales.demand.model.columns import FAR_PRICE
from lostsales.demand.model.model import Plan, StructuralDemand
from lostsales.demand.model.panel import Panel, indicator_names, response_features
from lostsales.errors import SettingError
from lostsales.types import Array, Bools, Ints

CHANGE = re.compile(r"([^=]+)=([+-]?[0-9]+(?:\.[0-9]+)?)(%?)")


def read_plan(source: Any, problem: Problem, model: StructuralDemand) -> tuple[Plan, tuple[str, ...]]:
    """Plan of the usual prices and features with those of a table, and the names of the columns it has.

    The table has one row per product and coming period, with the key columns of the log and the price, features, or
    both. Products that it does not list keep their usual values; rows beyond the horizon are left out.

    Raises
    ------
    LogError
        Unknown products, missing or doubled periods, or values that are not usable: one error that lists the rows.

    """
    table = open_table(source)
    findings = Findings(table.name, table.place)
    reader, columns = ColumnReader(table, findings, problem.format), problem.columns
    features = [each for _, each in response_features(problem) if each.calendar is None]
    given = [each for each in features if each.name in table.columns]
    has_price = columns.price in table.columns
    if missing := [name for name in (*columns.series_parts, columns.period) if name not in table.columns]:
        findings.add(f"the table must have the columns {', '.join(missing)}, as the log has them")
    if not given and not has_price:
        wanted = ", ".join([columns.price, *(each.name for each in features)])
        findings.add(f"the table must have a price or a feature of the log ({wanted})")
    findings.raise_if_any()
    labels = reader.series(columns.series_parts)
    period = reader.period(columns.period)
    findings.series_of, findings.period_of = labels, period
    product, step = _places(findings, labels, period, model.panel)
    used = (product >= 0) & (step >= 0)
    place = product[used], step[used]
    plan = model.usual_plan
    price, values = plan.price.copy(), plan.features.copy()
    if has_price:
        read = reader.number(columns.price)
        findings.check(read == 0, f"{columns.price} must be positive", read)
        price[place] = read[used]
    for each in given:
        numbers = reader.number(each.name, negative=True, truths=True) if each.kind == "numeric" else None
        levels = reader.levels(each)[1].astype(np.float64) if numbers is None else numbers
        for name, column in zip(indicator_names(each), feature_columns([each], [levels]), strict=True):
            values[*place, model.panel.market.names.index(name)] = column[used]
    findings.raise_if_any()
    return Plan(price, values), (*((columns.price,) if has_price else ()), *(each.name for each in given))


def changed_plan(plan: Plan, changes: Sequence[str], problem: Problem, names: tuple[str, ...]) -> Plan:
    """Plan with changes such as `price=-10%`, `price=4.5` or `promotion=1`.

    Raises
    ------
    SettingError
        A change cannot be read, or names neither the price nor a numeric feature.

    """
    for text in changes:
        match = CHANGE.fullmatch(text.strip())
        if match is None:
            raise SettingError(
                f"a change is a column and a value, such as price=-10% or promotion=1, but {text!r} came"
            )
        name, number, relative = match[1].strip(), float(match[2]), bool(match[3])
        if name not in (problem.columns.price, *names):
            known = ", ".join((problem.columns.price, *names))
            raise SettingError(f"a change must name the price or a numeric feature ({known}), but {name!r} came")
        if name == problem.columns.price:
            price = plan.price * (1.0 + number / 100) if relative else np.full(plan.price.shape, number)
            if not (price > 0).all():
                raise SettingError(f"a changed price must be positive, but {text!r} came")
            plan = replace(plan, price=price)
        else:
            features, at = plan.features.copy(), names.index(name)
            features[..., at] = features[..., at] * (1.0 + number / 100) if relative else number
            plan = replace(plan, features=features)
    return plan


def price_warning(plan: Plan, panel: Panel) -> str:
    """Warning of planned prices far outside those seen; empty without any."""
    seen = panel.market.price[:, : panel.market.known]
    low, high = seen.min(axis=1, keepdims=True), seen.max(axis=1, keepdims=True)
    far = (plan.price > FAR_PRICE * high) | (plan.price < low / FAR_PRICE)
    if not far.any():
        return ""
    product, step = np.argwhere(far)[0]
    example = f"{panel.names[product]} at {plan.price[product, step]:g}"
    return (
        f"{np.count_nonzero(far):,} planned prices lie far outside those seen ({example}, seen "
        f"{low[product, 0]:g} to {high[product, 0]:g}): the response there is extrapolated"
    )


def _places(findings: Findings, labels: tuple[Ints, Array], period: Array, panel: Panel) -> tuple[Ints, Ints]:
    """Product and coming period of every row, -1 beyond the horizon; adds findings on rows that do not fit."""
    codes, texts = labels
    known = {str(name): at for at, name in enumerate(panel.names)}
    of_text = np.array([known.get(str(text), -1) for text in texts] + [-1], dtype=np.int64)
    product = of_text[codes]
    shown = np.append(texts, "")[codes]
    findings.check((product < 0) & (codes >= 0), "a product of the future must be in the log", shown, verb="is")
    dated = panel.coming_period.dtype.kind == "M"
    if (period.dtype.kind == "M") != dated:
        findings.add(f"periods of the future must be {'dates' if dated else 'whole numbers'}, as those of the log")
        return product, np.full(len(product), -1)
    coming = panel.coming_period.astype(np.int64)
    moment = np.where(_is_missing(period), coming.max() + 1, period.astype(np.int64) if dated else period)
    match = moment[:, None] == coming[product]
    step = np.where(match.any(axis=1), match.argmax(axis=1), -1)
    early = (product >= 0) & (step < 0) & (moment <= coming[product, -1])
    findings.check(early, "a period of the future must be one of the periods after the last row", verb="is none")
    rows = np.flatnonzero((product >= 0) & (step >= 0))
    flat = product[rows] * coming.shape[1] + step[rows]
    _, first = np.unique(flat, return_index=True)
    findings.check(
        ~np.isin(np.arange(len(rows)), first), "a product and period must come once", rows=rows, verb="is again"
    )
    filled = np.zeros(coming.shape, dtype=bool)
    filled[product[rows], step[rows]] = True
    for at in np.flatnonzero(filled.any(axis=1) & ~filled.all(axis=1))[:3]:
        lacking = panel.coming_period[at][~filled[at]][0]
        findings.add(f"the future must have every period of a product, but {panel.names[at]} has none for {lacking}")
    return product, step


def _is_missing(period: Array) -> Bools:
    return np.isnat(period) if period.dtype.kind == "M" else np.isnan(period)


def describe(columns: tuple[str, ...], changes: Sequence[str], model: StructuralDemand) -> str:
    """Assumption about prices and features of the coming periods."""
    if not model.fitted.columns.names:
        return "no price or feature of the log affects demand"
    usual = "usual prices and features (medians of the last periods)"
    known = f"{', '.join(columns)} as given, otherwise {usual}" if columns else usual
    return f"{known}; changed: {', '.join(changes)}" if changes else known
