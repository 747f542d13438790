"""An open period as a policy sees it, the action it takes, and the closed periods behind it."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lostsales.data.economics import order_room, units_available
from lostsales.data.feature import Feature
from lostsales.data.problem import Problem
from lostsales.data.shop import Shop
from lostsales.errors import LostSalesError
from lostsales.policy.recent_demand import RecentDemand
from lostsales.types import Array, Bools, Floats, Ints, exceeds

Features = tuple[Floats, ...]
# Closed periods that are kept beyond the longest censored run, for policies on several of the last demands.
EARLIER_PERIODS = 6


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
    # (series, longest lead time - 1) ordered and not arrived: column k arrives in k + 1 periods, at the latest where
    # lead times vary; it was ordered (columns - k) periods ago. None where there are no columns.
    pipeline: Floats | None = None
    order_phase: Ints | None = None  # (series,) position in the cycle of order days, None where there is no cycle
    coming: Features | None = None  # features of the next period, NaN where they are not known yet
    later: Floats | None = None  # (series, periods, features) of later periods given with today, NaN where unknown
    recent: RecentDemand | None = None  # what each series has shown before, where history is observed
    dates: Array | None = None  # (series,) the period as dates or numbers, None in a simulation
    # (series, longest shelf life) stock by remaining life, the last period first; None where it is not known
    ages: Floats | None = None
    season_end: Array | None = None  # (series,) last period in which each is sold, as `dates`; None where one for all
    salvage: Floats | None = None  # (series,) what a unit brings that is left then; None where one for all
    settled: Floats | None = None  # (series,) orders that limits over all products have settled, None without limits

    @property
    def on_order(self) -> Floats:
        """Units ordered and not arrived, (series,)."""
        return np.zeros(len(self.stock)) if self.pipeline is None else self.pipeline.sum(axis=1)

    def order_limit(self, shop: Shop) -> Floats | None:
        """The most that the supply lets each series order, (series,); None where it sets no limit."""
        return order_limit(shop, self.stock, self.pipeline, self.order_phase)

    @property
    def last_price(self) -> Floats:
        """The price of the period before, NaN where it is unknown, (series,)."""
        return self.past[-1].action.price if self.past else np.full(len(self.stock), np.nan)

    def censoring_level(self, back: int, problem: Problem) -> Floats:
        """Level up to which demand showed in the period so far back, (series,): what was available, or the sales.

        If units were left over, a stock-out lasted for part of the period, and demand was at least the sales.
        """
        closed, action = self.past[-back]
        available = units_available(closed.stock, action.order, problem.flow)
        sales = self.last_sales if back == 1 else self.past[1 - back].view.last_sales
        return np.where(exceeds(available, sales), np.nextafter(sales, -np.inf), available)

    def features_by_name(self, features: tuple[Feature, ...]) -> dict[str, Floats]:
        """The values of the given features, each (series,); the view may hold more of them."""
        return {each.name: values for each, values in zip(features, self.features, strict=False)}

    def take(self, rows: Ints) -> "View":
        """Some of the series, with their past as far back as the longest of their censored runs, and a little more."""
        longest = int(self.depth[rows].max(initial=0)) + EARLIER_PERIODS
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
            pipeline=None if self.pipeline is None else self.pipeline[rows],
            order_phase=None if self.order_phase is None else self.order_phase[rows],
            coming=None if self.coming is None else tuple(each[rows] for each in self.coming),
            later=None if self.later is None else self.later[rows],
            recent=None if self.recent is None else self.recent.take(rows),
            dates=None if self.dates is None else self.dates[rows],
            ages=None if self.ages is None else self.ages[rows],
            season_end=None if self.season_end is None else self.season_end[rows],
            salvage=None if self.salvage is None else self.salvage[rows],
            settled=None if self.settled is None else self.settled[rows],
        )


def order_limit(shop: Shop, stock: Floats, pipeline: Floats | None, order_phase: Ints | None) -> Floats | None:
    """The most that may be ordered, (series,): nothing off the order days, and what there is room for.

    Room in the pipeline, and in a store whose capacity forbids to order more than stock and pipeline leave of it.
    """
    flow = shop.flow
    if shop.supply.capacity is None and order_phase is None and (pipeline is None or not flow.forbids):
        return None
    on_way = np.zeros(len(stock)) if pipeline is None else pipeline.sum(axis=1)
    room = np.maximum(order_room(stock, on_way, flow), 0.0)
    return room if order_phase is None else np.where(shop.supply.may_order(order_phase), room, 0.0)


class ClosedPeriod(NamedTuple):
    """A closed period as a retailer remembers it; its sales are in the view of the next."""

    view: View
    action: Action
