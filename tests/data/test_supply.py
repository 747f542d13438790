"""The supply table: what it means, and every kind of mistake refused by name."""

import tomllib
from typing import Any

import numpy as np
import pytest

from lostsales.data.pipelines import supply_words
from lostsales.data.problem import Problem
from lostsales.data.settings import checked
from lostsales.data.supply import LeadTimes, Supply
from lostsales.errors import SettingError


def test_lead_times_0_and_1_are_the_two_arrivals() -> None:
    for lead_time, arrival in ((0, "before"), (1, "after")):
        given, said = Problem(supply={"lead_time": lead_time}), Problem(arrival=arrival)
        assert given.arrival == said.arrival
        assert given.lead_times == said.lead_times == LeadTimes.fixed(lead_time)
        assert given.receives_orders
        assert given.pipeline_length == 0


def test_a_law() -> None:
    problem = Problem(supply={"lead_time": {"1": 0.5, "2": 0.3, "3": 0.1, "lost": 0.1}})
    law = problem.lead_times
    assert (law.longest, problem.pipeline_length, problem.arrival) == (3, 2, "after")
    np.testing.assert_allclose(law.hazards, [0, 5 / 9, 3 / 4, 1])
    np.testing.assert_allclose(law.lost_after, [0.1, 0.2, 0.5, 1])
    assert law.mean == pytest.approx((0.5 + 0.6 + 0.3) / 0.9)
    assert supply_words(problem) == (
        "an order can be sold after 1 (50.0%), 2 (30.0%) or 3 (10.0%) periods, or is lost (10.0%)"
    )


def test_order_days() -> None:
    days = np.array(["2026-01-05", "2026-01-06", "2026-01-12"], dtype="datetime64[us]")  # Monday, Tuesday, Monday
    weekly = Supply(order_days=("Mon", "Thursday"))
    phase = weekly.order_phase(days)
    assert phase is not None
    assert weekly.may_order(phase).tolist() == [True, False, True]
    fortnightly = Supply.model_validate({"order_days": {"every": 14, "from": "2026-01-05"}})
    phase = fortnightly.order_phase(days)
    assert phase is not None
    assert fortnightly.may_order(phase).tolist() == [True, False, False]
    third = Supply(order_days=3)
    phase = third.order_phase(np.arange(5))
    assert phase is not None
    assert third.may_order(phase).tolist() == [True, False, False, True, False]


def test_a_column_of_order_days_is_a_feature() -> None:
    problem = Problem(supply={"order_days": "may_order"}, features=["promotion"])
    assert [each.name for each in problem.features] == ["promotion", "may_order"]


def test_a_problem_with_supply_as_toml() -> None:
    keys: dict[str, Any] = {"lead_time": {"1": 0.5, "lost": 0.5}, "order_days": ["Monday"], "capacity": 40.0}
    problem = Problem(supply=keys)
    assert checked(Problem, tomllib.loads(problem.to_toml()), "again") == problem


def test_arrival_and_lead_time_must_agree() -> None:
    assert checked(Problem, {"arrival": "after", "supply": {"lead_time": 3}}, "p").pipeline_length == 2
    with pytest.raises(SettingError, match=r"arrival = 'before' does not go with supply.lead_time"):
        checked(Problem, {"arrival": "before", "supply": {"lead_time": 3}}, "p")
