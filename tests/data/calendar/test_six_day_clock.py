"""A shop that is closed on Sundays equals the same rows on a clock of six days."""

import numpy as np
import pandas as pd
import pytest

from lostsales.data.log import SalesLog
from lostsales.data.reading.gate import read_log
from lostsales.demand.censoring.runs import find_runs
from lostsales.learn.cfqi.settings import CFQI
from lostsales.learn.learner import Learner
from lostsales.learn.planner.planner import Planner
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.recommendation import recommend
from tests.data.calendar.shops import PROBLEM, days, on_weekdays, shop
from tests.data.calendar.test_openings import SUNDAY

NAMES = ("a", "b", "c")
HOLIDAYS = ("2024-03-29", "2024-04-01")
OPEN = days(99, on_weekdays(SUNDAY, also=HOLIDAYS))  # from Monday to Monday
DATED = shop(OPEN, NAMES)
COUNTED = shop(range(len(OPEN)), NAMES)


def logs() -> tuple[SalesLog, SalesLog]:
    """On dates and on whole periods; the last day is not in them."""
    last = DATED.period == DATED.period.max()
    return read_log(DATED[~last], PROBLEM), read_log(COUNTED[~last], PROBLEM)


def test_the_logs_have_the_same_parts_rows_and_runs() -> None:
    dated, counted = logs()
    assert DATED.period.max().day_name() == "Monday"
    assert len(dated.names) == 3
    for column in ("names", "series", "sales", "stock", "censored", "has_next", "cash"):
        np.testing.assert_array_equal(getattr(dated, column), getattr(counted, column))
    assert dated.notes == counted.notes
    dated_runs, counted_runs = find_runs(dated), find_runs(counted)
    np.testing.assert_array_equal(dated_runs.depth, counted_runs.depth)
    np.testing.assert_array_equal(dated_runs.observed.is_observed, counted_runs.observed.is_observed)


@pytest.fixture(scope="module", params=[CFQI(iterations=2), Planner(draws=1)], ids=["c-fqi", "planner"])
def policies(request: pytest.FixtureRequest) -> list[SavedPolicy]:
    learner: Learner = request.param
    return [learner.fit(log.decisions("fit")) for log in logs()]


@pytest.mark.parametrize("rows", [1, 8])
def test_recommendations_for_monday_after_saturday_are_the_same_to_the_bit(
    policies: list[SavedPolicy], rows: int
) -> None:
    recommended = []
    for policy, table in zip(policies, (DATED, COUNTED), strict=True):
        last = table.period == table.period.max()
        recent = table[~last].groupby("series").tail(rows)
        today = table.loc[last, ["series", "period", "stock", "promotion"]]
        recommended.append(recommend(policy, recent, today).drop(columns="period"))
    dated, counted = recommended
    pd.testing.assert_frame_equal(dated, counted, check_exact=True)
    assert not dated.flag.str.contains("missing").any()
