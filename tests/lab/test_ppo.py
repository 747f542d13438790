"""The PPO oracle without torch: its network, its file, and the error where torch is missing."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import lostsales
from lostsales.apps.cli import app
from lostsales.errors import LostSalesError, SettingError
from lostsales.lab.ppo import train
from lostsales.lab.ppo_policy import PpoPolicy, PpoTraining
from lostsales.policy.view import View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy
from lostsales.types import Floats

RUN = CliRunner()
WORLD = Scenario.load("released", ("prices=[4, 6]", "orders=[0, 5, 10]"))
STORED = json.loads((Path(__file__).parent / "data" / "tiny_network.json").read_text())


def tiny(centre: Floats, scale: Floats) -> PpoPolicy:
    """A network of 4 inputs and 2 + 3 outputs with outputs computed by torch."""
    weights, biases = (tuple(np.array(each) for each in STORED[kind]) for kind in ("weights", "biases"))
    return PpoPolicy(WORLD.problem, centre, scale, weights, biases, PpoTraining(steps=0, discount=0.9, seed=0))


def test_network_outputs_equal_those_of_torch() -> None:
    inputs, expected = np.array(STORED["inputs"]), np.array(STORED["outputs"])
    np.testing.assert_allclose(tiny(np.zeros(4), np.ones(4)).logits(inputs), expected, atol=1e-12)
    centre, scale = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 0.5, 4.0])
    np.testing.assert_allclose(tiny(centre, scale).logits(inputs * scale + centre), expected, atol=1e-12)


def test_it_takes_the_likeliest_price_and_order() -> None:
    inputs, expected = np.array(STORED["inputs"]), np.array(STORED["outputs"])
    economy, interest, stock, demand = inputs.T
    nothing = np.zeros(len(inputs))
    view = View(0, (economy, interest), stock, nothing, nothing > 0, nothing.astype(np.int16), demand)
    action = tiny(np.zeros(4), np.ones(4)).decide(view, np.random.default_rng(0))
    np.testing.assert_array_equal(action.price, np.array([4.0, 6.0])[expected[:, :2].argmax(axis=1)])
    np.testing.assert_array_equal(action.order, np.array([0.0, 5.0, 10.0])[expected[:, 2:].argmax(axis=1)])


def test_simulate_runs_the_saved_file_and_recommend_refuses_it(tmp_path: Path) -> None:
    policy = tiny(np.zeros(4), np.ones(4))
    policy.save(tmp_path / "ppo")
    again = lostsales.load(tmp_path / "ppo")
    assert again.observes == "demand"
    assert evaluate_policy(WORLD, policy, 20) == evaluate_policy(WORLD, again, 20)
    grids = ["--set", "prices=[4, 6]", "--set", "orders=[0, 5, 10]"]
    shown = RUN.invoke(app, ["simulate", "released", *grids, "--policy", str(tmp_path / "ppo"), "--json"])
    assert json.loads(shown.stdout)["periods"] == 2_500
    with pytest.raises(LostSalesError, match="needs true demand"):
        RUN.invoke(app, ["recommend", str(tmp_path / "ppo"), "--today", "today.csv"], catch_exceptions=False)


def test_without_torch_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    arguments = ["solve", "released", "--target", "ppo", "--out", str(tmp_path / "ppo")]
    with pytest.raises(LostSalesError, match=r"PPO needs torch, .* `pip install 'lostsales\[rl\]'`, or `make ppo`"):
        RUN.invoke(app, arguments, catch_exceptions=False)
    with pytest.raises(SettingError, match="--horizon, --max-depth, --first-row and --criterion do not apply to ppo"):
        RUN.invoke(app, [*arguments, "--horizon", "50"], catch_exceptions=False)
    with pytest.raises(SettingError, match="steps must be at least 1 and seed at least 0, but 0 and 0 came"):
        train(WORLD, steps=0, discount=0.9, seed=0)
