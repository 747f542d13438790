"""Survival curves against hand-computed ones, sums and integrals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lostsales.demand.survival.curve import SurvivalCurve, kaplan_meier
from lostsales.demand.survival.tail import Tail
from tests.demand.logs import bools

TIMES, EVENTS = np.array([1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 6.0]), bools("1101100")
# At risk 7, 6, 4, 3: (1 - 1/7) (1 - 1/6) (1 - 1/4)... with events 1 of 7, 1 of 6, 1 of 4, 1 of 3.
BY_HAND = np.array([6 / 7, 6 / 7 * 5 / 6, 6 / 7 * 5 / 6 * 3 / 4, 6 / 7 * 5 / 6 * 3 / 4 * 2 / 3])


def test_kaplan_meier_by_hand_with_ties() -> None:
    curve = kaplan_meier(TIMES, EVENTS)
    np.testing.assert_array_equal(curve.times, [1, 2, 3, 4])
    np.testing.assert_allclose(curve.survival, BY_HAND, rtol=1e-15)
    np.testing.assert_allclose(curve(np.array([-1.0, 0.5, 1.0, 2.5, 5.0])), [1, 1, BY_HAND[0], BY_HAND[1], BY_HAND[3]])
    assert curve.end == curve.demand_max == 6


def test_a_weight_counts_as_so_many_rows() -> None:
    weights = np.array([2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 1.0])
    repeated = np.repeat(np.arange(7), weights.astype(int))
    weighted = kaplan_meier(TIMES, EVENTS, weights)
    np.testing.assert_allclose(weighted.survival, kaplan_meier(TIMES[repeated], EVENTS[repeated]).survival, rtol=1e-14)


def test_the_order_of_rows_does_not_matter() -> None:
    order = np.random.default_rng(0).permutation(7)
    np.testing.assert_allclose(kaplan_meier(TIMES[order], EVENTS[order]).survival, BY_HAND, rtol=1e-15)


def test_no_rows_and_no_events() -> None:
    assert kaplan_meier(np.zeros(0), bools(""), demand_max=9)(3.0) == 1
    nothing_known = kaplan_meier(np.array([2.0, 3.0]), bools("00"), demand_max=9)
    np.testing.assert_array_equal(nothing_known(np.array([2.0, 8.0, 9.0])), [1, 1, 0])
    assert nothing_known.mean_excess(2.0, 2.0) == 7


rows = st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.floats(0.1, 3)), min_size=1, max_size=25)


@given(rows, st.sampled_from(["to_max", "exponential"]), st.booleans())
def test_a_curve_falls_from_one_to_zero(data: list[tuple[int, bool, float]], tail: Tail, integer: bool) -> None:
    times, events, weights = (np.array(column) for column in zip(*data, strict=True))
    curve = kaplan_meier(times.astype(float), events, weights, demand_max=12, tail=tail, integer=integer)
    levels = curve(np.linspace(-1, 12, 261))
    assert levels[0] == 1
    assert levels[-1] == 0
    assert (np.diff(levels) <= 1e-15).all()


@given(rows, st.integers(0, 11), st.booleans(), st.sampled_from(["to_max", "exponential"]))
def test_mean_excess_of_whole_demand_is_a_sum(
    data: list[tuple[int, bool, float]], available: int, flag: bool, tail: Tail
) -> None:
    """Trap 3: with a flag D > a, without one D >= a, and E[D | D >= a] = a + sum over c >= a of SF(c) / SF(a - 1)."""
    times, events, weights = (np.array(column) for column in zip(*data, strict=True))
    curve = kaplan_meier(times.astype(float), events, weights, demand_max=12, tail=tail)
    point = available if flag else available - 1
    above = curve(float(point))
    direct = float(curve(np.arange(available, 12.0)).sum()) / above if above > 0 else 12 - available
    assert curve.mean_excess(point, available) == pytest.approx(direct, rel=1e-12, abs=1e-12)


def test_the_same_as_the_mean_of_the_mass_above() -> None:
    """E[D | D >= 2] from the probabilities themselves, with the mass that is left at demand_max = 8."""
    mass = -np.diff(np.r_[1.0, BY_HAND])  # at 1, 2, 3, 4
    curve = kaplan_meier(TIMES, EVENTS, demand_max=8)
    at_least_2 = (2 * mass[1] + 3 * mass[2] + 4 * mass[3] + 8 * BY_HAND[3]) / BY_HAND[0]
    assert 2 + curve.mean_excess(1.0, 2.0) == pytest.approx(at_least_2, rel=1e-14)
    above_2 = (3 * mass[2] + 4 * mass[3] + 8 * BY_HAND[3]) / BY_HAND[1]
    assert 2 + curve.mean_excess(2.0, 2.0) == pytest.approx(above_2, rel=1e-14)


@pytest.mark.parametrize("tail", ["to_max", "exponential"])
def test_mean_excess_of_continuous_demand_is_an_integral(tail: Tail) -> None:
    rng = np.random.default_rng(1)
    times, events = rng.exponential(3, 40), rng.random(40) < 0.6
    events[np.argmax(times)] = False
    most = float(times.max()) + 8
    curve = kaplan_meier(times, events, demand_max=most, tail=tail, integer=False)
    for point in (0.0, 0.7, 2.5, most - 8, most - 3):
        cells = np.linspace(point, most, 400_001)
        area = float(np.sum(curve((cells[1:] + cells[:-1]) / 2)) * (cells[1] - cells[0]))
        assert curve.mean_excess(point, point) == pytest.approx(area / float(curve(point)), rel=1e-4)


def test_a_known_continuous_law_is_recovered() -> None:
    """Demand exponential with mean 3, censored by another: E[D | D > a] - a = 3 for every a."""
    rng = np.random.default_rng(2)
    demand, available = rng.exponential(3, 200_000), rng.exponential(9, 200_000)
    curve = kaplan_meier(np.minimum(demand, available), demand <= available, demand_max=60, integer=False)
    for point in (0.0, 1.0, 5.0):
        assert curve.mean_excess(point, point) == pytest.approx(3, rel=0.03)


def _curve(tail: Tail, integer: bool = True) -> SurvivalCurve:
    """SF is 1/2 from 2 on, and nothing is known above 4."""
    return kaplan_meier(np.array([2.0, 4.0]), bools("10"), demand_max=8, tail=tail, integer=integer)


def test_the_tail_rule_to_max_puts_what_is_left_at_the_end() -> None:
    curve = _curve("to_max")
    np.testing.assert_array_equal(curve(np.array([4.0, 7.9, 8.0])), [0.5, 0.5, 0])
    assert curve.mean_excess(4.0, 4.0) == 4
    assert curve.mean_excess(0.0, 0.0) == 2 + 0.5 * 6


def test_the_exponential_tail_falls_at_the_mean_rate_so_far() -> None:
    rate = np.log(2) / 4  # SF(4) = 1/2
    smooth = _curve("exponential", integer=False)
    assert smooth.rate == pytest.approx(rate)
    assert smooth(6.0) == pytest.approx(0.5 * np.exp(-2 * rate))
    assert smooth.mean_excess(4.0, 4.0) == pytest.approx((1 - np.exp(-4 * rate)) / rate)
    whole = _curve("exponential")
    assert whole(6.7) == pytest.approx(0.5 * np.exp(-2 * rate))
    assert whole.mean_excess(4.0, 4.0) == pytest.approx(np.exp(-rate * np.arange(4)).sum())
    assert whole.mean_excess(6.0, 6.0) == pytest.approx(1 + np.exp(-rate))


def test_the_tail_rule_last_is_a_lower_bound() -> None:
    curve = _curve("last")
    np.testing.assert_array_equal(curve(np.array([4.0, 4.1])), [0.5, 0])
    assert curve.mean_excess(2.0, 2.0) == 2  # all that is left above 2 lies at 4
    assert curve.mean_excess(4.0, 4.0) == 0
    assert curve.mean_excess(5.0, 5.0) == 0


def test_the_tail_rule_refuse_answers_only_what_is_known() -> None:
    curve = _curve("refuse")
    np.testing.assert_array_equal(curve(np.array([3.0, 4.0])), [0.5, 0.5])
    assert np.isnan(curve(5.0))
    assert np.isnan(curve.mean_excess(2.0, 2.0))
    complete = kaplan_meier(np.array([2.0, 4.0]), bools("11"), demand_max=8, tail="refuse")
    assert complete.mean_excess(2.0, 2.0) == 2
    assert np.isnan(complete.mean_excess(5.0, 5.0))


@pytest.mark.parametrize("tail", ["to_max", "exponential"])
def test_where_no_mass_is_left_above_a_point_the_largest_demand_answers(tail: Tail) -> None:
    complete = kaplan_meier(np.array([2.0, 4.0]), bools("11"), demand_max=8, tail=tail)
    assert complete.mean_excess(5.0, 5.0) == 3
