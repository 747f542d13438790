"""The planner against closed forms, exact references and worlds whose truth is known."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, truncnorm

import lostsales
from lostsales.data.log import SalesLog
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.residuals import Residuals
from lostsales.demand.law.selection import DemandModel, fit_demand
from lostsales.errors import SettingError
from lostsales.learn.planner.planner import Planner
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.policy.rollout import play
from lostsales.policy.view import Action, ClosedPeriod, View
from lostsales.simulation.exact.solve import criterion_of, solve_reference
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate
from lostsales.types import Floats
from tests.learn.small import days, small_log

SIZES = [*range(0, 20, 2), *range(20, 400, 20)]
LINEAR = (Family("linear", False),)
TRUTH = {"paper": (15.35, [2.0, -0.6, -3.0, 0.8]), "released": (3.5, [5.0, -5.0, -1.5, 1.2])}


def true_model(log: SalesLog, name: str) -> DemandModel:
    """A fitted model whose law is replaced by the scenario's own."""
    level, slopes = TRUTH[name]
    if name == "paper":
        residuals = Residuals.normal(3.0)
    else:
        grid = np.linspace(-1.0, 5.0, 601)
        residuals = Residuals(grid, np.clip(2 * norm.cdf(grid) - 1, 0, 1) / (2 * norm.cdf(5) - 1))
    model = fit_demand(log, LINEAR)
    return replace(model, law=replace(model.law, mean=LinearMean(level, np.array(slopes)), residuals=residuals))


def view_of(features: list[float], stock: float, last: float, depth: int, past: tuple[ClosedPeriod, ...] = ()) -> View:
    columns = tuple(np.array([each]) for each in features)
    one = np.array([stock]), np.array([last]), np.array([depth > 0]), np.array([depth], dtype=np.int16)
    return View(0, columns, *one, None, past)


def test_the_belief_after_a_stock_out_is_the_truncated_normal_of_line_1096() -> None:
    scenario = Scenario.load("paper")
    log, _ = simulate(scenario, episodes=30, seed=3)
    policy = Planner(draws=1).fit(log, model=true_model(log, "paper"))
    for stock, last, price in ((8.0, 9.0, 4.0), (4.0, 9.0, 4.5), (11.0, 12.0, 4.25)):
        before = view_of([1.0, 3.0], stock, last, 0)
        past = (ClosedPeriod(before, Action(np.array([price]), np.array([5.0]))),)
        believed = policy.tracker.belief(view_of([1.0, 3.0], 5.0, stock, 1, past)).mean[0]
        middle = 15.35 + 2 - 0.6 * 3 - 3 * price + 0.8 * last
        exact = float(truncnorm.mean((stock + 0.5 - middle) / 3, np.inf, middle, 3))  # above the stock in whole units
        assert believed == pytest.approx(exact, abs=0.15)


def test_a_known_demand_is_believed_as_it_is() -> None:
    policy = Planner(draws=1, families=LINEAR).fit(small_log("paper"))
    assert policy.tracker.belief(view_of([1.0, 3.0], 5.0, 7.0, 0)).mean[0] == 7.0


@pytest.mark.parametrize(("name", "slack"), [("released", 0.1)])
def test_with_the_true_law_the_planner_is_as_good_as_pi_star(name: str, slack: float) -> None:
    """By code that the two do not share; on the same customers, within three standard errors and the grids' error."""
    scenario = Scenario.load(name)
    log, _ = simulate(scenario, episodes=100, seed=4)
    policy = Planner(draws=1, discount=0.97).fit(log, model=true_model(log, name))
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


def test_a_hundred_rows_are_enough_in_released() -> None:
    """The paper's algorithms reach 27.3 from 500 rows."""
    scenario = Scenario.load("released")
    earned = []
    for seed in (31, 32):
        log, _ = simulate(scenario, episodes=2, seed=seed)
        earned.append(evaluate_policy(scenario, Planner(draws=1).fit(log), episodes=300, seed=5).mean_profit)
    assert np.mean(earned) > 32.5


def test_it_decides_beyond_the_depth_of_the_log_and_says_so() -> None:
    log = small_log("paper")
    policy = Planner(draws=1, families=LINEAR).fit(log)
    deep = policy.learned_depth + 2
    closed = ClosedPeriod(view_of([1.0, 3.0], 3.0, 5.0, 0), Action(np.array([4.5]), np.array([3.0])))
    decision = policy.explain(view_of([1.0, 3.0], 3.0, 3.0, deep, (closed,) * deep))
    assert decision.beyond[0]
    assert not decision.safe[0]
    assert decision.more["last_demand"][0] > 3.0
    assert np.isfinite(decision.value[0])


def test_the_papers_safe_action_may_be_asked_for() -> None:
    log = small_log("paper")
    policy = Planner(draws=1, families=LINEAR, safe="paper").fit(log)
    closed = ClosedPeriod(view_of([1.0, 3.0], 3.0, 5.0, 0), Action(np.array([4.0]), np.array([3.0])))
    deep = policy.safe_depth
    decision = policy.explain(view_of([1.0, 3.0], 3.0, 3.0, deep, (closed,) * deep))
    assert (decision.price[0], decision.order[0], bool(decision.safe[0])) == (4.5, 15.0, True)


def test_pessimism_takes_off_what_the_laws_disagree_on() -> None:
    log = small_log("released")
    recent, today = days(small_log("released", seed=2), 3)
    bold = Planner(draws=3, families=LINEAR).fit(log).recommend(recent, today)
    shy = Planner(draws=3, families=LINEAR, pessimism=0.8).fit(log).recommend(recent, today)
    assert (bold["penalty"] == 0).all()
    assert (shy["penalty"] > 0).any()
    assert (shy["value"] <= bold["value"] + 1e-9).all()


def test_where_the_price_never_varied_no_other_is_recommended() -> None:
    log = small_log("released")
    same = replace(log, price=np.full(len(log), 4.0))
    with pytest.warns(UserWarning, match="the price was always 4"):
        policy = Planner(draws=1, families=LINEAR).fit(same)
    answer = policy.recommend(*days(small_log("released", seed=2), 3))
    assert (answer["price"] == 4.0).all()


def test_series_of_different_scale_each_get_orders_of_their_own_size() -> None:
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
    log = lostsales.read_log(table, problem)
    policy = Planner(families=LINEAR).fit(log)
    assert isinstance(policy, PlanPolicy)
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
    ("options", "reason"),
    [
        ({"draws": 0}, "draws: Input should be greater than or equal to 1"),
        ({"pessimism": 2.0}, "pessimism: Input should be less than or equal to 1"),
        ({"discount": 1.0}, "discount: Input should be less than 1"),
        ({"safe": "sorry"}, "safe: Input should be 'none' or 'paper'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingError, match=reason):
        lostsales.fit(small_log("released"), "planner", **options)
