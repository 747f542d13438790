"""How demand answers to the price, against the truth of the simulator."""

import numpy as np
import pytest

from lostsales.demand.law import Family
from lostsales.demand.model import fit_demand
from lostsales.demand.response import response
from lostsales.simulate.simulator import simulate
from tests.learn.small import scenario


def test_the_price_response_is_that_of_the_true_law_and_not_that_of_sales() -> None:
    log, truth = simulate(scenario("released"), episodes=30, seed=4)
    model = fit_demand(log, families=(Family("linear", False),))
    found = response(log, model, draws=3)
    last = np.where(np.isin(np.arange(len(log)), log.starts), 5.0, np.r_[0.0, truth.demand[:-1]])
    noise = 3.5 + np.abs(np.random.default_rng(0).standard_normal(500))
    economy, interest = log.features.T
    for price, demand in zip(found.prices, found.demand, strict=True):
        mean = 1.2 * last - 1.5 * price + 5 * economy - 5 * interest
        assert demand == pytest.approx(np.maximum(np.rint(mean[:, None] + noise), 0).mean(), rel=0.03)
    assert (found.sales < 0.9 * found.demand).all()
    np.testing.assert_allclose(found.sales, [log.sales[log.price == price].mean() for price in found.prices])
    assert found.rows.sum() == len(log)
