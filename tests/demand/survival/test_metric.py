"""The metric learned by censored least squares."""

import numpy as np

from lostsales.demand.survival.metric import learn_metric


def test_slopes_are_recovered_under_censoring() -> None:
    rng = np.random.default_rng(0)
    covariates = np.column_stack([rng.normal(3, 2, 4000), rng.normal(0, 1, 4000), np.full(4000, 5.0)])
    demand = 40 + 3 * covariates[:, 0] + 0 * covariates[:, 1] + rng.normal(0, 2, 4000)
    available = rng.uniform(35, 60, 4000)
    metric = learn_metric(covariates, np.minimum(demand, available), demand <= available)
    np.testing.assert_allclose(metric.slopes, [3, 0, 0], atol=0.15)
    assert metric.slopes[2] == 0  # it never varies
    assert 1.2 < metric.spread < 2  # filled demands scatter less than the 2 of the law
    naive = np.polyfit(covariates[:, 0], np.minimum(demand, available), 1)[0]
    assert abs(naive - 3) > 5 * abs(metric.slopes[0] - 3)


def test_constant_demand_has_a_spread_of_one() -> None:
    metric = learn_metric(np.arange(30.0)[:, None], np.full(30, 4.0), np.ones(30, dtype=bool))
    assert metric.spread == 1
    np.testing.assert_allclose(metric.slopes, 0, atol=1e-12)
