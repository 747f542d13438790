"""A learned law of demand as a market that any policy can be played against."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lostsales.arrays import Array, Bools, Floats, Ints
from lostsales.data.log import SalesLog
from lostsales.demand.covariates import attributes, feature_columns
from lostsales.demand.model import DemandModel
from lostsales.errors import SettingError
from lostsales.policy.rollout import Features, Opening

NEIGHBOURS = 5
MOST_REMEMBERED = 20_000  # rows of the log among which features find their like
CONTINUOUS = 20  # a feature with more different values than this moves smoothly


@dataclass(frozen=True, eq=False)
class LearnedMarket:
    """Demand from a fitted law for series that start where rows of the log stand.

    Features move as they did in the log, from a row that looked alike; what that row differed by is carried on as far
    as it lasts.
    """

    log: SalesLog
    model: DemandModel
    rows: Ints  # (series,) of the log; their last demand is known

    @property
    def names(self) -> Array:
        """What the series are called."""
        return self.log.names[self.log.series[self.rows]]

    def open(self, series: int, rng: np.random.Generator) -> Opening:  # noqa: ARG002, the protocol passes it
        """The state before the first period."""
        if series != len(self.rows):
            raise SettingError(f"this market has {len(self.rows)} series, but {series} were asked for")
        evidence, stock = self.model.evidence, np.asarray(self.log.stock)
        lag = evidence.lag[np.searchsorted(evidence.rows, self.rows)]
        return Opening(tuple(self.log.features[self.rows].T), stock[self.rows], lag)

    def demand(
        self,
        period: int,  # noqa: ARG002, the protocol passes it
        features: Features,
        price: Floats,
        last_demand: Floats,
        rng: np.random.Generator,
    ) -> Floats:
        """Draw D_t given X_t, P_t and D_{t-1}."""
        law, own = self.model.law, self.log.series[self.rows]
        columns = feature_columns(self.log.problem, _matrix(features, len(price)))
        market = np.column_stack([*columns, self._attributes])
        mean = law.mean(law.inputs(market, price, last_demand / law.scale[own])) + law.effect[own]
        return law.demand(mean + law.residuals.quantile(rng.random(len(price))), law.scale[own])

    def next_features(self, features: Features, price: Floats, rng: np.random.Generator) -> Features:
        """Draw X_{t+1} given X_t; a price that moves the market does so through the rows that had it."""
        drawn = rng.random(len(price))
        if not features:
            return features
        here = _matrix(features, len(price))
        near = self._memory.query(np.column_stack([here, price]) / self._spread, k=self._near)[1]
        near = near.reshape(len(here), -1)
        chosen = self._followed[near[np.arange(len(here)), (drawn * near.shape[1]).astype(np.int64)]]
        moved = self.log.features[chosen + 1] + self._lasts * (here - self.log.features[chosen])
        return tuple(moved.T)

    @cached_property
    def _attributes(self) -> Floats:
        return np.column_stack([*attributes(self.log, self.rows), np.zeros((len(self.rows), 0))])

    @cached_property
    def _followed(self) -> Ints:
        rows = np.flatnonzero(self.log.has_next)
        return rows if len(rows) <= MOST_REMEMBERED else rows[:: -(-len(rows) // MOST_REMEMBERED)]

    @cached_property
    def _near(self) -> int:
        return min(NEIGHBOURS, len(self._followed))

    @cached_property
    def _spread(self) -> Floats:
        """Distances count in standard deviations; those of prices only where prices move the market."""
        spread = self.log.features.std(axis=0)
        spread = np.where(spread > 1e-12, spread, np.inf)
        price = self.log.price.std()
        return np.asarray(np.r_[spread, price if price > 0 and self._price_moves.any() else np.inf])

    @cached_property
    def _slopes(self) -> tuple[Floats, Bools]:
        """How far each feature lasts, and whether today's price is seen in it tomorrow."""
        now = np.column_stack([np.ones(len(self._followed)), self.log.features[self._followed]])
        then = self.log.features[self._followed + 1]
        slopes = np.linalg.lstsq(now, then, rcond=1e-10)[0]
        left = then - now @ slopes
        price = self.log.price[self._followed]
        price = price - now @ np.linalg.lstsq(now, price, rcond=1e-10)[0]
        scale = np.sqrt((left**2).sum(axis=0) * (price @ price))
        linked = np.abs(price @ left) / np.where(scale > 0, scale, np.inf)
        return np.diag(slopes[1:]), np.asarray(linked * np.sqrt(len(price)) > 4)

    @property
    def _price_moves(self) -> Bools:
        return self._slopes[1]

    @cached_property
    def _lasts(self) -> Floats:
        """Persistence of smooth features; a calendar or a flag is taken as it was."""
        numeric = np.array([each.kind == "numeric" for each in self.log.problem.features], dtype=bool)
        kinds = np.array([len(np.unique(column[:10_000])) for column in self.log.features.T])
        return np.where(numeric & (kinds > CONTINUOUS), self._slopes[0], 0.0)

    @cached_property
    def _memory(self) -> Any:
        from scipy.spatial import KDTree

        rows = self._followed
        return KDTree(np.column_stack([self.log.features[rows], self.log.price[rows]]) / self._spread)


def learned_market(log: SalesLog, model: DemandModel, rows: Ints | None = None) -> LearnedMarket:
    """The market of a log; its series start at `rows`, unless given at the first of each series with a known lag."""
    evidence = model.evidence
    known = np.flatnonzero(evidence.depth == 0)
    first = evidence.rows[known[np.unique(evidence.series[known], return_index=True)[1]]]
    return LearnedMarket(log, model, first if rows is None else rows)


def _matrix(features: Features, rows: int) -> Floats:
    return np.column_stack([*features, np.zeros((rows, 0))])
