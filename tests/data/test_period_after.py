"""The period after a row of a log."""

import numpy as np
import pandas as pd
import pytest

from lostsales import Problem, read_log
from lostsales.types import Array


def after(periods: list[object]) -> Array:
    """The period after the last row of one product."""
    rows = len(periods)
    table = pd.DataFrame({"product": "A", "period": periods, "stock": 9.0, "price": 2.0, "order": 1.0, "sales": 1.0})
    problem = Problem.model_validate(
        {"columns": {"series": "product", "period": "period"}, "costs": {"lost": 1.0, "order": 1.0, "holding": 0.1}}
    )
    log = read_log(table, problem)
    return log.period_after(np.array([rows - 1]))


@pytest.mark.parametrize(
    ("periods", "following"),
    [
        (["2026-01-31", "2026-02-28", "2026-03-31"], "2026-04-30"),  # ends of months
        (["2025-12-15", "2026-01-15"], "2026-02-15"),
        (["2025-11-28", "2025-12-28", "2026-01-28", "2026-02-28"], "2026-03-28"),
        (["2026-01-05", "2026-02-02", "2026-03-02"], "2026-03-30"),  # every four weeks
        (["2026-03-02", "2026-03-03"], "2026-03-04"),
        (["2026-03-02"], "2026-03-03"),
    ],
)
def test_a_month_is_followed_by_a_month_and_a_day_by_a_day(periods: list[str], following: str) -> None:
    assert after([np.datetime64(each) for each in periods]) == np.datetime64(following)


def test_numbers_go_on_by_their_usual_step() -> None:
    assert after([3, 5, 7]) == 9
    assert after([3]) == 4
