"""Demand by price alone: one Kaplan-Meier curve a price, and a market that draws from them.

The simplest law that accounts for censoring; it depends neither on features nor on past demand.
"""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import LEAST_ROWS, Runs
from lostsales.demand.survival.curve import SurvivalCurve, kaplan_meier
from lostsales.demand.survival.depth_groups import not_truncated
from lostsales.policy.rollout import Opening
from lostsales.policy.view import Features
from lostsales.types import Floats

MOST_LEVELS = 500  # a law with more is thinned to its quantiles, so that sums of two stay small


@dataclass(frozen=True, eq=False)
class DiscreteDemand:
    """A discrete law of demand."""

    levels: Floats  # (levels,) rising
    chance: Floats  # (levels,)

    @classmethod
    def of(cls, curve: SurvivalCurve) -> "DiscreteDemand":
        """The jumps of a curve; mass beyond the last event lies at the largest observation (Efron's rule)."""
        levels, survival = np.r_[curve.times, curve.end], np.r_[curve.survival, 0.0]
        return cls(levels, -np.diff(np.r_[1.0, survival])).thinned()

    def quantile(self, share: Floats | float) -> Floats:
        """The least level that demand does not exceed with a chance of at least `share`."""
        at = np.searchsorted(np.cumsum(self.chance), np.asarray(share) - 1e-12)
        return self.levels[np.minimum(at, len(self.levels) - 1)]

    def plus(self, other: "DiscreteDemand") -> "DiscreteDemand":
        """The law of the sum of two independent demands."""
        levels, place = np.unique(np.add.outer(self.levels, other.levels), return_inverse=True)
        chance = np.bincount(place.reshape(-1), weights=np.outer(self.chance, other.chance).reshape(-1))
        return DiscreteDemand(levels, chance.astype(np.float64))

    def sold(self, available: float) -> float:
        """E[min(D, available)]."""
        return float(self.chance @ np.minimum(self.levels, available))

    @property
    def mean(self) -> float:
        """E[D]."""
        return float(self.chance @ self.levels)

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.chance @ (self.levels - self.mean) ** 2))

    def sum_of(self, periods: int) -> "DiscreteDemand":
        """The law of the sum over so many periods, each independent of the others."""
        total = self
        for _ in range(periods - 1):
            total = total.plus(self).thinned()
        return total

    def thinned(self) -> "DiscreteDemand":
        """The same law, or where it has more than MOST_LEVELS levels its quantiles."""
        if len(self.levels) <= MOST_LEVELS:
            return self
        shares = (np.arange(MOST_LEVELS) + 0.5) / MOST_LEVELS
        return DiscreteDemand(self.quantile(shares), np.full(MOST_LEVELS, 1 / MOST_LEVELS))


def laws_by_price(log: SalesLog, runs: Runs, prices: Floats) -> dict[float, DiscreteDemand]:
    """Kaplan-Meier's law of demand at each price within the range of the log.

    A price with fewer than LEAST_ROWS rows takes in those of the nearest prices.
    """
    observed, whole = runs.observed, np.flatnonzero(not_truncated(log, runs))
    charged = log.price[whole]
    laws = {}
    for price in prices[(prices >= charged.min()) & (prices <= charged.max())].tolist():
        far = np.abs(charged - price)
        enough = min(LEAST_ROWS, len(far)) - 1
        rows = whole[far <= np.partition(far, enough)[enough]]
        curve = kaplan_meier(observed.demand[rows], observed.is_observed[rows], tail="last", integer=observed.integer)
        laws[price] = DiscreteDemand.of(curve)
    return laws


@dataclass(frozen=True, eq=False)
class PriceMarket:
    """Independent demands by price. Series come in groups of `paths`, with common random numbers over the groups."""

    laws: dict[float, DiscreteDemand]
    opening_stock: Floats  # of the series of the log
    paths: int
    opening_pipeline: Floats | None = None  # (series, columns) of the log

    def open(self, series: int, rng: np.random.Generator) -> Opening:
        """Opening stocks and pipelines as in the log; there is no past."""
        drawn = rng.choice(len(self.opening_stock), self.paths)
        stock, pipeline = self._shared(self.opening_stock[drawn], series), None
        if self.opening_pipeline is not None:
            pipeline = np.tile(self.opening_pipeline[drawn], (series // self.paths, 1))
        return Opening((), stock, np.zeros(series), pipeline=pipeline)

    def demand(
        self,
        period: int,  # noqa: ARG002, the protocol passes it
        features: Features,  # noqa: ARG002
        price: Floats,
        last_demand: Floats,  # noqa: ARG002
        rng: np.random.Generator,
    ) -> Floats:
        """Draw from the law of the price by inversion."""
        share = self._shared(rng.random(self.paths), len(price))
        drawn = np.empty(len(price))
        for each, law in self.laws.items():
            at = price == each
            drawn[at] = law.quantile(share[at])
        return drawn

    def next_features(self, features: Features, price: Floats, rng: np.random.Generator) -> Features:  # noqa: ARG002
        """There are none."""
        return features

    def _shared(self, values: Floats, series: int) -> Floats:
        return np.tile(values, series // self.paths)
