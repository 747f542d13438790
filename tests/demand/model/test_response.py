"""The response to prices and features: maximum likelihood, pooling by hand, and the truth of made-up demand."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.stats import poisson

from lostsales.demand.model.columns import MarketPanel, filled_forward, response_columns, rival_sets
from lostsales.demand.model.pooling import WIDE, Variances, pool
from lostsales.demand.model.response import fit_response
from lostsales.demand.model.spread import Spread
from lostsales.types import Bools, Floats

FREE = Variances(np.full(2, 1e9), np.full(2, 1e9))  # no shrinkage
POISSON = Spread(1e-6, 1e-6, True)


def small_panel(seed: int, products: int = 3, periods: int = 80, mean: float = 4.0) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    columns = np.stack(
        [rng.normal(0, 0.3, (products, periods)), (rng.random((products, periods)) < 0.2).astype(float)], axis=2
    )
    slopes = np.array([[-2.0, 0.5], [-1.0, 0.2], [-1.5, 0.8]])[:products]
    means = mean * np.exp(np.einsum("itk,ik->it", columns, slopes))
    return rng.poisson(means).astype(float), columns, slopes


@pytest.mark.parametrize("dispersion", [0.0, 0.3])
def test_without_censoring_it_is_the_maximum_likelihood_of_statsmodels(dispersion: float) -> None:
    demand, columns, _ = small_panel(1)
    spread = POISSON if dispersion == 0 else Spread(1e-6, dispersion, True)
    group = np.arange(3)
    found = fit_response(
        demand, np.ones(demand.shape), np.zeros(demand.shape, dtype=bool), columns, group, spread,
        half_life=np.inf, variances=FREE,
    )  # fmt: skip
    for i in range(3):
        family = sm.families.Poisson() if dispersion == 0 else sm.families.NegativeBinomial(alpha=dispersion)
        wanted = sm.GLM(demand[i], sm.add_constant(columns[i]), family=family).fit()
        np.testing.assert_allclose(found.slopes[i], wanted.params[1:], atol=2e-3)
        assert found.level[i, 0] == pytest.approx(np.exp(wanted.params[0]), rel=2e-3)


def test_censored_demands_enter_by_their_likelihood() -> None:
    demand, columns, _ = small_panel(2, products=1, periods=300)
    censored: Bools = demand > 5
    seen = np.minimum(demand, 6.0)
    found = fit_response(
        seen, np.ones(demand.shape), censored, columns, np.zeros(1, dtype=int), POISSON,
        half_life=np.inf, variances=FREE,
    )  # fmt: skip

    def loss(parameters: Floats) -> float:
        mean = np.exp(parameters[0] + columns[0] @ parameters[1:])
        exact = poisson.logpmf(seen[0], mean)
        return -float(np.where(censored[0], poisson.logsf(5, mean), exact).sum())

    wanted = minimize(loss, np.zeros(3), method="BFGS").x
    assert censored.mean() > 0.15
    np.testing.assert_allclose(found.slopes[0], wanted[1:], atol=0.02)
    assert found.level[0, 0] == pytest.approx(np.exp(wanted[0]), rel=0.01)


def test_a_wandering_level_hardly_biases_the_slope() -> None:
    rng = np.random.default_rng(3)
    level = np.cumsum(rng.normal(0, 0.03, (40, 400)), axis=1)
    price = -0.15 * level + rng.normal(0, 0.1, level.shape)  # prices are lowered where the level is high
    demand = rng.poisson(15 * np.exp(level - 2.0 * price)).astype(float)
    arguments = demand, np.ones(demand.shape), np.zeros(demand.shape, dtype=bool), price[..., None]
    group = np.zeros(40, dtype=int)
    moving = fit_response(*arguments, group, POISSON).slopes.mean()
    fixed = fit_response(*arguments, group, POISSON, half_life=np.inf).slopes.mean()
    assert moving == pytest.approx(-2.0, abs=0.1)
    assert fixed < -2.5


def test_the_order_of_products_changes_nothing() -> None:
    demand, columns, _ = small_panel(4)
    censored, group = demand > 6, np.array([0, 1, 0])
    arguments = demand, np.ones(demand.shape), censored, columns, group
    found = fit_response(*arguments, POISSON)
    order = np.array([2, 0, 1])
    again = fit_response(demand[order], np.ones(demand.shape), censored[order], columns[order], group[order], POISSON)
    np.testing.assert_allclose(again.slopes, found.slopes[order], atol=1e-8)
    np.testing.assert_allclose(again.level, found.level[order], rtol=1e-8)


def test_pooling_is_the_posterior_of_the_whole_system() -> None:
    """Effects of three levels by one dense solve, against elimination from series to groups to all."""
    rng = np.random.default_rng(5)
    group, p = np.array([0, 0, 1, 1, 1]), 2
    roots = rng.normal(size=(5, p, p))
    information = roots @ np.swapaxes(roots, 1, 2) + 0.1 * np.eye(p)
    score = rng.normal(size=(5, p))
    variances = Variances(np.array([0.5, 0.2]), np.array([0.3, 0.1]))
    found = pool(information, score, group, variances, (1.0, 1.0))
    within, between = np.diag(1 / variances.series), np.diag(1 / variances.groups)
    size = p * (5 + 2 + 1)
    system, right = np.zeros((size, size)), np.zeros(size)
    at = [slice(p * k, p * (k + 1)) for k in range(8)]  # series 0..4, groups 5 and 6, all 7
    for i in range(5):
        up = 5 + group[i]
        system[at[i], at[i]] += information[i] + within
        system[at[up], at[up]] += within
        system[at[i], at[up]] -= within
        system[at[up], at[i]] -= within
        right[at[i]] += score[i]
    for g in (5, 6):
        system[at[g], at[g]] += between
        system[at[7], at[7]] += between
        system[at[g], at[7]] -= between
        system[at[7], at[g]] -= between
    system[at[7], at[7]] += WIDE * np.eye(p)
    wanted, covariance = np.linalg.solve(system, right), np.linalg.inv(system)
    np.testing.assert_allclose(found.by_series.reshape(-1), wanted[: 5 * p], atol=1e-8)
    np.testing.assert_allclose(found.common, wanted[at[7]], atol=1e-8)
    np.testing.assert_allclose(found.covariance[3], covariance[at[3], at[3]], atol=1e-8)


def test_columns_of_competing_products_by_hand() -> None:
    price = np.array([[2.0, 1.0, 2.0], [4.0, 4.0, 2.0], [3.0, 3.0, 3.0]])
    features = np.zeros((3, 3, 1))
    features[0, 1, 0] = 1.0
    found = response_columns(MarketPanel(price, features, ("promo",), np.array([7, 7, 7]), 3))
    by_name = dict(zip(found.names, np.moveaxis(found.values, 2, 0), strict=True))
    half = float(np.log(0.5))
    np.testing.assert_allclose(by_name["price"], half * np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]))
    mean, least = np.array([[0, 0, 0.5], [0, 0.5, 0], [0, 0.5, 0.5]]), np.array([[0, 0, 1], [0, 1, 0], [0, 1, 1]])
    np.testing.assert_allclose(by_name["rivals' price"], half * mean)
    np.testing.assert_allclose(by_name["rivals' least price"], half * least)
    np.testing.assert_allclose(by_name["rivals' promo"], np.array([[0, 0, 0], [0, 0.5, 0], [0, 0.5, 0]]))
    assert "price x promo" in by_name


def test_small_helpers() -> None:
    gaps = np.array([[np.nan, 2.0, np.nan, 3.0], [np.nan] * 4])
    np.testing.assert_array_equal(filled_forward(gaps), [[2, 2, 2, 3], [0, 0, 0, 0]])
    assert rival_sets(np.array([0, 1, 1, 2])).tolist() == [-1, 1, 1, -1]


def test_wrong_prices_and_copies_of_the_price_hardly_move_the_slope() -> None:
    rng = np.random.default_rng(6)
    price = 4 * np.exp(rng.normal(0, 0.1, (20, 150)))
    demand = rng.poisson(20 * (price / 4) ** -2.0).astype(float)
    price[rng.integers(0, 20, 7), rng.integers(0, 150, 7)] *= 30
    market = MarketPanel(price, 2 * np.log(price)[..., None], ("copy",), np.full(20, -1), 150)
    columns = response_columns(market)
    assert columns.names == ("price",)
    found = fit_response(
        demand, np.where(columns.is_far, 0.0, 1.0), np.zeros(demand.shape, dtype=bool), columns.values,
        np.zeros(20, dtype=int), POISSON,
    )  # fmt: skip
    assert np.count_nonzero(columns.is_far) == 7
    assert found.effects.common[0] / found.scale[0] == pytest.approx(-2.0, abs=0.15)
