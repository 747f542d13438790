"""Standard errors and power of a design, against their simulated values."""

import numpy as np
import pytest

from lostsales.evaluation.pilot.assignment import assignments_of, draw_series, strata_of
from lostsales.evaluation.pilot.estimators import by_series
from lostsales.evaluation.pilot.layouts import needed_drift
from lostsales.evaluation.pilot.precision import ProfitModel
from lostsales.evaluation.pilot.sequential_test import first_crossing
from lostsales.types import Floats


def remembering(series: int, periods: int, memory: float, rng: np.random.Generator) -> Floats:
    """Stationary autoregressions of variance 1, (series, periods)."""
    found = rng.standard_normal((series, periods))
    for at in range(1, periods):
        found[:, at] = memory * found[:, at - 1] + np.sqrt(1 - memory**2) * found[:, at]
    return found


def test_white_noise_of_equal_series_is_the_textbook_error() -> None:
    """Nothing to explain: the standard error is sigma sqrt(4 / (n T)), but for the estimated slope."""
    profit = np.random.default_rng(0).normal(5, 2, (40, 400))
    found = ProfitModel.of(profit).error_by_series(0, 25)
    assert found == pytest.approx(2 * np.sqrt(4 / (40 * 25)) * np.sqrt(1 + 1 / 37), rel=0.05)


def test_levels_that_the_past_knows_cost_nothing() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 1, (30, 300))
    plain, levelled = (
        ProfitModel.of(noise + each).error_by_series(0, 20) for each in (0.0, rng.normal(0, 50, (30, 1)))
    )
    assert levelled == pytest.approx(plain * np.sqrt(1 + 20 / 300), rel=0.05)


def test_errors_are_those_of_simulated_pilots() -> None:
    rng = np.random.default_rng(2)
    series, past, planned, memory = 20, 80, 25, 0.6
    told, estimates = [], []
    for _ in range(100):
        profit = rng.normal(10, 3, (series, 1)) + remembering(series, past + planned, memory, rng)
        profit = profit + rng.normal(0, 2, past + planned)
        model = ProfitModel.of(profit[:, :past])
        told.append(model.error_by_series(0, planned))
        before = profit[:, past - model.past_window(0, planned) : past].mean(axis=1)
        draws = draw_series(strata_of(before), 1, rng)
        estimates.append(by_series(profit[:, past:], before, draws, np.ones(planned)).estimate[-1])
    assert np.mean(told) == pytest.approx(np.std(estimates), rel=0.2)


def test_switches_of_white_noise_have_the_textbook_error() -> None:
    profit = np.random.default_rng(3).normal(0, 1, (1, 2_000))
    found = ProfitModel.of(profit, by_series=False).error_by_switches(wash_out=2, block=7, pairs=10)
    assert found == pytest.approx(np.sqrt(2 / 5 / 10), rel=0.1)


def test_one_look_needs_what_the_textbook_says() -> None:
    """1.96 + 0.84 standard errors at 5 % and 80 %, here at 4.5 %: z(0.9775) + z(0.8)."""
    assert needed_drift(1, 10**6, 1e9) == pytest.approx(2.0047 + 0.8416, abs=0.03)
    assert needed_drift(40, 10**6, 1e9) < 1.07 * needed_drift(1, 10**6, 1e9)
    assert needed_drift(40, 9, 1e9) > needed_drift(40, 17, 1e9) > needed_drift(40, 10**6, 1e9)


def test_too_few_assignments_need_an_infinite_gain() -> None:
    assert needed_drift(5, 10, 20.0) == float("inf")


def test_shocks_in_proportion_to_past_profit_cost_nothing() -> None:
    rng = np.random.default_rng(5)
    size, noise = np.exp(rng.normal(0, 1, (30, 1))), rng.normal(0, 1, (30, 300))
    plain, shaken = (
        ProfitModel.of(10 * size + noise + each).error_by_series(0, 20) for each in (0.0, size * rng.normal(0, 3, 300))
    )
    assert shaken == pytest.approx(plain, rel=0.02)


@pytest.mark.slow
def test_the_promised_power_is_that_of_simulated_pilots() -> None:
    rng = np.random.default_rng(4)
    series, planned, pilots = 16, 20, 200
    found = 0
    for _ in range(pilots):
        profit = remembering(series, 60 + planned, 0.4, rng) + rng.normal(0, 3, (series, 1))
        model = ProfitModel.of(profit[:, :60])
        before = profit[:, 60 - model.past_window(0, planned) : 60].mean(axis=1)
        strata = strata_of(before)
        gain = needed_drift(planned, series - 3, assignments_of(strata)) * model.error_by_series(0, planned)
        draws = draw_series(strata, 600, rng)
        pilot = profit[:, 60:] + gain * draws[0][:, None]
        found += (
            first_crossing(by_series(pilot, before, draws, np.arange(1, planned + 1) / planned), "success") is not None
        )
    assert found / pilots == pytest.approx(0.8, abs=0.08)
