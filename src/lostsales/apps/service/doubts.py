"""Doubts about typed prices and orders: what is against the rules, or far from all that a product has had."""

from collections.abc import Callable

import numpy as np

from lostsales.apps.service.desk import Desk
from lostsales.policy.action_grid import room_of
from lostsales.policy.product_rows import rows_of_view
from lostsales.policy.rules import Rules
from lostsales.policy.view import Action, View
from lostsales.types import Bools, Floats, Ints, exceeds

BEYOND = 2.0  # times the recommended order may be ordered without a doubt, whatever was ordered before

Doubts = list[tuple[Bools, Callable[[int], str]]]  # rows that a doubt is about, and its text for one of them


def doubts(desk: Desk, at: Ints, action: Action) -> list[list[str]]:
    """Doubts about the price and order of products of the list, as texts for each; none about what is recommended."""
    if desk.day is None:
        return [[] for _ in at]
    view, listed = desk.day.view.take(at), desk.morning
    recommended = Action(listed.price[at], listed.order[at])
    of_price, of_order = _of_prices(desk, view, action), _of_orders(desk, view, action, recommended)
    found = [(holds & (action.price != recommended.price), text) for holds, text in of_price]
    found += [(holds & (action.order != recommended.order), text) for holds, text in of_order]
    return [[text(row) for holds, text in found if holds[row]] for row in range(len(at))]


def _of_prices(desk: Desk, view: View, action: Action) -> Doubts:
    price, last, rules = action.price, view.last_price, _rules(desk).of_view(view)
    share = _by_row(rules.greatest_price_change_percent, price) / 100 * last
    change = np.fmin(_by_row(rules.greatest_price_change, price), share)
    margin, cost = _by_row(rules.least_margin, price), desk.unit_cost(view)
    found: Doubts = [
        (exceeds(cost, price), lambda row: f"a price of {price[row]:.10g} is below the unit cost of {cost[row]:.4g}"),
        (
            exceeds(cost / (1 - margin), price) & ~exceeds(cost, price),
            lambda row: f"a price of {price[row]:.10g} leaves less than the margin of {margin[row]:.0%} of the rules",
        ),
        (
            exceeds(np.abs(price - last), change),
            lambda row: (
                f"a price of {price[row]:.10g} is further from the last one, {last[row]:.10g}, than the rules allow"
            ),
        ),
    ]
    if desk.products is not None:
        seen = rows_of_view(desk.products, view).seen
        low, high = seen.lowest_price, seen.highest_price
        found.append(
            (
                exceeds(price, high) | exceeds(low, price),
                lambda row: (
                    f"a price of {price[row]:.10g} was never tried: the product was sold at "
                    f"{low[row]:.10g} to {high[row]:.10g}"
                ),
            )
        )
    return found


def _of_orders(desk: Desk, view: View, action: Action, recommended: Action) -> Doubts:
    order, problem, rules = action.order, desk.policy.problem, _rules(desk)
    limit = view.order_limit(problem)
    most = np.minimum(np.inf if limit is None else limit, np.maximum(room_of(problem) - view.stock, 0.0))
    declared = problem.supply.minimum if isinstance(problem.supply.minimum, float) else None
    least = np.fmax(_by_row(rules.of_view(view).minimum, order), _by_row(declared, order))
    found: Doubts = [
        (
            exceeds(order, most),
            lambda row: f"an order of {order[row]:.10g} is more than the {most[row]:.10g} that may be ordered now",
        ),
        (
            (order > 0) & exceeds(least, order),
            lambda row: f"an order of {order[row]:.10g} is less than the smallest one, {least[row]:.10g}",
        ),
    ]
    if problem.orders is not None:
        listed = np.array(problem.orders)
        text = "is none of those that the problem lists"
        found.append((~np.isin(order, listed), lambda row: f"an order of {order[row]:.10g} {text}"))
    if desk.products is not None:
        rows = rows_of_view(desk.products, view)
        case, largest = case_sizes(desk, view), rows.seen.largest_order
        apart = np.abs(order - np.rint(order / np.where(case > 0, case, 1.0)) * case)
        ceiling = np.maximum(rows.seen.order_ceiling, BEYOND * recommended.order)
        found += [
            (
                (case > 0) & exceeds(apart, 0.0),
                lambda row: f"an order of {order[row]:.10g} is not a multiple of {case[row]:.10g}",
            ),
            (
                exceeds(order, ceiling),
                lambda row: f"an order of {order[row]:.10g} is far more than ever: the largest was {largest[row]:.10g}",
            ),
        ]
    return found


def case_sizes(desk: Desk, view: View) -> Floats:
    """Case size of each product, by the rules or else by its orders; 0 for any quantity."""
    if desk.products is None:
        return np.zeros(len(view.stock))
    return _rules(desk).multiples(view, rows_of_view(desk.products, view).case_size)


def _rules(desk: Desk) -> Rules:
    rules = Rules().over(desk.policy.problem.rules)
    return rules if desk.recent is None else rules.of_log(desk.recent.log)


def _by_row(rule: float | None, like: Floats) -> Floats:
    """A rule of each row, NaN where there is none."""
    return np.broadcast_to(np.asarray(np.nan if rule is None else rule, dtype=np.float64), like.shape)
