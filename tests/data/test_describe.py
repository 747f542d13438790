"""Description of a log, and what a verb that decides needs, said before any work."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lostsales.data.describe import describe, doubts
from lostsales.data.problem import Costs, Problem
from lostsales.data.reading.gate import read_log
from lostsales.errors import LostSalesError
from tests.apps.running import failure
from tests.tables import columns, frame, log_of, write_csv

PRICED = Problem(costs=Costs(lost=2, order=3, holding=1))


def test_the_facts_of_a_small_log() -> None:
    facts = describe(log_of(PRICED))
    assert (facts.rows, facts.series, facts.first_period, facts.last_period) == (5, 2, "1", "3")
    assert facts.stockout_share == pytest.approx(2 / 5)
    assert facts.mean_sales == pytest.approx(9 / 5)
    # price * sales - 3 order - leftover: 2 - 4, 8 - 2, 4 - 3, 12 - 12, 4 - 3
    assert facts.mean_cash == pytest.approx((-2 + 6 + 1 + 0 + 1) / 5)
    assert facts.prices == {"count": 2, "lowest": 2, "highest": 4}
    assert facts.orders == {"count": 3, "lowest": 0, "highest": 4}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, ("stock-outs", "40.0% of rows (no flag in the log: every sell-out is treated as one)")),
        ({"stockout": [False] * 5}, ("stock-outs", "0.0% of rows (by the log's flag)")),
        ({}, ("repaired", "nothing needed it")),
        (
            {"period": [1, 2, 4, 1, 2]},
            ("repaired", "1 gap in the periods, which starts a new series: a between 2 and 4"),
        ),
        ({"period": [2, 1, 3, 1, 2]}, ("repaired", "2 rows put into order of series and period")),
        ({"stock": [5, 5, 2, 3, 4]}, ("stock off the balance", "66.7% of 3 rows with a next row")),
        ({"price": [4] * 5}, ("prices", "always 4")),
        ({"hue": [4] * 5}, ("columns not used", "hue (declare them under features to use them)")),
        (
            {"period": [f"2026-03-0{day}" for day in (1, 2, 3, 1, 2)]},
            ("rows", "5 in 2 series, periods 2026-03-01 to 2026-03-03"),
        ),
    ],
)
def test_repairs_and_unused_columns_are_listed(changes: dict[str, Any], line: tuple[str, str]) -> None:
    assert line in describe(log_of(PRICED, **changes)).as_lines()


def test_a_demand_only_log_has_no_balance_and_no_cash() -> None:
    log = read_log(frame(stockout=[False, False, True, True, False]).drop(columns=["stock", "order"]), PRICED)
    lines = dict(describe(log).as_lines())
    assert lines["mean cash per period"] == "unknown: needs stock, order and unit costs"
    assert "stock off the balance" not in lines
    assert "orders" not in lines


def test_json_has_plain_values() -> None:
    facts = describe(log_of(PRICED)).as_json()
    assert facts["notes"]["off_balance_share"] == 0
    assert not any(isinstance(value, np.ndarray | np.generic) for value in facts.values())


@pytest.mark.parametrize(
    ("changes", "costs", "expected"),
    [
        ({}, Costs(), ["fit needs unit costs: set [costs] lost = ..., order = ..., holding = ... in the problem"]),
        ({"lost_cost": [1] * 5}, Costs(order=3), ["fit needs unit costs: set [costs] holding = ... in the problem"]),
        (
            {"stock": None, "order": None, "stockout": [True] * 5},
            Costs(lost=1),
            [
                "fit needs stock and orders",
                "fit needs unit costs: set [costs] order = ..., holding = ... in the problem",
            ],
        ),
    ],
)
def test_everything_that_is_missing_is_named(changes: dict[str, Any], costs: Costs, expected: list[str]) -> None:
    with pytest.raises(LostSalesError) as caught:
        log_of(Problem(costs=costs), **changes).decisions("fit")
    lines = str(caught.value).splitlines()
    assert len(lines) == len(expected)
    assert all(line.startswith(text) for line, text in zip(lines, expected, strict=True))


def test_an_undeclared_timing_and_a_broken_balance_are_doubts() -> None:
    (timing,) = doubts(log_of())
    assert 'arrival = "after" is taken' in timing
    assert doubts(log_of(Problem(arrival="after"))) == ()
    (balance,) = doubts(log_of(Problem(arrival="after"), stock=[50.0, 40.0, 20.0, 30.0, 90.0]))
    assert balance.startswith("the stock does not follow its balance")
    assert doubts(log_of(stock=None, order=None, stockout=[True] * 5)) == ()


@pytest.mark.parametrize("verb", ["fit", "compare"])
def test_commands_say_it_before_any_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, verb: str
) -> None:
    log = write_csv(tmp_path / "log.csv", columns())
    told = failure(monkeypatch, capsys, verb, log, "--out", tmp_path / "policy")
    assert f"{verb} needs unit costs: set [costs] lost = ..." in told
    assert [each.name for each in tmp_path.iterdir()] == ["log.csv"]
