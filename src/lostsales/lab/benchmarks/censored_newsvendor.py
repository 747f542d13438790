"""The censored newsvendor: a log that never shows demand above its largest stock, and the best order.

Hssaine and Sinclair, The Data-Driven Censored Newsvendor Problem: the log tells the order where the probability of a
demand up to the largest stock is at least the critical fractile (identifiable), does not where it is below
(unidentifiable), and where both are equal (knife-edge) no log tells which. Demand is independent, Poisson or geometric
with mean 20. In the log stock is filled every period up to a random level, from half of the largest one on.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lostsales.data.log import DecisionLog
from lostsales.data.problem import Problem
from lostsales.demand.audit.critical_quantile import critical_quantiles
from lostsales.demand.censoring.observed import observe
from lostsales.lab.benchmarks.board import BoardRow, Figures, fingerprint
from lostsales.lab.benchmarks.entrant import Entrant, EntrantPolicy
from lostsales.learn.fit import fit
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes, Policy
from lostsales.policy.simple import BaseStockRule
from lostsales.policy.view import Action, View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Floats

MEAN = 20  # of demand
LARGEST = {"poisson": 22, "geometric": 30}  # stock of the logs
REGIMES = {"identifiable": -0.1, "knife-edge": 0.0, "unidentifiable": 0.1}  # fractile less P(D <= largest stock)
LOGS, ROWS = 10, 1_000  # of each regime, and of each log
EPISODES, PERIODS = 20, 250  # of the simulation by which costs are compared
MOST_ORDER = 200  # beyond any critical quantile
LEVELS = np.arange(MOST_ORDER + 1.0)


@dataclass(frozen=True)
class UpToRandomLevel(PolicyBase):
    """Fills stock up to a level that is drawn every period, from half of the largest one on."""

    problem: Problem
    largest: int
    observes: Observes = "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Order up to the drawn level, and nothing where stock is above it."""
        level = rng.integers(self.largest // 2, self.largest + 1, len(view.stock)).astype(np.float64)
        return Action(np.zeros(len(view.stock)), np.maximum(level - view.stock, 0.0))


@dataclass(frozen=True)
class Regime:
    """One distribution of demand in one regime."""

    law: str
    regime: str
    logs: int = LOGS
    entrant: Entrant | None = None

    @property
    def key(self) -> str:
        """Name of the part and of its file."""
        return f"{self.law}-{self.regime}"

    @property
    def fingerprint(self) -> str:
        """Fingerprint of its settings."""
        by = self.entrant.fingerprint if self.entrant else ""
        return fingerprint(repr(self), by, repr((MEAN, LARGEST, REGIMES, ROWS, EPISODES, PERIODS)))

    @cached_property
    def at_most(self) -> Floats:
        """P(D <= level), (levels,)."""
        return self._scenario(1.0).demand_law.at_most(LEVELS)  # type: ignore[union-attr]

    @property
    def fractile(self) -> float:
        """The critical fractile: a lost sale costs fractile / (1 - fractile), a unit left over 1."""
        return float(self.at_most[LARGEST[self.law]]) + REGIMES[self.regime]

    @property
    def shop(self) -> Scenario:
        """The shop, in which an order can be sold at once."""
        return self._scenario(self.fractile / (1 - self.fractile))

    def _scenario(self, lost: float) -> Scenario:
        costs = f"costs.lost={lost}", f"orders.most={MOST_ORDER}"
        keys = "supply.lead_time=0", f"demand.law={self.law}", f"demand.mean={MEAN}", *costs
        return Scenario.load("lost-sales", keys)

    def log(self, number: int) -> DecisionLog:
        """One of the logs."""
        shop = self.shop
        return simulate(shop, UpToRandomLevel(shop.problem, LARGEST[self.law]), ROWS // shop.horizon, seed=number)[0]

    def run(self) -> Figures:
        """Per log: 1 where the audit names the regime, and the cost of what is learned, per cent above the optimum."""
        shop = self.shop
        longer = shop.model_copy(update={"horizon": PERIODS})
        best = float(np.searchsorted(self.at_most, self.fractile - 1e-12))
        above = 1 - self.at_most
        optimum = shop.costs.lost * above[int(best) :].sum() + self.at_most[: int(best)].sum()

        def simulated(policy: Policy) -> float:
            return -evaluate_policy(longer, policy, EPISODES, seed=1).mean_profit

        of_best = simulated(BaseStockRule(shop.problem, best, 0.0))  # on the same demands: a control variate
        named, costs = [], []
        for number in range(self.logs):
            log = self.log(number)
            named.append(float(critical_quantiles(log, observe(log))[0].verdict == self.regime))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what a fit says of orders that reached no further
                policy = EntrantPolicy.learned(self.entrant, log) if self.entrant else fit(log, "planner")
            costs.append(100 * (simulated(policy) - of_best) / optimum)
        return {"named": named, "above": costs}


@dataclass(frozen=True)
class CensoredNewsvendor:
    """The board; it needs no data."""

    entrant: Entrant | None = None
    logs: int = LOGS
    name: str = "censored-newsvendor"
    source: str = (
        "regimes: Hssaine and Sinclair, The Data-Driven Censored Newsvendor Problem, arXiv 2412.01763; distributions, "
        "costs and logs are ours"
    )

    @property
    def parts(self) -> Sequence[Regime]:
        """Regimes of both distributions."""
        return [Regime(law, regime, self.logs, self.entrant) for law in LARGEST for regime in REGIMES]

    def rows(self, measured: dict[str, Figures]) -> list[BoardRow]:
        """Share of logs whose regime the audit names, and mean cost above the optimum."""
        found = []
        for figure, words in (
            ("named", "share of logs whose regime the audit names"),
            ("above", "per cent above the optimum"),
        ):
            for part in self.parts:
                values = np.asarray(measured[part.key][figure])
                found.append(BoardRow.of(words, f"{part.law.capitalize()}, {part.regime}", words, values))
        return found
