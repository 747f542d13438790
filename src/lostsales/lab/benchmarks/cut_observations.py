"""Second part of the textbook board: demand is learned from observations that are cut at random capacities.

The Kaplan-Meier protocol of the authors of hindsight differentiable policy optimization: Poisson demand of mean 5, a
lead time of 2, a unit left costs 1 a period and a lost sale 4. Each observation is cut at a capacity drawn from a
Poisson distribution of mean 6.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.parallel import in_parallel
from lostsales.lab.benchmarks.board import BoardRow, Figures, fingerprint
from lostsales.lab.benchmarks.entrant import Entrant, EntrantPolicy
from lostsales.lab.exact.solve import solve
from lostsales.learn.fit import fit
from lostsales.policy.policy import Policy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate

MEAN, CAPACITY = 5.0, 6.0
MOST_ORDER = 12  # beyond which no order is worth placing
REPETITIONS = 32
EPISODES, PERIODS = 80, 500  # of the simulation by which costs are compared
PUBLISHED = {100: 4.481, 1_000: 4.406}  # Alvo, Russo, Kanoria and Lee (2024): average cost by number of observations
BY = "HDPO with Kaplan-Meier"


@dataclass(frozen=True)
class CutObservations:
    """So many observations, drawn anew in every repetition."""

    observations: int
    repetitions: int = REPETITIONS
    episodes: int = EPISODES
    entrant: Entrant | None = None  # instead of the planner

    @property
    def key(self) -> str:
        """Name of the part and of its file."""
        return f"cut-{self.observations}"

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the measurements and their settings."""
        by = self.entrant.fingerprint if self.entrant else ""
        return fingerprint(repr(self), by, repr((MEAN, CAPACITY, MOST_ORDER, PERIODS)))

    def run(self) -> Figures:
        """The optimal cost and those of the planner, on the same demands: the optimal policy is a control variate."""
        scenario = _shop()
        solved = solve(scenario, average=True)
        longer = scenario.model_copy(update={"horizon": PERIODS})

        def simulated(policy: Policy) -> float:
            return -evaluate_policy(longer, policy, self.episodes, seed=1).mean_profit

        of_optimum = simulated(solved.policy)

        def cost(number: int) -> float:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what a fit says of a short log
                return simulated(self.learned(number)) - of_optimum - solved.value

        tasks = list(range(self.repetitions))
        costs = in_parallel(cost, tasks) if self.entrant is None else list(map(cost, tasks))
        return {"optimum": -solved.value, "planner": costs}

    def learned(self, number: int) -> Policy:
        """The planner as a user calls it, on the observations of a repetition."""
        scenario = _shop()
        log, _ = simulate(scenario, episodes=self.observations // scenario.horizon, seed=number)
        rng = np.random.default_rng([number, self.observations])
        demand, capacity = (rng.poisson(mean, len(log)).astype(np.float64) for mean in (MEAN, CAPACITY))
        cut = replace(log, stock=capacity, sales=np.minimum(demand, capacity), stockout=demand > capacity)
        return EntrantPolicy.learned(self.entrant, cut) if self.entrant else fit(cut, "planner")

    def row(self, measured: Figures) -> BoardRow:
        """Average cost over the repetitions beside the published one."""
        costs, name = np.asarray(measured["planner"]), f"{self.observations:,} observations"
        return BoardRow.of("cut observations", name, "average cost", costs, PUBLISHED[self.observations], BY)


def _shop() -> Scenario:
    keys = "supply.lead_time=2", "costs.lost=4", f"orders.most={MOST_ORDER}", "start.stock=10", "start.on_order=[5]"
    return Scenario.load("lost-sales", keys)
