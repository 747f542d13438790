"""Replayed episodes: the periods of a log under another policy, with demand drawn from a learned law.

Every series starts where it started and has the features of the log, so that the profit of a policy and the logged one
are compared on the same periods; only demand is drawn. Each series is replayed several times with stratified random
numbers, the same for every policy and every law.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lostsales.data.economics import UnitCosts, period_profit
from lostsales.data.log import DecisionLog
from lostsales.data.shop import Shop
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.memory import lags_of
from lostsales.evaluation.task import episodes_of
from lostsales.policy.history import log_as_asked
from lostsales.policy.period import Flow
from lostsales.policy.policy import Policy
from lostsales.policy.rollout import Market, Opening, Step, play
from lostsales.policy.view import Features
from lostsales.types import Bools, Floats, Ints

VISITED_EVERY = 5  # one period in this many is kept as a sample of what the policy visits
MOST_VISITED = 200  # episodes kept of each


@dataclass(frozen=True, eq=False)
class ReplayPeriods:
    """The periods to replay: for each episode and period a row of the log."""

    log: DecisionLog
    evidence: Evidence
    series: Ints  # (episodes,)
    row: Ints  # (periods, episodes) of the evidence; beyond a series' end its last one
    is_replayed: Bools  # (periods, episodes) False beyond the end
    uniform: Floats  # (periods, episodes)
    stock: Floats  # (episodes,) when the first period opens

    @classmethod
    def of(
        cls,
        log: DecisionLog,
        evidence: Evidence,
        horizon: int,
        episodes: int,
        seed: int,
        stock: float | None = None,
        restarts: bool = False,
    ) -> "ReplayPeriods":
        """About `episodes` episodes, as many for each series, which opens by default with its logged stock.

        With `restarts` one begins every `horizon` periods of a series, at the first whose last demand is observed.
        """
        part = episodes_of(evidence.series, horizon if restarts else None)
        opens = np.flatnonzero(evidence.depth == 0)
        opened, at = np.unique(part[opens], return_index=True)
        first = opens[at]
        names, lengths = evidence.series[first], np.searchsorted(part, opened, side="right") - first
        times = max(1, -(-episodes // len(names)))
        lengths = np.repeat(np.minimum(lengths, horizon), times)
        period = np.arange(int(lengths.max()))[:, None]
        row = np.repeat(first, times) + np.minimum(period, lengths - 1)
        rng = np.random.default_rng(seed)
        strata = rng.permuted(np.tile(np.arange(times), (len(period), len(names), 1)), axis=2)
        uniform = (strata + rng.random(strata.shape)) / times
        logged = log.stock[evidence.rows[row[0]]]
        return cls(
            log=log,
            evidence=evidence,
            series=np.repeat(names, times),
            row=row,
            is_replayed=period < lengths,
            uniform=uniform.reshape(len(period), len(lengths)),
            stock=logged if stock is None else np.full(len(logged), stock),
        )

    @cached_property
    def last_period(self) -> Ints:
        """The last replayed one of each episode."""
        return np.asarray(self.is_replayed.sum(axis=0) - 1)

    @cached_property
    def last_row(self) -> Ints:
        """Row of the log of the last replayed period of each episode."""
        return self.evidence.rows[self.row[self.last_period, np.arange(len(self.series))]]

    def worth_of_stock(self, position: Floats) -> float:
        """Value per period, at order cost, of the stock that a policy has beyond the log's at the last opening."""
        log, rows = self.log, self.last_row
        logged = log.stock[rows] + (0.0 if log.pipeline is None else log.pipeline[rows].sum(axis=1))
        worth = log.costs.at(rows).order * (position - logged)
        return float(worth.sum() / self.is_replayed.sum())

    def times(self, copies: int) -> "ReplayPeriods":
        """Repeat the episodes, one copy after the other."""
        return replace(
            self,
            series=np.tile(self.series, copies),
            row=np.tile(self.row, (1, copies)),
            is_replayed=np.tile(self.is_replayed, (1, copies)),
            uniform=np.tile(self.uniform, (1, copies)),
            stock=np.tile(self.stock, copies),
        )


class ReplayMarket:
    """The features of the log, and demand by the law."""

    def __init__(self, periods: ReplayPeriods, law: DemandLaw, features: Floats) -> None:
        self.periods, self.law, self.features, self.period = periods, law, features, 0
        self.visited: list[Floats] = []  # market, price and last demand of some of the periods
        # (lags, episodes) the last demands, the newest first; a hidden one is replaced by the demand after it.
        last = periods.evidence.lag[lags_of(periods.evidence, len(law.lag_weights)).rows[:, periods.row[0]]]
        for back in range(1, len(last)):
            last[back] = np.where(np.isnan(last[back]), last[back - 1], last[back])
        self.last = last

    @classmethod
    def of(cls, policy: Policy, periods: ReplayPeriods, law: DemandLaw) -> "ReplayMarket":
        """Build with the features that a policy asks for."""
        return cls(periods, law, log_as_asked(policy, periods.log).features)

    def open(self, series: int, rng: np.random.Generator) -> Opening:  # noqa: ARG002, the protocol passes them
        """Open as the log did."""
        periods = self.periods
        last_demand, names = periods.evidence.lag[periods.row[0]], periods.log.names[periods.series]
        rows, log = periods.evidence.rows[periods.row[0]], periods.log
        pipeline = None if log.pipeline is None else log.pipeline[rows]
        phase = log.problem.supply.order_phase(log.period[rows])
        return Opening(self._features(0), periods.stock, last_demand, names, pipeline, phase)

    def demand(
        self,
        period: int,
        features: Features,  # noqa: ARG002, those of the log
        price: Floats,
        last_demand: Floats,
        rng: np.random.Generator,  # noqa: ARG002, the periods carry their random numbers
    ) -> Floats:
        """Draw D_t."""
        law, periods = self.law, self.periods
        scale = law.scale[periods.series]
        market, relative_price = periods.evidence.market[periods.row[period]], price / law.usual_price[periods.series]
        if period % VISITED_EVERY == 0:
            visited = np.column_stack([market, relative_price, last_demand / scale])
            self.visited.append(visited[periods.is_replayed[period]][:MOST_VISITED])
        self.last = self.last if period == 0 else np.concatenate([last_demand[None], self.last[:-1]])
        inputs = law.inputs(market, relative_price, np.array(law.lag_weights) @ self.last / scale)
        mean = law.mean_of(inputs, periods.series)
        return law.demand(law.quantile(periods.uniform[period], mean, scale), scale)

    def next_features(self, features: Features, price: Floats, rng: np.random.Generator) -> Features:  # noqa: ARG002
        """Features of the log's next row."""
        self.period += 1
        return self._features(min(self.period, len(self.periods.row) - 1))

    def _features(self, period: int) -> Features:
        return tuple(self.features[self.periods.evidence.rows[self.periods.row[period]]].T)


class StackedMarkets:
    """Markets side by side, each with the same number of episodes: a policy decides for all of them at once."""

    def __init__(self, markets: list[ReplayMarket]) -> None:
        self.markets = markets

    def open(self, series: int, rng: np.random.Generator) -> Opening:
        """Open every market."""
        own = [each.open(series // len(self.markets), rng) for each in self.markets]
        features, names = _side_by_side([each.features for each in own]), [each.names for each in own]
        stock, last_demand = (np.concatenate([each[at] for each in own]) for at in (1, 2))
        pipelines = [each.pipeline for each in own if each.pipeline is not None]
        phases = [each.order_phase for each in own if each.order_phase is not None]
        return Opening(
            features,
            stock,
            last_demand,
            np.concatenate([each for each in names if each is not None]),
            np.concatenate(pipelines) if pipelines else None,
            np.concatenate(phases) if phases else None,
        )

    def demand(
        self, period: int, features: Features, price: Floats, last_demand: Floats, rng: np.random.Generator
    ) -> Floats:
        """Each draws its own."""
        parts = zip(self.markets, self._split(price), self._split(last_demand), strict=True)
        return np.concatenate([each.demand(period, features, own, last, rng) for each, own, last in parts])

    def next_features(self, features: Features, price: Floats, rng: np.random.Generator) -> Features:
        """Next features of each market."""
        parts = zip(self.markets, self._split(price), strict=True)
        return _side_by_side([each.next_features(features, own, rng) for each, own in parts])

    def _split(self, column: Floats) -> list[Floats]:
        return np.split(column, len(self.markets))


def _side_by_side(features: list[Features]) -> Features:
    return tuple(np.concatenate(columns) for columns in zip(*features, strict=True))


@dataclass(frozen=True, eq=False)
class ReplayedEpisodes:
    """Profits of the replayed periods, 0 beyond the end of a series."""

    profit: Floats  # (periods, episodes)
    cash: Floats  # (periods, episodes)
    discounted: Floats  # (episodes,) summed profit, scaled up to the horizon where a series is shorter
    visited: Floats  # (sample, columns) market, price and last demand (in units of scale) of some of the periods
    position: Floats  # (episodes,) stock and orders on the way, when the last replayed period opens
    flow: Flow  # (periods, episodes) each, 0 beyond the end of a series
    is_random: bool = False  # the policy or its supply drew at random


class ReplayedStep(NamedTuple):
    """One period of all episodes."""

    step: Step
    rows: Ints  # (episodes,) of the log
    profit: Floats  # (episodes,)
    cash: Floats  # (episodes,)


def random_decisions(seed: int) -> np.random.Generator:
    """Random numbers of policies and supply, apart from those of demand: else a random action would predict demand."""
    return np.random.default_rng((seed, 1))


def replay(
    policy: Policy, periods: ReplayPeriods, law: DemandLaw, horizon: int, discount: float, seed: int
) -> ReplayedEpisodes:
    """Roll a policy out over the periods, with demand by the law."""
    return replay_under(policy, periods, (law,), horizon, discount, seed)[0]


def replay_under(
    policy: Policy, periods: ReplayPeriods, laws: Sequence[DemandLaw], horizon: int, discount: float, seed: int
) -> list[ReplayedEpisodes]:
    """Roll a policy out over the periods under each of several laws, in one go.

    A policy decides for few series hardly faster than for many. What is drawn at random besides demand differs from
    replays one by one, and is not the same under every law.
    """
    length, episodes = periods.row.shape
    markets = [ReplayMarket.of(policy, periods, law) for law in laws]
    shape = len(laws), length, episodes
    profit, cash, position = np.empty(shape), np.empty(shape), np.zeros((len(laws), episodes))
    flow = np.empty((len(Flow._fields), *shape))
    last = periods.last_period
    market = markets[0] if len(laws) == 1 else StackedMarkets(markets)
    stacked = periods if len(laws) == 1 else periods.times(len(laws))
    rng = random_decisions(seed)
    before = rng.bit_generator.state
    for t, each in enumerate(replayed_steps(policy, stacked, market, rng)):
        own = (column.reshape(len(laws), episodes) * periods.is_replayed[t] for column in (each.profit, each.cash))
        profit[:, t], cash[:, t] = own
        flow[:, :, t] = np.stack(Flow.of(each.step.outcome)).reshape(-1, len(laws), episodes) * periods.is_replayed[t]
        held = np.broadcast_to(each.step.view.stock + each.step.view.on_order, len(laws) * episodes)
        position[:, last == t] = held.reshape(len(laws), episodes)[:, last == t]
    is_random = rng.bit_generator.state != before or _is_random_supply(periods.log.problem)
    discounted = discount ** np.arange(length) @ profit
    discounted *= (1 - discount**horizon) / (1 - discount ** periods.is_replayed.sum(axis=0))
    return [
        ReplayedEpisodes(
            profit[at],
            cash[at],
            discounted[at],
            np.concatenate(each.visited),
            position[at],
            Flow(*flow[:, at]),
            is_random,
        )
        for at, each in enumerate(markets)
    ]


def _is_random_supply(shop: Shop) -> bool:
    """True if arrivals are random."""
    return not shop.receives_orders and not (shop.lead_times.is_fixed and shop.supply.share == 1)


def replayed_steps(
    policy: Policy, periods: ReplayPeriods, market: Market, rng: np.random.Generator
) -> Iterator[ReplayedStep]:
    """Roll a policy out over the periods of a market, period by period."""
    log, (length, episodes) = periods.log, periods.row.shape
    problem, free = log.problem, UnitCosts(0.0, 0.0, 0.0)
    for step in play(policy, market, problem, free, length, episodes, rng, rng):
        rows, outcome = periods.evidence.rows[periods.row[step.view.period]], step.outcome
        costs = log.costs.at(rows)
        profit, cash = (
            period_profit(*step.action, outcome.sales, lost, outcome.leftover, costs)
            for lost in (outcome.lost, np.zeros(episodes))
        )
        yield ReplayedStep(step, rows, profit, cash)
