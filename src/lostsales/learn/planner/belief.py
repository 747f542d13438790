"""Belief over the last demand, represented by its mean, and its update after each stock-out."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lostsales.data.encoding import feature_columns
from lostsales.data.problem import Problem
from lostsales.data.product_table import ProductAttributes
from lostsales.learn.planner.decision_loops import PricedRows, atoms_of_rows, expect_demand, mean_above
from lostsales.learn.planner.lag_belief import past_demands
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.market_states import MarketStates, position
from lostsales.policy.product_rows import attributes_of_view
from lostsales.policy.view import View
from lostsales.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Belief:
    """The means of the last demands and the market state of each row."""

    mean: Floats  # (rows,) of the last demand: itself where it is observed
    lag: Floats  # (rows,) weighted mean of the last demands, by their means
    stays: Floats  # (rows,) part of the next period's lag that these determine
    features: Floats  # (rows, columns) with attributes
    z_position: Floats  # (rows,) among the nodes of z
    coming: Floats | None = None  # (rows, columns) features of the next period, NaN where they are not known yet


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
    prices: Floats  # (prices,) of the tables
    states: MarketStates
    attributes: ProductAttributes
    tables: tuple[LatentTable, ...]  # by law
    strict: bool
    lag_weights: tuple[float, ...] = (1.0,)

    def belief(self, view: View) -> Belief:
        """The belief of each row, from its last observed demand through the stock-outs since then."""
        attributes = attributes_of_view(self.attributes, view)[0]
        means = past_demands(view, len(self.lag_weights))
        closed = list(reversed(view.past))
        for back in range(len(means.is_hidden), 0, -1):
            rows = np.flatnonzero(means.is_hidden[back - 1])
            if not len(rows):
                continue
            then, action = closed[back - 1]
            features = self._features(then, attributes, rows)
            available = view.censoring_level(back, self.problem)[rows]
            before = self._belief(means.before(back, len(self.lag_weights))[:, rows], features)
            priced = self._priced(before, means.depth[back - 1, rows], action.price[rows], available)
            means.demand[back - 1, rows] = self._mean_above(priced)
        features = self._features(view, attributes, np.arange(len(view.stock)))
        last = means.before(0, len(self.lag_weights))
        return replace(self._belief(last, features), coming=self._coming(view, attributes))

    def _belief(self, last: Floats, features: Floats) -> Belief:
        """The belief given the means of the last demands, (lags, rows)."""
        weights = np.array(self.lag_weights)
        lag, stays = np.maximum(weights @ last, 0.0), weights[1:] @ last[:-1]
        return Belief(last[0], lag, stays, features, self.states.z_position(features))

    def _priced(self, belief: Belief, depth: Ints, price: Floats, available: Floats) -> PricedRows:
        """Rows at one price each."""
        return PricedRows(belief.z_position, position(price, self.prices), depth, belief.lag, available)

    def outlook(self, depth: Ints, belief: Belief, price: Floats, available: Floats) -> Outlook:
        """Outlook of today's demand at a price, averaged over the laws."""
        rows, expected = self._priced(belief, depth, price, available), np.zeros((len(price), 4))
        out = np.empty_like(expected)
        for table in self.tables:
            expect_demand(out, rows, table)
            expected += out / len(self.tables)
        mean, chance, lost, high = expected.T
        if self.problem.longest_run is not None:  # then demand is truncated to what is available
            chance, lost = (np.where(depth < self.problem.longest_run, each, 0.0) for each in (chance, lost))
        return Outlook(mean, chance, lost, high)

    def atoms(self, depth: Ints, belief: Belief, price: Floats) -> Floats:
        """Equally likely demands of today at a price, of one law after the other, (rows, laws * atoms)."""
        rows = self._priced(belief, depth, price, np.zeros(len(price)))
        found = [np.empty((len(price), table.latents.shape[-1])) for table in self.tables]
        for out, table in zip(found, self.tables, strict=True):
            atoms_of_rows(out, rows, table)
        return np.concatenate(found, axis=1)

    def _features(self, view: View, attributes: Floats, rows: Ints) -> Floats:
        """Features and attributes of some rows, (rows, columns), as the law of demand takes them."""
        columns = feature_columns(self.problem.features, [each[rows] for each in view.features])
        return np.column_stack([*columns, attributes[rows]])

    def _coming(self, view: View, attributes: Floats) -> Floats | None:
        """Features and attributes of the next period as the law takes them, NaN where they are not known."""
        if view.coming is None:
            return None
        known = [np.where(np.isnan(each), np.nan, 0.0) for each in view.coming]
        columns = feature_columns(self.problem.features, view.coming)
        widths = [len(each.levels or ()) if each.kind == "categorical" else 1 for each in self.problem.features]
        masks = [mask for mask, width in zip(known, widths, strict=True) for _ in range(max(width, 1))]
        return np.column_stack([*(each + mask for each, mask in zip(columns, masks, strict=True)), attributes])

    def _mean_above(self, rows: PricedRows) -> Floats:
        """E[D | D > available], averaged over the laws, (rows,)."""
        means, out = np.zeros(len(rows.lag)), np.empty(len(rows.lag))
        for table in self.tables:
            mean_above(out, rows, table, self.strict)
            means += out / len(self.tables)
        return means
