"""Levels that move, and what stock-outs tell them."""

from dataclasses import replace

import numpy as np

from lostsales.data.calendar.clock import DAY, weekday_of
from lostsales.demand.model.calendar_season import CalendarSeason, week_of
from lostsales.demand.model.moving_level_loops import RATES
from lostsales.demand.model.moving_levels import MovingLevels, PathDraws


def test_a_level_follows_demand_through_stockouts() -> None:
    rng = np.random.default_rng(3)
    demand = rng.poisson(20.0, (200, 60)).astype(np.float64)
    available = rng.integers(17, 30, demand.shape).astype(np.float64)
    sales, out = np.minimum(demand, available), demand >= available
    assert 0.25 < out.mean() < 0.5
    told = MovingLevels.start(200).after(sales, out).mean.mean()
    naive = MovingLevels.start(200).after(sales).mean.mean()
    assert abs(told - 20.0) < 0.8
    assert naive < 19.0


def test_where_every_period_is_sold_out_the_level_stays_near_what_was_available() -> None:
    """As the orange juice of a store that never had enough: each stock-out raised the level, without end."""
    rng = np.random.default_rng(5)
    spiky = rng.poisson(rng.gamma(0.5, 40.0, (20, 40))).astype(np.float64)
    available = rng.integers(1, 9, (20, 150)).astype(np.float64)
    sold_out = np.ones(available.shape, dtype=bool)
    for counted in (True, False):
        after = MovingLevels.start(20, counted).after(spiky).after(available, sold_out)
        assert (after.mean < 15 * available.max()).all()


def test_a_jump_is_followed_and_a_stable_demand_is_averaged() -> None:
    rng = np.random.default_rng(4)
    jump = np.column_stack([rng.poisson(20.0, (100, 30)), rng.poisson(60.0, (100, 8))]).astype(np.float64)
    assert abs(MovingLevels.start(100).after(jump).mean.mean() - 60.0) < 5.0
    steady = rng.poisson(20.0, (100, 60)).astype(np.float64)
    assert MovingLevels.start(100).after(steady).mean.std() < 2.0


def test_period_by_period_is_all_at_once() -> None:
    demand = np.random.default_rng(0).poisson(5.0, (4, 12)).astype(np.float64)
    censored = np.random.default_rng(1).random((4, 12)) < 0.3
    whole, slow = MovingLevels.start(4).after(demand, censored), MovingLevels.start(4)
    for t in range(12):
        slow = slow.after(demand[:, t : t + 1], censored[:, t : t + 1])
    for one, other in zip(whole.state, slow.state, strict=True):
        np.testing.assert_array_equal(one, other)


def test_periods_without_demand_are_skipped() -> None:
    demand = np.array([[np.nan, 4.0, np.nan, 6.0, 5.0]])
    one, other = (MovingLevels.start(1).after(each) for each in (demand, demand[:, [1, 3, 4]]))
    np.testing.assert_array_equal(one.state.level, other.state.level)


def test_a_season_divides_out() -> None:
    index = np.array([[0.5, 2.0] * 10])
    level = np.random.default_rng(2).gamma(20.0, 5.0, (1, 20))
    plain = MovingLevels.start(1, counted=False).after(level)
    seasonal = MovingLevels.start(1, counted=False).after(level * index, exposure=index)
    np.testing.assert_allclose(seasonal.state.level, plain.state.level, rtol=1e-9)


def test_paths_have_the_mean_and_the_spread_of_demand() -> None:
    rng = np.random.default_rng(5)
    draws = PathDraws.of(500, 3, rng)
    for mean in (2.0, 200.0):
        demand = rng.poisson(mean, (100, 200)).astype(np.float64)
        paths = MovingLevels.start(100).after(demand).paths(draws)
        assert (paths == np.rint(paths)).all()
        np.testing.assert_allclose(paths[:, :, 0].mean(), mean, rtol=0.03)
        assert 0.9 < np.median(paths[:, :, 0].std(axis=1)) / np.sqrt(mean) < 1.3


def test_members_are_weighted_as_all_series_say_and_one_series_says_little() -> None:
    rng = np.random.default_rng(7)
    steady = MovingLevels.start(300).after(rng.poisson(5.0, (300, 40)).astype(np.float64)).pooled()
    walk = 50.0 * np.exp(np.cumsum(rng.normal(0.0, 0.3, (300, 40)), axis=1))
    moving = MovingLevels.start(300).after(rng.poisson(walk).astype(np.float64)).pooled()
    slow, fast = [0, 1, 7], [3, 4, 5, 6]
    assert steady.prior[slow].sum() > 0.8
    assert moving.prior[fast].sum() > 0.8
    assert steady.take(np.array([0])).prior is steady.prior
    alone = steady.take(np.array([0])).pooled().prior
    np.testing.assert_allclose(alone, 1 / len(alone), atol=0.1)
    np.testing.assert_allclose(alone.sum(), 1.0)


def test_pooled_weights_forecast_better_than_equal_ones() -> None:
    rng = np.random.default_rng(8)
    demand = rng.negative_binomial(2.0, 2.0 / 5.0, (400, 31)).astype(np.float64)  # mean 3
    equal = MovingLevels.start(400).after(demand[:, :-1])
    error = [float(np.mean((each.mean - 3.0) ** 2)) for each in (equal, equal.pooled())]
    assert error[1] < 0.9 * error[0]


def test_a_member_goes_back_to_the_slowest_level() -> None:
    """Without errors: level 4, the slowest at 2, a tenth of the way back in each period."""
    levels = MovingLevels.start(1, counted=False, level=np.array([4.0]), spread=np.zeros(1))
    at = int(np.flatnonzero(RATES[:, 2] > 0)[0])
    levels.state.level[0, 0] = 2.0
    levels.state.score[0, at] = 100.0
    none = PathDraws(np.full((1, 3), 0.5), np.zeros((1, 3)))
    gap = 2.0 * (1 - RATES[at, 2]) ** np.arange(1, 4)
    np.testing.assert_allclose(levels.paths(none)[0, 0], 2.0 + gap)
    after = levels.after(np.array([[3.8]]))
    np.testing.assert_allclose(after.state.level[0, at], 3.8)


def test_demand_that_reverts_is_forecast_better_by_members_that_do() -> None:
    rng = np.random.default_rng(10)
    log_level = [np.zeros(600)]
    for _ in range(79):
        log_level.append(0.9 * log_level[-1] + rng.normal(0.0, 0.1, 600))
    demand = rng.poisson(20.0 * np.exp(np.stack(log_level, axis=1))).astype(np.float64)
    levels, reverting = MovingLevels.start(600).after(demand).pooled(), RATES[:, 2] > 0
    assert levels.prior[reverting].sum() > 0.5
    draws, state = PathDraws.of(256, 4, rng), levels.state
    without = replace(levels, state=state._replace(score=np.where(reverting, -1e3, state.score)))
    expected = 20.0 * np.exp(0.9**4 * log_level[-1])
    errors = [float(np.mean((each.paths(draws)[:, :, 3].mean(axis=1) - expected) ** 2)) for each in (levels, without)]
    assert errors[0] < 0.85 * errors[1]


def test_small_counts_have_no_bias() -> None:
    rng = np.random.default_rng(9)
    demand = rng.negative_binomial(0.5, 0.5 / 0.9, (2000, 80)).astype(np.float64)  # mean 0.4, skewed
    np.testing.assert_allclose(MovingLevels.start(2000).after(demand).pooled().mean.mean(), 0.4, rtol=0.06)


def test_draws_are_even_in_every_period_in_pairs_and_along_the_paths() -> None:
    chances = PathDraws.of(128, 6, np.random.default_rng(0)).chances
    for column in chances.T:
        np.testing.assert_allclose(np.sort(column), (np.arange(128) + 0.5) / 128)
    assert np.abs(np.corrcoef(chances.T) - np.eye(6)).max() < 0.1
    assert np.abs(chances[:32].mean(axis=0) - 0.5).max() < 0.06
    assert PathDraws.of(10, 2, np.random.default_rng(0)).chances.shape == (10, 2)


def test_weekdays_and_weeks_are_learned_from_repetition() -> None:
    dates = np.datetime64("2024-01-01", "us") + np.arange(28 * 7) * np.timedelta64(1, "D")
    true = np.array([1.0, 0.8, 0.9, 1.0, 1.3, 1.6, 0.4])
    demand = np.random.default_rng(6).poisson(30.0 * true[weekday_of(dates)], (20, len(dates))).astype(np.float64)
    season = CalendarSeason.learned(demand, np.ones(demand.shape), dates, DAY)
    np.testing.assert_allclose(season.weekday, true / true.mean(), rtol=0.06)
    assert (season.week == 1).all()  # a year was not seen
    assert (weekday_of(dates[:7]) == np.arange(7)).all()
    assert week_of(dates[:8]).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
