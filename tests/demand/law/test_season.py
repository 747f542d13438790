"""The position in the year from logs shorter and longer than a year."""

import numpy as np
import pytest

from lostsales.data.calendar.clock import DAY
from lostsales.data.calendar.dates import calendar_values
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.estimation import fit_family
from lostsales.types import Array, Floats
from tests.demand.logs import COSTS, log_of_draws

CALENDAR = ("weekday", "week", "month", "holidays:US")
FIRST = np.datetime64("2024-09-01")
SERIES = 6


def wave(dates: Array) -> Floats:
    return calendar_values("year_cos_1", "week", dates.astype("datetime64[us]"), DAY)


def dated(days: int, season: float) -> SalesLog:
    """Counts of 8 times exp(season * cosine of the year)."""
    rng = np.random.default_rng(7)
    dates = np.arange(FIRST, FIRST + days)
    price = rng.choice([4.0, 5.0, 6.0], (SERIES, days))
    demand = rng.poisson(8 * np.exp(season * wave(dates) - 0.3 * (price - 5))).astype(float)
    available = rng.integers(4, 20, demand.shape).astype(float)
    period = np.tile(dates.astype("datetime64[ns]"), (SERIES, 1))
    return log_of_draws(demand, available, Problem(costs=COSTS, calendar=CALENDAR), price=price, period=period)


def season_of(log: SalesLog, dates: Array) -> Floats:
    """What the fitted law adds to the logarithm of demand on days, beyond their weekday and holidays."""
    evidence = gather_evidence(log)
    law = fit_family(evidence, Family.counts("linear", "poisson"), np.ones(SERIES))
    columns = [
        *(calendar_values(f"year_{name}", "week", dates, DAY) for name in ("sin_1", "cos_1", "sin_2", "cos_2")),
        *np.eye(12)[calendar_values("month", "month", dates, DAY).astype(int)].T,
    ]
    market = np.zeros((len(dates), evidence.market.shape[1]))
    market[:, 7 : 7 + len(columns)] = np.column_stack(columns)
    usual = np.full(len(dates), 5.0), np.full(len(dates), 8.0)
    return np.asarray(law.mean(law.inputs(market, *usual)))


def test_only_the_position_in_the_year_has_a_prior() -> None:
    evidence = gather_evidence(dated(30, 0.0))
    assert evidence.is_season is not None
    assert evidence.is_season.tolist() == [False] * 7 + [True] * 16 + [False]
    assert evidence.part(evidence.series < 2).is_season is evidence.is_season


def test_fifty_days_say_nothing_of_the_rest_of_the_year() -> None:
    """By least squares alone what is expected two months later is off by factors."""
    dates = np.arange(FIRST, FIRST + 110).astype("datetime64[us]")
    found = season_of(dated(50, 0.0), dates)
    assert np.ptp(found) < 0.1


@pytest.mark.parametrize("season", [0.5])
def test_a_season_that_the_log_shows_is_learned(season: float) -> None:
    """Two years of six products: the wave comes back within some four standard errors of a month."""
    dates = np.arange(FIRST, FIRST + 365).astype("datetime64[us]")
    found = season_of(dated(730, season), dates)
    truth = season * wave(dates)
    np.testing.assert_allclose(found - found.mean(), truth - truth.mean(), atol=0.1)
