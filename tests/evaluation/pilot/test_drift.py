"""Alarms: an exact sum, false alarms as seldom as said, shifts found soon."""

import numpy as np
import pytest

from lostsales.evaluation.pilot.drift import (
    FALSE_ALARMS,
    SPAN,
    Detector,
    MarketFigures,
    alarms,
    detectors,
    threshold_for,
)

PLAIN = Detector(name="demand", mean=1.0, deviation=0.5, autocorrelation=0.0, shift=1.0, threshold=3.0)


def test_a_sum_of_likelihood_ratios_by_hand() -> None:
    """Each period adds shift * score - shift^2 / 2: three deviations of 2 add 1.5 each, and the third passes 3."""
    figures = np.array([1.0, 1.0, 2.0, 2.0, 2.0, 1.0])
    found = alarms(PLAIN, figures)
    assert [(each.at, each.since, each.size) for each in found] == [(4, 2, 1.0)]
    assert alarms(PLAIN, 2.0 - figures)[0].size == -1.0
    assert alarms(PLAIN, np.ones(50)) == []


def test_a_period_without_a_figure_is_passed_over() -> None:
    figures = np.array([2.0, np.nan, 2.0, np.nan, 2.0])
    assert [(each.at, each.since) for each in alarms(PLAIN, figures)] == [(4, 0)]


def test_after_an_alarm_the_sum_starts_anew() -> None:
    assert [each.at for each in alarms(PLAIN, np.full(9, 2.0))] == [2, 5, 8]


@pytest.mark.parametrize("autocorrelation", [0.0, 0.4])
def test_false_alarms_are_as_seldom_as_said_and_shifts_are_found(autocorrelation: float) -> None:
    rng = np.random.default_rng(5)
    false, delays = 0, []
    for _ in range(25):
        figures = rng.standard_normal(80 + SPAN)
        for at in range(1, len(figures)):
            figures[at] = autocorrelation * figures[at - 1] + np.sqrt(1 - autocorrelation**2) * figures[at]
        detector = Detector.of("demand", 0.12 * figures[:80], shift=0.3)
        assert detector is not None
        false += len(alarms(detector, 0.12 * figures[80:]))
        shifted = 0.12 * figures[80:] + 0.3 * (np.arange(SPAN) >= 10)
        delays.append(min((each.at - 9 for each in alarms(detector, shifted) if each.at >= 10), default=SPAN))
    assert false / 25 <= FALSE_ALARMS["demand"] + 3 * np.sqrt(FALSE_ALARMS["demand"] / 25)
    assert np.median(delays) <= 8


def test_memory_and_a_short_past_raise_the_threshold() -> None:
    rng = np.random.default_rng(6)
    noise = rng.standard_normal(300)
    usual = threshold_for(noise, 0.0, 1.0, 0.2)
    assert threshold_for(noise, 0.8, 1.0, 0.2) > usual
    assert threshold_for(noise[:15], 0.0, 1.0, 0.2) > usual


def test_figures_of_a_market_by_hand() -> None:
    residual = np.array([[0.2, np.nan], [0.4, -0.1], [0.9, 0.9]])
    price = np.array([[-0.1, 0.0], [0.2, 0.1], [5.0, 5.0]])
    stockout = np.array([[1.0, np.nan], [0.0, 1.0], [1.0, 1.0]])
    counted = np.ones((3, 2), dtype=bool)
    before = np.array([[True, True], [True, True], [False, False]])
    found = MarketFigures.of(residual, price, stockout, np.array([1.0, 3.0, 4.0]), counted, before)
    np.testing.assert_allclose(found.demand, [(0.2 + 1.2 + 3.6) / 8, (-0.3 + 3.6) / 7])
    np.testing.assert_allclose(found.demand_before, [(0.2 + 1.2) / 4, -0.1])
    np.testing.assert_allclose(found.stockouts, [0.5, 1.0])
    np.testing.assert_allclose(found.price_response, [(-0.02 + 0.24) / np.sqrt(0.01 + 0.12), -0.03 / np.sqrt(0.03)])


def test_a_shift_that_the_new_policy_causes_is_none_of_the_market() -> None:
    nothing = np.full(5, np.nan)
    alarm = alarms(PLAIN, np.full(5, 2.0))[0]
    assert MarketFigures(nothing, np.full(5, 1.6), nothing, nothing).confirms(alarm)
    assert not MarketFigures(nothing, np.full(5, 1.1), nothing, nothing).confirms(alarm)
    assert not MarketFigures(nothing, nothing, nothing, nothing).confirms(alarm)


def test_what_the_past_cannot_tell_is_not_watched() -> None:
    rng = np.random.default_rng(7)
    figures = MarketFigures(rng.normal(size=30), rng.normal(size=30), rng.normal(size=30), np.zeros(30))
    assert [each.name for each in detectors(figures, 0.0, 5.0)] == ["demand", "stock-outs"]
    assert [each.name for each in detectors(figures, 0.1, 5.0)] == ["demand", "price response", "stock-outs"]
    short = MarketFigures(np.zeros(4), np.zeros(4), np.zeros(4), np.zeros(4))
    assert detectors(short, 0.1, 5.0) == ()
