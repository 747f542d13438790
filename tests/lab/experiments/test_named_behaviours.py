"""Logs of behaviours by name: `lostsales simulate --policy`."""

from pathlib import Path

import pytest

import lostsales
from lostsales.errors import SettingError
from lostsales.lab.exact.softmax_policy import SoftmaxPolicy
from lostsales.lab.experiments.behaviours import behaviour_policy
from lostsales.policy.simple import EpsilonGreedy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy
from tests.apps.running import run

TINY = Path(__file__).parent / "tiny.toml"


def test_the_better_the_behaviour_the_more_it_earns() -> None:
    """A softmax of a high temperature is nearly uniform, one of a low temperature nearly the oracle."""
    shop = Scenario.load(TINY)
    names = ("uniform", "softmax:10000", "near-optimal", "pi-star", "softmax:0.01")
    earned = [evaluate_policy(shop, behaviour_policy(name, shop), 4_000, 1).mean_profit for name in names]
    assert earned == sorted(earned)
    assert earned[1] - earned[0] < 0.05
    assert earned[2] - earned[1] > 0.2
    oracle = behaviour_policy("softmax", shop)
    assert isinstance(oracle, SoftmaxPolicy)
    assert oracle.temperature == 2.0


def test_uniform_decisions_may_be_added_to_any() -> None:
    shop = Scenario.load(TINY)
    for name, epsilon, expected in (("near-optimal", 0.0, 0.1), ("near-optimal", 0.3, 0.3), ("pi-star", 0.2, 0.2)):
        policy = behaviour_policy(name, shop, epsilon)
        assert isinstance(policy, EpsilonGreedy)
        assert policy.epsilon == expected
    for name in ("softmax:hot", "softmax:0", "softmax:-1"):
        with pytest.raises(SettingError, match="temperature"):
            behaviour_policy(name, shop)
    with pytest.raises(SettingError, match="epsilon"):
        behaviour_policy("pi-star", shop, 1.5)


def test_the_command_draws_their_logs(tmp_path: Path) -> None:
    out = tmp_path / "log.parquet"
    for name in ("softmax:1", "near-optimal", "pi-star"):
        run("simulate", str(TINY), "--policy", name, "--episodes", "3", "--out", str(out))
        assert len(lostsales.read_log(out).names) == 3
