"""The action that is nearest to a wanted one and that grids, rules and supply allow."""

import numpy as np

from lostsales.data.problem import Problem
from lostsales.policy.action_grid import ActionGrid, room_of
from lostsales.policy.rules import Rules
from lostsales.policy.view import Action, View
from lostsales.types import RELATIVE_TOLERANCE, Floats

FEW_ORDERS = 64  # of a list that is tried whole: a longer one would be compared row by row for nothing


def nearest_allowed(
    problem: Problem,
    rules: Rules,
    wanted: Action,
    view: View,
    features: dict[str, Floats],
    multiple: Floats,
    unit_cost: Floats,
) -> Action:
    """Nearest candidate; the lower of two prices that are as near, and the smaller of two orders.

    If the problem lists no prices, the wanted one is treated as listed, and with it what the rules name; if it lists
    no orders, the multiples around the wanted one, none, the least and the most that may be ordered.
    """
    limit, room = view.order_limit(problem), room_of(problem)
    free = not rules.own and rules == Rules() and limit is None and np.isinf(room)  # own rules are arrays
    if free and problem.prices is None and problem.orders is None:
        return wanted
    most = np.maximum(room - view.stock, 0.0) if limit is None else np.minimum(limit, np.maximum(room - view.stock, 0))
    orders = _orders(problem, rules, wanted.order, multiple, most)
    grid = ActionGrid(_prices(problem, rules, wanted.price), orders, room, unit_cost)
    may = rules.feasible(grid, view.stock, view.last_price, features, limit)
    return grid.nearest(wanted, may)


def _prices(problem: Problem, rules: Rules, wanted: Floats) -> Floats:
    """Listed prices (prices,), or those of each row, (rows, prices)."""
    listed = problem.prices if rules.price_ladder is None else rules.price_ladder
    if listed is not None:
        return np.array(sorted(set(listed) & set(problem.prices or listed)) or listed, dtype=np.float64)
    whole, endings = np.floor(wanted), np.array(rules.price_endings or ())
    near = (whole[:, None, None] + np.array([-1.0, 0.0, 1.0])[:, None] + endings).reshape(len(wanted), -1)
    return np.sort(np.maximum(np.column_stack([wanted, near]), 0.0), axis=1)


def _orders(problem: Problem, rules: Rules, wanted: Floats, multiple: Floats, most: Floats) -> Floats:
    """Listed orders (orders,), or candidates of each row, (rows, candidates)."""
    least = np.broadcast_to(0.0 if rules.minimum is None else np.nan_to_num(rules.minimum), wanted.shape)
    if problem.orders is not None:
        listed = np.array(problem.orders)
        if len(listed) <= FEW_ORDERS:
            return listed
        slack = RELATIVE_TOLERANCE * (1 + listed[-1])
        above = np.searchsorted(listed, np.column_stack([wanted, least]) - slack)
        below = np.searchsorted(listed, np.column_stack([wanted, np.minimum(most, listed[-1])]) + slack) - 1
        at = np.clip(np.column_stack([np.zeros(len(wanted), dtype=np.int64), above, below]), 0, len(listed) - 1)
        return np.sort(listed[at], axis=1)
    step = np.where(multiple > 0, multiple, 1.0)
    counts = [np.floor(wanted / step + 1e-9), np.ceil(wanted / step - 1e-9), np.ceil(least / step - 1e-9)]
    counts.append(np.floor(np.minimum(most, wanted + 2 * step) / step + 1e-9))
    found = [np.where(multiple > 0, step * np.maximum(each, 0.0), wanted) for each in counts]
    exact = np.where(multiple > 0, 0.0, np.minimum(most, np.maximum(wanted, least)))
    return np.sort(np.column_stack([np.zeros(len(wanted)), *found, exact]), axis=1)
