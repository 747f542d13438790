"""Limits that products share, in what a policy recommends and in what it is evaluated at."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.limits import Limit
from lostsales.errors import LostSalesError, SettingError
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.recommendation import Recommendation, recommendation
from tests.evaluation.shop import HELD, Assortment

SHOP = Assortment.drawn(6, seed=3)
SUPPLIER = np.array(["North", "South"])


def learned() -> tuple[SavedPolicy, pd.DataFrame]:
    """A policy, and today's rows."""
    log = SHOP.log(70, seed=4)
    attributes = {"supplier": np.tile(SUPPLIER, 3), "volume": np.array(["0.5", "2", "1", "1", "3", "0.25"])}
    problem = log.problem.model_copy(update={"attributes": ("supplier", "volume")})
    log = replace(log, problem=problem, attributes={name: each.astype(object) for name, each in attributes.items()})
    policy = lostsales.fit(log, "planner", paths=32, pricing="given")
    today = pd.DataFrame(
        {
            "series": SHOP.names,
            "period": pd.Timestamp("2025-01-06") + pd.Timedelta(days=70),
            "stock": 0.0,
            "weekday": 0,
            "order_cost": SHOP.cost(),
            "holding_cost": HELD * SHOP.usual_price,
            **attributes,
        }
    )
    return policy, today


POLICY, TODAY = learned()


def decided(*limits: dict[str, Any], stock: float = 0.0) -> tuple[np.ndarray[Any, Any], Recommendation]:
    limited = replace(
        POLICY,  # type: ignore[type-var]
        problem=POLICY.problem.model_copy(update={"limits": tuple(map(Limit.model_validate, limits))}),
    )
    found = recommendation(limited, None, TODAY.assign(stock=stock))
    return found.columns["order"], found


def test_a_budget_is_kept_and_its_price_is_told() -> None:
    free, _ = decided()
    most = 0.6 * float(free @ SHOP.cost())
    order, found = decided({"most": most})
    (limit,) = found.limits
    assert float(order @ SHOP.cost()) == pytest.approx(limit.used)
    assert 0.9 * most <= limit.used <= most
    assert limit.price > 0
    assert limit.gap < 0.01
    assert (order <= free).all()


def test_a_budget_that_does_not_bind_changes_nothing() -> None:
    free, without = decided()
    order, found = decided({"most": float(free @ SHOP.cost())}, {"by": "supplier", "measure": "volume", "most": 1e6})
    assert (order == free).all()
    assert [each.price for each in found.limits] == [0.0, 0.0, 0.0]
    for name, values in without.columns.items():
        assert (pd.Series(found.columns[name]).astype(str) == pd.Series(values).astype(str)).all(), name


def test_stock_counts_in_a_limit_of_stock() -> None:
    free, _ = decided(stock=2.0)
    most = float((free + 2) @ SHOP.cost()) * 0.7
    order, _ = decided({"most": most, "of": "stock"}, stock=2.0)
    assert float((order + 2) @ SHOP.cost()) <= most + 1e-6
    nothing, _ = decided({"most": 1.0, "of": "stock"}, stock=2.0)
    assert nothing.sum() == 0


def test_terms_of_a_supplier_hold_for_each_supplier() -> None:
    free, _ = decided()
    of = [np.arange(6) % 2 == at for at in range(2)]
    value = [float(free[own] @ SHOP.cost()[own]) for own in of]
    order, _ = decided({"by": "supplier", "least": 1.2 * min(value)})
    for own in of:
        ordered = float(order[own] @ SHOP.cost()[own])
        assert ordered == 0 or ordered >= 1.2 * min(value) - 1e-6
    order, _ = decided({"by": "supplier", "measure": "volume", "multiple": 20, "filled": 0.9})
    volume = TODAY["volume"].astype(float).to_numpy()
    for own in of:
        trucks = float(order[own] @ volume[own]) / 20
        assert 0.9 * np.ceil(trucks) <= trucks + 1e-6
    dear, _ = decided({"by": "supplier", "fixed_cost": 1e6})
    assert dear.sum() == 0


def test_a_short_supplier_is_allocated_among_its_products() -> None:
    order, _ = decided({"measure": "units", "most": 10, "where": {"supplier": "North"}})
    free, _ = decided()
    assert order[::2].sum() <= 10
    assert (order[1::2] == free[1::2]).all()


def test_replayed_periods_are_within_the_limit() -> None:
    log = SHOP.log(70, seed=4)
    free = lostsales.fit(log, "planner", paths=16, pricing="given")
    most = 0.5 * float(log.order @ np.asarray(log.costs.order)) / 70
    problem = log.problem.model_copy(update={"limits": (Limit(most=most),)})
    limited = replace(free, problem=problem)  # type: ignore[type-var]
    found = [lostsales.evaluate(each, log, estimators=["model"]).best for each in (free, limited)]
    served = [each.service.policy for each in found if each is not None and each.service is not None]
    assert served[1].fill_rate < served[0].fill_rate - 0.1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "a limit needs most, least, multiple or fixed_cost"),
        ({"most": 10, "least": 20}, "no order can meet least = 20 and most = 10"),
        ({"most": 10, "multiple": 33}, "no order can fill a multiple of 33 with most = 10"),
        ({"least": 10, "of": "stock"}, "are of orders"),
        ({"most": -1}, "greater than or equal to 0"),
    ],
)
def test_limits_that_no_decision_can_meet_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Limit.model_validate(keys)


def test_limits_name_attributes_of_the_problem() -> None:
    with pytest.raises(ValueError, match="limits name 'supplier', which must be one of the attributes"):
        lostsales.Problem.model_validate({"limits": [{"most": 5, "by": "supplier"}]})


def test_methods_that_value_no_orders_say_so() -> None:
    log = SHOP.log(40, seed=4)
    log = replace(log, problem=log.problem.model_copy(update={"limits": (Limit(most=5.0),)}))
    with pytest.raises(SettingError, match="base-stock has no limits that products share"):
        lostsales.fit(log, "base-stock")


def test_what_a_unit_takes_must_be_a_number() -> None:
    with pytest.raises(LostSalesError, match="the attribute 'supplier' of a limit must be a number"):
        decided({"most": 5, "measure": "supplier"})
