"""What a verb that decides needs is said before any work, with the keys to set."""

from pathlib import Path
from typing import Any

import pytest

from lostsales.data.describe import doubts
from lostsales.data.problem import Costs, Problem
from lostsales.errors import LostSalesError
from tests.apps.running import failure
from tests.tables import columns, log_of, write_csv


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
