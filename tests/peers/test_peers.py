"""What goes to the peers and comes back from them; their training runs by `make peers` only."""

import sys
from pathlib import Path

import numpy as np
import pytest

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
    seen, reward = log.cash[~out], given["reward"][~out]  # what was seen whole is the profit, in one unit
    most = int(seen.argmax())
    np.testing.assert_allclose(reward * (seen[most] / reward[most]), seen, atol=1e-3)


def test_a_network_decides_greedily_among_likely_actions() -> None:
    """Identity layers: the values are the states themselves, and the imitator finds the third action unlikely."""
    layers = {f"weight_{i}": np.eye(3) for i in range(3)} | {f"bias_{i}": np.zeros(3) for i in range(3)}
    arrays = {"centre": np.zeros(3), "scale": np.ones(3)} | {f"q_{name}": each for name, each in layers.items()}
    grid = ActionGrid(np.array([4.0]), np.array([0.0, 5.0, 9.0]), np.inf)
    stock, sales, none = np.array([1.0, 8.0]), np.array([5.0, 2.0]), np.zeros(2)
    view = View(0, (), stock, sales, none > 0, none.astype(np.int16), None)
    action = PeerPolicy(grid, arrays).decide(view, np.random.default_rng(0))
    assert action.order.tolist() == [5.0, 0.0]
    imitator = {f"imitator_{name}": each for name, each in layers.items()}
    imitator["imitator_bias_2"] = np.array([0.0, -9.0, 0.0])
    shy = PeerPolicy(grid, arrays | imitator)
    assert shy.greedy(np.array([[1.0, 5.0, 0.5]])).tolist() == [0]
