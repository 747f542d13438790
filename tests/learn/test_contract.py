"""The contract of every learner."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import lostsales
from lostsales.apps.cli import app
from lostsales.data.log import SalesLog
from lostsales.errors import LostSalesError, SettingError
from lostsales.learn.fit import fit
from lostsales.learn.learner import LEARNERS
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.rules import Rules
from tests.learn.small import FORBID, days, frame_of, scenario, small_log

SCENARIOS = ("released", "paper")
COLUMNS = [
    *("series", "period", "price", "order", "depth", "value", "penalty", "safe_action"),
    *("runner_up_price", "runner_up_order", "advantage", "flag"),
]
DAYS = (0, 1, 3, 9)
_FITTED: dict[tuple[str, str], SavedPolicy] = {}


@pytest.fixture(params=LEARNERS.names)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def fitted(method: str, name: str) -> SavedPolicy:
    """Learned once for all tests."""
    key = method, name
    if key not in _FITTED:
        _FITTED[key] = fit(small_log(name), method, iterations=2, seed=7)
    return _FITTED[key]


def answers(policy: Any, name: str) -> list[pd.DataFrame]:
    """Recommendations on several days of another log."""
    return [policy.recommend(*days(small_log(name, seed=2), day)) for day in DAYS]


def test_the_paper_has_three_learners() -> None:
    assert {"c-fqi", "pc-fqi", "fusion"} <= set(LEARNERS.names)


@pytest.mark.parametrize("name", SCENARIOS)
def test_recommendations_are_whole_and_on_the_grid(method: str, name: str) -> None:
    world = scenario(name)
    for day, answer in zip(DAYS, answers(fitted(method, name), name), strict=True):
        _, today = days(small_log(name, seed=2), day)
        assert list(answer.columns)[: len(COLUMNS)] == COLUMNS
        assert answer["series"].tolist() == today["series"].tolist()
        assert set(answer["period"]) == {day}
        assert answer["price"].isin(world.prices or ()).all()
        assert answer["order"].isin(world.orders or ()).all()
        assert np.isfinite(answer["value"]).all()
        assert (answer["penalty"] >= 0).all()
        assert (answer["advantage"].dropna() >= 0).all()
        assert ((answer["depth"] >= 0) & (answer["depth"] <= min(day, 3))).all()


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_saved_policy_recommends_the_same_to_the_bit(method: str, name: str, tmp_path: Path) -> None:
    policy = fitted(method, name)
    policy.save(tmp_path / "policy")
    again = lostsales.load(tmp_path / "policy")
    assert (again.problem, again.observes, again.horizon) == (policy.problem, policy.observes, policy.horizon)
    for before, after in zip(answers(policy, name), answers(again, name), strict=True):
        pd.testing.assert_frame_equal(before, after, check_exact=True)


def test_the_same_seed_gives_the_same_policy(method: str) -> None:
    again = fit(small_log("released"), method, iterations=2, seed=7)
    for one, other in zip(answers(fitted(method, "released"), "released"), answers(again, "released"), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)


@pytest.mark.parametrize("name", SCENARIOS)
def test_simulate_runs_the_saved_file(method: str, name: str, tmp_path: Path) -> None:
    fitted(method, name).save(tmp_path / "policy")
    arguments = [
        "simulate",
        name,
        "--policy",
        str(tmp_path / "policy"),
        "--episodes",
        "5",
        "--set",
        "horizon=9",
        "--json",
    ]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert json.loads(result.stdout)["periods"] == 45


def test_rules_and_capacity_are_obeyed(method: str) -> None:
    rules = Rules(multiple=3, minimum=6, greatest_price_change=0.25, forbidden=((4.25, 9), (4.5, 0)))
    policy = fit(small_log(FORBID), method, iterations=2, rules=rules)
    for day in DAYS[1:]:
        recent, today = days(small_log(FORBID, seed=2), day)
        answer = policy.recommend(recent, today)
        assert answer["order"].isin([0, 6, 9, 12, 15]).all()
        assert (today["stock"].to_numpy() + answer["order"] <= 25).all()
        last = recent[recent["period"] == day - 1].set_index("series")["price"]
        step = (answer["price"].to_numpy() - last.loc[today["series"]].to_numpy()).tolist()
        full = today["stock"].to_numpy() > 19  # only an order of 0 fits, which is forbidden at the highest price
        assert all(abs(each) <= 0.25 for each, tight in zip(step, full, strict=True) if not tight)
        pairs = set(zip(answer["price"], answer["order"], strict=True))
        assert not pairs & {(4.25, 9), (4.5, 0)}


def refusal(log: SalesLog, method: str, **options: Any) -> str:
    """Why a log or settings are refused."""
    with pytest.raises(LostSalesError) as error:
        fit(log, method, **options)
    return str(error.value)


def test_logs_without_stock_costs_or_enough_rows_are_refused(method: str) -> None:
    log = small_log("released")
    frame = frame_of(log)
    bare = frame.drop(columns=["stock", "order"])
    free = log.problem.model_copy(update={"costs": type(log.problem.costs)()})
    assert "fit needs stock and orders" in refusal(lostsales.read_log(bare, log.problem), method)
    assert "fit needs unit costs" in refusal(lostsales.read_log(frame, free), method)
    few = 2 if method == "lookahead" else 10  # it learns from a handful of rows
    found = refusal(lostsales.read_log(frame.head(few), log.problem), method)
    assert re.search(r"needs at least \d+ rows .* but there are \d", found), found


def test_settings_out_of_range_are_refused(method: str) -> None:
    log = small_log("released")
    least = "iterations: Input should be greater than or equal to 1, but it is 0"
    assert least in refusal(log, method, iterations=0)
    assert "bandwith: no such key; the keys are iterations, rules, pricing, seed" in refusal(log, method, bandwith=3)
    assert "no action of the grid passes the rules" in refusal(log, method, rules=Rules(price_ladder=(5,)))


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(SettingError, match="no method 'q-learning'; there are planner, c-fqi, pc-fqi, fusion"):
        fit(small_log("released"), "q-learning")
    with pytest.raises(LostSalesError, match="learns from a log that `read_log` gives, but a str came"):
        fit("log.parquet", "c-fqi")  # type: ignore[arg-type]


def test_orders_are_placed_on_order_days_only(method: str) -> None:
    policy = fit(small_log("released"), method, iterations=2, rules=Rules(order_days="economy"))
    recent, today = days(small_log("released", seed=2), 3)
    closed = today["economy"].to_numpy() == 0
    assert closed.any()
    assert (policy.recommend(recent, today)["order"].to_numpy()[closed] == 0).all()


def test_a_policy_names_its_method(method: str) -> None:
    assert fitted(method, "released").summary()["method"] == method
