"""Periods that were partly out of stock and count with the share of their demand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lostsales.data.demand_bounds import demand_bounds
from lostsales.data.describe import describe
from lostsales.data.log import SalesLog
from lostsales.data.problem import Columns, Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.share_rows import OF_A_MEAN, share_demand
from lostsales.data.writing import write_log
from lostsales.demand.forecast import forecast
from lostsales.demand.law.price_response import price_response
from lostsales.demand.law.selection import fit_demand
from lostsales.demand.survival.imputation import impute
from lostsales.errors import LogError, SettingError
from lostsales.types import Floats

SHARED = Problem(columns=Columns(in_stock_share="share"))


def log_of(sales: Floats, share: Floats, problem: Problem = SHARED) -> SalesLog:
    """A log of series (rows) and periods (columns)."""
    n, periods = sales.shape
    return read_log(
        pd.DataFrame(
            {
                "series": np.repeat(np.arange(n), periods),
                "period": np.tile(np.arange(periods), n),
                "price": 2.0,
                "sales": sales.reshape(-1),
                "share": share.reshape(-1),
            }
        ),
        problem,
    )


def shop(seed: int, n: int = 40, periods: int = 60) -> tuple[SalesLog, Floats]:
    """Poisson demand around a rate that varies from day to day; a third of the days is cut at a share, at random."""
    rng = np.random.default_rng(seed)
    rate = rng.lognormal(1.5, 0.5, (n, 1)) * rng.gamma(5, 1 / 5, (n, periods))
    share = np.where(rng.uniform(size=rate.shape) < 1 / 3, rng.uniform(0.2, 0.9, rate.shape), 1.0)
    sales = rng.poisson(rate * share)
    demand = sales + rng.poisson(rate * (1 - share))
    return log_of(sales.astype(float), share), demand.reshape(-1).astype(float)


def test_the_kind_of_row_and_the_reading_by_hand() -> None:
    log = log_of(np.array([[4.0, 6.0, 2.0, 0.0]]), np.array([[1.0, 1.0, 0.5, 0.0]]))
    assert demand_bounds(log).counts["share"] == 1
    assert demand_bounds(log).counts["nothing"] == 1
    assert log.censored.tolist() == [False, False, True, True]
    # Usual demand is 5; the excess of its variance over the mean is below 0.01 of its square, so that size is 100.
    assert OF_A_MEAN == 2
    rate = (100 + 2) / (100 / 5 + 0.5)
    found = share_demand(log)
    assert found.mean[2] == pytest.approx(2 + 0.5 * rate)
    assert found.error[2] == pytest.approx(np.sqrt(0.5 * rate + 0.25 * rate / 20.5))


def test_a_whole_period_is_exact() -> None:
    log = log_of(np.array([[4.0, 6.0]]), np.ones((1, 2)))
    np.testing.assert_array_equal(share_demand(log).mean, log.sales)
    assert not log.censored.any()


def test_demand_of_cut_days_is_recovered() -> None:
    log, demand = shop(1)
    cut = log.is_share
    filled = impute(log, replicates=0)
    truth = demand[cut]
    assert filled.expected_demand[cut].mean() == pytest.approx(truth.mean(), rel=0.02)
    assert log.out_share is not None
    share = 1 - log.out_share[cut]
    # With the true mean of the series and the true spread of the days nobody does better.
    usual = np.random.default_rng(1).lognormal(1.5, 0.5, (40, 1)).repeat(60, axis=1).reshape(-1)[cut]
    told = log.sales[cut] + (1 - share) * (5 + log.sales[cut]) / (5 / usual + share)
    ways = filled.expected_demand[cut], told, log.sales[cut] / share
    error, least, by_scaling = (np.abs(each - truth).mean() for each in ways)
    assert error < 1.05 * least
    assert error < 0.9 * by_scaling
    within = np.abs(filled.expected_demand[cut] - truth) <= 1.96 * filled.error[cut]
    assert 0.9 <= within.mean() <= 0.99
    np.testing.assert_array_equal(filled.expected_demand[~cut], demand[~cut])
    np.testing.assert_allclose(filled.expected_lost, filled.expected_demand - log.sales)


def test_the_law_and_the_forecast_count_shares() -> None:
    log, demand = shop(2, n=12)
    response = price_response(log, fit_demand(log, seed=0), draws=2)
    assert response.demand.mean() == pytest.approx(demand.mean(), rel=0.05)
    ahead = forecast(log, horizon=1)
    assert ahead.mean.mean() == pytest.approx(demand.mean(), rel=0.08)
    assert log.sales.mean() < 0.88 * demand.mean()


def test_a_share_is_written_and_read_again(tmp_path: Path) -> None:
    log, _ = shop(3, n=3, periods=8)
    write_log(log, tmp_path / "log.parquet")
    again = read_log(tmp_path / "log.parquet")
    np.testing.assert_allclose(share_demand(again).mean, share_demand(log).mean)


def test_a_share_is_understood_by_its_name(tmp_path: Path) -> None:
    log, _ = shop(4, n=3, periods=8)
    write_log(log, tmp_path / "log.csv")
    table = pd.read_csv(tmp_path / "log.csv").rename(columns={"share": "in_stock_share"})
    table.to_csv(tmp_path / "named.csv", index=False)
    for source in (table, tmp_path / "named.csv"):
        again = read_log(source)
        assert again.problem.columns.in_stock_share == "in_stock_share"
        assert "in_stock_share" not in again.notes.unused_columns
        np.testing.assert_array_equal(again.is_share, log.is_share)
        np.testing.assert_allclose(share_demand(again).mean, share_demand(log).mean)
        assert describe(again).stockouts_by == "by in_stock_share"
    stocked = table.assign(stock=50, order=0)  # what a ledger records of the shelf counts there as well
    assert demand_bounds(read_log(stocked, Problem(arrival="after", supply={"lead_time": 1}))).counts["share"] > 0


def test_a_share_by_its_name_gives_way_to_what_the_problem_names() -> None:
    table = pd.DataFrame({"series": "a", "period": [1, 2], "price": 2.0, "sales": 3.0, "in_stock_share": [0.5, 1.0]})
    flagged = read_log(table.assign(on_shelf=[False, True]), Problem(columns=Columns(in_stock="on_shelf")))
    assert flagged.problem.columns.in_stock_share is None
    assert flagged.notes.unused_columns == ("in_stock_share",)
    feature = read_log(table.assign(stockout=False), Problem(features=("in_stock_share",)))
    assert not feature.censored.any()
    np.testing.assert_array_equal(feature.features[:, 0], [0.5, 1.0])
    with pytest.raises(LogError, match="missing column 'price'"):  # which a forecasting library's table may lack
        read_log(table.drop(columns="price"))
    with pytest.raises(LogError, match=r"in_stock_share must be from 0 to 1, but row 0 .* has 50"):
        read_log(table.assign(in_stock_share=[50, 100]))


def test_what_is_no_share_is_refused() -> None:
    with pytest.raises(LogError, match=r"share must be from 0 to 1, but row 1 .* has 1\.2"):
        log_of(np.ones((1, 2)), np.array([[1.0, 1.2]]))
    with pytest.raises(SettingError, match="give one of the columns out_of_stock, in_stock and in_stock_share"):
        Problem(columns=Columns(in_stock_share="share", in_stock="flag"))
