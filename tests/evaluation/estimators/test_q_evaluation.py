"""Linear fitted Q-evaluation against identities and a dense kernel regression."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lostsales.data.log import DecisionLog
from lostsales.data.sublogs import without
from lostsales.demand.censoring.runs import find_runs
from lostsales.evaluation.estimators.q_evaluation import FqeDesign, FqeSettings, FqeValue, fqe_values
from lostsales.evaluation.evaluate import evaluate
from lostsales.evaluation.policy_on_log import decisions
from lostsales.learn.function.kernels import Kernel
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.history import view_of_rows
from lostsales.policy.policy import Policy
from lostsales.policy.simple import BaseStockRule
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats
from tests.evaluation.shop import Assortment, RelativeRule
from tests.learn.small import scenario, small_log

SHOP = Assortment.drawn(4, 2)


def base_stock(name: str) -> BaseStockRule:
    problem = scenario(name).problem
    return BaseStockRule(problem, 15, float(ActionGrid.of(problem).prices[1]))


def design_of(log: DecisionLog, policy: Policy, settings: FqeSettings) -> FqeDesign:
    runs = find_runs(log)
    rows = np.flatnonzero(runs.depth >= 0)
    actions = decisions(policy, log, runs, rows, np.random.default_rng(0))
    return FqeDesign.of(log, runs, rows, actions, (log.starts, np.ones(len(log.starts))), settings)


def value_of(
    log: DecisionLog, policy: Policy, settings: FqeSettings, reward: Floats, horizon: int, discount: float = 1.0
) -> FqeValue:
    return fqe_values(design_of(log, policy, settings), reward, horizon, (discount,), settings.ridge)[0]


def uncensored_log() -> DecisionLog:
    """A log without stock-outs."""
    world = scenario("newsvendor").model_copy(update={"start": scenario("newsvendor").start})
    price = float(ActionGrid.of(world).prices[0])
    log, _ = simulate(world, BaseStockRule(world.problem, 1e6, price), 6, 4)
    return without(log, log.censored)


def test_no_censoring_equals_ordinary_fitted_q_evaluation() -> None:
    log = uncensored_log()
    assert not log.censored.any()
    policy = BaseStockRule(scenario("newsvendor").problem, 12, float(log.price.min()))
    settings = FqeSettings(Kernel(kind="rbf", coefficient=0.1), ridge=0.3, rank=10_000)
    horizon, discount = 7, 0.95
    ours = value_of(log, policy, settings, log.cash, horizon, discount)

    runs = find_runs(log)
    rows = np.arange(len(log))
    last_demand = runs.anchor_demand
    assert log.stock is not None
    assert log.order is not None
    chosen = policy.decide(view_of_rows(log, runs, rows), np.random.default_rng(0))
    state = np.column_stack([last_demand, log.features, log.stock])
    keep = state.std(axis=0) > 1e-9
    state = ((state - state.mean(axis=0)) / np.where(keep, state.std(axis=0), 1))[:, keep]
    action = np.column_stack([log.price, log.order])
    mean, spread = action.mean(axis=0), action.std(axis=0)
    spread = np.where(spread > 1e-9, spread, np.inf)
    z = np.hstack([state, (action - mean) / spread])
    z_pi = np.hstack([state, (np.column_stack(chosen) - mean) / spread])
    now = np.flatnonzero(log.has_next)
    gram = np.exp(-0.1 * cdist(z[now], z, "sqeuclidean"))
    q_pi = np.zeros(len(log))
    inverse = np.linalg.inv(gram[:, now] + 0.3 * np.eye(len(now)))
    one = np.ones(len(now))
    for _ in range(horizon):
        target = log.cash[now] + discount * q_pi[now + 1]
        free = one @ inverse @ target / (one @ inverse @ one)  # an unpenalised mean, by generalised least squares
        weights = inverse @ (target - free)
        q_pi = free + np.exp(-0.1 * cdist(z_pi, z[now], "sqeuclidean")) @ weights
    assert ours.value == pytest.approx(q_pi[log.starts].mean(), rel=2e-3)


@pytest.mark.parametrize("name", ["released", "steady"])
def test_contributions_are_the_derivative_in_the_weights_of_series(name: str) -> None:
    log, policy = small_log(name, 10), base_stock(name)
    settings = FqeSettings(ridge=1.0, rank=30)
    design = design_of(log, policy, settings)
    value = fqe_values(design, log.cash, 20, (1.0,), 1.0)[0]
    step = 1e-5

    def weighted(series: int) -> float:
        """The value with the steps of one series weighted by 1 + step, opening rows as they are."""
        root = np.where(log.series == series, np.sqrt(1 + step), 1.0)
        steps = tuple(
            type(each)(each.at, each.to, each.rows, each.now * root[each.rows, None], each.next * root[each.rows, None])
            for each in design.steps
        )
        scaled = FqeDesign(design.problem, steps, design.start, design.money, design.ranks)
        return fqe_values(scaled, log.cash * root, 20, (1.0,), 1.0)[0].value

    slope = np.array([(weighted(series) - value.value) / step for series in range(10)])
    # The weight scales the part of the series in G, C and Phi'r, not the ridge: the derivative is its residuals.
    ours = np.bincount(log.series, value.residual, 10)
    np.testing.assert_allclose(ours, slope, rtol=2e-3, atol=1e-3)


def test_one_period_is_the_regression_of_the_reward() -> None:
    log, policy = small_log("nonlinear", 20), base_stock("nonlinear")
    value = value_of(log, policy, FqeSettings(), np.full(len(log), 3.0), 1)
    assert value.value == pytest.approx(3.0)
    value = value_of(log, policy, FqeSettings(), np.full(len(log), 3.0), 30)
    assert value.value == pytest.approx(90.0)


def test_decisions_in_the_rows_of_its_own_log_are_the_logged_actions() -> None:
    world = scenario("steady")
    policy = BaseStockRule(world.problem, 18, 4.25)
    log, _ = simulate(world, policy, 4, 2)
    runs = find_runs(log)
    again = decisions(policy, log, runs, np.arange(len(log)), np.random.default_rng(0))
    assert again.shape == (1, len(log), 2)
    np.testing.assert_array_equal(again[0], np.column_stack([log.price, log.order]))


def test_products_are_compared_in_their_own_units() -> None:
    """Ten times the quantities and three times the money of one product: thirty times its value, no other's."""
    log = SHOP.log(60, 5)
    rows, one = np.flatnonzero(find_runs(log).depth >= 0), log.series == 2
    opening = np.array([rows[log.series[rows] == series][0] for series in range(4)])
    quantity, money = np.where(one, 10.0, 1.0), np.where(one, 3.0, 1.0)
    assert log.stock is not None
    assert log.order is not None
    assert log.costs is not None
    scaled = replace(
        log,
        stock=log.stock * quantity,
        order=log.order * quantity,
        sales=log.sales * quantity,
        price=log.price * money,
        costs=log.costs._replace(order=log.costs.order * money, holding=log.costs.holding * money),
    )
    relative = np.random.default_rng(0).uniform(0.5, 1.5, (1, len(rows), 2))
    values = []
    for each in (log, scaled):
        actions = relative * np.column_stack([each.price, each.order])[rows]
        starts = opening, np.ones(len(opening))
        design = FqeDesign.of(each, find_runs(each), rows, actions, starts, FqeSettings(rank=30))
        values.append(fqe_values(design, each.cash, 10, (1.0,), 1.0)[0].of_start[opening])
    np.testing.assert_allclose(values[1], values[0] * [1, 1, 30, 1], rtol=1e-6)


def test_starts_count_by_the_periods_that_follow_them() -> None:
    """A start that counts twice equals the same start given twice."""
    log = uncensored_log()
    policy = BaseStockRule(scenario("newsvendor").problem, 12, float(log.price.min()))
    runs = find_runs(log)
    rows = np.flatnonzero(runs.depth >= 0)
    actions = decisions(policy, log, runs, rows, np.random.default_rng(0))
    first, ones = rows[[0, 3, 17]], np.ones(3)  # of different stock
    found = [
        fqe_values(FqeDesign.of(log, runs, rows, actions, starts, FqeSettings(rank=30)), log.cash, 5, (1.0,), 1.0)[0]
        for starts in ((first, ones + (first == first[0])), (np.r_[first[0], first], np.r_[1.0, ones]), (first, ones))
    ]
    assert found[0].value == pytest.approx(found[1].value)
    np.testing.assert_allclose(found[0].residual, found[1].residual, atol=1e-9)
    assert abs(found[0].value - found[2].value) > 0.01


@pytest.mark.slow
def test_a_rule_for_products_of_many_sizes_is_judged_near_the_truth() -> None:
    """In the units of the log its profit was judged 78 % too high."""
    prices, sizes = np.array([9.0, 2.0, 7.0, 3.0, 8.0, 4.0]), np.array([3.0, 6.0, 12.0, 25.0, 50.0, 90.0])
    shop = Assortment(prices, sizes, np.full(6, -1.5), np.full(6, 1.2))
    rule = RelativeRule(shop, np.ones(6), np.full(6, 1.3))
    found = evaluate(rule, shop.log(150, 6), estimators=["fqe"], quick=True).by("fqe")
    assert found.profit is not None
    assert found.profit.value == pytest.approx(shop.true_profit(rule, copies=50).mean(), rel=0.1)
