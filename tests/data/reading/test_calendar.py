"""The key `calendar` of a problem: features that no table has to carry."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.errors import LogError

ALL = ("weekday", "week", "month", "holidays:US")


def table(first: str = "2023-12-20", periods: int = 80, **columns: Any) -> pd.DataFrame:
    frame = {"series": "a", "period": pd.date_range(first, periods=periods), "stock": 5, "price": 2.0, "order": 1}
    return pd.DataFrame(frame | {"sales": 1} | columns)


def test_the_periods_give_the_features_after_those_of_the_table() -> None:
    log = read_log(table(promotion=0), Problem(features=["promotion"], calendar=ALL))
    names = [feature.name for feature in log.problem.features]
    assert names[:2] == ["promotion", "weekday"]
    assert names[-2:] == ["month", "holiday"]
    assert log.features[:5, 1].tolist() == [2, 3, 4, 5, 6]
    holidays = log.period[log.features[:, -1] == 1].astype("datetime64[D]").astype(str).tolist()
    assert holidays == ["2023-12-25", "2024-01-01", "2024-01-15", "2024-02-19"]
    assert log.notes.unused_columns == ()


def test_any_kind_of_table_gives_the_same() -> None:
    import polars as pl

    problem, frame = Problem(calendar=ALL), table()
    wanted = read_log(frame, problem).features
    np.testing.assert_array_equal(read_log(pl.from_pandas(frame).lazy(), problem).features, wanted)
    as_text = frame.assign(period=frame["period"].dt.strftime("%d.%m.%Y"))
    written: Any = {"dates": "%d.%m.%Y"}
    np.testing.assert_array_equal(read_log(as_text, Problem(calendar=ALL, format=written)).features, wanted)


def test_closed_days_have_no_row_and_the_next_row_has_its_own_weekday() -> None:
    frame = table()
    is_open = (frame["period"].dt.day_of_week != 6) & (frame["period"] != pd.Timestamp("2023-12-25"))
    closed: Any = {"closed": ["Sunday", "2023-12-25"]}
    log = read_log(frame[is_open], Problem(calendar=["weekday"], clock=closed))
    assert log.notes.holes == 0
    assert log.features[:5, 0].tolist() == [2, 3, 4, 5, 1]  # from Saturday to Tuesday


def test_the_problem_file_has_the_words_and_not_the_features(tmp_path: Any) -> None:
    problem = Problem(features=["promotion"], calendar=ALL)
    (tmp_path / "p.toml").write_text(problem.to_toml())
    assert "weekday" not in problem.to_toml().replace('calendar = ["weekday"', "")
    assert Problem.from_toml(tmp_path / "p.toml") == problem
    assert Problem.model_validate(problem.model_dump(mode="json")) == problem


def test_periods_that_are_no_dates_are_refused() -> None:
    frame = table(periods=10).assign(period=range(10))
    with pytest.raises(LogError, match="period must be dates, as the problem's calendar"):
        read_log(frame, Problem(calendar=["weekday"]))
