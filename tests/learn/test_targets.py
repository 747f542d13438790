"""Targets of service: the cost of a lost sale that leads to them, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.log import DecisionLog
from lostsales.data.targets import Targets
from lostsales.errors import LogError, SettingError
from lostsales.learn.targets import _Search, groups_of
from lostsales.policy.provenance import met_targets
from lostsales.types import Floats
from tests.evaluation.shop import Assortment


def with_targets(**targets: Any) -> DecisionLog:
    log = Assortment.drawn(4, seed=1).log(90, seed=2)
    costs = log.problem.costs.model_copy(update={"lost": None})
    problem = log.problem.model_copy(update={"costs": costs, "targets": Targets.model_validate(targets)})
    return replace(log, problem=problem)


def test_search_finds_where_a_curve_meets_its_target() -> None:
    # Service 1 / (1 + e^-(x - a)): a target of t lies at a + log(t / (1 - t)).
    middle, target, tried = np.array([-4.0, 1.0, 3.0]), np.array([0.9, 0.97, 0.5]), []

    def reached(position: Floats) -> Floats:
        tried.append(position)
        return np.asarray(1 / (1 + np.exp(middle - position)))

    found = _Search.of(reached, target)
    assert np.abs(reached(found.position) - target).max() <= 0.002
    assert len(tried) <= 9


def test_a_higher_target_costs_more_and_is_met_in_the_demand_of_the_log() -> None:
    found = []
    for target in (0.95, 0.99):
        policy = lostsales.fit(with_targets(fill_rate=target), "planner", paths=32, pricing="given")
        (met,) = met_targets(policy)
        assert met.reached == pytest.approx(target, abs=0.005)
        found.append(met.lost_cost - met.holding_cost)
    assert found[1] > found[0]


def test_products_may_meet_targets_of_their_own(tmp_path: Path) -> None:
    wanted = {"product 0": 0.98, "other": 0.94}
    log = with_targets(service=wanted, by="series")
    policy = lostsales.fit(log, "planner", paths=32, pricing="given")
    met = {each.of: each for each in met_targets(policy)}
    assert [met[f"product {each}"].target for each in range(4)] == [0.98, 0.94, 0.94, 0.94]
    assert all(each.reached == pytest.approx(each.target, abs=0.02) for each in met.values())
    policy.save(tmp_path / "policy")
    assert met_targets(lostsales.load(tmp_path / "policy")) == met_targets(policy)


def test_a_learner_without_targets_says_so() -> None:
    with pytest.raises(SettingError, match="base-stock has no targets of service"):
        lostsales.fit(with_targets(fill_rate=0.95), "base-stock")


def test_values_without_a_target_are_named() -> None:
    with pytest.raises(SettingError, match="must have a value for series product 1, product 2, product 3, or"):
        groups_of(Targets(fill_rate={"product 0": 0.9}, by="series"), with_targets(fill_rate=0.9))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"targets": {"fill_rate": 0.97}, "costs": {"lost": 2}}, "give targets or costs.lost, not both"),
        ({"targets": {"fill_rate": 0.97, "service": 0.95}}, "give one target"),
        ({"targets": {"fill_rate": 1}}, "less than 1"),
        ({"targets": {"by": "category"}}, "by needs a target"),
        ({"targets": {"fill_rate": {"dairy": 0.9}}}, "targets by value need by"),
        ({"targets": {"fill_rate": 0.9, "by": "category"}}, "targets.by must be 'series' or one of the attributes"),
    ],
)
def test_contradictory_targets_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lostsales.Problem.model_validate(keys)


def test_a_column_of_lost_sale_costs_contradicts_a_target() -> None:
    table = pd.DataFrame({"series": "a", "period": range(3), "stock": 5.0, "price": 4.0, "order": 2.0, "sales": 2.0})
    costs = {"order_cost": 1.0, "holding_cost": 0.1}
    problem = lostsales.Problem.model_validate({"targets": {"fill_rate": 0.9}})
    assert lostsales.read_log(table.assign(**costs), problem).decisions("a test").costs.lost == 0
    with pytest.raises(LogError, match="the table has lost_cost: leave one of them out"):
        lostsales.read_log(table.assign(**costs, lost_cost=1.0), problem)
