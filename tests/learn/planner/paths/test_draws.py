"""Sampled futures take no more than memory allows."""

import numpy as np
import pytest

import lostsales
from lostsales.demand.model.calendar_season import INDEX_RANGE, CalendarSeason
from lostsales.errors import LostSalesError
from lostsales.learn.planner.paths.policy import check_draws
from lostsales.learn.planner.paths.search import MOST_AHEAD, MOST_PATHS, Search


def test_futures_that_do_not_fit_into_memory_are_refused() -> None:
    weekly = lostsales.Problem.model_validate({"supply": {"lead_time": 100, "order_days": 1}})
    yearly = lostsales.Problem.model_validate({"supply": {"lead_time": 100, "order_days": 365}})
    check_draws(weekly, Search(MOST_PATHS, MOST_AHEAD), review=1)
    with pytest.raises(LostSalesError, match="10,000 sampled futures of 664 periods are more than the 3,000,000"):
        check_draws(yearly, Search(MOST_PATHS, MOST_AHEAD), review=1)


def test_the_index_of_a_season_stays_within_what_a_policy_file_may_hold() -> None:
    dates = np.datetime64("2026-01-05", "us") + np.arange(70) * np.timedelta64(1, "D")
    demand = np.where(np.arange(70) % 7 == 6, 1e12, 0.0)[None]
    season = CalendarSeason.learned(demand, np.ones((1, 70)), dates, 86_400_000_000)
    assert season.weekday.min() == INDEX_RANGE[0]
    assert season.weekday.max() <= INDEX_RANGE[1]
