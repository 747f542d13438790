"""The table `[clock]`: what may be given, what is refused, and what is closed by it."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.calendar.clock import Calendars, Clock, ClosedPeriods
from lostsales.data.log import SalesLog
from lostsales.data.problem import Columns, Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.censoring.runs import find_runs
from lostsales.errors import SettingError
from lostsales.learn.baselines.threshold_tuning import BaseStock
from lostsales.learn.cfqi.learn import CFQI
from lostsales.learn.learner import Learner
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.recommendation import recommend
from tests.data.calendar.shops import PROBLEM, days, on_weekdays, shop
from tests.data.calendar.test_openings import SUNDAY, closed, parts, without
from tests.tables import findings


def given(**keys: Any) -> Problem:
    return PROBLEM.model_copy(update={"clock": Clock(**keys)})


def test_weekdays_and_days_are_read_as_people_write_them() -> None:
    clock = Clock(closed=["sun", "MONDAY", date(2026, 12, 25), datetime(2026, 12, 26, 8), "2027-01-01", 12, "Learn"])
    assert clock.closed == ("Sunday", "Monday", "2026-12-25", "2026-12-26", "2027-01-01", 12, "learn")
    assert Clock(closed="Sunday").closed == ("Sunday",)


@pytest.mark.parametrize("value", ["Sonntag", "2026-02-30", 1.5, True, "", None])
def test_an_unknown_weekday_is_refused_by_name(value: Any) -> None:
    with pytest.raises(SettingError, match=r"closed\S*: must be (a weekday such as|a number)") as caught:
        Clock(closed=["Sunday", value])
    assert repr(value) in str(caught.value)


def test_toml_gives_and_keeps_the_clock(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_text(
        'columns.series = ["store", "item"]\n[clock]\nclosed = ["Sunday", 2026-12-25]\nopen = [2026-12-20]\n'
        'column = "store"\nown = {"St. Gallen" = ["learn"], b = []}\n',
        encoding="utf-8",
    )
    problem = Problem.from_toml(path)
    assert problem.clock == Clock(
        closed=["Sunday", "2026-12-25"], open=["2026-12-20"], column="store", own={"St. Gallen": ["learn"], "b": []}
    )
    path.write_text(problem.to_toml(), encoding="utf-8")
    assert Problem.from_toml(path) == problem


def test_the_column_of_the_clock_is_of_the_series_or_an_attribute() -> None:
    with pytest.raises(SettingError, match=r"\[clock\] column must be .* \(series, region\), but it is 'store'"):
        Problem(attributes=["region"], clock={"column": "store"})


def test_what_is_given_is_closed_and_nothing_else() -> None:
    table = shop(days(60, on_weekdays(SUNDAY, also=["2024-02-14"])), "ab")
    assert parts(read_log(table, given(closed=["Sunday", "2024-02-14"]))) == {}
    assert parts(read_log(table, given(closed=["Sunday"]))) == {"a": 2, "b": 2}
    assert parts(read_log(table, given(closed=["learn", "2026-12-25"]))) == {}
    assert closed(read_log(table, given(closed=["learn", "2026-12-25"]))) == {"a": "every Sunday and on 2 other days"}


def test_a_long_closing_that_is_given_is_no_hole() -> None:
    rebuilt = [f"2024-02-{day:02}" for day in range(1, 27)]
    table = shop(days(90, on_weekdays(SUNDAY, also=rebuilt)), "a")
    assert parts(read_log(table, PROBLEM)) == {"a": 2}
    assert parts(read_log(table, given(closed=["Sunday", *rebuilt]))) == {}
    assert parts(read_log(table, given(closed=["learn", *rebuilt]))) == {}


def test_a_row_of_a_closed_day_is_named() -> None:
    table = shop(days(21, on_weekdays(SUNDAY, but=["2024-01-14"])), "ab")
    (only,) = findings(table, given(closed=["Sunday"]))
    assert only == (
        "the period of a row must not be one that [clock] gives as closed, but row 12 (series=a, period=2024-01-14) is "
        "of Sunday 2024-01-14; row 31 (series=b, period=2024-01-14) is of Sunday 2024-01-14: leave the row out, or "
        "name the day under [clock] open"
    )
    assert parts(read_log(table, given(closed=["Sunday"], open=["2024-01-14"]))) == {}
    kept = read_log(table, given(closed=["Sunday"]), drop_bad_rows=True)
    assert (kept.notes.rows_dropped, parts(kept)) == (2, {})


def test_each_store_has_the_list_that_is_given_for_it() -> None:
    table = pd.concat(
        [shop(days(40, on_weekdays(SUNDAY)), ["x / 1", "x / 2"]), shop(days(40, on_weekdays(2)), ["y / 1"])],
        ignore_index=True,
    )
    table[["store", "item"]] = table.series.str.split(" / ", expand=True)
    columns = {"columns": Columns(series=("store", "item"))}
    own = Clock(closed=["Sunday"], column="store", own={"y": ["Wednesday"]})
    log = read_log(table, PROBLEM.model_copy(update={**columns, "clock": own}))
    assert parts(log) == {}
    assert closed(log) == {"x / 1": "every Sunday", "y / 1": "every Wednesday"}
    by_series = read_log(table, given(closed=["Sunday"], own={"y / 1": ["Wednesday"]}))
    assert closed(by_series) == closed(log)
    learned = Clock(closed=["Sunday"], column="store", own={"y": ["learn"]})
    log = read_log(table, PROBLEM.model_copy(update={**columns, "clock": learned}))
    assert closed(log) == {"x / 1": "every Sunday", "y / 1": "every Wednesday"}


def test_two_series_of_a_store_suffice_where_the_column_is_named() -> None:
    shut = on_weekdays(SUNDAY, also=["2024-03-08"])
    table = pd.concat([shop(days(99, shut), ["x1", "x2"]), shop(days(99, on_weekdays(SUNDAY)), ["y1", "y2"])])
    table["store"] = table.series.str[0]
    by_store = PROBLEM.model_copy(update={"attributes": ("store",)})
    assert parts(read_log(table, by_store)) == {"x1": 2, "x2": 2}
    named = by_store.model_copy(update={"clock": Clock(column="store")})
    assert parts(read_log(table, named)) == {}
    assert parts(read_log(without(table, "y1", "2024-03-08", "2024-03-08"), named)) == {"y1": 2}


@pytest.mark.parametrize(
    ("periods", "keys", "reason"),
    [
        ("numbers", {"closed": ["Sunday"]}, "[clock] closed must have whole numbers as the periods are (weekdays need"),
        (
            "numbers",
            {"open": ["2026-12-25"]},
            "[clock] open must have whole numbers as the periods are, but it has '202",
        ),
        ("D", {"closed": [7]}, "[clock] closed must have dates as the periods are, but it has 7"),
        ("7D", {"closed": ["Sunday"]}, "[clock] can give weekdays only where periods are days or parts of them"),
        ("MS", {"closed": ["2026-12-25"]}, "[clock] can give closed periods only where periods are equally long"),
    ],
)
def test_closings_are_of_the_kind_of_the_periods(periods: str, keys: dict[str, Any], reason: str) -> None:
    table = shop(range(9), "a")
    if periods != "numbers":
        table["period"] = pd.date_range("2024-01-01", periods=9, freq=periods)
    (only,) = findings(table, given(**keys))
    assert only.startswith(reason)


def test_whole_periods_may_be_given() -> None:
    table = shop(range(20), "a").drop(index=[9, 10, 11])
    assert parts(read_log(table, PROBLEM)) == {"a": 2}
    assert parts(read_log(table, given(closed=[9, 10, 11]))) == {}


def test_a_week_is_closed_only_by_its_own_date() -> None:
    table = shop(range(20), "a").assign(period=pd.date_range("2024-01-01", periods=20, freq="7D")).drop(index=9)
    assert parts(read_log(table, given(closed=["2024-03-04"]))) == {}
    assert parts(read_log(table, given(closed=["2024-03-06"]))) == {"a": 2}  # a holiday in that week
    assert parts(read_log(table.drop(index=5), given(closed=["2024-03-04"]))) == {"a": 2}


def test_calendars_of_a_policy_file_are_checked() -> None:
    with pytest.raises(SettingError, match="of_series must name one"):
        Calendars(step=1, closed=(ClosedPeriods(),), of_series={"a": 1})
    with pytest.raises(SettingError, match="weekly must lie within a week"):
        Calendars(step=1, week=7, closed=(ClosedPeriods(weekly=(7,)),))


NAMES = ("a", "b", "c")
HOLIDAYS = ("2024-03-29", "2024-04-01")
OPEN = days(99, on_weekdays(SUNDAY, also=HOLIDAYS))  # from Monday to Monday
DATED = shop(OPEN, NAMES)
COUNTED = shop(range(len(OPEN)), NAMES)


def logs() -> tuple[SalesLog, SalesLog]:
    """The table on dates and on whole periods; the last day is not in them."""
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


# The planner decides dates by another model than whole periods.
@pytest.fixture(scope="module", params=[CFQI(iterations=2), BaseStock()], ids=["c-fqi", "base-stock"])
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
