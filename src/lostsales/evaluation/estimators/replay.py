"""The periods of a log lived again under another policy, with demand drawn from a learned law.

Every series starts where it started and meets the market that it met, so that a policy and what was earned are compared
on the same days; only demand is drawn. Each series is lived several times with stratified random numbers, the same for
every policy and every law.
"""

from dataclasses import dataclass

import numpy as np

from lostsales.data.economics import UnitCosts, period_profit, units_available
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.evaluation.log_decisions import log_as_asked
from lostsales.policy.policy import Policy
from lostsales.policy.rollout import Opening, play
from lostsales.policy.view import Features
from lostsales.types import Bools, Floats, Ints

SAMPLED = 5  # periods of which one is kept to see what the policy meets
MOST_MET = 200  # lives of each that are


@dataclass(frozen=True, eq=False)
class ReplayPeriods:
    """The days to live again: for each life and period a row of the log."""

    log: SalesLog
    evidence: Evidence
    series: Ints  # (lives,)
    row: Ints  # (periods, lives) of the evidence; beyond a series' end its last one
    lived: Bools  # (periods, lives) False beyond the end
    uniform: Floats  # (periods, lives)
    stock: Floats  # (lives,) on hand when the first day begins

    @classmethod
    def of(
        cls, log: SalesLog, evidence: Evidence, horizon: int, lives: int, seed: int, stock: float | None = None
    ) -> "ReplayPeriods":
        """About `lives` lives, as many for each series, which opens with the stock that it had unless one is given."""
        names, first, lengths = np.unique(evidence.series, return_index=True, return_counts=True)
        times = max(1, -(-lives // len(names)))
        lengths = np.repeat(np.minimum(lengths, horizon), times)
        period = np.arange(int(lengths.max()))[:, None]
        row = np.repeat(first, times) + np.minimum(period, lengths - 1)
        rng = np.random.default_rng(seed)
        strata = rng.permuted(np.tile(np.arange(times), (len(period), len(names), 1)), axis=2)
        uniform = (strata + rng.random(strata.shape)) / times
        had = np.asarray(log.stock)[evidence.rows[row[0]]]
        return cls(
            log=log,
            evidence=evidence,
            series=np.repeat(names, times),
            row=row,
            lived=period < lengths,
            uniform=uniform.reshape(len(period), len(lengths)),
            stock=had if stock is None else np.full(len(had), stock),
        )


class _LearnedMarket:
    """The market of the days: features as they were, demand by the law."""

    def __init__(self, days: ReplayPeriods, law: DemandLaw, features: Floats) -> None:
        self.days, self.law, self.features, self.period = days, law, features, 0
        self.met: list[Floats] = []  # market, price and last demand of some of the days

    def open(self, series: int, rng: np.random.Generator) -> Opening:  # noqa: ARG002, the protocol passes them
        """As the log opened."""
        days = self.days
        return Opening(self._features(0), days.stock, days.evidence.lag[days.row[0]], days.log.names[days.series])

    def demand(
        self,
        period: int,
        features: Features,  # noqa: ARG002, the days know them
        price: Floats,
        last_demand: Floats,
        rng: np.random.Generator,  # noqa: ARG002, the days bring their random numbers
    ) -> Floats:
        """Draw D_t."""
        law, days = self.law, self.days
        scale, effect = law.scale[days.series], law.effect[days.series]
        if period % SAMPLED == 0:
            met = np.column_stack([days.evidence.market[days.row[period]], price, last_demand / scale])
            self.met.append(met[days.lived[period]][:MOST_MET])
        inputs = law.inputs(days.evidence.market[days.row[period]], price, last_demand / scale)
        return law.demand(law.mean(inputs) + effect + law.residuals.quantile(days.uniform[period]), scale)

    def next_features(self, features: Features, price: Floats, rng: np.random.Generator) -> Features:  # noqa: ARG002
        """Those of the log's next row."""
        self.period += 1
        return self._features(min(self.period, len(self.days.row) - 1))

    def _features(self, period: int) -> Features:
        return tuple(self.features[self.days.evidence.rows[self.days.row[period]]].T)


@dataclass(frozen=True, eq=False)
class ReplayedEpisodes:
    """What the days brought, 0 beyond the end of a series."""

    profit: Floats  # (periods, lives)
    cash: Floats  # (periods, lives)
    discounted: Floats  # (lives,) summed profit, scaled up to the horizon where a series is shorter
    met: Floats  # (sample, columns) market, price and last demand (in units of scale) of some of the days


def live(
    policy: Policy, days: ReplayPeriods, law: DemandLaw, horizon: int, discount: float, seed: int
) -> ReplayedEpisodes:
    """Let a policy run the shop through the days."""
    log, periods, lives = days.log, len(days.row), len(days.series)
    profit, cash = np.empty((periods, lives)), np.empty((periods, lives))
    seen = log_as_asked(policy, log)
    market, problem = _LearnedMarket(days, law, seen.features), log.problem
    rng = np.random.default_rng(seed)
    assert log.costs is not None  # or the log had been refused
    free = UnitCosts(0.0, 0.0, 0.0)
    for step in play(policy, market, problem, free, periods, lives, rng, rng):
        t, (price, order), outcome = step.view.period, step.action, step.outcome
        costs = log.costs.at(days.evidence.rows[days.row[t]])
        available = units_available(step.view.stock, order, problem.arrival, problem.capacity)
        kept = period_profit(price, order, outcome.sales, outcome.lost, available - outcome.sales, costs)
        profit[t] = kept * days.lived[t]
        cash[t] = (kept + costs.lost * outcome.lost) * days.lived[t]
    discounted = discount ** np.arange(periods) @ profit
    discounted *= (1 - discount**horizon) / (1 - discount ** days.lived.sum(axis=0))
    return ReplayedEpisodes(profit, cash, discounted, np.concatenate(market.met))
