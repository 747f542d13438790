"""The unit of quantity of a log: demand in dozens or tenths is counted, so that results do not depend on the unit.

All quantities are multiples of one unit, where they have one: 12 in a log of dozens, 0.1 in one of tenths, 1000 in one
of thousands. Learners see counts of it. Prices and unit costs stay as they are, so that money is counted per unit too.
A product of an assortment may have a unit of its own beyond that: one that is only ever sold in sixes.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from lostsales.data.ladders import common_step
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.types import Floats

ROW_QUANTITIES = ("sales", "stock", "order", "received", "adjustment")
QUANTITIES = (*ROW_QUANTITIES, "last_sales")
LEAST_ROWS = 100  # with fewer, whole numbers may all be even by chance
NEAR = 1e-6  # counts so near to a whole number are whole
DIGITS = 10  # to which quantities are rounded on their way back


def unit_of(log: SalesLog) -> float:
    """What all quantities of a log are multiples of; 1 where they have no unit of their own.

    >>> from lostsales.simulation.simulator import simulate
    >>> log, _ = simulate("released", episodes=5, seed=1)
    >>> unit_of(log), unit_of(in_units(log, 0.25))
    (1.0, 4.0)
    """
    columns = [np.abs(each) for name in QUANTITIES if (each := getattr(log, name)) is not None]
    is_whole = all(np.array_equal(each[~np.isnan(each)], np.rint(each[~np.isnan(each)])) for each in columns)
    if is_whole and (len(log) < LEAST_ROWS or max(np.nanmax(each, initial=0.0) for each in columns) > 2.0**53):
        return 1.0
    if is_whole:
        counts = [np.gcd.reduce(each[~np.isnan(each)].astype(np.int64)) for each in columns]
        return float(np.gcd.reduce(counts)) or 1.0
    return common_step(np.concatenate(columns)) or 1.0


def own_units(log: SalesLog) -> dict[str, float]:
    """Products of a log of counts that have a unit of their own, which all their quantities are multiples of.

    Of a product with few quantities above 0 these may have a common divisor by chance: it has none.
    """
    names, part = log.products.names, log.products.of_segment
    columns = [np.abs(each) for name in ROW_QUANTITIES if (each := getattr(log, name)) is not None]
    values, product = np.concatenate(columns), np.tile(part[log.series], len(columns))
    known = (values > 0) & ~np.isnan(values)
    values, product = values[known], product[known]
    rows = np.bincount(product, minlength=len(names))
    if len(names) < 2 or not len(values) or values.max() > 2.0**53 or (values != np.rint(values)).any():
        return {}
    order = np.argsort(product, kind="stable")
    present = np.flatnonzero(rows)
    divisor = np.gcd.reduceat(values[order].astype(np.int64), (np.cumsum(rows) - rows)[present])
    return {
        str(names[at]): float(own)
        for at, own in zip(present, divisor, strict=True)
        if own > 1 and rows[at] >= LEAST_ROWS
    }


def in_units(log: SalesLog, unit: float, own: dict[str, float] | None = None) -> SalesLog:
    """The log with its quantities counted in a unit, those of some products in multiples of it."""
    by_series = unit * np.array([(own or {}).get(str(name), 1.0) for name in log.names])
    columns: dict[str, Any] = {
        name: counted(each, by_series if name == "last_sales" else by_series[log.series])
        for name in QUANTITIES
        if (each := getattr(log, name)) is not None
    }
    if log.pipeline is not None:
        columns["pipeline"] = counted(log.pipeline, by_series[log.series, None])
    costs = log.costs
    if costs is not None:
        costs = costs._replace(fixed_order=costs.fixed_order / unit)
    return replace(log, problem=problem_in_units(log.problem, unit), costs=costs, **columns)


def problem_in_units(problem: Problem, unit: float) -> Problem:
    """The problem with its quantities counted in a unit."""
    update = {
        "capacity": None if problem.capacity is None else float(counted(problem.capacity, unit)),
        "orders": None if problem.orders is None else tuple(counted(np.array(problem.orders), unit).tolist()),
        "costs": problem.costs.model_copy(update={"fixed_order": problem.costs.fixed_order / unit}),
        "rules": problem.rules.in_units(unit),
        "supply": problem.supply.in_units(unit),
    }
    return problem.model_copy(update=update)


def counted(quantity: Floats | float, unit: Floats | float) -> Floats:
    """How many units a quantity is; whole but for rounding in the table is whole."""
    counts = np.asarray(quantity, dtype=np.float64) / unit
    whole = np.rint(counts)
    return np.where(np.abs(counts - whole) <= NEAR, whole, counts)
