"""Preview of another list: what prices and orders of today a version or other rules would change."""

from typing import Any, NamedTuple

import numpy as np

from lostsales.apps.service.answers import figure
from lostsales.apps.service.desk import Desk
from lostsales.types import Floats, exceeds

SHOWN = 20  # products with the largest changes


class ListChanges(NamedTuple):
    """Differences of another list from today's; money of both, then the products with the largest changes."""

    version: str
    products: int  # in both lists
    prices: int  # that differ
    orders: int
    cost: tuple[float | None, float | None]  # of all orders, today's and the other
    profit: tuple[float | None, float | None]  # expected
    exceptions: tuple[int, int]
    rows: list[dict[str, Any]]


def list_changes(today: Desk, other: Desk) -> ListChanges:
    """Compare another list with today's, product by product."""
    now, then = today.morning, other.morning
    at = np.array([now.place[name] for name in then.name.tolist() if name in now.place], dtype=np.int64)
    to = np.array([then.place[name] for name in now.name[at].tolist()], dtype=np.int64)
    price, order = _differ(now.price[at], then.price[to]), _differ(now.order[at], then.order[to])
    cost = np.zeros(len(at)) if today.day is None else today.unit_cost(today.day.view)[at]
    weight = np.abs(then.order[to] - now.order[at]) * np.nan_to_num(cost, nan=1.0)
    weight += np.abs(then.price[to] - now.price[at]) * np.nan_to_num(now.demand[at])
    largest = [each for each in np.argsort(-weight, kind="stable")[:SHOWN].tolist() if price[each] or order[each]]
    return ListChanges(
        version=other.version.version,
        products=len(at),
        prices=int(price.sum()),
        orders=int(order.sum()),
        cost=(figure((now.order[at] * cost).sum()), figure((then.order[to] * cost).sum())),
        profit=(figure(now.profit[at].sum()), figure(then.profit[to].sum())),
        exceptions=(int(now.is_flagged.sum()), int(then.is_flagged.sum())),
        rows=[
            {
                "series": str(now.name[at[each]]),
                "price": (float(now.price[at[each]]), float(then.price[to[each]])),
                "order": (float(now.order[at[each]]), float(then.order[to[each]])),
            }
            for each in largest
        ],
    )


def _differ(one: Floats, other: Floats) -> Floats:
    return np.asarray(exceeds(one, other) | exceeds(other, one))
