"""Policies by name."""

import pytest

from lostsales.errors import SettingError
from lostsales.policy.simple import BaseStockRule, EpsilonGreedy, Uniform
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.scenario import Scenario

RELEASED = Scenario.load("released")


def test_names() -> None:
    assert isinstance(named_policy("uniform", RELEASED), Uniform)
    policy = named_policy("base-stock", RELEASED)
    assert isinstance(policy, BaseStockRule)
    assert (policy.level, policy.price) == (15, 4)
    policy = named_policy("base-stock:20.5@6", RELEASED)
    assert isinstance(policy, BaseStockRule)
    assert (policy.level, policy.price) == (20.5, 6)
    exploring = named_policy("base-stock:20", RELEASED, epsilon=0.1)
    assert isinstance(exploring, EpsilonGreedy)
    assert exploring.epsilon == 0.1


@pytest.mark.parametrize(
    ("name", "epsilon", "expected"),
    [
        ("clever", 0.0, "no policy 'clever'; the names are uniform, manager, base-stock"),
        ("base-stock:x", 0.0, "level and price must be numbers, but 'base-stock:x' came"),
        ("base-stock:nan", 0.0, "level must be a finite number, but nan came"),
        ("base-stock:5@3", 0.0, "price must be one of 2, 4, 6, but 3 came"),
        ("uniform", 1.5, "epsilon must lie between 0 and 1, but 1.5 came"),
        ("uniform", float("nan"), "epsilon must lie between 0 and 1, but nan came"),
    ],
)
def test_invalid_names_are_refused(name: str, epsilon: float, expected: str) -> None:
    with pytest.raises(SettingError, match=expected):
        named_policy(name, RELEASED, epsilon)
