"""The value of a decision by replayed episodes: by hand, against the simulator, and in a file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lostsales
from lostsales.data.log import SalesLog
from lostsales.evaluation.replayed_value import SAMPLED, _returns, with_replayed_value
from lostsales.learn.cfqi.learn import CFQI, PCFQI, Fusion
from lostsales.learn.cfqi.value_function import ValueFunction
from lostsales.learn.replay.replayed_market import BLOCK_ROWS, MOST_ROWS, SIMILAR, ReplayedMarket, _following, _part
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.rollout import play
from lostsales.simulation.hidden_market import market_of
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats
from tests.learn.small import days, small_log

DISCOUNT = 0.9


def test_a_return_is_discounted_profit_and_beyond_the_last_period_the_mean_for_ever() -> None:
    profit = np.zeros((SAMPLED + 2, 1))
    profit[SAMPLED:, 0] = 3.0, 5.0
    returns = _returns(profit, 0.5)[:, 0]
    for_ever = 4.0 / (1 - 0.5)
    assert returns[-1] == 5 + 0.5 * for_ever
    assert returns[-2] == 3 + 0.5 * returns[-1]
    assert returns[0] == pytest.approx(0.5**SAMPLED * returns[SAMPLED])


def test_rows_follow_each_other_and_after_the_last_come_those_after_similar_ones() -> None:
    """Two shops with weekdays: after the last row, a Wednesday, come Thursdays of the same shop."""
    scenario = Scenario.load("manager-before", ("horizon=45",))
    log, _ = simulate(scenario, episodes=2, seed=1)
    evidence = ReplayedMarket.of(log, 2, 0).evidence
    following, weekday = _following(evidence), log.features[evidence.rows, 0]
    ends = np.flatnonzero(evidence.rows % 45 == 44)
    assert len(ends) == 2
    inner = np.setdiff1d(np.arange(len(evidence)), ends)
    assert (following[inner] == inner[:, None] + 1).all()
    assert following.shape == (len(evidence), SIMILAR)
    for end in ends:
        assert (weekday[following[end]] == (weekday[end] + 1) % 7).all()
        assert (evidence.series[following[end]] == evidence.series[end]).all()


def test_of_a_long_log_blocks_are_taken() -> None:
    log = small_log("released", 60)
    part = _part(log, 0)
    assert MOST_ROWS <= len(part) < MOST_ROWS + BLOCK_ROWS
    assert _part(small_log("released"), 0) is small_log("released")
    assert set(zip(part.names[part.series], part.period, strict=True)) < set(
        zip(log.names[log.series], log.period, strict=True)
    )


def test_demand_is_drawn_as_the_market_draws_it() -> None:
    """Means by price after the same last demands, within four standard errors and what 1,000 rows leave open."""
    scenario = Scenario.load("steady")
    market = ReplayedMarket.of(simulate(scenario, episodes=20, seed=1)[0], 4_000, 0)
    true = market_of(scenario, CFQI(iterations=1).fit(small_log("steady", 25)))
    rng, last, features = np.random.default_rng(0), market.evidence.lag[market.row], market._features()
    for price in (4.0, 4.5):
        prices = np.full(len(last), price)
        drawn, expected = (each.demand(0, features, prices, last, rng) for each in (market, true))
        assert drawn.mean() == pytest.approx(expected.mean(), abs=0.4)
        assert drawn.std() == pytest.approx(expected.std(), rel=0.1)


def earned_and_told(policy: SavedPolicy, scenario: Scenario, episodes: int = 200) -> tuple[Floats, Floats]:
    """Discounted profit from the sixth period of the policy's own episodes on, and its value there, (episodes,)."""
    market_rng, policy_rng = np.random.default_rng(3), np.random.default_rng(4)
    market = market_of(scenario, policy)
    earned, told = np.zeros(episodes), np.zeros(episodes)
    for step in play(policy, market, scenario, scenario.unit_costs, 55, episodes, market_rng, policy_rng):
        if step.view.period == 5:
            told = policy.explain(step.view).value
        if step.view.period >= 5:
            earned += DISCOUNT ** (step.view.period - 5) * step.outcome.profit
    return earned, told


@pytest.mark.parametrize("learner", [CFQI(iterations=10), PCFQI(iterations=10)])
def test_the_value_is_what_the_policy_earns_in_the_simulator_and_q_is_not(learner: CFQI) -> None:
    log, scenario = small_log("released", 10, seed=601), Scenario.load("released")
    policy = with_replayed_value(learner.fit(log), log)
    earned, told = earned_and_told(policy, scenario)
    assert told.mean() == pytest.approx(earned.mean(), rel=0.1)
    assert np.corrcoef(earned, told)[0, 1] > 0.3
    by_q = earned_and_told(learner.fit(log), scenario)[1]
    assert abs(by_q.mean() - earned.mean()) > 0.2 * earned.mean()


@pytest.mark.parametrize("learner", [CFQI(iterations=3), PCFQI(iterations=3), Fusion(iterations=5)])
def test_the_value_changes_nothing_but_the_value_and_is_kept_in_the_file(learner: CFQI, tmp_path: Path) -> None:
    log = small_log("paper", 12)
    without = learner.fit(log)
    with_value = with_replayed_value(without, log)
    assert (with_value.summary()["value"], without.summary()["value"]) == ("replayed episodes", "Q")
    with_value.save(tmp_path / "policy")
    again = lostsales.load(tmp_path / "policy")
    for period in (0, 3, 20):
        recent, today = days(small_log("paper", seed=2), period)
        told, q = with_value.recommend(recent, today), without.recommend(recent, today)
        assert told.drop(columns="value").equals(q.drop(columns="value"))
        assert (told["value"] != q["value"]).all()
        assert again.recommend(recent, today).equals(told)


def test_a_file_without_it_shows_q(tmp_path: Path) -> None:
    policy = CFQI(iterations=3).fit(small_log("released"))
    policy.save(tmp_path / "policy")
    again = lostsales.load(tmp_path / "policy")
    assert again.summary()["value"] == "Q"
    recent, today = days(small_log("released", seed=2), 4)
    assert again.recommend(recent, today).equals(policy.recommend(recent, today))


def test_where_prices_move_the_features_the_value_stays_q_with_a_warning() -> None:
    log = small_log("reference-price", 20)
    with pytest.warns(
        UserWarning, match="the value of a decision is Q, as no episodes can be replayed: the price moves"
    ):
        policy = with_replayed_value(CFQI(iterations=2).fit(log), log)
    assert policy.summary()["value"] == "Q"


def test_a_value_function_recovers_a_mean_and_holds_it_beyond_what_was_visited() -> None:
    rng = np.random.default_rng(0)
    states, episode = rng.uniform(0, 10, (3_000, 2)), np.repeat(np.arange(150), 20)
    returns = 50 + 3 * states[:, 0] + rng.normal(0, 10, 3_000)
    value = ValueFunction.of(states, returns, episode, 0)
    asked = np.array([[2.0, 5.0], [8.0, 5.0]])
    np.testing.assert_allclose(value(asked), [56, 74], atol=2)
    np.testing.assert_array_equal(value(np.array([[-4.0, 5.0], [0.0, 5.0]])), value(np.array([[0.0, 5.0]] * 2)))


@pytest.fixture(scope="module")
def assortment() -> SalesLog:
    """Products whose demand differs tenfold: `released` in units and in tens of units."""
    log = small_log("released", 12)
    factor = np.where(np.arange(12) < 6, 1.0, 10.0)[log.series]
    return replace(
        log,
        sales=log.sales * factor,
        stock=log.stock * factor,
        order=log.order * factor,
        last_sales=log.last_sales * np.where(np.arange(12) < 6, 1.0, 10.0),
    )


def test_products_of_different_scale_have_values_of_their_scale(assortment: SalesLog) -> None:
    policy = with_replayed_value(lostsales.fit(assortment, CFQI(iterations=3)), assortment)
    recent, today = days(assortment, 4)
    told = policy.recommend(recent, today).set_index("series").sort_index()
    ratio = told.loc[range(6, 12), "value"].mean() / told.loc[range(6), "value"].mean()
    assert 7 < ratio < 14
