"""Views of open periods."""

import numpy as np

from lostsales.data.problem import Problem
from lostsales.policy.view import Action, ClosedPeriod, View


def test_the_censoring_level_of_a_closed_period_is_what_was_available_or_the_sales_where_units_were_left() -> None:
    def view(stock: list[float], last_sales: list[float], past: tuple[ClosedPeriod, ...] = ()) -> View:
        depth = np.array([2, 2], dtype=np.int16)
        return View(0, (), np.array(stock), np.array(last_sales), depth > 0, depth, None, past)

    action = Action(np.array([4.0, 4.0]), np.array([3.0, 3.0]))
    first, second = view([5.0, 5.0], [7.0, 7.0]), view([3.0, 6.0], [5.0, 2.0])
    today = view([3.0, 3.0], [3.0, 6.0], (ClosedPeriod(first, action), ClosedPeriod(second, action)))
    # Two periods back the first series sold its 5, the second 2 of 5: its demand was at least 2.
    np.testing.assert_array_equal(today.censoring_level(2, Problem()), [5.0, np.nextafter(2.0, 0.0)])
    np.testing.assert_array_equal(today.censoring_level(1, Problem()), [3.0, 6.0])
    # With the order of 3 for sale too, all four sold less than there was.
    before = Problem(arrival="before")
    np.testing.assert_array_equal(np.rint(today.censoring_level(1, before)), [3.0, 6.0])
    assert (today.censoring_level(1, before) < [3.0, 6.0]).all()
