"""Threshold policies tuned on a log: base-stock, (s, S, p), and the newsvendor's critical fractile.

All three assume independent demand from the Kaplan-Meier curve of its price. Base-stock and (s, S, p) are the best of
their kind in simulations of that law under the timing, balance, capacity and costs of the problem; the newsvendor has a
closed form.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import ClassVar

import numpy as np

from lostsales.data.economics import UnitCosts, critical_fractile, period_profit
from lostsales.data.log import DecisionLog
from lostsales.data.problem import Problem
from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError
from lostsales.learn.baselines.demand_by_price import DiscreteDemand, PriceMarket, laws_by_price
from lostsales.learn.baselines.thresholds import ThresholdPolicy, Thresholds, position_of
from lostsales.learn.learner import Learner
from lostsales.learn.training_data import TrainingData
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes
from lostsales.policy.rollout import play
from lostsales.policy.rules import Rules
from lostsales.policy.view import Action, View
from lostsales.types import Floats

PROJECTED = 64  # paths of demand of a projected inventory level
PATHS = 50  # simulated series for each candidate, with common random numbers
MOST_PERIODS = 50  # that are simulated, and
MOST_LEVELS = 30  # candidates of a level: bound the time of a fit
ROUNDS = 5  # of levels and prices in turns; a round that changes nothing is the last
REFINED = 10  # levels on either side of the best of a coarse grid

Rule = tuple[float, ...]  # s, S, price, waiting price, and the cap of an order where it has one


class BaseStock(Learner):
    """Base-stock: order up to S (inventory position), at one price: the best pair (S, p).

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> lostsales.fit(log, BaseStock()).thresholds.order_up_to
    20.0

    """

    method: ClassVar[str] = "base-stock"

    def fit(self, log: DecisionLog, progress: Progress | None = None) -> ThresholdPolicy:  # noqa: ARG002, quick
        """Tune S and the price on a log."""
        return Tuning.of(log, self).base_stock()


class SSP(Learner):
    """(s, S, p): at s or less order up to S; one price where it orders and one where it does not.

    References
    ----------
    Chen and Simchi-Levi (2004), Coordinating inventory control and pricing strategies with random demand and fixed
    ordering cost.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> rule = lostsales.fit(log, SSP()).thresholds
    >>> rule.order_at <= rule.order_up_to
    True

    """

    method: ClassVar[str] = "s-S-p"

    def fit(self, log: DecisionLog, progress: Progress | None = None) -> ThresholdPolicy:  # noqa: ARG002, quick
        """Tune both levels and both prices on a log."""
        return Tuning.of(log, self).s_s_p()


class Newsvendor(Learner):
    """Newsvendor: order up to the critical fractile, at the most profitable price for it.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> lostsales.fit(log, Newsvendor()).thresholds.order_up_to
    20.0

    """

    method: ClassVar[str] = "newsvendor"

    def fit(self, log: DecisionLog, progress: Progress | None = None) -> ThresholdPolicy:  # noqa: ARG002, quick
        """Level and price by marginal analysis."""
        return Tuning.of(log, self).newsvendor()


@dataclass(frozen=True)
class Candidates(PolicyBase):
    """Many rules side by side, each for PATHS series."""

    problem: Problem
    thresholds: Thresholds
    grid: ActionGrid
    rules: Rules
    observes: Observes  # the past is kept only where a rule looks at the last price
    paths: Floats | None = None  # (paths, periods, series) of demand, of the projected inventory level

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        position, limit = position_of(view, self.paths), view.order_limit(self.problem)
        return self.thresholds.act(self.grid, self.rules, view.stock, view.last_price, position=position, limit=limit)


@dataclass(frozen=True, eq=False)
class Tuning:
    """A log with its laws of demand and mean costs."""

    log: DecisionLog
    data: TrainingData
    learner: Learner
    laws: dict[float, DiscreteDemand]
    costs: UnitCosts  # their means

    @classmethod
    def of(cls, log: DecisionLog, learner: Learner) -> "Tuning":
        """The laws of demand by price, and what else tuning needs."""
        data = TrainingData.of(log, learner.rules)
        may = data.rules.standing(data.grid)
        laws = laws_by_price(log, data.runs, np.unique(data.grid.pairs[may, 0]))
        if not laws:
            raise LostSalesError("no price that the rules allow lies between the prices of the log")
        return cls(data.log, data, learner, laws, data.log.costs.mean())

    def base_stock(self) -> ThresholdPolicy:
        """The best (S, p)."""
        best, value = self._best_base_stock()
        if self.log.problem.pipeline_length:
            best, value = self.best(self.refined(best, lambda level: (level, level, *best[2:])))
        return self.policy(best, value)

    def s_s_p(self) -> ThresholdPolicy:
        """Best pair of levels and best pair of prices in turns, starting from the best base-stock."""
        best, value = self._best_base_stock()
        for _ in range(ROUNDS):
            before = best
            pairs = combinations_with_replacement(self.levels(), 2)
            best, value = self.best([(low, high, *best[2:]) for low, high in pairs])
            best, value = self.best([(*best[:2], *prices) for prices in product(self.laws, repeat=2)])
            if best == before:
                break
        return self.policy(best, value)

    def newsvendor(self) -> ThresholdPolicy:
        """Marginal analysis: what a unit more earns where demand takes it against what it costs where not."""
        lead, discount = round(self.log.problem.lead_times.mean), self.log.problem.discount
        found: list[tuple[float, float, float]] = []
        for price, law in self.laws.items():
            share = critical_fractile(price, self.costs, discount, lead)
            level, available = float(law.sum_of(lead + 1).quantile(share)), float(law.quantile(share))
            sold = law.sold(available)
            # As much is ordered as is sold; the fixed cost is no part of marginal analysis.
            costs = self.costs._replace(fixed_order=0.0)
            value = period_profit(price, sold, sold, law.mean - sold, available - sold, costs)
            found.append((float(value), level, price))
        value, level, price = max(found)
        return self.policy((level, level, price, price), value)

    def _best_base_stock(self) -> tuple[Rule, float]:
        return self.best([(level, level, price, price) for level, price in product(self.levels(), self.laws)])

    def levels(self) -> list[float]:
        """Levels from 0 to the largest demand of a period, or of two where an order arrives after sales.

        With longer lead times the demand of all periods until an order can be sold, and four standard deviations.
        A fixed order cost adds an economic order quantity sqrt(2 fixed demand / holding).
        """
        most = max(float(law.levels[-1]) for law in self.laws.values())
        most *= 2 if self.log.problem.arrival == "after" else 1
        if (periods := self.log.problem.lead_times.longest + 1) > 2:
            most = max(periods * law.mean + 4 * np.sqrt(periods) * law.deviation for law in self.laws.values())
        mean, costs = max(law.mean for law in self.laws.values()), self.costs
        most += float(np.sqrt(2 * costs.fixed_order * mean / max(float(costs.holding), 1e-3)))
        if self.log.problem.pipeline_length == 0:
            most = min(most, self.log.problem.capacity or np.inf)
        levels = np.linspace(0, most, MOST_LEVELS + 1)
        return [float(each) for each in np.unique(np.rint(levels) if self.data.runs.observed.integer else levels)]

    def best(self, candidates: list[Rule], projects: bool = False) -> tuple[Rule, float]:
        """The candidate that earns most a period, and how much; by the projected inventory level, where it projects."""
        columns = np.repeat(np.array(candidates), PATHS, axis=0).T
        paths = np.stack([self.paths(price) for price in columns[2]], axis=-1) if projects else None
        # This market has no features.
        rules = self.data.rules.model_copy(update={"order_days": None, "mask": None})
        observes: Observes = "history" if rules.limits_changes else "sales"
        policy = Candidates(self.data.problem, Thresholds(*columns), self.data.grid, rules, observes, paths)
        opening, pipeline = np.asarray(self.log.stock)[self.log.starts], self.log.pipeline
        market = PriceMarket(self.laws, opening, PATHS, None if pipeline is None else pipeline[self.log.starts])
        lengths = np.diff(np.r_[self.log.starts, len(self.log)])
        periods = int(np.clip(np.median(lengths), 2, MOST_PERIODS))
        market_rng, policy_rng = np.random.default_rng(self.learner.seed).spawn(2)
        earned: Floats = np.zeros(len(columns[0]))
        for step in play(policy, market, self.log.problem, self.costs, periods, len(earned), market_rng, policy_rng):
            earned += step.outcome.profit / periods
        mean = earned.reshape(-1, PATHS).mean(axis=1)
        best = int(mean.argmax())
        return candidates[best], float(mean[best])

    def policy(self, rule: Rule, value: float, projects: bool = False) -> ThresholdPolicy:
        """The policy of a rule that was tuned."""
        return ThresholdPolicy(
            problem=self.data.problem,
            rules=self.data.rules,
            thresholds=Thresholds(*rule),
            value=value,
            most_stock=float(np.max(np.asarray(self.log.stock))),
            usual_demand=self.data.usual_demand,
            method=self.learner.method,
            paths=self.paths(rule[2]) if projects else None,
        )

    def refined(self, best: Rule, of: Callable[[float], Rule]) -> list[Rule]:
        """Candidates whose levels lie around the best of a coarse grid, one unit apart, or a part of its step."""
        coarse = self.levels()
        step = max(coarse[1] - coarse[0], 0.0) if len(coarse) > 1 else 0.0
        near = best[1] + np.linspace(-step, step, 2 * REFINED + 1)
        near = np.maximum(np.rint(near) if self.data.runs.observed.integer else near, 0.0)
        return [of(float(level)) for level in np.unique(near)]

    def paths(self, price: float) -> Floats:
        """Demands until an order can be sold, (PROJECTED, lead time), the same of every call."""
        rng = np.random.default_rng(self.learner.seed)
        shares = rng.permuted(np.tile((np.arange(PROJECTED) + 0.5) / PROJECTED, (self._lead, 1)), axis=1)
        return self.laws[price].quantile(shares.T)

    @property
    def _lead(self) -> int:
        return max(round(self.log.problem.lead_times.mean), 0)
