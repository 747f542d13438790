"""The demand model as a whole: truth of a made-up shop, paths against closed forms, plans that change nothing else."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import nbinom

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.forecast import forecast
from lostsales.demand.model.model import DemandAhead, Plan, StructuralDemand
from lostsales.demand.model.paths import PathNumbers
from tests.demand.model.shops import Shop, made_up_shop

PROBLEM = Problem(features=("promo",), attributes=("group",))


@pytest.fixture(scope="module")
def shop() -> Shop:
    return made_up_shop(1)


@pytest.fixture(scope="module")
def model(shop: Shop) -> StructuralDemand:
    return StructuralDemand.fit(read_log(shop.log, PROBLEM, sales_only=True), 14)


def test_filled_demand_of_a_made_up_shop_is_that_of_the_true_law(shop: Shop, model: StructuralDemand) -> None:
    hidden = shop.sold_out[:, : shop.start]
    sales = shop.table["sales"].to_numpy().reshape(shop.demand.shape)[:, : shop.start]
    mean = shop.mean[:, : shop.start][hidden]
    # E[D; D >= k] of a negative binomial law is its mean times P(D' >= k - 1) with one more success.
    tail = nbinom.sf(sales[hidden], 8, 8 / (8 + mean))
    wanted = mean * nbinom.sf(sales[hidden] - 1, 9, 8 / (8 + mean)) / tail
    assert hidden.mean() > 0.05
    assert model.panel.filled[hidden].sum() - sales[hidden].sum() == pytest.approx(
        wanted.sum() - sales[hidden].sum(), rel=0.05
    )


def test_forecasts_with_known_prices_are_nearly_those_of_the_true_law(shop: Shop, model: StructuralDemand) -> None:
    rows = slice(shop.start, None)
    shape = shop.demand.shape
    price = shop.table["price"].to_numpy().reshape(shape)[:, rows]
    promo = shop.table["promo"].to_numpy().reshape(shape)[:, rows, None]
    ahead = model.ahead(Plan(price, promo))
    demand, mean = shop.demand[:, rows], shop.mean[:, rows]
    losses = []
    for level in (0.1, 0.5, 0.9):
        for quantile in (ahead.quantile(level), nbinom.ppf(level, 8, 8 / (8 + mean))):
            error = demand - quantile
            losses.append(np.maximum(level * error, (level - 1) * error).mean())
    assert sum(losses[::2]) < 1.06 * sum(losses[1::2])  # the true law also knows how the level will move
    blind = model.ahead()
    assert np.abs(np.log(ahead.mean / mean)).mean() < 0.8 * np.abs(np.log(blind.mean / mean)).mean()


@pytest.mark.parametrize(("mean", "variance", "integer"), [(3.0, 5.0, True), (40.0, 400.0, False)])
def test_paths_have_the_mean_and_the_quantiles_of_the_law(mean: float, variance: float, integer: bool) -> None:
    ahead = DemandAhead(np.full((1, 3), mean), np.full((1, 3), variance), integer, np.ones((1, 1)))
    numbers = PathNumbers.drawn(20_000, 3, 0.6, np.random.default_rng(1))
    paths = ahead.drawn(np.broadcast_to(numbers.chances, (1, 3, 20_000)))
    np.testing.assert_allclose(paths.mean(axis=2), mean, rtol=0.003)
    np.testing.assert_allclose(paths.var(axis=2), variance, rtol=0.02)
    if integer:
        size = mean**2 / (variance - mean)
        wanted = nbinom.ppf([0.1, 0.5, 0.9], size, mean / variance)
        np.testing.assert_array_equal(np.quantile(paths[0, 1], [0.1, 0.5, 0.9], method="inverted_cdf"), wanted)
    ranks = np.asarray(np.corrcoef(numbers.chances))
    assert ranks[0, 1] == pytest.approx(6 / np.pi * np.arcsin(0.6 / 2), abs=0.02)  # ranks of a Gaussian copula


def test_a_promotion_announced_and_cancelled_changes_nothing_else(model: StructuralDemand) -> None:
    usual = model.usual_plan
    before = model.paths(50, seed=3)
    announced = Plan(usual.price.copy(), usual.features.copy())
    announced.features[0, 5] = 1.0
    with_it = model.paths(50, announced, seed=3)
    assert with_it[0, 5].mean() > before[0, 5].mean()
    others = model.panel.group != model.panel.group[0]
    np.testing.assert_array_equal(with_it[others], before[others])
    np.testing.assert_array_equal(np.delete(with_it, 5, axis=1), np.delete(before, 5, axis=1))
    np.testing.assert_array_equal(model.paths(50, usual, seed=3), before)


def test_the_order_of_products_and_rows_changes_nothing(shop: Shop) -> None:
    some = shop.log[shop.log["series"] < "p08"]
    found = forecast(read_log(some, PROBLEM, sales_only=True), 3)
    shuffled = some.sample(frac=1.0, random_state=1)
    again = forecast(read_log(shuffled, PROBLEM, sales_only=True), 3)
    wanted = pd.DataFrame({"name": found.names, "mean": found.mean}).groupby("name")["mean"].apply(list)
    came = pd.DataFrame({"name": again.names, "mean": again.mean}).groupby("name")["mean"].apply(list)
    for name in wanted.index:
        np.testing.assert_allclose(came[name], wanted[name], rtol=1e-6)


def test_the_split_into_files_changes_nothing(shop: Shop, tmp_path: Path) -> None:
    some = shop.log[shop.log["series"] < "p06"]
    middle = some["period"].median()
    parts = some[some["series"] < "p02"], some[(some["series"] >= "p02") & (some["period"] > middle)]
    for number, part in enumerate((*parts, some.drop(index=[*parts[0].index, *parts[1].index]))):
        part.to_parquet(tmp_path / f"{number}.parquet")
    whole, split = (forecast(read_log(each, PROBLEM, sales_only=True), 3) for each in (some, tmp_path))
    assert split.names.tolist() == whole.names.tolist()
    np.testing.assert_allclose(split.mean, whole.mean, rtol=1e-9)
    np.testing.assert_array_equal(split.quantiles[90.0], whole.quantiles[90.0])
