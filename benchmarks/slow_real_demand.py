"""The planner on counts with weekdays and memory, on low counts, and on two lags: against what is best in the scenario.

A full run takes about half an hour of processor time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from benchmarks.rows import Row
from lostsales.data.economics import UnitCosts
from lostsales.data.log import SalesLog
from lostsales.data.problem import Costs, Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.residuals import Residuals
from lostsales.demand.law.selection import fit_law
from lostsales.lab.exact.solve import criterion_of, solve_reference
from lostsales.learn.planner.planner import Planner
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes, Policy
from lostsales.policy.rollout import Opening, Step, play
from lostsales.policy.view import Action, Features, View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Floats

LOGS = 4
EPISODES = 1_000
LOW_COUNTS = (  # of the preset: negative binomial, mean about 1, without weekdays
    "demand.base=1",
    "demand.floor=0.7",
    "demand.half=1",
    "demand.price=-0.25",
    'demand.noise={kind="negative-binomial",dispersion=0.7}',
    "demand.features={}",
    "demand.maximum=20",
    "capacity=14",
    "orders=[0,1,2,3,4,5,6]",
    "start.stock=2",
    "start.last_demand=1",
    "costs.holding=0.2",
)


def run() -> list[Row]:
    return [*_counts(), *_two_lags()]


@dataclass(frozen=True)
class Manager(PolicyBase):
    """Keeps a price for some periods, orders up to a level that follows the last sales, and strays from it."""

    problem: Problem
    level: float
    observes: Observes = "sales"

    @cached_property
    def grid(self) -> ActionGrid:
        """The actions."""
        return ActionGrid.of(self.problem)

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order."""
        count, grid = len(view.stock), self.grid
        drawn = grid.prices[rng.integers(0, len(grid.prices), count)]
        candidate = (np.arange(count) + view.period // 5) % len(grid.prices)  # another one every five periods
        price = np.where(rng.random(count) < 0.8, grid.prices[candidate], drawn)
        noise = rng.normal(0, 0.25 * self.level, count)
        wanted = 0.7 * self.level + 0.6 * view.last_sales - view.stock + noise
        at = np.searchsorted(grid.orders, wanted + grid.orders[1] / 2, side="right") - 1
        return Action(price, grid.orders[np.clip(at, 0, len(grid.orders) - 1)])


def _counts() -> Iterator[Row]:
    """Share of the exact optimum (demand observed) from logs of a manager."""
    weekdays, low = Scenario.load("weekday-counts"), Scenario.load("weekday-counts", LOW_COUNTS)
    for name, scenario, level, rows, least in (
        ("weekdays, 3,000 rows", weekdays, 14.0, 3_000, 0.98),
        ("weekdays, 700 rows", weekdays, 14.0, 700, 0.95),
        ("negative binomial of mean 1, 700 rows", low, 3.0, 700, 0.97),
    ):
        best = solve_reference(scenario, "oracle", criterion_of(scenario, 0.97, None)).policy
        optimum = evaluate_policy(scenario, best, EPISODES, seed=7).mean_profit
        earned = []
        for seed in range(LOGS):
            log, _ = simulate(scenario, Manager(scenario.problem, level), rows // scenario.horizon, seed=100 + seed)
            earned.append(evaluate_policy(scenario, Planner().plan(log), EPISODES, seed=7).mean_profit)
        mean, error = float(np.mean(earned)), float(np.std(earned, ddof=1) / np.sqrt(LOGS))
        yield Row(name, f"{mean:.3f} ({error:.3f})", f"exact {optimum:.3f}", mean / optimum, at_least=least)


LEVEL, MEMORY, PRICE, SD = 8.0, (0.45, 0.35), -1.2, 2.5
SHOP = Problem(
    arrival="after",
    capacity=50,
    prices=(3.0, 3.5, 4.0, 4.5, 5.0),
    orders=tuple(map(float, range(0, 31, 2))),
    costs=Costs(lost=1, order=1, holding=0.3),
    discount=0.97,
)


class TwoLags:
    """D = 8 + 0.45 D_1 + 0.35 D_2 - 1.2 price + N(0, 2.5)."""

    def open(self, series: int, rng: np.random.Generator) -> Opening:  # noqa: ARG002, the protocol passes it
        """After two usual demands."""
        self.before = np.full(series, 14.0)
        return Opening((), np.full(series, 14.0), np.full(series, 14.0))

    def demand(
        self,
        period: int,  # noqa: ARG002
        features: Features,  # noqa: ARG002
        price: Floats,
        last_demand: Floats,
        rng: np.random.Generator,
    ) -> Floats:
        """Draw D_t."""
        middle = LEVEL + MEMORY[0] * last_demand + MEMORY[1] * self.before + PRICE * price
        self.before = last_demand.copy()
        return np.maximum(np.rint(middle + rng.normal(0, SD, len(price))), 0)

    def next_features(self, features: Features, price: Floats, rng: np.random.Generator) -> Features:  # noqa: ARG002
        """There are none."""
        return ()


def _steps(policy: Policy, series: int, seed: int) -> list[Step]:
    streams = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    return list(play(policy, TwoLags(), SHOP, UnitCosts(1.0, 1.0, 0.3), 60, series, *streams))


def _log(steps: list[Step]) -> SalesLog:
    import pandas as pd

    rows = [
        pd.DataFrame(
            {
                "series": np.arange(len(each.view.stock)),
                "period": period,
                "stock": each.view.stock,
                "price": each.action.price,
                "order": each.action.order,
                "sales": each.outcome.sales,
                "stockout": each.outcome.stockout,
            }
        )
        for period, each in enumerate(steps)
    ]
    return read_log(pd.concat(rows), SHOP)


def _told(model: DemandModel) -> DemandModel:
    """The same with the true law."""
    total = sum(MEMORY)
    law = replace(
        model.law,
        family=Family("linear", False, lags=2),
        mean=LinearMean(LEVEL, np.array([PRICE, total])),
        residuals=Residuals.normal(SD),
        lag_weights=(MEMORY[0] / total, MEMORY[1] / total),
        level=0 * model.law.level,
    )
    return replace(model, law=law)


def _two_lags() -> Iterator[Row]:
    """Share of the planner that is told the true law, from 3,000 rows; and how often a model is said not to fit."""
    shares, alarms = [], 0
    for seed in range(LOGS):
        log = _log(_steps(Manager(SHOP, 34.0), 50, 100 + seed)).decisions("plan")
        model = fit_law(log)
        alarms += not model.calibration.fits
        earned = [
            float(np.mean([each.outcome.profit.mean() for each in _steps(policy, 500, 9)]))
            for policy in (Planner().plan(log, model=model), Planner(draws=1).plan(log, model=_told(model)))
        ]
        shares.append(earned[0] / earned[1])
    mean = float(np.mean(shares))
    yield Row("two lags, 3,000 rows", f"{mean:.4f}", "planner told the law", mean, at_least=0.98)
    yield Row("two lags, false alarms", f"{alarms} of {LOGS}", "none", float(alarms), at_most=0)
