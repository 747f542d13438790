"""The rows of a log as a policy would have met them, and what it would have decided there."""

import numpy as np

from lostsales.data.cost_features import costs_as_features
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.errors import LostSalesError
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.policy.rollout import Action, ClosedPeriod, Policy, View
from lostsales.types import Floats, Ints

DRAWS = 8  # decisions drawn of a policy that draws


def shown_to(policy: Policy, log: SalesLog) -> SalesLog:
    """The log as a policy asks for it: one learned with unit costs that vary wants them among the features."""
    return costs_as_features(log) if isinstance(policy, QPolicy) and policy.costs else log


def view_of_rows(log: SalesLog, runs: Runs, rows: Ints) -> View:
    """The open periods of rows whose depth is known, with their past back to the anchor."""
    if log.stock is None or log.order is None:
        raise LostSalesError("a policy decides on stock and orders, and this log has none")
    depth = runs.depth[rows].astype(np.int16)
    first = log.starts[log.series[rows]]
    past = []
    for back in range(max(int(depth.max(initial=0)), 1), 0, -1):
        at = np.maximum(rows - back, first)
        price = np.where(rows - back >= first, log.price[at], np.nan)  # before its series, and never read
        past.append(ClosedPeriod(_open(log, runs, at), Action(price, log.order[at])))
    seen = _open(log, runs, rows)
    names = log.names[log.series[rows]]
    return View(0, seen.features, seen.stock, seen.last_sales, depth > 0, depth, None, tuple(past), names)


def _open(log: SalesLog, runs: Runs, rows: Ints) -> View:
    first = log.starts[log.series[rows]]
    before = np.maximum(rows - 1, 0)
    sold = np.where(runs.observed.is_observed[before], runs.observed.demand[before], log.sales[before])
    last_sales = np.where(rows > first, sold, log.last_sales[log.series[rows]])
    nothing = np.zeros(len(rows), dtype=bool)
    stock = np.asarray(log.stock)[rows]
    return View(0, tuple(log.features[rows].T), stock, last_sales, nothing, nothing.astype(np.int16), None)


def decisions(policy: Policy, log: SalesLog, runs: Runs, rows: Ints, rng: np.random.Generator) -> Floats:
    """Price and order at each row, (draws, rows, 2); one draw where the policy does not draw."""
    view = view_of_rows(shown_to(policy, log), runs, rows)
    drawn = [np.column_stack(policy.decide(view, rng)) for _ in range(2)]
    if np.array_equal(drawn[0], drawn[1]):
        return np.array(drawn[:1])
    return np.array(drawn + [np.column_stack(policy.decide(view, rng)) for _ in range(DRAWS - 2)])
