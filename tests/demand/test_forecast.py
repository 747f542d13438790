"""Forecasts of demand against hidden truth, and tables in and out."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.forecast import forecast
from lostsales.demand.model.bank import MEMBERS
from lostsales.demand.model.held_out import hold_out
from lostsales.demand.model.mixture import least_error_weights
from lostsales.demand.model.panel import lots, panel_of
from lostsales.demand.model.pooling import Variances
from lostsales.demand.model.season import SeasonPrior
from lostsales.demand.model.spread import Spread
from lostsales.errors import LogError, SettingError
from lostsales.types import Floats


def table_of(mean: Floats, seed: int, supply: float | None = None) -> tuple[pd.DataFrame, Floats]:
    """Poisson demands with means (series, periods) as a table of sales, and these demands."""
    rng = np.random.default_rng(seed)
    demand = rng.poisson(mean).astype(float)
    available = np.full(mean.shape, np.inf) if supply is None else rng.poisson(supply, mean.shape)
    n, periods = mean.shape
    table = pd.DataFrame(
        {
            "unique_id": np.repeat([f"s{i}" for i in range(n)], periods),
            "ds": np.tile(np.arange(periods), n),
            "y": np.minimum(demand, available).reshape(-1),
            "stockout": (demand > available).reshape(-1),
        }
    )
    return table, demand


def test_a_steady_demand_is_forecast_through_stock_outs() -> None:
    table, _ = table_of(np.full((100, 60), 5.0), 3, supply=6.0)
    found = forecast(table, horizon=2, levels=(10, 90))
    assert table["stockout"].mean() > 0.25
    assert table["y"].mean() < 4.6
    assert found.mean.mean() == pytest.approx(5, rel=0.02)
    coming = np.random.default_rng(1).poisson(5.0, (200, 200))
    assert 0.88 <= (coming <= found.quantiles[90.0]).mean() <= 0.96
    assert 0.88 <= (coming >= found.quantiles[10.0]).mean() <= 0.97


def test_a_jump_is_followed_within_some_periods() -> None:
    mean = np.repeat([[5.0, 7.5]], [60, 12], axis=1).repeat(100, axis=0)
    found = forecast(table_of(mean, 4)[0], horizon=1)
    assert found.mean.mean() == pytest.approx(7.5, rel=0.1)
    steady = forecast(table_of(np.full((100, 72), 5.0), 4)[0], horizon=1)
    assert np.std(steady.mean) < 0.07 * 5  # the mean of 72 Poisson demands has 0.05
    assert steady.how.half_life > found.how.half_life


def test_a_slow_rise_is_forecast_with_little_delay() -> None:
    mean = np.tile(5 * 2 ** (np.arange(124) / 120), (100, 1))
    found = forecast(table_of(mean[:, :120], 5)[0], horizon=4)
    np.testing.assert_allclose(found.mean.reshape(100, 4).mean(axis=0), mean[0, 120:], rtol=0.06)


@pytest.mark.parametrize("mean", [0.4, 3000.0])
def test_low_and_high_demands(mean: float) -> None:
    found = forecast(table_of(np.full((50, 60), mean), 6)[0], horizon=1, levels=(50, 90))
    assert found.mean.mean() == pytest.approx(mean, rel=0.05)
    assert (found.quantiles[90.0] == np.rint(found.quantiles[90.0])).all()
    coming = np.random.default_rng(2).poisson(mean, (500, 50))
    assert 0.88 <= (coming <= found.quantiles[90.0]).mean() <= 0.98


def test_weekdays_weeks_and_months_are_known_by_the_dates() -> None:
    rng = np.random.default_rng(7)
    days = pd.date_range("2025-01-01", periods=140)
    weekend = np.where(days.day_of_week >= 5, 2.0, 1.0)
    daily = pd.concat(
        [pd.DataFrame({"unique_id": f"s{i}", "ds": days, "y": rng.poisson(6 * weekend)}) for i in range(20)]
    )
    found = forecast(daily, horizon=7).to_frame()
    is_weekend = found["ds"].dt.day_of_week >= 5
    assert found["mean"][is_weekend].mean() == pytest.approx(12, rel=0.08)
    assert found["mean"][~is_weekend].mean() == pytest.approx(6, rel=0.08)
    months = pd.date_range("2022-01-31", periods=48, freq="ME")
    monthly = pd.DataFrame({"unique_id": "a", "ds": months, "y": 100 + 50 * (months.month == 12)})
    found = forecast(monthly, horizon=12).to_frame()
    assert found["ds"].tolist() == pd.date_range("2026-01-31", periods=12, freq="ME").tolist()
    assert found["mean"].idxmax() == 11


def test_closed_days_are_left_out_and_holes_are_bridged() -> None:
    days = pd.date_range("2025-01-01", periods=90)
    open_days = days[days.day_of_week != 6]
    table = pd.concat([pd.DataFrame({"unique_id": f"s{i}", "ds": open_days, "y": 4}) for i in range(3)])
    table = table[(table["unique_id"] != "s1") | ~table["ds"].between("2025-02-01", "2025-02-20")]
    found = forecast(table, horizon=7).to_frame()
    assert len(found) == 21  # the parts of s1 are one series
    assert (found["ds"].dt.day_of_week != 6).all()
    np.testing.assert_allclose(found["mean"], 4, rtol=0.02)


def parts_of(demand: Floats) -> pd.DataFrame:
    """Monthly demand of parts, (parts, months), as a table."""
    months = pd.date_range("2022-01-01", periods=demand.shape[1], freq="MS")
    names = [f"part {at:03}" for at in range(len(demand))]
    return pd.DataFrame(
        {"series": np.repeat(names, demand.shape[1]), "period": np.tile(months, len(demand)), "sales": demand.ravel()}
    )


@pytest.mark.parametrize(("change", "allowed"), [(0.0, 0.05), (-0.015, 0.1), (0.015, 0.1)])
def test_slow_sellers_follow_the_growth_of_all(change: float, allowed: float) -> None:
    """Negative binomial demand with means of 0.1 to 1; without the shared growth a forecast was 23 to 32 % off."""
    rng, months, ahead = np.random.default_rng(1), 48, 12
    mean = np.exp(rng.uniform(np.log(0.1), 0.0, (300, 1)) + change * np.arange(months + ahead))
    demand = rng.poisson(mean * rng.gamma(1.5, 1 / 1.5, mean.shape)).astype(float)
    found = forecast(read_log(parts_of(demand[:, :months]), sales_only=True), ahead, levels=(90,))
    assert found.mean.sum() == pytest.approx(mean[:, months:].sum(), rel=allowed)
    covered = float((demand[:, months:].reshape(-1) <= found.quantiles[90]).mean())
    assert 0.92 < covered < 0.97  # 0.945 to 0.955 under the true distribution, whose quantiles are whole numbers


def test_a_product_that_sells_in_lots_is_forecast_in_lots() -> None:
    rng = np.random.default_rng(2)
    demand = rng.poisson(np.exp(rng.uniform(-1.5, 0.5, (20, 1))), (20, 36)).astype(float)
    assert (np.count_nonzero(demand, axis=1) > 2).all()
    in_units, in_lots = (forecast(parts_of(lot * demand), 3, levels=(90,)) for lot in (1, 5))
    np.testing.assert_allclose(in_lots.mean, 5 * in_units.mean, rtol=1e-9)
    np.testing.assert_array_equal(in_lots.quantiles[90], 5 * in_units.quantiles[90])


def test_lots_by_hand() -> None:
    demand = np.array([5.0, 0.0, 10.0, 2.0, 5.0, 2.0, 3.0, 4.0, 5.0])
    product = np.array([0, 0, 0, 1, 0, 1, 2, 2, 2])
    # The second has sold twice, which is too little; the fourth never.
    np.testing.assert_array_equal(lots(demand, product, 4), [5, 1, 1, 1])


def test_keys_keep_their_names_and_each_series_goes_on_from_its_end() -> None:
    table = pd.DataFrame(
        {
            "store": ["a"] * 6 + ["b"] * 4,
            "product": ["x"] * 6 + ["y"] * 4,
            "week": [*range(6), *range(4)],
            "sold": [3.0] * 6 + [9.0] * 4,
        }
    )
    names = {"series": ("store", "product"), "period": "week", "sales": "sold"}
    log = read_log(table, Problem(columns=names), sales_only=True)
    found = forecast(log, horizon=2, levels=(50,)).table
    assert list(found) == ["store", "product", "week", "mean", "q50"]
    assert found["week"].tolist() == [6, 7, 4, 5]
    assert found["product"].tolist() == ["x", "x", "y", "y"]
    np.testing.assert_allclose(found["mean"], [3, 3, 9, 9], rtol=0.1)


def test_weights_sold_need_not_be_whole() -> None:
    rng = np.random.default_rng(8)
    table = pd.DataFrame({"unique_id": "a", "ds": np.arange(80), "y": rng.gamma(20, 0.1, 80).round(3)})
    found = forecast(table, horizon=1, levels=(10, 90))
    assert found.mean[0] == pytest.approx(2, rel=0.1)
    assert found.quantiles[10.0][0] == pytest.approx(1.45, abs=0.25)
    assert found.quantiles[90.0][0] == pytest.approx(2.6, abs=0.3)


def test_one_row_and_rows_that_tell_nothing() -> None:
    one = forecast(pd.DataFrame({"unique_id": ["a"], "ds": [1], "y": [3.0]}), horizon=2)
    np.testing.assert_allclose(one.mean, 3)
    out = pd.DataFrame({"unique_id": "a", "ds": range(5), "y": 0.0, "stockout": True})
    assert np.isfinite(forecast(out, horizon=1).mean).all()


def test_the_same_seed_gives_the_same_forecast() -> None:
    table = table_of(np.full((10, 40), 5.0), 9, supply=5.0)[0]
    first, second = forecast(table, horizon=2, seed=1), forecast(table, horizon=2, seed=1)
    np.testing.assert_array_equal(first.mean, second.mean)
    np.testing.assert_array_equal(first.quantiles[90.0], second.quantiles[90.0])


def test_what_came_later_does_not_change_a_forecast_from_an_earlier_origin() -> None:
    table = table_of(np.full((5, 50), 5.0), 10)[0]
    changed = table.copy()
    changed.loc[changed["ds"] >= 40, "y"] = 99.0
    horizons, origin, spread = np.array([1, 3]), np.array([39]), Spread(0.1, 0.15, True)
    seasons = (SeasonPrior(Variances.first(7), 1.0, (1.0, 1.0)),)
    made = [hold_out(panel_of(read_log(each), 1, 7), horizons, origin, seasons, spread) for each in (table, changed)]
    np.testing.assert_array_equal(made[0].mean, made[1].mean)
    assert made[0].mean.shape == (1, 5, 2, MEMBERS)


def test_weights_of_the_least_error_by_hand() -> None:
    # Errors of variance 1 and 3 without correlation: 3/4 and 1/4. A member that is worse throughout has none.
    np.testing.assert_allclose(least_error_weights(np.diag([1.0, 3.0]), 100), [0.75, 0.25])
    np.testing.assert_allclose(least_error_weights(np.array([[1.0, 2.0], [2.0, 5.0]]), 100), [1.0, 0.0])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"horizon": 0}, "horizon must be from 1 to 1,000 periods, but 0 came"),
        ({"levels": (0, 50)}, "levels must lie between 0 and 100 per cent, but 0 came"),
        ({"levels": ()}, "levels must have at least one"),
        ({"season": 0}, "season must be at least 1 period, but 0 came"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], said: str) -> None:
    table = pd.DataFrame({"unique_id": ["a"], "ds": [1], "y": [3.0]})
    with pytest.raises(SettingError, match=said):
        forecast(table, **settings)


def test_a_table_that_cannot_be_used_is_named() -> None:
    with pytest.raises(LogError, match="y must not be negative"):
        forecast(pd.DataFrame({"unique_id": ["a", "a"], "ds": [1, 2], "y": [3.0, -1.0]}))
    with pytest.raises(LogError, match="missing column 'sales'"):
        forecast(pd.DataFrame({"unique_id": ["a"], "ds": [1]}))
