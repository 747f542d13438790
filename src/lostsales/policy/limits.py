"""Limits that products share, applied to the decisions of a day: which products order less, and what a limit costs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lostsales.data.limits import Limit
from lostsales.errors import LostSalesError
from lostsales.policy.allocation import Allocation, OrderValues, Resource, allocate
from lostsales.policy.policy import Policy
from lostsales.policy.view import View
from lostsales.types import Floats, Ints


@dataclass(frozen=True)
class AppliedLimit:
    """A limit on the orders of one group of products, and what the decisions use of it."""

    title: str  # what is limited, with the value of `by`
    most: float | None  # that is left for these orders
    used: float
    price: float  # what one more unit of it would bring, 0 where there is enough
    gap: float  # of the value of all orders of the day to its upper bound, relative

    @property
    def sentence(self) -> str:
        """Use and price in words.

        >>> AppliedLimit("money ordered", most=500.0, used=498.0, price=0.25, gap=0.001).sentence
        'money ordered: 498.00 of at most 500.00, and one more would bring 0.25'
        """
        of = "" if self.most is None else f" of at most {self.most:,.2f}"
        more = f", and one more would bring {self.price:,.2f}" if self.price > 0 else ""
        return f"{self.title}: {self.used:,.2f}{of}{more}"


def within_limits(policy: Policy, view: View) -> tuple[View, tuple[AppliedLimit, ...]]:
    """The open period with orders within the limits that its products share, and how these bind.

    A product that is there several times, as in a replay, shares limits once each time.
    """
    limits = policy.problem.limits
    if not limits or view.settled is not None:
        return view, ()
    settled, applied = settle(limits, DayOrders.of(policy, view))
    return replace(view, settled=settled), applied


class DayOrders(NamedTuple):
    """Candidate orders of the products of a day, and what counts in limits besides them."""

    values: OrderValues
    position: Floats  # (rows,) stock and orders on the way
    ordered: Floats  # (rows,) in the week of the day before it
    occurrence: Ints  # (rows,) tells apart the days, and times that a product is there again

    @classmethod
    def of(cls, policy: Policy, view: View) -> "DayOrders":
        """Orders that a policy values; raises where it values none."""
        values = policy.order_values(view)
        if values is None:
            raise LostSalesError(
                "limits that products share need the planner or lookahead: other methods value no orders"
            )
        weekly = any(limit.every == "week" for limit in policy.problem.limits)
        ordered = _ordered_in_week(view) if weekly else np.zeros(len(view.stock))
        return cls(values, view.stock + view.on_order, ordered, _occurrences(view))

    @classmethod
    def joined(cls, parts: "Sequence[DayOrders]") -> "DayOrders":
        """The orders of several parts of the products, one after the other."""
        values = OrderValues.joined([each.values for each in parts], slice(None))
        assert values is not None
        return cls(
            values,
            position=np.concatenate([each.position for each in parts]),
            ordered=np.concatenate([each.ordered for each in parts]),
            occurrence=np.concatenate([each.occurrence for each in parts]),
        )


def settle(limits: Sequence[Limit], day: DayOrders) -> tuple[Floats, tuple[AppliedLimit, ...]]:
    """Orders within the limits (rows,), and how these bind."""
    resources, left = _resources(limits, day)
    found = allocate(day.values.value, resources)
    settled = np.take_along_axis(day.values.order, found.chosen[:, None], axis=1)[:, 0]
    return settled, _applied(resources, left, found)


def settle_parts(limits: Sequence[Limit], parts: Sequence[DayOrders]) -> tuple[list[Floats], tuple[AppliedLimit, ...]]:
    """`settle` for several parts of the products, the orders by part."""
    orders, applied = settle(limits, DayOrders.joined(parts))
    return np.split(orders, np.cumsum([len(each.position) for each in parts])[:-1]), applied


def _resources(limits: Sequence[Limit], day: DayOrders) -> tuple[list[Resource], list[float | None]]:
    """Resources of the limits, and what is left of each limit for today's orders."""
    values, own = day.values, day.occurrence
    resources: list[Resource] = []
    left: list[float | None] = []
    for limit in limits:
        use = _measure(limit.measure, values)
        held = use * (day.position if limit.of == "stock" else day.ordered * (limit.every == "week"))
        counts = np.ones(len(own), dtype=bool)
        for name, among in limit.where.items():
            counts &= np.isin(values.attributes[name], among)
        value_of = np.full(len(own), "") if limit.by is None else values.attributes[limit.by]
        rows = np.flatnonzero(counts)
        keys, group = np.unique(np.rec.fromarrays([own[rows], value_of[rows]]), return_inverse=True)
        for at in range(len(keys)):
            part = rows[group == at]
            most = np.inf if limit.most is None else max(limit.most - float(held[part].sum()), 0.0)
            title = limit.title if limit.by is None else f"{limit.title} {keys[at][1]}"
            left.append(None if limit.most is None else most)
            resources.append(
                Resource(
                    title=title,
                    rows=part,
                    use=use[part, None] * values.order[part],
                    most=most,
                    least=limit.least or 0.0,
                    multiple=limit.multiple or 0.0,
                    filled=limit.filled,
                    fixed_cost=limit.fixed_cost or 0.0,
                )
            )
    return resources, left


def _applied(resources: list[Resource], left: list[float | None], found: Allocation) -> tuple[AppliedLimit, ...]:
    figures = zip(resources, left, found.used.tolist(), found.price.tolist(), strict=True)
    return tuple(AppliedLimit(each.title, most, used, price, found.gap) for each, most, used, price in figures)


def _measure(measure: str, values: OrderValues) -> Floats:
    """What a unit of each product takes, (rows,)."""
    if measure == "units":
        return np.ones(len(values.unit_cost))
    if measure == "money":
        return values.unit_cost
    try:
        found = values.attributes[measure].astype(np.float64)
    except ValueError:
        raise LostSalesError(f"the attribute {measure!r} of a limit must be a number: what a unit takes") from None
    if (found < 0).any():
        raise LostSalesError(f"the attribute {measure!r} of a limit must not be negative, but {found.min():g} came")
    return np.asarray(found)


def _occurrences(view: View) -> Ints:
    """Number that tells apart the periods of a view, and times that a product is there again, (rows,)."""
    if view.names is None:
        return np.arange(len(view.stock))
    dates = np.zeros(len(view.stock)) if view.dates is None else view.dates
    code = np.unique(np.rec.fromarrays([view.names.astype(str), dates]), return_inverse=True)[1]
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(code[order]) > 0])
    again = np.empty(len(code), dtype=np.int64)
    again[order] = np.arange(len(code)) - np.repeat(starts, np.diff(np.r_[starts, len(code)]))
    return np.asarray(again * (1 + len(code)) + np.unique(dates, return_inverse=True)[1])


def _ordered_in_week(view: View) -> Floats:
    """Units ordered in the week of the open period before it, (rows,)."""
    total = np.zeros(len(view.stock))
    if view.dates is None or view.dates.dtype.kind != "M":
        raise LostSalesError("a limit for a week needs periods that are dates")
    first = view.dates.astype("datetime64[D]")
    first = first - (first.astype(np.int64) + 3) % 7  # day 0 of the calendar was a Thursday
    for back, each in enumerate(reversed(view.past), start=1):
        when = each.view.dates
        if when is None:
            break
        inside = (when.astype("datetime64[D]") >= first) & (when < view.dates)
        if not inside.any() and back > 1:
            break
        total += np.where(inside, np.nan_to_num(each.action.order), 0.0)
    return total
