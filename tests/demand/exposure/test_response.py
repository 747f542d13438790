"""Response of demand: maximum likelihood without censoring, exact filters, recovery of a hidden truth."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import nbinom

from lostsales.demand.exposure.response import ResponseRows, fit_response
from lostsales.demand.exposure.response_loops import smoothed_levels, whitened_products
from lostsales.types import Floats, Ints


def made_rows(
    products: int, periods: int, seed: int, *, drift: float = 0.02, cover: float = np.inf
) -> tuple[ResponseRows, Floats, Floats]:
    """Rows of products with a wandering level, a price and a promotion; their elasticities and true demands."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(-2.0, 0.4, products)
    level = np.log(rng.uniform(5, 40, products))[:, None] + np.cumsum(rng.normal(0, drift, (products, periods)), axis=1)
    price = np.log(rng.choice([0.8, 1.0, 1.1], (products, periods // 14 + 1)).repeat(14, axis=1)[:, :periods])
    promoted = (rng.random((products, periods)) < 0.15).astype(float)
    mean = np.exp(level + slopes[:, None] * price + 0.3 * promoted)
    demand = rng.negative_binomial(10, 10 / (10 + mean)).astype(float)
    stock = np.where(np.isinf(cover), np.inf, np.floor(cover * np.exp(level)) + 1)
    rows = ResponseRows(
        start=np.arange(products + 1) * periods,
        demand=np.minimum(demand, stock).reshape(-1),
        is_censored=(demand >= stock).reshape(-1),
        share=np.ones(products * periods),
        gap=np.ones(products * periods),
        inputs=np.column_stack([price.reshape(-1), promoted.reshape(-1)]),
        place=np.zeros(products * periods, dtype=np.int64),
        group=np.zeros(products, dtype=np.int64),
    )
    return rows, slopes, demand.reshape(-1)


def chosen(rows: ResponseRows, at: Ints, start: Ints) -> ResponseRows:
    """Some of the rows, in another order."""
    return rows._replace(
        start=start,
        demand=rows.demand[at],
        is_censored=rows.is_censored[at],
        share=rows.share[at],
        gap=rows.gap[at],
        inputs=rows.inputs[at],
        place=rows.place[at],
    )


def test_a_level_that_stands_gives_the_maximum_of_the_likelihood() -> None:
    """One product, plenty of rows: negative binomial regression of statsmodels with the same dispersion."""
    rows, _, demand = made_rows(1, 4_000, 1, drift=0.0)
    found = fit_response(rows, counted=True, rounds=30).response
    family = sm.families.NegativeBinomial(alpha=float(found.dispersion[0]))
    peer = sm.GLM(demand, sm.add_constant(rows.inputs), family=family).fit()
    np.testing.assert_allclose(found.coefficients[0], peer.params[1:], atol=0.01)
    np.testing.assert_allclose(found.errors[0], peer.bse[1:], rtol=0.15)


def test_whitening_is_generalised_least_squares() -> None:
    """Against the covariance of a random walk written out, with gaps and a row that shows nothing."""
    rng, n, drift = np.random.default_rng(2), 12, 0.3
    working, inputs, variance = rng.normal(size=n), rng.normal(size=(n, 2)), rng.uniform(0.5, 2.0, n)
    gap = np.r_[1.0, rng.integers(1, 4, n - 1)]
    variance[5] = np.inf
    products, _ = whitened_products(np.array([0, n]), working, variance, inputs, gap, drift)
    time, seen = np.cumsum(gap), np.isfinite(variance)
    walk = drift * np.minimum.outer(time, time) + 1e6
    inverse = np.linalg.inv((walk + np.diag(np.where(seen, variance, 0.0)))[np.ix_(seen, seen)])
    columns = np.column_stack([inputs, working])[seen]
    expected = columns.T @ inverse @ columns
    np.testing.assert_allclose(products[0], expected, rtol=1e-4, atol=1e-4)


def test_the_smoother_is_the_conditional_mean_of_the_level() -> None:
    rng, n, drift = np.random.default_rng(3), 9, 0.2
    working, variance, gap = rng.normal(size=n), rng.uniform(0.5, 2.0, n), np.ones(n)
    variance[4] = np.inf
    found = smoothed_levels(np.array([0, n]), working, variance, gap, drift)
    seen, time = np.isfinite(variance), np.arange(1.0, n + 1)
    walk = drift * np.minimum.outer(time, time) + 1e6
    gain = walk[:, seen] @ np.linalg.inv(walk[np.ix_(seen, seen)] + np.diag(variance[seen]))
    np.testing.assert_allclose(found, gain @ working[seen], atol=1e-3)


@pytest.mark.parametrize("cover", [np.inf, 1.3])
def test_elasticities_and_hidden_demand_are_recovered(cover: float) -> None:
    """40 products of a year: with stock-outs in a fifth of the rows, and without."""
    rows, slopes, demand = made_rows(40, 364, 4, cover=cover)
    fitted = fit_response(rows, counted=True)
    error = fitted.response.coefficients[:, 0] - slopes
    assert np.abs(error).mean() < 0.2
    assert abs(error.mean()) < 0.1
    assert np.mean(np.abs(error) < 1.96 * fitted.response.errors[:, 0]) > 0.85
    if np.isfinite(cover):
        assert 0.1 < rows.is_censored.mean() < 0.4
        lost, expected = (each - rows.demand for each in (demand, fitted.demand))
        assert expected.sum() == pytest.approx(lost.sum(), rel=0.07)


def test_products_are_drawn_to_their_group_by_what_they_lack() -> None:
    """A product of ten rows has nearly the elasticity of its group, one of many rows its own."""
    rows, _, _ = made_rows(30, 364, 5)
    short = np.r_[rows.start[:-1], rows.start[-2] + 10]
    cut = chosen(rows, np.arange(short[-1]), short)
    response = fit_response(cut, counted=True).response
    away = np.abs(response.coefficients[:, 0] - response.group_coefficients[0, 0])
    assert away[-1] < np.median(away[:-1])
    assert response.errors[-1, 0] > response.errors[:-1, 0].max()


def test_the_order_of_products_changes_nothing() -> None:
    rows, _, _ = made_rows(6, 100, 6, cover=1.5)
    order = np.array([3, 0, 5, 1, 4, 2])
    at = np.concatenate([np.arange(rows.start[i], rows.start[i + 1]) for i in order])
    moved = chosen(rows, at, rows.start)
    one, other = (fit_response(each, counted=True).response for each in (rows, moved))
    np.testing.assert_allclose(other.coefficients, one.coefficients[order], rtol=1e-9)


def test_hidden_demands_are_conditional_means() -> None:
    """One product whose level stands: E[D | D >= stock] of the negative binomial, by summation."""
    rows, _, _ = made_rows(1, 3_000, 7, drift=0.0, cover=1.2)
    fitted = fit_response(rows, counted=True, rounds=30)
    row = int(np.flatnonzero(rows.is_censored)[0])
    mean, shape, least = fitted.mean[row], 1 / fitted.response.dispersion[0], rows.demand[row]
    counts = np.arange(2_000)
    chance = nbinom.pmf(counts, shape, shape / (shape + mean)) * (counts >= least)
    assert fitted.demand[row] == pytest.approx(float(counts @ chance / chance.sum()), rel=0.02)
