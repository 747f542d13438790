"""Plans where orders take time: projection against exact laws, exact small cases, and the planner as it is used."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, poisson

import lostsales
from lostsales.data.log import SalesLog
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.residuals import Residuals
from lostsales.demand.law.selection import fit_demand
from lostsales.learn.planner import pipeline_grid
from lostsales.learn.planner.arrivals import Arrivals, has_pipeline
from lostsales.learn.planner.demand_paths import demand_paths
from lostsales.learn.planner.following import ByPipeline, ByStock, Following, Projected
from lostsales.learn.planner.latent_table import GroupShape, latent_atoms
from lostsales.learn.planner.market_states import market_states
from lostsales.learn.planner.planner import Planner
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.learn.planner.shortfall import REACH, SHARES, STEPS_A_UNIT, shortfall_table
from lostsales.learn.planner.state_grid import Memory
from lostsales.policy.simple import BaseStockRule
from lostsales.policy.view import View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Floats
from tests.learn.planner.true_law import LINEAR, true_model

MEAN = 5.0


def textbook(lead_time: int, lost: float, *more: str) -> Scenario:
    changes = f"supply.lead_time={lead_time}", f"costs.lost={lost}", "orders={multiple = 1, most = 10}"
    return Scenario.load("lost-sales", (*changes, *more))


def poisson_model(log: SalesLog) -> DemandModel:
    """A fitted model whose law is the Poisson law of the preset."""
    model = fit_demand(log, LINEAR)
    chances = poisson.pmf(np.arange(25), MEAN)
    residuals = Residuals(np.arange(26.0) - 0.5 - MEAN, np.asarray(np.r_[0, np.cumsum(chances / chances.sum())]))
    law = replace(model.law, residuals=residuals, mean=LinearMean(MEAN, np.zeros_like(model.law.mean.slopes)))  # type: ignore[attr-defined]
    return replace(model, law=replace(law, demand_max=25.0))


def orders_of(policy: PlanPolicy, stock: Floats, pipeline: Floats | None) -> Floats:
    rows, no = len(stock), np.zeros(len(stock), dtype=bool)
    names = np.full(rows, policy.series.products.names[0], dtype=object)
    view = View(0, (), stock, np.full(rows, MEAN), no, no.astype(np.int16), None, (), names, None, pipeline)
    return policy.decide(view, np.random.default_rng(0)).order


def cost_of(order: Floats, lost: float, stocks: int = 36) -> float:
    """Average cost of a policy with lead time 2, order[stock, on the way], by relative value iteration."""
    demand = np.arange(25)
    chance = poisson.pmf(demand, MEAN) / poisson.pmf(demand, MEAN).sum()
    stock, waiting = np.meshgrid(np.arange(stocks), np.arange(order.shape[1]), indexing="ij")
    left = np.maximum(stock[..., None] - demand, 0)
    period = (left + lost * np.maximum(demand - stock[..., None], 0)) @ chance
    following = np.minimum(left + waiting[..., None], stocks - 1)
    value, change = np.zeros(order.shape), np.array([np.inf, 0.0])
    while np.ptp(change) > 1e-5:
        new = period + value[following, order[..., None].astype(int)] @ chance
        change = new - value
        value = new - new[0, 0]
    return float(change.mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("most_states", "kind", "within"), [(pipeline_grid.MOST_STATES, ByPipeline, 2e-4), (0, Projected, 2e-3)]
)
def test_with_the_true_law_and_lead_time_2_it_costs_what_is_known_to_be_optimal(
    most_states: int, kind: type[Following], within: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """6.09 (Zipkin, 2008) for a lost-sale cost of 9, mean demand 5; here by all states, without simulation."""
    monkeypatch.setattr(pipeline_grid, "MOST_STATES", most_states)
    log, _ = simulate(textbook(2, 9), episodes=5, seed=1)
    policy = Planner(draws=1).plan(log, model=poisson_model(log))
    assert isinstance(policy.following, kind)
    stock, waiting = np.meshgrid(np.arange(36.0), np.arange(11.0), indexing="ij")
    order = orders_of(policy, stock.reshape(-1), waiting.reshape(-1, 1)).reshape(stock.shape)
    assert cost_of(order, 9) == pytest.approx(6.0936, rel=within)


@pytest.mark.slow
def test_lead_time_1_by_projection_decides_as_the_plan_on_the_stock_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two machines that share the law only."""
    log, _ = simulate(textbook(1, 9), episodes=5, seed=1)
    model, stock = poisson_model(log), np.arange(20.0)
    by_stock = Planner(draws=1).plan(log, model=model)
    assert isinstance(by_stock.following, ByStock)
    for module in ("arrivals", "pipeline_simulation", "following"):
        monkeypatch.setattr(f"lostsales.learn.planner.{module}.has_pipeline", lambda shop: True)  # noqa: ARG005
    projected = Planner(draws=1).plan(log, model=model)
    assert isinstance(projected.following, Projected)
    difference = orders_of(projected, stock, None) - orders_of(by_stock, stock, None)
    assert np.abs(difference).max() <= 1
    assert np.abs(difference).mean() <= 0.2


def test_moments_of_coming_demands_are_those_of_a_simulation() -> None:
    """An autoregression with features, followed from a last demand of 14."""
    log = simulate(Scenario.load("steady"), episodes=40, seed=3)[0]
    model = true_model(log, "paper")
    states = market_states(model.evidence, model.law)
    prices, lags = np.array([4.0, 4.5]), np.arange(31.0)
    shape = GroupShape(0.0, 0.0, 1.0, 1.0)
    demand = model.law.demand(latent_atoms(model.evidence, model.law, states, prices, lags, shape), 1.0)
    paths = demand_paths(demand, states, prices, 0, lags, 3, Memory())
    rng, count, node = np.random.default_rng(0), 40_000, len(states.w_nodes) // 2
    w, lag, drawn = np.full(count, node), np.full(count, 14.0), []
    nodes, weights = (each[:, 0] for each in states.cell_w(prices))
    for _ in range(3):
        cell = (states.transition[w].cumsum(axis=1) < rng.random(count)[:, None]).sum(axis=1)
        atoms = demand[0, states.cells[cell, 0], 0, lag.astype(int)]
        lag = atoms[np.arange(count), rng.integers(0, atoms.shape[1], count)]
        w = nodes[cell] + (rng.random(count) < weights[cell])
        drawn.append(lag)
    assert paths.mean[node, 0, 14, :3] == pytest.approx(np.mean(drawn, axis=1), abs=0.08)
    assert paths.covariance[node, 0, 14] == pytest.approx(np.cov(drawn), abs=0.5)


def test_what_is_left_is_exact_for_a_normal_stock_and_a_skewed_demand() -> None:
    rng = np.random.default_rng(1)
    noise = rng.exponential(size=400)
    table = shortfall_table(noise)
    e = (noise - noise.mean()) / noise.std()
    for share_at in (0, 4, 7):
        share, z = share_at / (SHARES - 1), 0.4
        w = z + np.sqrt(1 - share) * rng.normal(size=(4000, 1)) - np.sqrt(share) * e
        positive = np.maximum(w, 0)
        found = table[share_at, round((z + REACH) * STEPS_A_UNIT)]
        assert found == pytest.approx([(w > 0).mean(), positive.mean(), (positive**2).mean()], abs=0.03)


def test_chances_of_arrival_of_orders_that_wait() -> None:
    """{1: 0.5, 2: 0.3, 3: 0.1, lost: 0.1}: one placed a period ago and not there arrives next with 0.3 / 0.5."""
    law = "{1 = 0.5, 2 = 0.3, 3 = 0.1, lost = 0.1}"
    arrivals = Arrivals.of(Scenario.load("lost-sales", (f"supply.lead_time={law}",)))
    assert arrivals.chances == pytest.approx(np.array([[0.5, 0, 0], [0.6, 0.2, 0], [0.5, 0.3, 0.1]]))
    assert arrivals.horizons.tolist() == [2]


def test_order_days_lengthen_the_time_that_depends_on_orders_placed() -> None:
    arrivals = Arrivals.of(Scenario.load("lost-sales", ("supply.lead_time=2", "supply.order_days=3")))
    assert arrivals.horizons.tolist() == [2, 4, 3]
    assert not has_pipeline(Scenario.load("steady"))
    assert has_pipeline(Scenario.load("steady", ("supply.order_days=3",)))


@pytest.mark.slow
def test_on_order_days_it_orders_for_the_days_between_and_earns_what_the_best_base_stock_does() -> None:
    weekly = textbook(2, 9, "supply.order_days=5", "orders={multiple = 1, most = 40}")
    log, _ = simulate(weekly, episodes=5, seed=1)
    policy = Planner(draws=1).plan(log, model=poisson_model(log))
    played, _ = simulate(weekly, policy, episodes=20, seed=3)
    assert played.order is not None
    is_day = played.period % 5 == 0
    assert not played.order[~is_day].any()
    assert played.order[is_day & (played.period > 5)].mean() == pytest.approx(5 * MEAN, rel=0.2)
    earned = evaluate_policy(weekly, policy, episodes=100, seed=2).mean_profit
    rule = max(
        evaluate_policy(weekly, _up_to(weekly, level), episodes=100, seed=2).mean_profit for level in range(20, 60, 4)
    )
    assert earned > rule - 0.5


def _up_to(scenario: Scenario, level: float) -> BaseStockRule:
    return BaseStockRule(scenario.problem, float(level), 0.0)


@pytest.mark.parametrize("most_states", [pipeline_grid.MOST_STATES, pytest.param(0, marks=pytest.mark.slow)])
def test_a_saved_plan_decides_the_same_and_counts_what_is_on_the_way(
    most_states: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline_grid, "MOST_STATES", most_states)
    log, _ = simulate(textbook(3, 9), episodes=4, seed=1)
    policy = Planner(draws=2, families=LINEAR).plan(log)
    policy.save(tmp_path / "plan.policy")
    again = lostsales.load(tmp_path / "plan.policy")
    stock = np.arange(8.0)
    pipeline = np.column_stack([stock[::-1], stock])
    view = View(0, (), stock, stock, stock < 0, np.zeros(8, dtype=np.int16), None, (), np.full(8, "0"), None, pipeline)
    ours, theirs = policy.explain(view), again.explain(view)
    assert type(policy.following) is type(again.following)  # type: ignore[attr-defined]
    assert (ours.order == theirs.order).all()
    assert ours.value == pytest.approx(theirs.value, rel=1e-5)
    assert ours.more["periods_of_cover"] == pytest.approx((8 + stock + ours.order - 1) / ours.more["expected_demand"])


@pytest.mark.parametrize("sigma", [0.1, 0.3, 0.6])
def test_what_is_left_of_a_stock_is_never_less_than_nothing(sigma: float) -> None:
    """Far below 0 the two terms of a normal expectation cancel: rounding must not leave a negative rest."""
    table = shortfall_table(np.exp(sigma * norm.ppf((np.arange(60) + 0.5) / 60)))
    assert table.min() >= 0
    assert table[:, -1, 1] == pytest.approx(6.0, abs=0.01)  # with ample stock all of it is left
