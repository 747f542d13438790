"""Features as finite Markov chains."""

import numpy as np
import pytest

from lostsales.lab.exact.chains import feature_chain, hat_weights
from lostsales.simulation.scenario import Scenario


def test_hat_weights_keep_the_mean() -> None:
    nodes = np.array([-4.0, -1.0, 0.0, 0.5, 2.0, 6.0])
    weights = hat_weights(nodes, np.array([0.3, 1.2]), 0.7)
    assert np.all(weights >= 0)
    np.testing.assert_allclose(weights.sum(axis=-1), 1)
    np.testing.assert_allclose(weights @ nodes, [0.3, 1.2], atol=1e-6)


def test_autoregressive_chain_has_its_moments() -> None:
    """Interest of `paper`: mean 3, persistence 0.8, stationary deviation 0.4 / 0.6."""
    chain = feature_chain(Scenario.load("paper"), nodes=17)
    interest = chain.values()[1]
    assert chain.open @ interest == pytest.approx(3)
    law = chain.open
    for _ in range(50):
        law = law @ chain.move[0]
    assert law @ interest == pytest.approx(3)
    assert np.sqrt(law @ (interest - 3) ** 2) == pytest.approx(0.4 / 0.6, rel=0.02)
    np.testing.assert_allclose((chain.move[0] @ interest - 3)[4:13], 0.8 * (interest - 3)[4:13], atol=0.01)


def test_features_without_effect_are_constant() -> None:
    """The interest of `released` moves demand by 0.0005 units: one value; a feature without effect: one value."""
    assert feature_chain(Scenario.load("released"), 9).states == 2
    idle = Scenario.load("paper", ("features.weekday.kind=cycle", "features.weekday.length=7"))
    assert feature_chain(idle, 9).states == feature_chain(Scenario.load("paper"), 9).states


def test_calendar_and_reference_price() -> None:
    settings = ("features.weekday.kind=cycle", "features.weekday.length=7", "demand.features.weekday=0.5")
    chain = feature_chain(Scenario.load("newsvendor", settings), 9)
    assert chain.states == 7
    np.testing.assert_array_equal(np.argmax(chain.move[0], axis=1), [1, 2, 3, 4, 5, 6, 0])
    price = feature_chain(Scenario.load("reference-price"), 9)
    nodes = price.nodes[0]
    np.testing.assert_allclose(price.move[4] @ nodes, 0.7 * nodes + 0.3 * 8)
    assert price.open @ nodes == pytest.approx(6)


def test_nearest_state() -> None:
    chain = feature_chain(Scenario.load("paper"), 9)
    economy, interest = chain.values()
    np.testing.assert_array_equal(chain.nearest((economy, interest + 0.01)), np.arange(chain.states))
    assert chain.nearest((np.array([1.0]), np.array([99.0])))[0] == chain.states - 1
