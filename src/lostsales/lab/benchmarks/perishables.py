"""Goods that perish: cost above the optimum of the planner, of one that knows demand and ages, and of base-stock rules.

The shop of De Moor, Gijsbrechts and Boute (2022), Reward Shaping to Improve the Performance of Deep Reinforcement
Learning in Perishable Inventory Management: gamma demand with mean 4 and standard deviation 2, orders up to 10, unit
cost 3, holding 1, a lost sale 5, and waste 7.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from lostsales._jit import compiled
from lostsales.data.economics import UnitCosts
from lostsales.data.problem import Problem
from lostsales.lab.benchmarks.board import BoardRow, Figures, fingerprint
from lostsales.lab.benchmarks.entrant import Entrant, EntrantPolicy
from lostsales.lab.exact.solve import solve_reference
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.learn.fit import fit
from lostsales.learn.planner.paths.roll_out_loops import Futures, Shelves, Terms, Unit, open_shelf, work_of
from lostsales.learn.planner.paths.search import Search, common_draws, shelves_of, terms_of
from lostsales.learn.planner.paths.search_loops import best_level, fill_cover, improved, put_on_way
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes
from lostsales.policy.simple import BaseStockRule
from lostsales.policy.view import Action, View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Floats

LOGS, ROWS = 2, 500  # of each instance, and of each log
EPISODES, PERIODS = 10, 100  # of the simulation by which costs are compared
MOST_DEMAND = 200  # beyond any quantile that is drawn
DISCOUNT = 0.999
LEVELS = range(4, 22)  # base-stock levels that are tried
FIGURES = {
    "planner": "planner from 500 rows: per cent above the optimum",
    "informed": "planner that knows demand and ages: per cent above the optimum",
    "base-stock": "best base-stock level: per cent above the optimum",
}


@compiled
def orders_of(
    stock: Floats,
    pipeline: Floats,
    shelves: Shelves,
    demand: Floats,
    lead: int,
    terms: Terms,
    costs: UnitCosts,
    most: float,
    order: Floats,
) -> None:
    """Fill `order` (rows,) with the planner's orders on sampled demands (periods, paths), the same of all rows."""
    (periods, paths), columns = demand.shape, pipeline.shape[1]
    leads, times = np.full((columns + periods, paths), lead), np.full(periods, lead)
    arrivals, on_way = np.zeros((periods + lead + 1, paths)), np.empty(paths)
    means, cover, price = np.empty(periods), np.empty((periods, 1)), np.zeros(periods)
    fill_cover(demand, lead + terms.review, means, cover)
    work, may_order = work_of(demand, arrivals, shelves.units.shape[1]), np.ones(periods, dtype=np.bool_)
    for i in range(len(stock)):
        put_on_way(pipeline[i], leads, 1.0, arrivals, on_way)
        unit = Unit(stock[i], costs, 1.0, 0.0, 1.0, costs.order, periods, open_shelf(shelves, i, work))
        futures = Futures(demand, price, arrivals, on_way, leads[columns:], times, cover, may_order)
        level, start, value = best_level(futures, most, unit, terms, lead, work)
        order[i] = improved(start, value, level, most, futures, unit, terms, work)[0]


@dataclass(frozen=True, eq=False)
class InformedPlanner(PolicyBase):
    """The planner's search on demands of the true distribution, with the true ages of the stock."""

    problem: Problem
    scenario: Scenario
    observes: Observes = "demand"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Order of every series; rows in the same state are decided once."""
        shop, keys = self.scenario, self.scenario.product
        pipeline = np.zeros((len(view.stock), 0)) if view.pipeline is None else view.pipeline
        assert view.ages is not None
        _, first, back = np.unique(
            np.column_stack([view.ages, pipeline]), axis=0, return_index=True, return_inverse=True
        )
        some, rows = view.take(first), len(first)
        life, share = np.full(rows, view.ages.shape[1]), np.full(rows, float(keys.oldest_first))
        shelves = shelves_of(shop, some, life, np.full(rows, keys.unit_waste_cost), share)
        lead, search, order = shop.lead_times.longest, Search().of(shop), np.empty(rows)
        draws = common_draws(search.paths, search.periods(lead), pipeline.shape[1], lead, search.seed)
        reached = shop.demand_law.at_most(np.arange(MOST_DEMAND + 1.0))  # type: ignore[union-attr]  # an independent law
        demand = np.ascontiguousarray(np.searchsorted(reached, draws.chances).T.astype(np.float64))
        costs, terms = shop.unit_costs, terms_of(shop, discount=DISCOUNT)
        on_way = np.ascontiguousarray(pipeline[first])
        orders_of(some.stock, on_way, shelves, demand, lead, terms, costs, shop.orders[-1], order)
        return Action(np.full(len(back), shop.prices[0]), order[back.reshape(-1)])


@dataclass(frozen=True)
class Instance:
    """One shop."""

    life: int
    lead_time: int
    issuing: str
    waste_cost: int
    logs: int = LOGS
    entrant: Entrant | None = None

    @property
    def key(self) -> str:
        """Name of the part and of its file."""
        return f"life-{self.life}-lead-{self.lead_time}-{self.issuing}-waste-{self.waste_cost}"

    @property
    def fingerprint(self) -> str:
        """Fingerprint of its settings."""
        by = self.entrant.fingerprint if self.entrant else ""
        return fingerprint(repr(self), by, repr((ROWS, EPISODES, PERIODS, DISCOUNT)))

    def shop(self, horizon: int) -> Scenario:
        """The shop over so many periods."""
        product_keys = f"product.shelf_life={self.life}", f"product.issuing={self.issuing}"
        costs = f"product.waste_cost={self.waste_cost}", f"supply.lead_time={self.lead_time}"
        return Scenario.load("perishable", (*product_keys, *costs, f"horizon={horizon}"))

    def run(self) -> Figures:
        """Costs above the optimum, in per cent, on the same demands; of the planner one for each log."""
        shop = self.shop(PERIODS)
        best = solve_reference(shop, "oracle", Criterion(1.0)).policy

        def cost(policy: object) -> float:
            return -evaluate_policy(shop, policy, EPISODES, seed=1).mean_profit  # type: ignore[arg-type]

        optimum = cost(best)

        def above(policies: Sequence[object]) -> list[float]:
            return [100 * (cost(each) / optimum - 1) for each in policies]

        logs = [simulate(self.shop(50), None, ROWS // 50, seed=number)[0] for number in range(self.logs)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a fit says of orders that reached no further
            learned = [
                EntrantPolicy.learned(self.entrant, log) if self.entrant else fit(log, "planner") for log in logs
            ]
        rules = [BaseStockRule(shop.problem, float(level), 0.0) for level in LEVELS]
        return {
            "planner": above(learned),
            "informed": above([InformedPlanner(shop.problem, shop)]),
            "base-stock": [min(above(rules))],
        }


@dataclass(frozen=True)
class Perishables:
    """The board; it needs no data."""

    entrant: Entrant | None = None
    logs: int = LOGS
    name: str = "perishables"
    source: str = (
        "shop: De Moor, Gijsbrechts and Boute (2022), Reward Shaping to Improve the Performance of Deep Reinforcement "
        "Learning in Perishable Inventory Management; logs of random orders, and the optimum, are ours"
    )

    @property
    def parts(self) -> Sequence[Instance]:
        """Shelf lives, lead times, issuing and costs of waste."""
        every = product((2, 3), (1, 2), ("fifo", "lifo"), (7,))
        return [Instance(*each, self.logs, self.entrant) for each in every]

    def rows(self, measured: dict[str, Figures]) -> list[BoardRow]:
        """Cost above the optimum."""
        found = []
        for figure, words in FIGURES.items():
            for part in self.parts:
                case = (
                    f"{part.life} periods, lead time {part.lead_time}, {part.issuing.upper()}, waste {part.waste_cost}"
                )
                found.append(BoardRow.of(words, case, words, np.asarray(measured[part.key][figure])))
        return found
