"""The planner against exact references and on simulated logs of known law."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.errors import SettingError
from lostsales.lab.exact.solve import criterion_of, solve_reference
from lostsales.learn.planner.planner import Planner
from lostsales.policy.rollout import play
from lostsales.policy.view import Action, ClosedPeriod
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Floats
from tests.learn.planner.true_law import LINEAR, true_model, view_of
from tests.learn.small import days, small_log

SIZES = [*range(0, 20, 2), *range(20, 400, 20)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "slack"), [("released", 0.1)])
def test_with_the_true_law_the_planner_is_as_good_as_pi_star(name: str, slack: float) -> None:
    """By code that the two do not share; on the same episodes, within three standard errors and the grids' error."""
    scenario = Scenario.load(name)
    log, _ = simulate(scenario, episodes=100, seed=4)
    policy = Planner(draws=1, discount=0.97).plan(log, model=true_model(log, name))
    best = solve_reference(scenario, "pi-star", criterion_of(scenario, 0.97, None)).policy
    ours, theirs = (_profits(scenario, each, 2000, 6) for each in (policy, best))
    gap = ours - theirs
    assert abs(gap.mean()) < 3 * gap.std() / np.sqrt(len(gap)) + slack * 0.5
    assert gap.mean() > -slack


def _profits(scenario: Scenario, policy: Any, episodes: int, seed: int) -> Floats:
    market, own = np.random.default_rng(seed), np.random.default_rng(0)
    steps = play(policy, scenario, scenario, scenario.unit_costs, scenario.horizon, episodes, market, own)
    total = np.zeros(episodes)
    for step in steps:
        total += step.outcome.profit
    return total / scenario.horizon


def test_the_planner_earns_32_5_from_a_hundred_rows_of_released() -> None:
    """C-FQI and PC-FQI reach 27.3 from 500 rows."""
    scenario = Scenario.load("released")
    earned = []
    for seed in (31, 32):
        log, _ = simulate(scenario, episodes=2, seed=seed)
        earned.append(evaluate_policy(scenario, Planner(draws=1).plan(log), episodes=300, seed=5).mean_profit)
    assert np.mean(earned) > 32.5


def test_a_depth_beyond_the_log_is_decided_and_flagged() -> None:
    log = small_log("paper")
    policy = Planner(draws=1, families=LINEAR).plan(log)
    deep = policy.learned_depth + 2
    closed = ClosedPeriod(view_of([1.0, 3.0], 3.0, 5.0, 0), Action(np.array([4.5]), np.array([3.0])))
    decision = policy.explain(view_of([1.0, 3.0], 3.0, 3.0, deep, (closed,) * deep))
    assert decision.beyond[0]
    assert not decision.safe[0]
    assert decision.more["last_demand"][0] > 3.0
    assert np.isfinite(decision.value[0])


def test_nothing_to_decide() -> None:
    recent, today = days(small_log("paper", seed=2), 3)
    answer = Planner(draws=1, families=LINEAR).plan(small_log("paper")).recommend(recent, today.head(0))
    assert len(answer) == 0
    assert answer.columns[-1] == "price_reason"


def test_the_safe_action_of_the_paper_is_the_highest_price_with_the_largest_order() -> None:
    log = small_log("paper")
    policy = Planner(draws=1, families=LINEAR, safe="paper").plan(log)
    closed = ClosedPeriod(view_of([1.0, 3.0], 3.0, 5.0, 0), Action(np.array([4.0]), np.array([3.0])))
    deep = policy.safe_depth
    decision = policy.explain(view_of([1.0, 3.0], 3.0, 3.0, deep, (closed,) * deep))
    assert (decision.price[0], decision.order[0], bool(decision.safe[0])) == (4.5, 15.0, True)


def test_pessimism_subtracts_a_penalty_where_the_laws_differ() -> None:
    log = small_log("released")
    recent, today = days(small_log("released", seed=2), 3)
    neutral = Planner(draws=3, families=LINEAR).plan(log).recommend(recent, today)
    pessimistic = Planner(draws=3, families=LINEAR, pessimism=0.8).plan(log).recommend(recent, today)
    assert (neutral["penalty"] == 0).all()
    assert (pessimistic["penalty"] > 0).any()
    assert (pessimistic["value"] <= neutral["value"] + 1e-9).all()


def test_where_the_price_never_varied_no_other_price_is_recommended() -> None:
    log = small_log("released")
    same = replace(log, price=np.full(len(log), 4.0))
    with pytest.warns(UserWarning, match="the price was always 4"):
        policy = Planner(draws=1, families=LINEAR).plan(same)
    answer = policy.recommend(*days(small_log("released", seed=2), 3))
    assert (answer["price"] == 4.0).all()


def test_orders_follow_the_scale_of_each_series() -> None:
    frames = []
    for scale in (1.0, 8.0, 40.0):
        rng = np.random.default_rng(int(scale))
        for number in range(3):
            demand = np.rint(scale * np.maximum(6 + rng.normal(0, 1.5, 60), 0))
            stock = np.rint(scale * rng.uniform(3, 9, 60))
            name = np.full(60, f"{scale:g}-{number}")
            frames.append(
                (name, np.arange(60), stock, np.minimum(stock, demand), demand > stock, rng.choice([4, 5], 60))
            )
    name, period, stock, sales, stockout, price = (np.concatenate(each) for each in zip(*frames, strict=True))
    ordered = np.random.default_rng(0).choice(SIZES, len(name))
    columns = {"series": name, "period": period, "stock": stock, "price": price, "order": ordered, "sales": sales}
    problem = lostsales.Problem.model_validate(
        {
            "arrival": "after",
            "orders": SIZES,
            "costs": {"lost": 2, "order": 3, "holding": 1},
        }
    )
    table = pd.DataFrame(columns | {"stockout": stockout})
    log = lostsales.read_log(table, problem).decisions("plan")
    policy = Planner().fit(log)
    today = pd.DataFrame(
        {"series": ["1-0", "8-0", "40-0"], "period": 60, "stock": 0.0, "last_sales": [6.0, 48.0, 240.0]}
    )
    answer = policy.recommend(None, today)
    orders = answer["order"].to_numpy()
    assert orders[0] < 14
    assert 30 < orders[1] < 90
    assert 180 < orders[2] < 400
    unknown_series = policy.recommend(None, today.head(1).assign(series="new"))
    assert unknown_series["flag"].str.contains("never had").all()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"draws": 0}, "draws: Input should be greater than or equal to 1"),
        ({"pessimism": 2.0}, "pessimism: Input should be less than or equal to 1"),
        ({"discount": 1.0}, "discount: Input should be less than 1"),
        ({"safe": "sorry"}, "safe: Input should be 'none' or 'paper'"),
    ],
)
def test_values_out_of_range_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        lostsales.fit(small_log("released"), "planner", **settings)
