"""What is learned does not depend on the unit of quantity."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lostsales
from lostsales.data.relative import in_units, problem_in_units
from lostsales.data.units import unit_of
from lostsales.demand.censoring.runs import find_runs
from lostsales.policy.decision import Decision
from lostsales.policy.history import view_of_rows
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.rules import Rules
from lostsales.policy.shop_units import InShopUnits
from tests.learn.small import small_log

QUICK: dict[str, dict[str, Any]] = {"planner": {"iterations": 2, "draws": 1}, "c-fqi": {"iterations": 2}, "s-S-p": {}}


def written_in(unit: float) -> lostsales.SalesLog:
    """The same shop, whose one unit is written as so many."""
    return in_units(small_log("steady"), 1 / unit)


@cache
def usual_decisions(method: str) -> Decision:
    log = small_log("steady")
    return decisions(lostsales.fit(log, method, **QUICK[method], rules=_rules(1.0)), log)


def _rules(unit: float) -> Rules:
    return Rules(minimum=2.0 * unit, greatest_price_change=0.25)


def decisions(policy: SavedPolicy, log: lostsales.SalesLog) -> Decision:
    runs = find_runs(log)
    return policy.explain(view_of_rows(log, runs, np.flatnonzero(runs.depth >= 0)[:60]))


@pytest.mark.parametrize("unit", [12.0, 1000.0, 1 / 12, 0.1])
def test_the_unit_is_found(unit: float) -> None:
    assert unit_of(written_in(unit)) == pytest.approx(unit, rel=1e-9)


def test_few_whole_rows_have_no_unit_of_their_own() -> None:
    assert unit_of(in_units(small_log("steady", episodes=1), 1 / 12)) == 1


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param(12.0, id="dozens"),
        pytest.param(1000.0, id="thousands", marks=pytest.mark.slow),
        pytest.param(1 / 12, id="twelfths"),
    ],
)
@pytest.mark.parametrize("method", QUICK)
def test_recommendations_are_the_same_in_any_unit(method: str, unit: float, tmp_path: Path) -> None:
    other, here = written_in(unit), usual_decisions(method)
    policy = lostsales.fit(other, method, **QUICK[method], rules=_rules(unit))
    assert isinstance(policy, InShopUnits)
    there = decisions(policy, other)
    np.testing.assert_allclose(there.price, here.price)
    np.testing.assert_allclose(there.order, here.order * unit, rtol=1e-9)
    np.testing.assert_allclose(there.value, here.value * unit, rtol=1e-6)
    for name, column in here.more.items():
        if name == "price_reason":
            assert there.more[name].tolist() == column.tolist()
        else:
            times = unit if name.endswith(("demand", "lost")) else 1.0
            np.testing.assert_allclose(there.more[name], column * times, rtol=1e-6, atol=1e-9, err_msg=name)
    policy.save(tmp_path / "policy")
    again = decisions(lostsales.load(tmp_path / "policy"), other)
    np.testing.assert_array_equal(again.order, there.order)
    np.testing.assert_allclose(again.value, there.value, rtol=1e-6)


def test_a_probability_does_not_depend_on_the_unit() -> None:
    here, there = (decisions(lostsales.fit(log, "behaviour"), log) for log in (small_log("steady"), written_in(12.0)))
    np.testing.assert_allclose(there.order, 12 * here.order)
    np.testing.assert_allclose(there.value, here.value)


def test_money_is_the_same_in_any_unit() -> None:
    """Profit of counts at the same prices is that of the quantities, divided by the unit."""
    log = small_log("fixed-cost")
    np.testing.assert_allclose(in_units(log, 4).cash, log.cash / 4)
    back = problem_in_units(problem_in_units(log.problem, 4), 1 / 4)
    assert back == log.problem


def test_a_policy_in_units_within_another_is_refused(tmp_path: Path) -> None:
    policy = lostsales.fit(written_in(12.0), "newsvendor")
    assert isinstance(policy, InShopUnits)
    InShopUnits(policy, policy.problem, policy.products, 12.0).save(tmp_path / "policy")
    with pytest.raises(lostsales.LostSalesError, match="holds another kind of policy"):
        lostsales.load(tmp_path / "policy")
