"""What a log shows of demand (traps 2 and 3)."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lostsales.data.problem import Columns, Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.censoring.observed import observe
from tests.demand.logs import log_of_flags
from tests.tables import log_of


def test_a_flag_censors_at_what_was_available_and_its_absence_is_an_event_there() -> None:
    log = log_of_flags("4x3", stock=[10.0, 3.0, 3.0])
    observed = observe(log)
    np.testing.assert_array_equal(observed.is_observed, [True, False, True])
    np.testing.assert_array_equal(observed.demand, [4, 3, 3])
    np.testing.assert_array_equal(observed.censored_above[1:2], [3])
    np.testing.assert_array_equal(observed.available, [10, 3, 3])
    assert observed.integer
    assert observed.any_observed


def test_with_units_left_over_a_flag_censors_just_below_the_sales() -> None:
    observed = observe(log_of_flags("4x3", stock=[10.0, 5.0, 3.0]))
    np.testing.assert_array_equal(observed.is_observed, [True, False, True])
    np.testing.assert_array_equal(observed.censored_above[1:2], [2])
    np.testing.assert_array_equal(observed.available, [10, 3, 3])
    np.testing.assert_array_equal(observed.is_partial, [False, True, False])
    np.testing.assert_array_equal(observed.is_learnable, [True, False, True])


def test_an_interval_is_learned_from_by_its_middle() -> None:
    problem = Problem(columns=Columns(out_of_stock="out"), open_time=1, out_of_stock_pace=2)
    observed = observe(log_of_flags("4x3", problem=problem, stock=[10.0, 5.0, 3.0], out=[0.0, 0.5, 0.0]))
    np.testing.assert_array_equal(observed.at_most, [np.inf, 9, np.inf])
    demand, is_event = observed.sample
    np.testing.assert_array_equal(demand, [4, 6, 3])
    np.testing.assert_array_equal(is_event, [True, True, True])
    assert not observed.is_observed[1]


def test_without_a_flag_a_sell_out_is_censored_just_below() -> None:
    observed = observe(replace(log_of_flags("4x3", stock=[10.0, 3.0, 3.0]), stockout=None))
    np.testing.assert_array_equal(observed.is_observed, [True, False, False])
    np.testing.assert_array_equal(observed.censored_above[1:], [2, 2])
    np.testing.assert_array_equal(observed.demand, [4, 2, 2])
    np.testing.assert_array_equal(observed.available[1:], [3, 3])


def test_without_a_flag_a_continuous_demand_is_censored_at_the_next_smaller_number() -> None:
    observed = observe(log_of(stock=[5.0, 4.0, 2.5, 3.0, 4.0], sales=[1.0, 2.0, 2.5, 3.0, 1.0]))
    assert not observed.integer
    hidden = ~observed.is_observed
    np.testing.assert_array_equal(hidden, [False, False, True, True, False])
    assert (observed.censored_above[hidden] < observed.available[hidden]).all()
    np.testing.assert_allclose(observed.censored_above[hidden], [2.5, 3.0], rtol=1e-15)


def test_no_stock_and_no_flag_is_uninformative() -> None:
    observed = observe(log_of(stock=[5.0, 4.0, 0.0, 3.0, 4.0], sales=[1.0, 2.0, 0.0, 3.0, 1.0]))
    assert not observed.is_observed[2]
    assert observed.censored_above[2] == -1  # P(D > -1) = 1


@pytest.mark.parametrize(
    ("capacity", "recovered"),
    [(None, 5.0), (2.0, None)],  # at full capacity the next stock only bounds the demand
)
def test_a_positive_next_stock_gives_demand_back_under_the_netted_balance(
    capacity: float | None, recovered: float | None
) -> None:
    problem = Problem(balance="netted", capacity=capacity)
    log = log_of(
        problem,
        stock=[2.0, 2.0, 2.0, 1.0, 0.0],
        order=[0.0, 5.0, 0.0, 3.0, 0.0],
        sales=[0.0, 2.0, 2.0, 1.0, 0.0],
        stockout=[False, True, True, True, True],
    )
    observed = observe(log)
    # Row 1: 2 + 5 - 2 = 5. Row 2 is the last of its series, row 3 left nothing: both stay hidden.
    np.testing.assert_array_equal(observed.is_observed, [True, recovered is not None, False, False, False])
    assert observed.demand[1] == (2 if recovered is None else recovered)


def test_receipts_and_corrections_enter_what_is_given_back() -> None:
    log = log_of(
        Problem(balance="netted"),
        stock=[5.0, 4.0, 2.0, 3.0, 4.0],
        sales=[1.0, 4.0, 2.0, 3.0, 1.0],
        order=[0.0, 9.0, 0.0, 0.0, 0.0],
        received=[0.0, 6.0, 0.0, 0.0, 0.0],
        adjustment=[0.0, -1.0, 0.0, 0.0, 0.0],
        stockout=[False, True, True, True, False],
    )
    # 4 + 6 - (2 + 1): one of the three that were left had gone missing.
    assert observe(log).demand[1] == 7


def test_a_demand_only_log_has_no_bound_without_a_stock_out() -> None:
    frame = pd.DataFrame(
        {"series": ["a"] * 3, "period": [1, 2, 3], "price": 1.0, "sales": [0.5, 1.0, 2.0], "stockout": [0, 1, 0]}
    )
    observed = observe(read_log(frame))
    np.testing.assert_array_equal(observed.is_observed, [True, False, True])
    np.testing.assert_array_equal(observed.demand, [0.5, 1, 2])
    np.testing.assert_array_equal(observed.available, [np.inf, 1, np.inf])
    assert not observed.integer
