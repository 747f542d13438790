"""Identities of the planner on sample paths in whole shops: units, lead times, learners by name."""

import numpy as np
import pandas as pd

import lostsales
from lostsales.data.problem import Problem
from lostsales.learn.learner import LEARNERS
from lostsales.learn.planner.planner import Planner
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from tests.learn.planner.paths.test_policy import NOW, table

FACTOR = 4.0  # of quantities; a power of two, so that no rounding comes in
CENTS = 100.0  # prices that end in .x9 become such that end in x9
QUANTITIES, MONEY = ("stock", "order", "sales", "received", "case_size"), ("price", "unit_cost")


def scaled(rows: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    factor = CENTS if columns == MONEY else FACTOR
    return rows.assign(**{name: (factor * rows[name]).round(9) for name in columns if name in rows})


def decided(rows: pd.DataFrame, problem: Problem, columns: tuple[str, ...] = ()) -> pd.DataFrame:
    """Decisions for the last day, in the units of the columns that are scaled."""
    closed, opened = rows[rows.date < NOW], rows[rows.date == NOW]
    keys = ["product", "date", "category", "supplier", "unit_cost", "case_size", "stock", "promotion"]
    policy = lostsales.fit(lostsales.read_log(scaled(closed, columns), problem), "planner", pricing="free")
    found: pd.DataFrame = policy.recommend(scaled(closed, columns), scaled(opened[keys], columns))
    return found.set_index("product")


def test_decisions_scale_with_units_and_currency() -> None:
    problem = lostsales.load_example("corner-shop").problem
    in_cents = problem.costs.model_copy(update={"lost": CENTS * 0.3, "holding": CENTS * 0.01})
    rules = tuple(each.model_copy(update={"multiple": FACTOR * (each.multiple or 0.0)}) for each in problem.rules.own)
    own = problem.model_copy(update={"rules": problem.rules.model_copy(update={"own": rules})})
    plain, more = decided(table(), problem), decided(table(), own, QUANTITIES)
    dearer = decided(table(), problem.model_copy(update={"costs": in_cents}), MONEY)
    np.testing.assert_allclose(more.order, FACTOR * plain.order)
    np.testing.assert_allclose(more.price, plain.price)
    np.testing.assert_allclose(more.expected_demand, FACTOR * plain.expected_demand)
    np.testing.assert_allclose(more.price_units, FACTOR * plain.price_units, atol=1e-8)
    np.testing.assert_allclose(more.expected_profit, FACTOR * plain.expected_profit)
    pd.testing.assert_series_equal(more.order_reason, plain.order_reason)
    np.testing.assert_allclose(dearer.order, plain.order)
    np.testing.assert_allclose(dearer.price, CENTS * plain.price)
    np.testing.assert_allclose(dearer.expected_profit, CENTS * plain.expected_profit)
    np.testing.assert_allclose(dearer.price_margin, CENTS * plain.price_margin, atol=1e-6)


def test_a_longer_lead_time_never_earns_more() -> None:
    """The same customers, and a demand distribution that was learned from the same sales."""
    earned = []
    for lead_time in (1, 4, 10):
        scenario = Scenario.load("steady", (f"supply.lead_time={lead_time}",))
        log, _ = simulate(scenario, episodes=20, seed=1)
        policy = lostsales.fit(log, Planner(decides_by="paths"))
        earned.append(evaluate_policy(scenario, policy, episodes=60, seed=5).mean_profit)
    assert (np.diff(earned) < 0).all()


def test_every_learner_is_a_public_name() -> None:
    for learner in map(LEARNERS.get, LEARNERS.names):
        assert getattr(lostsales, learner.__name__) is learner
