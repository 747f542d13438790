"""Covariates of a hidden demand."""

import numpy as np
import pandas as pd

from lostsales.data.feature import Feature
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.censoring.runs import find_runs
from lostsales.demand.survival.depth_groups import block_covariates, market_covariates


def test_the_block_of_a_row_goes_back_to_its_anchor_and_leaves_today_out() -> None:
    problem = Problem(
        features=(Feature(name="rain"), Feature(name="day", kind="categorical", levels=("mo", "tu", "we", "th"))),
        attributes=("size", "city"),
    )
    frame = pd.DataFrame(
        {
            "series": ["a"] * 4,
            "period": [1, 2, 3, 4],
            "rain": [0.1, 0.2, 0.3, 0.4],
            "day": ["mo", "tu", "we", "th"],
            "size": [7, 7, 7, 7],
            "city": ["x"] * 4,
            "stock": [9.0, 5.0, 6.0, 8.0],
            "price": [1.0, 2.0, 3.0, 4.0],
            "order": [0.0, 1.0, 2.0, 3.0],
            "sales": [4.0, 5.0, 6.0, 8.0],
            "stockout": [False, True, True, True],
        }
    )
    log = read_log(frame, problem)
    runs = find_runs(log)
    np.testing.assert_array_equal(runs.depth, [-1, 0, 1, 2])
    day = np.eye(4)
    today = [0.4, *day[3], 4.0]
    yesterday = [0.3, *day[2], 3.0, 6.0]  # and the 6 that were available, a bound on what was wanted
    before = [0.2, *day[1], 2.0, 5.0]
    deepest = block_covariates(log, runs, np.array([3]), depth=2)
    # Today's order of 3 and stock of 8 are not among them.
    np.testing.assert_array_equal(deepest, [[4.0, 7.0, 1.0, *today, *yesterday, *before]])
    np.testing.assert_array_equal(market_covariates(log, np.array([3])), [[7.0, 1.0, *today]])
