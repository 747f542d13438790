"""The planner where orders take time: against exact costs of the textbook problem, and against tuned rules in `steady`.

`LOGS` logs each; a full run takes hours of processor time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np

from benchmarks.rows import Row
from lostsales.data.problem import Problem
from lostsales.data.receipts import with_receipts
from lostsales.demand.law.selection import fit_law
from lostsales.lab.exact.solve import criterion_of, solve_reference
from lostsales.learn.baselines.thresholds import Thresholds, position_of
from lostsales.learn.planner.planner import Planner
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.base import PolicyBase
from lostsales.policy.rollout import play
from lostsales.policy.rules import Rules
from lostsales.policy.view import Action, View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Floats

LOGS = 10
EPISODES = 1_000
LOST_COSTS, LEAD_TIMES = (4, 9, 19, 39), (1, 2, 3, 4)
MOST_ABOVE_OPTIMUM = 2.5  # percent
LEAST_OF_EXACT = 0.97


def run() -> list[Row]:
    return [*_textbook(), *_steady(), _random_lead_times()]


def _textbook() -> Iterator[Row]:
    """Cost above the optimum in percent, from 250 rows in which stock-outs hide demand; sales read as demand beside."""
    above: list[float] = []
    naive: list[float] = []
    for lead_time in LEAD_TIMES:
        logs = [
            simulate(_shop(lead_time, LOST_COSTS[0], most=12), episodes=5, seed=100 + seed)[0] for seed in range(LOGS)
        ]
        as_demand = [replace(log, stockout=np.zeros(len(log), dtype=bool)) for log in logs]
        models = [[fit_law(log) for log in each] for each in (logs, as_demand)]
        for lost in LOST_COSTS:
            scenario = _shop(lead_time, lost, most=30)
            best = solve_reference(scenario, "oracle", criterion_of(scenario, None, None, average=True)).policy
            longer = scenario.model_copy(update={"horizon": 500})  # so that the opening hardly counts
            optimum = evaluate_policy(longer, best, episodes=80, seed=1).mean_profit
            problem = _shop(lead_time, lost, most=12).problem
            for read, of_logs, found in ((logs, models[0], above), (as_demand, models[1], naive)):
                for log, model in zip(read, of_logs, strict=True):
                    own = replace(log, problem=problem, costs=scenario.unit_costs)
                    earned = evaluate_policy(longer, Planner().plan(own, model=model), episodes=80, seed=1).mean_profit
                    found.append(100 * (earned / optimum - 1))
    mean = float(np.mean(above))
    beside = f"naive {np.mean(naive):.2f} %"
    yield Row("textbook, 250 rows, % above optimum", f"{mean:.2f} %", beside, mean / MOST_ABOVE_OPTIMUM, at_most=1)


def _shop(lead_time: int, lost: float, most: int) -> Scenario:
    """Poisson demand; what was done and learned does not depend on the cost of a lost sale."""
    keys = f"supply.lead_time={lead_time}", f"costs.lost={lost}", f"orders.most={most}"
    return Scenario.load("lost-sales", keys)


@dataclass(frozen=True)
class _Candidates(PolicyBase):
    """Many rules side by side."""

    problem: Problem
    rule: Thresholds
    paths: Floats | None
    observes: Literal["sales"] = "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """The actions of all rules."""
        position, limit = position_of(view, self.paths), view.order_limit(self.problem)
        grid = ActionGrid.of(self.problem)
        return self.rule.act(grid, Rules(), view.stock, view.last_price, position=position, limit=limit)


def best_rule(scenario: Scenario, kind: str, episodes: int = 200, seed: int = 1) -> float:
    """Profit of the best rule of a kind, level, cap and price tuned on the truth and measured on other episodes."""
    levels = np.arange(0.0, 13.0 * (scenario.lead_times.longest + 1), 2.0)
    if kind == "projected-level":
        levels = np.arange(0.0, 26.0, 1.0)
    caps = np.arange(2.0, 16.0, 2.0) if kind == "capped" else np.array([np.inf])
    rules = np.array(list(product(levels, scenario.prices, caps)))
    profits = _profits(scenario, rules, kind, episodes, seed)
    return float(_profits(scenario, rules[[profits.argmax()]], kind, 2_000, seed + 1)[0])


def _profits(scenario: Scenario, rules: Floats, kind: str, episodes: int, seed: int) -> Floats:
    level, price, cap = np.repeat(rules, episodes, axis=0).T
    paths = None
    if kind == "projected-level":
        truth = simulate(scenario, episodes=40, seed=3)[1]
        periods = scenario.lead_times.longest
        demand = np.asarray(truth.demand).reshape(-1, scenario.horizon)[:, -periods:]
        paths = demand  # of series under uniform decisions, whose lengths are the lead time
    policy = _Candidates(scenario.problem, Thresholds(level, level, price, price, cap), paths)
    total = np.zeros(len(level))
    rng = np.random.default_rng(seed), np.random.default_rng(0)
    for step in play(policy, scenario, scenario, scenario.unit_costs, scenario.horizon, len(level), *rng):
        total += step.outcome.profit
    return np.asarray((total / scenario.horizon).reshape(len(rules), episodes).mean(axis=1))


def _steady() -> Iterator[Row]:
    for lead_time in (2, 4, 8):
        scenario = Scenario.load("steady", (f"supply.lead_time={lead_time}",))
        earned = [
            evaluate_policy(
                scenario, Planner().plan(simulate(scenario, episodes=10, seed=1000 + seed)[0]), EPISODES, seed=5
            ).mean_profit
            for seed in range(LOGS)
        ]
        ours = float(np.mean(earned))
        for kind in ("base-stock", "capped", "projected-level"):
            theirs = best_rule(scenario, kind)
            yield Row(
                f"steady, lead time {lead_time}, above {kind}",
                f"{ours:.2f}",
                f"{theirs:.2f}",
                ours - theirs,
                at_least=0,
            )
        if lead_time == 2:
            best = solve_reference(scenario, "pi-star", criterion_of(scenario, 0.97, None)).policy
            exact = evaluate_policy(scenario, best, EPISODES, seed=5).mean_profit
            yield Row("steady, lead time 2, of exact pi*", f"{ours:.2f}", f"{exact:.2f}", ours / exact, LEAST_OF_EXACT)


def _random_lead_times() -> Row:
    """Learned from receipts beside told."""
    law = "{1 = 0.5, 2 = 0.3, 3 = 0.1, lost = 0.1}"
    scenario = Scenario.load("steady", (f"supply.lead_time={law}",))
    told: list[float] = []
    learned: list[float] = []
    for seed in range(LOGS):
        log, _ = simulate(scenario, episodes=10, seed=1000 + seed)
        supply = log.problem.supply.model_copy(update={"lead_time": "learn"})
        unknown = with_receipts(replace(log, problem=log.problem.model_copy(update={"supply": supply})))
        for read, found in ((log, told), (unknown, learned)):
            found.append(
                evaluate_policy(scenario, Planner().plan(read.decisions("plan")), EPISODES, seed=5).mean_profit
            )
    ours, theirs = float(np.mean(learned)), float(np.mean(told))
    return Row("random lead times learned, of told", f"{ours:.2f}", f"{theirs:.2f}", ours / theirs, at_least=0.97)
