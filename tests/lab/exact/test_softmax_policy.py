"""The softmax behaviour: its probabilities by the oracle's own values, and its limits."""

import numpy as np
import pytest

from lostsales.errors import LostSalesError, SettingError
from lostsales.lab.exact.softmax_policy import SoftmaxPolicy
from lostsales.lab.exact.solve import criterion_of, solve_reference
from lostsales.policy.view import View
from lostsales.simulation.scenario import Scenario

SHOP = Scenario.load("newsvendor", ("prices=[4,6]", "orders=[0,4,8,12]", "horizon=5"))


def view(rows: int) -> View:
    none = np.zeros(rows, dtype=np.int64)
    stock = (np.arange(rows) % 6).astype(np.float64)
    return View(0, (), stock, np.full(rows, 3.0), none > 0, none, np.full(rows, 3.0))


def test_colder_it_is_the_oracle_and_hotter_every_action_is_as_likely() -> None:
    shown = view(12)
    cold, hot = SoftmaxPolicy.of(SHOP, 1e-6), SoftmaxPolicy.of(SHOP, 1e9)
    oracle = solve_reference(SHOP, "oracle", criterion_of(SHOP, None, None)).policy.decide(
        shown, np.random.default_rng(0)
    )
    drawn = cold.decide(shown, np.random.default_rng(0))
    assert drawn.price.tolist() == oracle.price.tolist()
    assert drawn.order.tolist() == oracle.order.tolist()
    np.testing.assert_allclose(hot.chances(shown), 1 / 8, atol=1e-6)


def test_odds_are_exponential_in_the_difference_of_values() -> None:
    """Log odds of two actions are their difference in value over the temperature: halved where that is doubled."""
    shown = view(3)
    one, two = (np.log(SoftmaxPolicy.of(SHOP, temperature).chances(shown)) for temperature in (2.0, 4.0))
    np.testing.assert_allclose(one - one[:, :1], 2 * (two - two[:, :1]), atol=1e-8)
    shares = np.bincount(
        SoftmaxPolicy.of(SHOP, 2.0).decide(view(6_000), np.random.default_rng(1)).order.astype(int), minlength=13
    )
    wanted = SoftmaxPolicy.of(SHOP, 2.0).chances(view(6)).mean(axis=0).reshape(2, 4).sum(axis=0)
    assert shares[[0, 4, 8, 12]] / 6_000 == pytest.approx(wanted, abs=0.03)


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(SettingError, match="temperature must be above 0"):
        SoftmaxPolicy.of(SHOP, 0.0)
    hidden = View(0, (), np.zeros(1), np.zeros(1), np.zeros(1, bool), np.zeros(1, np.int64), None)
    with pytest.raises(LostSalesError, match="true last demand"):
        SoftmaxPolicy.of(SHOP, 1.0).decide(hidden, np.random.default_rng(0))
