"""An open period as a policy sees it, the action it takes, and the closed periods behind it."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lostsales.data.economics import units_available
from lostsales.data.problem import Feature, Problem
from lostsales.errors import LostSalesError
from lostsales.types import Array, Bools, Floats, Ints, exceeds

Features = tuple[Floats, ...]


class Action(NamedTuple):
    """The decision of a period, one entry a series."""

    price: Floats
    order: Floats


@dataclass(frozen=True, eq=False)
class SeriesContext:
    """Attributes and scale of series; every array has one entry a series."""

    attributes: dict[str, Array]  # as text, those that are given
    mean_demand: Floats  # over recent periods with observed demand, NaN where there are none

    def take(self, rows: Ints) -> "SeriesContext":
        """Some of the series."""
        return SeriesContext({name: texts[rows] for name, texts in self.attributes.items()}, self.mean_demand[rows])

    def values(self, columns: tuple[str, ...], default: Floats) -> Floats:
        """Attributes as numbers, (series, columns), a column a number or `name=text`; the default where none is given.

        >>> context = SeriesContext({"kind": np.array(["beer", "wine"])}, np.ones(2))
        >>> context.values(("kind=beer", "litres"), np.array([0.5, 3.0])).tolist()
        [[1.0, 3.0], [0.0, 3.0]]
        """
        values = np.tile(default, (len(self.mean_demand), 1))
        for index, column in enumerate(columns):
            name, _, level = column.partition("=")
            if name in self.attributes:
                texts = self.attributes[name]
                values[:, index] = texts == level if level else _numbers(name, texts)
        return values


def _numbers(name: str, texts: Array) -> Floats:
    try:
        return np.asarray(texts.astype(np.float64))
    except (TypeError, ValueError):
        raise LostSalesError(f"the attribute {name!r} must be a number in today's rows, as in the log") from None


@dataclass(frozen=True)
class View:
    """An open period as a retailer sees it; every array has one entry a series."""

    period: int
    features: Features
    stock: Floats
    last_sales: Floats
    last_stockout: Bools
    depth: Array  # (series,) int16, censored periods in a row just before
    last_demand: Floats | None  # only where true demand may be seen
    past: "tuple[ClosedPeriod, ...]" = ()  # closed periods, oldest first, where history is observed
    names: Array | None = None  # (series,) text, where the series have names
    context: SeriesContext | None = None  # None in a simulation

    @property
    def last_price(self) -> Floats:
        """The price of the period before, NaN where it is unknown, (series,)."""
        return self.past[-1].action.price if self.past else np.full(len(self.stock), np.nan)

    def censoring_level(self, back: int, problem: Problem) -> Floats:
        """Up to which demand showed in the period so far back, (series,): what was available, or the sales.

        Where units were left over, a stock-out lasted for part of the period, and demand was at least the sales.
        """
        closed, action = self.past[-back]
        available = units_available(closed.stock, action.order, problem.arrival, problem.capacity)
        sales = self.last_sales if back == 1 else self.past[1 - back].view.last_sales
        return np.where(exceeds(available, sales), np.nextafter(sales, -np.inf), available)

    def features_by_name(self, features: tuple[Feature, ...]) -> dict[str, Floats]:
        """The values of the given features, each (series,); the view may hold more of them."""
        return {each.name: values for each, values in zip(features, self.features, strict=False)}

    def take(self, rows: Ints) -> "View":
        """Some of the series, with their past as far back as the longest of their censored runs."""
        longest = max(int(self.depth[rows].max(initial=0)), 1)
        past = tuple(
            ClosedPeriod(each.view._without_past(rows), Action(each.action.price[rows], each.action.order[rows]))
            for each in self.past[-longest:]
        )
        context = None if self.context is None else self.context.take(rows)
        return replace(self._without_past(rows), past=past, context=context)

    def _without_past(self, rows: Ints) -> "View":
        return View(
            period=self.period,
            features=tuple(each[rows] for each in self.features),
            stock=self.stock[rows],
            last_sales=self.last_sales[rows],
            last_stockout=self.last_stockout[rows],
            depth=self.depth[rows],
            last_demand=None if self.last_demand is None else self.last_demand[rows],
            names=None if self.names is None else self.names[rows],
        )


class ClosedPeriod(NamedTuple):
    """A closed period as a retailer remembers it; its sales stand in the view of the next."""

    view: View
    action: Action
