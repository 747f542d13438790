"""The belief over the last demand, carried by its mean: how it moves after each stock-out of a run."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lostsales.data.encoding import feature_columns
from lostsales.data.problem import Problem
from lostsales.learn.planner.decision_loops import PricedRows, atoms_of_rows, expect_demand, mean_above
from lostsales.learn.planner.lag_belief import past_demands
from lostsales.learn.planner.latent_table import LatentTable
from lostsales.learn.planner.market_states import MarketStates, position
from lostsales.learn.planner.plan_groups import PlanGroups, PlanRows
from lostsales.policy.view import View
from lostsales.types import Floats, Ints

TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Belief:
    """The means of the last demands and the market state of each row."""

    series: PlanRows
    mean: Floats  # (rows,) of the last demand: itself where it is observed
    lag: Floats  # (rows,) weighted mean of the last demands, by their means
    stays: Floats  # (rows,) of these in the lag of the next period
    features: Floats  # (rows, columns) with attributes
    z_position: Floats  # (rows,) among the nodes of z
    coming: Floats | None = None  # (rows, columns) features of the next period, NaN where they are not known yet

    def take(self, rows: Ints) -> "Belief":
        """Some of the rows, or some again."""
        coming = None if self.coming is None else self.coming[rows]
        own = self.mean[rows], self.lag[rows], self.stays[rows], self.features[rows], self.z_position[rows]
        return Belief(self.series.take(rows), *own, coming)


class LawInputs(NamedTuple):
    """Price and last demand as inputs of a demand model."""

    log_price: bool
    log_memory: bool
    near_zero: float  # added to the last demand before its logarithm or its share is taken
    saturates: bool = False

    def of(self, relative_price: Floats, relative_lag: Floats) -> tuple[Floats, Floats]:
        """Price relative to the usual one, and last demand in units of scale, as the law has them."""
        price = np.log(np.maximum(relative_price, TINY)) if self.log_price else relative_price
        if not self.log_memory:
            return price, relative_lag
        shifted = np.maximum(relative_lag, 0.0) + self.near_zero
        return price, 1 - self.near_zero / shifted if self.saturates else np.log(shifted)


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
    series: PlanGroups
    tables: tuple[tuple[LatentTable, ...], ...]  # by group and law
    inputs: "LawInputs"
    strict: bool
    lag_weights: tuple[float, ...] = (1.0,)

    def belief(self, view: View) -> Belief:
        """The belief of each row, from its last observed demand through the stock-outs since then."""
        series = self.series.rows(view)
        means = past_demands(view, len(self.lag_weights))
        closed = list(reversed(view.past))
        for back in range(len(means.is_hidden), 0, -1):
            rows = np.flatnonzero(means.is_hidden[back - 1])
            if not len(rows):
                continue
            then, action = closed[back - 1]
            own = series.take(rows)
            features = self._features(then, own, rows)
            available = view.censoring_level(back, self.problem)[rows]
            before = self._belief(own, means.before(back, len(self.lag_weights))[:, rows], features)
            priced = self._priced(before, means.depth[back - 1, rows], action.price[rows], available)
            means.demand[back - 1, rows] = self._mean_above(own, priced)
        features = self._features(view, series, np.arange(len(view.stock)))
        last = means.before(0, len(self.lag_weights))
        return replace(self._belief(series, last, features), coming=self._coming(view, series))

    def _belief(self, series: PlanRows, last: Floats, features: Floats) -> Belief:
        """The belief given the means of the last demands, (lags, rows)."""
        weights = np.array(self.lag_weights)
        lag, stays = np.maximum(weights @ last, 0.0), weights[1:] @ last[:-1]
        return Belief(series, last[0], lag, stays, features, self.z_position(series, features))

    def z_position(self, series: PlanRows, features: Floats) -> Floats:
        """Index z as a position among its nodes, (rows,)."""
        return self.states.z_position(features, self.series.market_effects(series, features))

    def shift(self, belief: Belief, relative_price: Floats) -> Floats:
        """Difference of the latents of products from those of their group, at prices (rows, prices)."""
        return self.series.shift(belief.series, *self.inputs.of(relative_price, belief.lag / belief.series.scale))

    def _priced(self, belief: Belief, depth: Ints, price: Floats, available: Floats) -> PricedRows:
        """Rows at one price each, in the units of their groups."""
        relative, to_group = price / belief.series.usual_price, belief.series.to_group
        return PricedRows(
            z_position=belief.z_position,
            shift=self.shift(belief, relative[:, None])[:, 0],
            price_position=position(relative, self.prices),
            depth=depth,
            lag=belief.lag * to_group,
            available=available * to_group,
        )

    def outlook(self, depth: Ints, belief: Belief, price: Floats, available: Floats) -> "Outlook":
        """Outlook of today's demand at a price, averaged over the laws."""
        rows, to_group = self._priced(belief, depth, price, available), belief.series.to_group
        expected = np.zeros((len(price), 4))
        for group, own in belief.series.by_group():
            for table in self.tables[group]:
                out = np.empty((len(own), 4))
                expect_demand(out, rows.take(own), table)
                expected[own] += out / len(self.tables[group])
        mean, chance, lost, high = expected.T
        if self.problem.longest_run is not None:  # then demand is truncated to what is available
            chance, lost = (np.where(depth < self.problem.longest_run, each, 0.0) for each in (chance, lost))
        return Outlook(mean / to_group, chance, lost / to_group, high / to_group)

    def atoms(self, depth: Ints, belief: Belief, price: Floats) -> Floats:
        """Equally likely demands of today at a price, of one law after the other, (rows, laws * atoms)."""
        rows = self._priced(belief, depth, price, np.zeros(len(price)))
        laws, n_atoms = len(self.tables[0]), self.tables[0][0].latents.shape[-1]
        atoms = np.empty((len(price), laws, n_atoms))
        for group, own in belief.series.by_group():
            for law, table in enumerate(self.tables[group]):
                out = np.empty((len(own), n_atoms))
                atoms_of_rows(out, rows.take(own), table)
                atoms[own, law] = out
        return atoms.reshape(len(price), -1) / belief.series.to_group[:, None]

    def _features(self, view: View, series: PlanRows, rows: Ints) -> Floats:
        """Features and attributes of some rows, (rows, columns), as the law of demand takes them."""
        columns = feature_columns(self.problem.features, [each[rows] for each in view.features])
        return np.column_stack([*columns, series.attributes])

    def _coming(self, view: View, series: PlanRows) -> Floats | None:
        """Features and attributes of the next period as the law takes them, NaN where they are not known."""
        if view.coming is None:
            return None
        known = [np.where(np.isnan(each), np.nan, 0.0) for each in view.coming]
        columns = feature_columns(self.problem.features, view.coming)
        widths = [len(each.levels or ()) if each.kind == "categorical" else 1 for each in self.problem.features]
        masks = [mask for mask, width in zip(known, widths, strict=True) for _ in range(max(width, 1))]
        return np.column_stack([*(each + mask for each, mask in zip(columns, masks, strict=True)), series.attributes])

    def _mean_above(self, series: PlanRows, rows: PricedRows) -> Floats:
        """E[D | D > available], averaged over the laws, (rows,)."""
        means = np.zeros(len(rows.lag))
        for group, own in series.by_group():
            of_group = rows.take(own)
            for table in self.tables[group]:
                out = np.empty(len(own))
                mean_above(out, of_group, table, self.strict)
                means[own] += out / len(self.tables[group])
        return means / series.to_group
