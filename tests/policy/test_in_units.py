"""A policy that counts in another unit than the shop."""

import time

import numpy as np

from lostsales.policy.in_units import view_in_units
from lostsales.policy.view import Action, ClosedPeriod, View


def test_a_long_past_is_counted_in_time_that_grows_with_its_length() -> None:
    """Each closed period holds those before it; following all of them would take 2^60 steps."""
    ones = np.ones(2)
    past: tuple[ClosedPeriod, ...] = ()
    for period in range(60):
        stock = ones * 12 * period
        view = View(period, (), stock, stock, ones > 1, np.zeros(2, np.int16), None, past)
        past = (*past, ClosedPeriod(view, Action(ones, stock)))
    began = time.monotonic()
    counted = view_in_units(View(60, (), ones * 24, ones * 12, ones > 1, np.zeros(2, np.int16), None, past), ones * 12)
    assert time.monotonic() - began < 10
    assert counted.stock.tolist() == [2, 2]
    assert [each.view.stock[0] for each in counted.past] == list(range(60))
    assert [each.action.order[0] for each in counted.past] == list(range(60))


def test_counted_in_ones_a_view_is_the_same() -> None:
    ones = np.ones(2)
    view = View(0, (), ones * 3, ones, ones > 1, np.zeros(2, np.int16), None)
    assert view_in_units(view, ones) is view
