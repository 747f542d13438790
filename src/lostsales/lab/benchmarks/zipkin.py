"""The textbook problem of lost sales with a lead time: 28 cases whose optimal cost is known, and cut observations.

Demand is independent with mean 5, a unit left costs 1 a period, and a lost sale 4 to 39. The planner knows the demand,
or learns it from logs of uniform orders in which stock-outs hide demand.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from lostsales.data.parallel import in_parallel
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.selection import fit_law
from lostsales.lab.benchmarks.board import BoardRow, Figures, Part, fingerprint
from lostsales.lab.benchmarks.cut_observations import PUBLISHED as CUT_PUBLISHED
from lostsales.lab.benchmarks.cut_observations import CutObservations
from lostsales.lab.benchmarks.entrant import Entrant, EntrantPolicy
from lostsales.lab.exact.solve import solve
from lostsales.learn.fit import fit
from lostsales.learn.planner.planner import Planner
from lostsales.policy.policy import Policy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Floats

LOST_COSTS = (4, 9, 19, 39)  # of a unit, as published
LEAD_TIMES = {"poisson": (1, 2, 3, 4), "geometric": (1, 2, 3)}
LOGGED_ORDERS = 12  # at most, drawn uniformly
MOST_ORDER = {"poisson": 12, "geometric": 21}  # beyond which no order is worth placing
FAMILIES = {"poisson": Family.counts("linear", "poisson"), "geometric": Family.counts("linear", "negative-binomial")}
SIZES = (1_000, 250, 100)  # rows
LOGS = 5  # per size
EPISODES, PERIODS = 80, 500  # of the simulation by which costs are compared
BASE_STOCK, CAPPED = "best base-stock", "best capped base-stock"


class PublishedCosts(NamedTuple):
    """Average costs a period by lost-sale cost, in the order of LOST_COSTS; None where they were not published."""

    optimum: tuple[float, ...]
    base_stock: tuple[float, ...] | None = None
    capped: tuple[float, ...] | None = None


# Cases of Zipkin (2008), Old and new methods for lost-sales inventory systems; the capped rule is that of Xin (2021).
PUBLISHED = {
    ("poisson", 1): PublishedCosts((4.04, 5.44, 6.68, 7.84), (4.16, 5.55, 6.73, 7.86), (4.07, 5.48, 6.69, 7.84)),
    ("poisson", 2): PublishedCosts((4.40, 6.09, 7.66, 9.11), (4.64, 6.31, 7.84, 9.19), (4.40, 6.12, 7.72, 9.13)),
    ("poisson", 3): PublishedCosts((4.60, 6.53, 8.36, 10.04), (4.97, 6.86, 8.60, 10.22), (4.63, 6.62, 8.40, 10.08)),
    ("poisson", 4): PublishedCosts((4.73, 6.84, 8.89, 10.79), (5.20, 7.27, 9.24, 11.07), (4.80, 6.91, 8.96, 10.91)),
    ("geometric", 1): PublishedCosts((9.82, 14.51, 19.22, 23.87)),
    ("geometric", 2): PublishedCosts((10.24, 15.50, 20.89, 26.21)),
    ("geometric", 3): PublishedCosts((10.47, 16.14, 22.06, 27.96)),
}


@dataclass(frozen=True)
class Case:
    """One of the 28 cases."""

    law: str
    lead_time: int
    lost: int
    logs: int = LOGS
    episodes: int = EPISODES
    entrant: Entrant | None = None  # instead of the planner

    @property
    def key(self) -> str:
        """Name of the part and of its file."""
        return f"{self.law}-lead-{self.lead_time}-lost-{self.lost}"

    @property
    def name(self) -> str:
        """Name in a table."""
        return f"{self.law.capitalize()}, lead time {self.lead_time}, lost sale {self.lost}"

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the measurements and their settings."""
        by = self.entrant.fingerprint if self.entrant else ""
        return fingerprint(repr(self), by, repr((SIZES, LOGGED_ORDERS, MOST_ORDER, PERIODS)))

    def published(self) -> dict[str, float]:
        """Published costs by policy, the optimum first."""
        found = PUBLISHED[self.law, self.lead_time]
        named = {"optimum": found.optimum, BASE_STOCK: found.base_stock, CAPPED: found.capped}
        return {name: costs[LOST_COSTS.index(self.lost)] for name, costs in named.items() if costs is not None}

    def scenario(self, most_order: int) -> Scenario:
        """The shop, whose orders are at most so large; it opens with what a lead time needs."""
        keys = (
            f"demand.law={self.law}",
            f"supply.lead_time={self.lead_time}",
            f"costs.lost={self.lost}",
            f"orders.most={most_order}",
            "start.stock=10",
            f"start.on_order={[5] * (self.lead_time - 1)}",
        )
        return Scenario.load("lost-sales", keys)

    def run(self) -> Figures:
        """The optimal cost, and those of the planner with the true distribution, and with each log."""
        scenario = self.scenario(MOST_ORDER[self.law])
        solved = solve(scenario, average=True)
        of_optimum = self._simulated(scenario, solved.policy)

        def cost(policy: Policy) -> float:
            """The optimal one is a control variate: both meet the same demands."""
            return self._simulated(scenario, policy) - of_optimum - solved.value

        def learned(at: tuple[int, int]) -> float:
            return cost(self._learned(scenario, *at))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a fit says of a short log
            found: Figures = {"optimum": -solved.value}
            tasks = list(product(SIZES, range(self.logs)))
            if self.entrant is None:
                found["known"] = cost(self._told(scenario))
            costs = in_parallel(learned, tasks) if self.entrant is None else list(map(learned, tasks))
        for at, rows in enumerate(SIZES):
            found[str(rows)] = costs[at * self.logs : (at + 1) * self.logs]
        return found

    def _simulated(self, scenario: Scenario, policy: Policy) -> float:
        """Mean cost of a period."""
        longer = scenario.model_copy(update={"horizon": PERIODS})
        return -evaluate_policy(longer, policy, self.episodes, seed=1).mean_profit

    def _told(self, scenario: Scenario) -> Policy:
        """The planner with the true distribution instead of a learned one."""
        log, _ = simulate(scenario, episodes=5, seed=0)
        model = fit_law(log, (FAMILIES[self.law],))
        mean = model.law.mean
        assert isinstance(mean, LinearMean)  # the family's
        level = float(np.log(scenario.demand_law.mean / model.law.scale[0]))
        true = LinearMean(level, np.zeros_like(mean.slopes))
        law = replace(model.law, mean=true, dispersion=1.0 if self.law == "geometric" else 0.0)
        return Planner(draws=1).plan(log, model=replace(model, law=law))

    def _learned(self, scenario: Scenario, rows: int, number: int) -> Policy:
        """The planner as a user calls it; logs of a lead time are the same for all costs."""
        shop = self.scenario(LOGGED_ORDERS)
        log, _ = simulate(shop, episodes=rows // shop.horizon, seed=10_000 * self.lead_time + 10 * rows + number)
        asked = replace(log, problem=scenario.problem)
        return EntrantPolicy.learned(self.entrant, asked) if self.entrant else fit(asked, "planner")


@dataclass(frozen=True)
class Zipkin:
    """The board; it needs no data."""

    cases: tuple[Case, ...] = tuple(
        Case(law, lead_time, lost) for law, times in LEAD_TIMES.items() for lead_time in times for lost in LOST_COSTS
    )
    cut: tuple[CutObservations, ...] = tuple(map(CutObservations, CUT_PUBLISHED))
    entrant: Entrant | None = None
    name: str = "zipkin"
    source: str = (
        "cases and optimal costs: Zipkin (2008), Old and new methods for lost-sales inventory systems, Operations "
        "Research 56; known costs of the best base-stock and capped base-stock rules on the same cases; cut "
        "observations: the Kaplan-Meier protocol of the authors of hindsight differentiable policy optimization"
    )

    @property
    def parts(self) -> Sequence[Part]:
        """The cases, then the cut observations."""
        cases = (replace(each, entrant=self.entrant) for each in self.cases)
        return (*cases, *(replace(each, entrant=self.entrant) for each in self.cut))

    def rows(self, measured: dict[str, Figures]) -> list[BoardRow]:
        """Costs by case, with the true distribution and from logs of each size; then means in % above the optimum."""
        found = []
        sizes = ("known", *map(str, SIZES)) if self.entrant is None else tuple(map(str, SIZES))
        for size in sizes:
            for case in self.cases:
                costs, told = np.atleast_1d(measured[case.key][size]), size == "known"
                for by, published in case.published().items():
                    if told or by == "optimum":
                        found.append(BoardRow.of(_of(size), case.name, "average cost", costs, published, by))
        for size in sizes:
            for law in LEAD_TIMES:
                cases = [case for case in self.cases if case.law == law]
                if not cases:
                    continue
                above = _above_by_log(cases, measured, size)
                if size == "known":
                    above = above.mean(keepdims=True)
                name, figure = f"{law.capitalize()}, {_of(size)}", "per cent above the optimum"
                for by in [each for each in (BASE_STOCK, CAPPED) if each in cases[0].published()] or [""]:
                    rule = _published_above(cases, by) if by else None
                    found.append(BoardRow.of("mean of all cases", name, figure, above, rule, by))
        return [*found, *(part.row(measured[part.key]) for part in self.cut)]


def _of(size: str) -> str:
    return "distribution known" if size == "known" else f"from {int(size):,} rows"


def _above_by_log(cases: list[Case], measured: dict[str, Figures], size: str) -> Floats:
    """Per cent above the optimum of each lead time and log, (lead times * logs,): costs share their logs."""
    by_time: dict[int, list[Floats]] = {}
    for case in cases:
        figures = measured[case.key]
        cost, optimum = np.atleast_1d(figures[size]), float(np.asarray(figures["optimum"]))
        by_time.setdefault(case.lead_time, []).append(100 * (cost / optimum - 1))
    return np.concatenate([np.mean(each, axis=0) for each in by_time.values()])


def _published_above(cases: list[Case], by: str) -> float:
    published = [case.published() for case in cases]
    return float(np.mean([100 * (each[by] / each["optimum"] - 1) for each in published]))
