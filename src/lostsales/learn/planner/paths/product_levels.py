"""Levels of demand of each product, which follow its rows."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from lostsales.data.feature import Feature
from lostsales.data.log import DecisionLog
from lostsales.demand.censoring.runs import Runs
from lostsales.demand.model.exposure import DemandExposure
from lostsales.demand.model.moving_levels import MEMBERS, MovingLevels
from lostsales.policy.recent_demand import RecentDemand
from lostsales.policy.view import View
from lostsales.saved_fields import POSITIVE, numbers
from lostsales.types import Floats, Ints

LOOK_BACK = 260  # periods, beyond which the weight of a row in a level is negligible
EPISODE_WEIGHT = 40  # periods by which the usual level counts in a new episode of a shop: a limit of what moves
STEADY_WEIGHT = 0.01  # weight of levels that move where none has moved
AT_ONCE = 10_000  # products whose periods are put into one table: bounds memory


class KeptLevels(NamedTuple):
    """Levels of products after some of their rows."""

    levels: MovingLevels
    end: Ints  # (series,) behind the last row of each
    unit: Floats | float  # in which these rows were counted


@dataclass(frozen=True, eq=False)
class ProductLevels:
    """Level and dispersion of demand of each product; the last entry is that of a usual one, for unknown products."""

    level: Annotated[Floats, numbers("series+1", least=POSITIVE)]  # mean demand at the end of the log, without season
    spread: Annotated[Floats, numbers("series+1", least=0)]  # variance beyond Poisson's, relative to the squared mean
    members: Annotated[Floats, numbers(MEMBERS, least=POSITIVE)]  # weights of levels by their rate, pooled
    usual: Annotated[Floats, numbers("series", least=0)]  # mean level over the log
    one_shop: bool  # series are episodes of one shop, and not products: a new one starts like the others

    @classmethod
    def of(cls, log: DecisionLog, runs: Runs, market: DemandExposure, usual: Floats, one_shop: bool) -> "ProductLevels":
        """Levels at the end of a log; `usual` (products,) are the mean ones."""
        product, count = log.products.of_row, len(log.products)
        order = np.argsort(product, kind="stable")
        edges = np.searchsorted(product[order], np.arange(count + 1))
        observed = runs.observed
        hidden, period = ~observed.is_observed[order], log.period[order]
        first, end, price = edges[:-1], edges[1:], log.price[order]
        shown = RecentDemand(
            observed.least[order], hidden, first, end, period, price=price, features=log.features[order]
        )
        start, features = MovingLevels.start(count, observed.integer), log.problem.features
        levels = moved(start, shown, np.arange(count), market, features).pooled()
        level, spread = (np.r_[each, np.median(each)] for each in (levels.mean, levels.spread))
        members = levels.prior
        if one_shop:  # the episodes together show whether levels move, and how much demand varies
            spread[-1] = np.median(market.response.dispersion)
            if not market.response.moves:
                members = np.where(np.arange(MEMBERS) == 0, 1.0, STEADY_WEIGHT)
                members = members / members.sum()
        return cls(level, spread, members, usual, one_shop)

    def levels_of(
        self, view: View, at: Ints, counted: bool, market: DemandExposure, features: tuple[Feature, ...]
    ) -> MovingLevels:
        """Levels of the products of a view after all of their rows, starting from those of the log.

        `at` (rows,) is the entry of each product, -1 if it is unknown: it starts with its first rows, and without rows
        with its last sales.
        """
        recent = view.recent
        if recent is None:
            return self._start(view, at, counted)
        kept = self._kept_levels(recent)
        if kept is None:
            found = moved(self._start(view, at, counted), recent, at, market, features)
        else:
            found = moved(kept.levels, recent.since(kept.end), at, market, features)
        if recent.memo is not None and (recent.end > recent.first).all():
            recent.memo[self] = KeptLevels(found, recent.end, recent.unit)
        return found

    def _start(self, view: View, at: Ints, counted: bool) -> MovingLevels:
        if self.one_shop:
            level, spread = np.full(len(at), np.median(self.usual)), np.full(len(at), self.spread[-1])
            return MovingLevels.start(len(at), counted, level, spread, self.members, weight=EPISODE_WEIGHT)
        nothing = np.ones(len(at), dtype=bool) if view.recent is None else view.recent.end <= view.recent.first
        level = np.where(at < 0, np.where(nothing, view.last_sales, np.nan), self.level[at])
        return MovingLevels.start(len(at), counted, level, self.spread[at], self.members)

    def _kept_levels(self, recent: RecentDemand) -> "KeptLevels | None":
        """Levels of an earlier period of the same roll-out; None where there are none, or the start is forgotten."""
        kept: KeptLevels | None = None if recent.memo is None else recent.memo.get(self)
        if kept is None or (recent.end - recent.first).max(initial=0) > LOOK_BACK:
            return None
        return kept if (kept.end <= recent.end).all() and np.array_equal(kept.unit, recent.unit) else None


def moved(
    levels: MovingLevels, recent: RecentDemand, at: Ints, market: DemandExposure, features: tuple[Feature, ...]
) -> MovingLevels:
    """Levels after the rows of their products `at` (series,), in tables of some products at a time."""
    count = len(recent.end)
    parts = [np.arange(low, min(low + AT_ONCE, count)) for low in range(0, count, AT_ONCE)]
    found = []
    for rows in parts:
        table = recent.take(rows).table(LOOK_BACK)
        price = np.ones(table.shown.shape) if table.price is None else table.price
        shape = (*price.shape, len(market.centre))
        inputs = np.zeros(shape)
        if table.features is not None and len(market.centre):
            columns = [table.features[:, :, k].reshape(-1) for k in range(len(features))]
            inputs = market.inputs(features, columns, price.size).reshape(shape)
        exposure = market.exposure(at[rows], price, inputs, table.period)
        found.append(levels.take(rows).after(table.shown, table.is_censored, exposure))
    return MovingLevels.joined(found) if found else levels
