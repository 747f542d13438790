"""What is on the way today: from recent rows, as given, and contradictions named by row."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.problem import Problem
from lostsales.data.reading.table import open_table
from lostsales.errors import LogError
from lostsales.policy.open_day import SHORT_PAST, UNKNOWN_PIPELINE, read_open_day
from lostsales.policy.recent_rows import RecentRows
from lostsales.types import Floats

COSTS = {"lost": 1, "order": 1, "holding": 1}
# One series with lead time 3 whose stock follows: 5 + 4 on the way before the log.
RECENT = pd.DataFrame(
    {
        "series": ["a"] * 4,
        "period": [1, 2, 3, 4],
        "stock": [5, 8, 9, 6],
        "price": [2] * 4,
        "order": [3, 0, 6, 1],
        "sales": [1, 3, 6, 2],
        "received": [4, 4, 3, 0],
    }
)
TODAY = pd.DataFrame({"series": ["a"], "period": [5], "stock": [4]})


def opened(recent: pd.DataFrame | None, today: pd.DataFrame, **supply: Any) -> tuple[Floats, dict[str, Any]]:
    problem = Problem.model_validate({"supply": {"lead_time": 3} | supply, "costs": COSTS})
    rows = None if recent is None else RecentRows.read(problem, open_table(recent))
    day = read_open_day(problem, rows, open_table(today), 5.0)
    assert day.view.pipeline is not None
    return day.view.pipeline, {text: rows for text, rows in day.flags.items() if rows.any()}


def test_it_follows_from_recent_orders() -> None:
    """The orders 6 and 1 of periods 3 and 4 arrive in 1 and 2 periods; with or without receipts."""
    for recent in (RECENT, RECENT.drop(columns="received")):
        pipeline, flags = opened(recent, TODAY)
        assert (pipeline.tolist(), flags) == ([[6, 1]], {})


def test_recent_rows_that_do_not_reach_back() -> None:
    pipeline, flags = opened(RECENT[RECENT.period == 4], TODAY)
    assert pipeline.tolist() == [[0, 1]]
    assert SHORT_PAST in flags
    pipeline, flags = opened(RECENT, TODAY.assign(series="b"))
    assert pipeline.tolist() == [[0, 0]]
    assert UNKNOWN_PIPELINE in flags


@pytest.mark.parametrize(
    "given",
    [{"on_order_1": 6, "on_order_2": 1}, {"on_order_1": 6, "on_order_2": 1, "on_order_3": 0}, {"on_order": "[6, 1]"}],
)
def test_it_is_given_in_today(given: dict[str, Any]) -> None:
    for recent in (None, RECENT):
        assert opened(recent, TODAY.assign(**given))[0].tolist() == [[6, 1]]
    assert opened(None, TODAY.assign(on_order=pd.Series([[6, 1]])))[0].tolist() == [[6, 1]]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"on_order_1": 6, "on_order_2": 2}, r"on_order must be what recent rows ordered .* row 0 .* \[6, 2\] of \[6, 1\]"),
    ({"on_order_1": 6}, "missing column 'on_order_2': lead times reach 3 periods"),
    ({"on_order_1": 6, "on_order_2": 1, "on_order_3": 4}, r"within 2 periods, as lead times reach 3, but row 0"),
    ({"on_order_1": -6, "on_order_2": 1}, "on_order_1 must not be negative, but row 0"),
    ({"on_order": "6, 1"}, r"on_order must be a list of what arrives in 1, 2, \.\.\. periods.* row 0"),
    ({"on_order": "[6, 1, 4]"}, r"within 2 periods, as lead times reach 3, but row 0"),
]


@pytest.mark.parametrize(("given", "reason"), WRONG)
def test_contradictions_name_the_row(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(LogError, match=reason):
        opened(RECENT, TODAY.assign(**given))


def test_a_receipt_that_the_lead_time_does_not_give_is_named() -> None:
    late = RECENT.assign(received=[4, 4, 0, 0], stock=[5, 8, 9, 3])
    with pytest.raises(LogError, match=r"received must be what was ordered 2 periods before, but period 3 of series a"):
        opened(late, TODAY)


@pytest.mark.slow
def test_lead_times_that_vary_leave_what_was_not_received() -> None:
    """Of the orders 6 and 1 nothing came; 3 came in its third period, as received says, or as today's stock does."""
    law = {"1": 0.4, "2": 0.3, "3": 0.2, "lost": 0.1}
    for recent in (RECENT, RECENT.drop(columns="received")):
        assert opened(recent, TODAY, lead_time=law)[0].tolist() == [[6, 1]]
    came = RECENT.assign(received=[4, 4, 3, 7])
    assert opened(came, TODAY.assign(stock=11), lead_time=law)[0].tolist() == [[0, 0]]
    assert opened(RECENT.drop(columns="received"), TODAY.assign(stock=11), lead_time=law)[0].tolist() == [[0, 0]]
    with pytest.raises(LogError, match="on_order must be what recent rows ordered"):
        opened(RECENT, TODAY.assign(on_order_1=5, on_order_2=1), lead_time=law)


def test_order_days_of_today() -> None:
    problem = Problem.model_validate({"supply": {"order_days": 5}, "costs": COSTS})
    day = read_open_day(problem, None, open_table(TODAY), 5.0)
    np.testing.assert_array_equal(day.view.order_limit(problem), [np.inf])
    day = read_open_day(problem, None, open_table(TODAY.assign(period=6)), 5.0)
    np.testing.assert_array_equal(day.view.order_limit(problem), [0])
