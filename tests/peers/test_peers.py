"""Transitions for the peers, and their networks as policies; `make peers` trains them."""

import sys
from pathlib import Path

import numpy as np
import pytest

from lostsales.data.problem import Problem
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.view import View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from peers import logs
from peers.score import PeerPolicy


def test_a_log_becomes_transitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["logs", str(tmp_path), "--rows", "100", "--seeds", "3"])
    logs.main()
    given = np.load(tmp_path / "log-released-100-3.npz")
    log, _ = simulate(Scenario.load("released"), episodes=2, seed=3)
    state = given["state"] * given["scale"] + given["centre"]
    stock, out = np.asarray(log.stock), log.censored
    np.testing.assert_allclose(state[1], [*log.features[1], stock[1], log.sales[0], out[0]], atol=1e-4)
    np.testing.assert_allclose(state[50], [*log.features[50], stock[50], 5, 0], atol=1e-4)
    pairs = ActionGrid.of(Scenario.load("released")).pairs[given["action"]]
    np.testing.assert_array_equal(pairs, np.column_stack([log.price, np.asarray(log.order)]))
    np.testing.assert_array_equal(np.flatnonzero(given["last"]), [49, 99])
    cash, reward = log.cash[~out], given["reward"][~out]  # uncensored profit, up to scale
    most = int(cash.argmax())
    np.testing.assert_allclose(reward * (cash[most] / reward[most]), cash, atol=1e-3)


def test_a_network_decides_greedily_among_likely_actions() -> None:
    """Identity layers: the values are the states, and the imitator finds the second action improbable."""
    layers = {f"weight_{i}": np.eye(3) for i in range(3)} | {f"bias_{i}": np.zeros(3) for i in range(3)}
    arrays = {"centre": np.zeros(3), "scale": np.ones(3)} | {f"q_{name}": each for name, each in layers.items()}
    problem = Problem(prices=(4.0,), orders=(0.0, 5.0, 9.0))
    stock, sales, none = np.array([1.0, 8.0]), np.array([5.0, 2.0]), np.zeros(2)
    view = View(0, (), stock, sales, none > 0, none.astype(np.int16), None)
    action = PeerPolicy(problem, arrays).decide(view, np.random.default_rng(0))
    assert action.order.tolist() == [5.0, 0.0]
    imitator = {f"imitator_{name}": each for name, each in layers.items()}
    imitator["imitator_bias_2"] = np.array([0.0, -9.0, 0.0])
    restricted = PeerPolicy(problem, arrays | imitator)
    assert restricted.greedy(np.array([[1.0, 5.0, 0.5]])).tolist() == [0]
