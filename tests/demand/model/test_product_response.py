"""Response of products from rows: recovery of elasticities, weekdays and hidden demand, and levels that stand."""

import numpy as np
import pytest

from lostsales.demand.model.product_response import PRIOR_ERROR, FittedResponse, ResponseRows, fit_rows
from lostsales.types import Array, Floats

PRIOR = np.array([-2.0, 0.0])
WEEKDAYS = np.log([0.8, 0.9, 0.9, 1.0, 1.1, 1.5, 1.0])


def made_rows(
    products: int, periods: int, seed: int, *, drift: float = 0.02, cover: float = np.inf
) -> tuple[ResponseRows, Floats, Floats]:
    """Rows of products with a wandering level, weekdays, a price and a promotion; elasticities and true demands."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(-1.6, 0.4, products)
    level = np.log(rng.uniform(5, 40, products))[:, None] + np.cumsum(rng.normal(0, drift, (products, periods)), axis=1)
    price = np.log(rng.choice([0.8, 1.0, 1.1], (products, periods // 14 + 1)).repeat(14, axis=1)[:, :periods])
    promoted = (rng.random((products, periods)) < 0.15).astype(float)
    weekday = np.tile(np.arange(periods) % 7, (products, 1))
    mean = np.exp(level + slopes[:, None] * price + 0.3 * promoted + WEEKDAYS[weekday])
    demand = rng.negative_binomial(10, 10 / (10 + mean)).astype(float)
    stock = np.where(np.isinf(cover), np.inf, np.floor(cover * np.exp(level)) + 1)
    rows = ResponseRows(
        product=np.repeat(np.arange(products), periods),
        column=np.tile(np.arange(periods), products),
        demand=np.minimum(demand, stock).reshape(-1),
        is_censored=(demand >= stock).reshape(-1),
        share=np.ones(products * periods),
        season=np.ones(products * periods),
        inputs=np.column_stack([price.reshape(-1), promoted.reshape(-1)]),
        place=weekday.reshape(-1),
    )
    return rows, slopes, demand.reshape(-1)


def fitted(rows: ResponseRows, counted: bool = True) -> FittedResponse:
    return fit_rows(rows, np.zeros(int(rows.product.max()) + 1, dtype=np.int64), counted, 7, PRIOR)


def chosen(rows: ResponseRows, at: Array) -> ResponseRows:
    return ResponseRows._make(each[at] for each in rows)


@pytest.mark.parametrize("cover", [np.inf, 1.3])
def test_elasticities_weekdays_and_hidden_demand_are_recovered(cover: float) -> None:
    """40 products of a year: with stock-outs in a fifth to two fifths of the rows, and without."""
    rows, slopes, demand = made_rows(40, 364, 4, cover=cover)
    found = fitted(rows)
    error = found.response.coefficients[:, 0] - slopes
    assert np.abs(error).mean() < 0.2
    assert abs(error.mean()) < 0.1
    assert np.mean(np.abs(error) < 1.96 * found.response.errors[:, 0]) > 0.9
    np.testing.assert_allclose(found.response.season.mean(axis=0), WEEKDAYS - WEEKDAYS.mean(), atol=0.04)
    assert found.response.moves
    if np.isfinite(cover):
        assert 0.1 < rows.is_censored.mean() < 0.45
        lost, expected = (each - rows.demand for each in (demand, found.demand))
        assert expected.sum() == pytest.approx(lost.sum(), rel=0.05)


def test_a_level_that_stands_is_found_to_stand() -> None:
    rows, _, _ = made_rows(20, 200, 5, drift=0.0)
    assert not fitted(rows).response.moves


def test_a_product_of_few_rows_has_nearly_the_elasticity_of_its_group() -> None:
    rows, _, _ = made_rows(30, 364, 5)
    response = fitted(chosen(rows, np.flatnonzero((rows.product < 29) | (rows.column < 10)))).response
    away = np.abs(response.coefficients[:, 0] - response.group_coefficients[0, 0])
    assert away[-1] < np.median(away[:-1])
    assert response.errors[-1, 0] > response.errors[:-1, 0].max()


def test_a_price_that_never_changes_leaves_the_prior() -> None:
    rows, _, _ = made_rows(5, 100, 6)
    inputs = np.column_stack([np.zeros(len(rows.demand)), rows.inputs[:, 1]])
    response = fitted(rows._replace(inputs=inputs)).response
    np.testing.assert_array_equal(response.coefficients[:, 0], PRIOR[0])
    np.testing.assert_array_equal(response.errors[:, 0], PRIOR_ERROR)


def test_the_order_of_rows_and_the_unit_of_continuous_demand_change_nothing() -> None:
    rows, _, _ = made_rows(6, 100, 7, cover=1.5)
    order = np.random.default_rng(8).permutation(len(rows.demand))
    one, other = fitted(rows), fitted(chosen(rows, order))
    np.testing.assert_allclose(other.response.coefficients, one.response.coefficients, rtol=1e-9)
    np.testing.assert_allclose(other.demand, one.demand[order], rtol=1e-9)
    kilos, grams = (fitted(rows._replace(demand=unit * (rows.demand + 0.5)), counted=False) for unit in (1.0, 1_000.0))
    np.testing.assert_allclose(grams.response.coefficients, kilos.response.coefficients, rtol=1e-6)
    np.testing.assert_allclose(grams.mean, 1_000 * kilos.mean, rtol=1e-6)


def test_dispersions_of_products_are_their_own_and_those_of_few_rows_their_groups() -> None:
    """Negative binomial demand of size 3 or 12 by group: the product of 12 rows has nearly that of its group."""
    rng, group, periods = np.random.default_rng(9), np.arange(40) % 2, 300
    size = np.where(group == 0, 3.0, 12.0)[:, None]
    demand = rng.negative_binomial(size, size / (size + 20.0), (40, periods)).astype(float)
    rows, *_ = made_rows(40, periods, 9)
    none = np.zeros_like(rows.place)
    rows = rows._replace(demand=demand.reshape(-1), inputs=np.zeros_like(rows.inputs), place=none)
    kept = chosen(rows, np.flatnonzero((rows.product != 38) | (rows.column < 12)))
    found = fit_rows(kept, group, True, 1, PRIOR).response.dispersion
    np.testing.assert_allclose(found * size[:, 0], 1.0, atol=0.3)
    assert abs(np.log(found * size[:, 0]).mean()) < 0.06
