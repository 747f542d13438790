"""Small tables to read, and what reading them gives."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.economics import UnitCosts
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.errors import LogError, LostSalesError

Columns = dict[str, Sequence[Any]]


def columns(**changes: Any) -> Columns:
    """Two series, five rows, in balance (arrival after, lost sales); None takes a column away."""
    table: dict[str, Any] = {
        "series": ["a", "a", "a", "b", "b"],
        "period": [1, 2, 3, 1, 2],
        "stock": [5.0, 4.0, 2.0, 3.0, 4.0],
        "price": [2.0, 4.0, 2.0, 4.0, 4.0],
        "order": [0.0, 0.0, 1.0, 4.0, 0.0],
        "sales": [1.0, 2.0, 2.0, 3.0, 1.0],
    } | changes
    return {name: values for name, values in table.items() if values is not None}


def frame(**changes: Any) -> pd.DataFrame:
    """The same as a pandas frame."""
    return pd.DataFrame(columns(**changes))


def log_of(problem: Problem | None = None, **changes: Any) -> SalesLog:
    """The same as a log."""
    return read_log(frame(**changes), problem)


def findings(source: Any, problem: Problem | None = None) -> tuple[str, ...]:
    """Everything that reading finds wrong."""
    with pytest.raises(LogError) as caught:
        read_log(source, problem)
    assert all(finding in str(caught.value) for finding in caught.value.findings)
    return caught.value.findings


def refusal(work: Callable[..., object], *given: Any) -> str:
    """The message of the error that a call ends in."""
    with pytest.raises(LostSalesError) as caught:
        work(*given)
    return str(caught.value)


def finding(problem: Problem | None = None, **changes: Any) -> str:
    """The only thing that reading finds wrong."""
    (only,) = findings(frame(**changes), problem)
    return only


def write_csv(path: Path, table: Mapping[str, Sequence[Any]]) -> Path:
    """A CSV as people write it: empty where None."""
    rows = zip(*table.values(), strict=True)
    lines = [",".join(table)] + [",".join("" if value is None else str(value) for value in row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def assert_equal_logs(left: SalesLog, right: SalesLog, but: tuple[str, ...] = ()) -> None:
    """Every column and the problem are the same, to the bit."""
    assert left.problem == right.problem
    for each in fields(SalesLog):
        if each.name in but:
            continue
        first, second = getattr(left, each.name), getattr(right, each.name)
        if isinstance(first, np.ndarray):
            assert first.dtype == second.dtype, each.name
            np.testing.assert_array_equal(first, second, err_msg=each.name)
        elif isinstance(first, UnitCosts):
            for one, other in zip(first, second, strict=True):
                np.testing.assert_array_equal(one, other)
        elif each.name == "attributes":
            assert first.keys() == second.keys()
            for name, texts in first.items():
                assert list(texts) == list(second[name])
        elif each.name != "problem":
            assert first == second, each.name
