"""Any log that the simulator writes is read without a finding, and a corrupted one is refused by its row."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lostsales.data.log import SalesLog
from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_log
from lostsales.simulation.named_policies import named_policy
from lostsales.simulation.presets import preset_names
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.tables import assert_equal_logs, findings


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Any preset under any rule of the shop."""
    changes = {
        "horizon": draw(st.integers(1, 12)),
        "arrival": draw(st.sampled_from(["after", "before"])),
        "balance": draw(st.sampled_from(["lost-sales", "netted"])),
        "capacity": draw(st.sampled_from([None, 25.0, 33.0])),
        "capacity_rule": draw(st.sampled_from(["discard", "forbid"])),
        "longest_run": draw(st.sampled_from([None, 1, 3])),
    }
    scenario = Scenario.load(draw(st.sampled_from(preset_names())))
    if scenario.supply.lead_time is not None:
        del changes["arrival"]  # which a lead time says
    if scenario.product.shelf_life is not None:
        del changes["balance"]  # a netted order has no age
    if min(scenario.orders) > 0:
        del changes["capacity_rule"]  # a full store could not order nothing
    return scenario.model_copy(update=changes)


@st.composite
def logs(draw: st.DrawFn) -> SalesLog:
    """A few episodes under any behaviour."""
    scenario = draw(scenarios())
    policy = named_policy(draw(st.sampled_from(["uniform", "base-stock"])), scenario, draw(st.sampled_from([0.0, 0.2])))
    log, _ = simulate(scenario, policy, draw(st.integers(1, 4)), draw(st.integers(0, 2**32)))
    return log


@given(log=logs(), name=st.sampled_from(["log.parquet", "log.csv"]))
@settings(max_examples=60)
def test_any_simulated_log_validates_balances_and_comes_back(
    tmp_path_factory: pytest.TempPathFactory, log: SalesLog, name: str
) -> None:
    path = tmp_path_factory.mktemp("log") / name
    write_log(log, path)
    read = read_log(path)
    assert_equal_logs(read, log)  # their notes too
    assert read.notes.off_balance_rows == 0
    assert read.notes.balance_rows == len(log) - len(log.names)


Corrupt = Callable[[dict[str, Any], int], None]


def _put(column: str, value: Any) -> Corrupt:
    def corrupt(columns: dict[str, Any], row: int) -> None:
        columns[column][row] = value

    return corrupt


def _sell_too_much(columns: dict[str, Any], row: int) -> None:
    columns["sales"][row] = columns["stock"][row] + columns["order"][row] + 1


def _contradict(columns: dict[str, Any], row: int) -> None:
    columns["stockout"][row] = True
    columns["stock"][row] += 1


def _repeat(columns: dict[str, Any], row: int) -> None:
    for values in columns.values():
        values.append(values[row])


CORRUPTIONS: dict[str, tuple[Corrupt, str]] = {
    **{
        f"{what} {column}": (_put(column, value), f"{column} must {wanted}")
        for column in ("stock", "price", "order", "sales")
        for what, value, wanted in (
            ("text in", "many", "be a number"),
            ("NaN in", float("nan"), "be present"),
            ("nothing in", None, "be present"),
            ("infinite", float("inf"), "be finite"),
            ("negative", -1.0, "not be negative"),
        )
    },
    "missing series": (_put("series", None), "series must be present"),
    "missing period": (_put("period", None), "period must be present"),
    "half a period": (_put("period", 0.5), "period must be a whole number"),
    "no truth value": (_put("stockout", "perhaps"), "stockout must be true or false"),
    "sales above available": (_sell_too_much, "sales must not exceed what was available"),
    "flag against sales": (_contradict, "where stockout says that demand was hidden"),
    "duplicate": (_repeat, "a series must have one row per period"),
    "unknown category": (_put("day", "8"), "day must be one of 0, 1, 2, 3, 4, 5, 6"),
}


@pytest.mark.slow
@given(kind=st.sampled_from(sorted(CORRUPTIONS)), row=st.integers(0, 99), seed=st.integers(0, 99))
@settings(max_examples=120)
def test_any_corruption_is_refused_and_its_row_named(kind: str, row: int, seed: int) -> None:
    calendar = ("horizon=20", "features.day={kind='cycle', length=7}", "capacity=200")
    log, _ = simulate(Scenario.load("released", calendar), episodes=5, seed=seed)
    columns = {name: np.ma.filled(values, np.nan).tolist() for name, values in log.table_columns.items()}
    corrupt, expected = CORRUPTIONS[kind]
    corrupt(columns, row)
    named = 100 if kind == "duplicate" else row
    found = findings(
        pl.DataFrame({name: pl.Series(values, dtype=pl.Object) for name, values in columns.items()}), log.problem
    )
    assert any(text.startswith(expected) and f"row {named} " in text for text in found), found
    assert all(f"row {named} " in text for text in found), "a fault of one row is reported for no other"
