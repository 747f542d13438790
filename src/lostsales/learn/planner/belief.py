"""The belief over the last demand, carried by its mean: how it moves after each stock-out of a run."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lostsales.data.encoding import feature_columns
from lostsales.data.problem import Problem
from lostsales.learn.planner.decision_loops import PricedRows, expect_demand, mean_above
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.market_states import MarketStates, position
from lostsales.learn.planner.series_table import SeriesTable
from lostsales.policy.view import View
from lostsales.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Belief:
    """The mean of the last demand and the market state of each row."""

    entry: Ints  # (rows,) of the series table
    mean: Floats  # (rows,) of the last demand: itself where it is observed
    features: Floats  # (rows, columns) with attributes
    z_position: Floats  # (rows,) among the nodes of z

    def take(self, rows: Ints) -> "Belief":
        """Some of the rows, or some again."""
        return Belief(self.entry[rows], self.mean[rows], self.features[rows], self.z_position[rows])


class Outlook(NamedTuple):
    """Today's demand at a price, every array (rows,)."""

    demand: Floats  # its mean
    stockout_chance: Floats  # that it is above what is available
    lost: Floats  # mean of what is not served
    high: Floats  # its 95 % quantile


@dataclass(frozen=True, eq=False)
class BeliefTracker:
    """Moves the mean of the belief from period to period, averaged over the laws of demand."""

    problem: Problem
    prices: Floats  # (prices,) of the tables, relative to the usual price
    states: MarketStates
    series: SeriesTable
    tables: tuple[tuple[LatentTable, ...], ...]  # by group and law
    strict: bool

    def belief(self, view: View) -> Belief:
        """The belief of each row, from its last observed demand through the stock-outs since then."""
        entry = self.series.entries(view)
        mean = view.last_sales.astype(np.float64)
        closed = list(reversed(view.past))
        depth = np.minimum(view.depth.astype(np.int64), len(closed))
        for back in range(int(depth.max(initial=0)), 0, -1):
            rows = np.flatnonzero(depth >= back)
            then, action = closed[back - 1]
            first = rows[depth[rows] == back]
            mean[first] = then.last_sales[first]
            relative = action.price[rows] / self.series.usual_price[entry[rows]]
            priced = PricedRows(
                z_position=self.states.z_position(self._features(then, entry, rows), self.series.effect[entry[rows]]),
                price_position=position(relative, self.prices),
                depth=depth[rows] - back,
                lag=mean[rows],
                available=view.censoring_level(back, self.problem)[rows],
            )
            mean[rows] = self._mean_above(entry[rows], priced)
        features = self._features(view, entry, np.arange(len(entry)))
        return Belief(entry, mean, features, self.states.z_position(features, self.series.effect[entry]))

    def outlook(self, depth: Ints, belief: Belief, price: Floats, available: Floats) -> "Outlook":
        """What demand does today at a price, averaged over the laws."""
        entry, to_group = belief.entry, self.series.to_group[belief.entry]
        rows = PricedRows(
            z_position=belief.z_position,
            price_position=position(price / self.series.usual_price[entry], self.prices),
            depth=depth,
            lag=belief.mean * to_group,
            available=available * to_group,
        )
        expected = np.zeros((len(entry), 4))
        for group, own in self.series.by_group(entry):
            for table in self.tables[group]:
                out = np.empty((len(own), 4))
                expect_demand(out, rows.take(own), table)
                expected[own] += out / len(self.tables[group])
        mean, chance, lost, high = expected.T
        if self.problem.longest_run is not None:  # then demand is truncated to what is available
            chance, lost = (np.where(depth < self.problem.longest_run, each, 0.0) for each in (chance, lost))
        return Outlook(mean / to_group, chance, lost / to_group, high / to_group)

    def _features(self, view: View, entry: Ints, rows: Ints) -> Floats:
        """Features and attributes of some rows, (rows, columns), as the law of demand takes them."""
        columns = feature_columns(self.problem.features, [each[rows] for each in view.features])
        return np.column_stack([*columns, self.series.attributes[entry[rows]]])

    def _mean_above(self, entry: Ints, rows: PricedRows) -> Floats:
        """E[D | D > available], averaged over the laws, (rows,)."""
        means, to_group = np.zeros(len(entry)), self.series.to_group[entry]
        rows = rows._replace(lag=rows.lag * to_group, available=rows.available * to_group)
        for group, own in self.series.by_group(entry):
            of_group = rows.take(own)
            for table in self.tables[group]:
                out = np.empty(len(own))
                mean_above(out, of_group, table, self.strict)
                means[own] += out / len(self.tables[group])
        return means / to_group
