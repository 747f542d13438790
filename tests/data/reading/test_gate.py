"""The gate: what it lets through, what it repairs and counts, and how it refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lostsales.data.feature import Feature
from lostsales.data.problem import Columns, Costs, Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.writing import write_table
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.errors import LogError, LostSalesError
from tests.tables import assert_equal_logs, columns, finding, findings, frame, log_of


def test_a_clean_log() -> None:
    log = log_of()
    assert log.names.tolist() == ["a", "b"]
    assert log.series.tolist() == [0, 0, 0, 1, 1]
    assert log.period.tolist() == [1, 2, 3, 1, 2]
    assert log.available.tolist() == [5, 4, 2, 3, 4]
    assert log.censored.tolist() == [False, False, True, True, False]  # no flag: a sell-out counts
    assert log.starts.tolist() == [0, 3]
    assert log.has_next.tolist() == [True, True, False, True, False]
    assert np.isnan(log.last_sales).all()
    assert log.costs is None
    assert (log.notes.rows_moved, log.notes.holes, log.notes.balance_rows, log.notes.off_balance_rows) == (0, 0, 3, 0)


def test_every_array_is_read_only_and_apart_from_the_frame() -> None:
    source = frame()
    log = read_log(source)
    source.loc[0, "sales"] = 99.0
    assert log.sales[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        log.sales[0] = 2
    priced = log_of(Problem(costs=Costs(lost=1, order=1), attributes=("store",)), holding_cost=[1] * 5, store=["x"] * 5)
    assert priced.costs is not None
    for column in (np.asarray(priced.costs.holding), priced.attributes["store"]):
        assert not column.flags.writeable


def test_an_empty_table_is_refused() -> None:
    assert findings(frame().iloc[:0]) == ("a log needs at least one row, but the table is empty",)


def test_all_faults_come_in_one_error() -> None:
    problem = Problem(attributes=("store",), features=("weather",))
    source = frame(
        stock=[-5, 4, 2, 3, 4],
        sales=[1, 9, np.nan, 3, 1],
        period=[1, 2, 3, 1, 1],
        store=["x", "y", "x", "z", "z"],
    )
    found = findings(source, problem)
    subjects = (
        "missing column 'weather'",
        "sales must be present",
        "stock must not",
        "sales must not",
        "a series must",
        "attribute store must",
    )
    assert [text for text in found if not text.startswith(subjects)] == []
    assert len(found) == len(subjects)


def test_prices_and_orders_off_the_declared_grid_are_data_like_any_other() -> None:
    log = log_of(Problem(prices=(2, 3), orders=(0, 4)))
    assert log.price.tolist() == [2, 4, 2, 4, 4]
    assert log.order is not None
    assert log.order.tolist() == [0, 0, 1, 4, 0]


def test_many_bad_rows_are_counted_and_three_are_shown() -> None:
    assert finding(sales=[-1, -1, -1, -1, -1]).endswith("row 2 (series=a, period=3) has -1 (and 2 more rows)")


def test_unsorted_rows_are_put_into_order_and_counted() -> None:
    order = [2, 4, 0, 3, 1]
    shuffled = frame().iloc[order].assign(last_sales=[7.0, np.nan, 8.0, 9.0, np.nan])
    log = read_log(shuffled)
    assert log.names.tolist() == ["a", "b"]
    assert log.period.tolist() == [1, 2, 3, 1, 2]
    assert log.sales.tolist() == [1, 2, 2, 3, 1]
    assert log.last_sales.tolist() == [8, 9]  # of the first row of each series, wherever it stood
    assert log.notes.rows_moved == 4  # only the row of series b, period 1 stood where it belongs
    assert log.notes.off_balance_rows == 0


def test_rows_of_interleaved_series_are_sorted() -> None:
    by_period = frame().sort_values(["period", "series"], kind="stable")
    assert_equal_logs(read_log(by_period.sort_values("series", kind="stable")), log_of())
    assert read_log(by_period).sales.tolist() == log_of().sales.tolist()


@pytest.mark.parametrize(
    "period",
    [
        [1, 2, 4, 1, 2],
        ["2026-03-01", "2026-03-02", "2026-03-04", "2026-03-01", "2026-03-02"],
        ["2026-01", "2026-02", "2026-04", "2026-01", "2026-02"],
    ],
)
def test_a_hole_splits_a_series_and_is_counted(period: list[Any]) -> None:
    log = log_of(period=period)
    assert log.notes.holes == 1
    assert log.names.tolist() == ["a", "a", "b"]
    assert log.series.tolist() == [0, 0, 1, 2, 2]
    assert log.notes.balance_rows == 2


def test_months_have_no_holes() -> None:
    assert log_of(period=["2026-01", "2026-02", "2026-03", "2026-01", "2026-02"]).notes.holes == 0


def test_stock_off_the_balance_is_reported_not_refused() -> None:
    notes = log_of(stock=[5.0, 5.0, 2.0, 3.0, 4.0]).notes  # 5 - 1 is not 5, and 5 - 2 is not 2
    assert (notes.balance_rows, notes.off_balance_rows) == (3, 2)
    assert notes.off_balance_share == pytest.approx(2 / 3)


def test_received_and_adjustment_explain_the_stock() -> None:
    """Three of 4 units came, and 1 was found broken: 3 - 3 + 3 - 1 = 2."""
    stock: dict[str, Any] = {"stock": [5.0, 4.0, 2.0, 3.0, 2.0], "sales": [1.0, 2.0, 2.0, 3.0, 1.0]}
    assert log_of(**stock).notes.off_balance_rows == 1
    received, adjustment = [0.0, 0.0, 1.0, 3.0, 0.0], [0.0, 0.0, 0.0, -1.0, 0.0]
    log = log_of(**stock, received=received, adjustment=adjustment)
    assert log.notes.off_balance_rows == 0
    assert log.received is not None
    assert log.received.tolist() == received
    assert log.adjustment is not None
    assert log.adjustment.tolist() == adjustment


def test_with_arrival_before_only_what_was_received_can_be_sold() -> None:
    before = Problem(arrival="before")
    changes: dict[str, Any] = {"stock": [5, 4, 2, 3, 4], "order": [0, 0, 1, 4, 0], "sales": [1, 2, 3, 3, 1]}
    assert log_of(before, **changes).available.tolist() == [5, 4, 3, 7, 4]
    short = finding(before, **changes, received=[0, 0, 0, 1, 0])
    assert short.startswith("sales must not exceed what was available, but row 2 (series=a, period=3) has 3 of 2")


def test_a_netted_stock_out_bounds_the_next_stock_only_from_above() -> None:
    changes: dict[str, Any] = {"stock": [5.0, 4.0, 2.0, 3.0, 2.0], "stockout": [False, False, True, True, False]}
    assert log_of(**changes).notes.off_balance_rows == 1
    assert log_of(Problem(balance="netted"), **changes).notes.off_balance_rows == 0
    above = changes | {"stock": [5.0, 4.0, 2.0, 3.0, 4.5]}
    assert log_of(Problem(balance="netted"), **above).notes.off_balance_rows == 1


def test_costs_from_constants_columns_and_both() -> None:
    own_columns: dict[str, Any] = {name: [2.0, 1.0, 1.0, 1.0, 1.0] for name in ("lost_cost", "order_cost", "margin")}
    log = log_of(Problem(costs=Costs(holding=1, lost="margin", fixed_order=5)), **own_columns)
    assert log.costs is not None
    assert log.costs.holding == 1
    assert np.asarray(log.costs.lost).tolist() == own_columns["margin"]
    # price * sales - order_cost * order - holding * leftover, less 5 where something was ordered
    assert log.cash.tolist() == [2 - 4, 8 - 2, 4 - 1 - 5, 12 - 4 - 5, 4 - 3]
    assert log.notes.unused_columns == ("lost_cost",)


def test_without_costs_there_is_no_profit() -> None:
    with pytest.raises(LostSalesError, match="profit needs unit costs"):
        _ = log_of().cash


def test_other_column_names_and_series_of_several_columns() -> None:
    renamed = frame(shop=["x", "x", "x", "x", "x"]).rename(
        columns={"series": "sku", "stock": "on_hand", "sales": "sold", "period": "day"}
    )
    names = Columns(series=("shop", "sku"), stock="on_hand", sales="sold", period="day")
    log = read_log(renamed, Problem(columns=names))
    assert log.names.tolist() == ["x / a", "x / b"]
    assert log.sales.tolist() == log_of().sales.tolist()
    (found,) = findings(renamed.assign(sold=-1), Problem(columns=names))
    assert found.startswith("sold must not be negative, but row 0 (series=x / a, period=1) has -1")


def test_parts_of_a_series_that_contain_the_separator_are_refused() -> None:
    problem = Problem(columns=Columns(series=("shop", "series")))
    assert "must not contain ' / '" in finding(problem, shop=["x / y", "x", "x", "x", "x"])


def test_a_demand_only_log_has_a_bound_only_where_it_sold_out() -> None:
    log = log_of(stock=None, order=None, stockout=[False, False, True, True, False])
    assert log.demand_only
    assert log.available.tolist() == [np.inf, np.inf, 2, 3, np.inf]
    assert log.censored.tolist() == [False, False, True, True, False]
    assert log.notes.balance_rows == 0


def test_attributes_are_one_text_a_series() -> None:
    log = log_of(Problem(attributes=("store", "size")), store=list("xxxyy"), size=[1.5, 1.5, 1.5, 2.0, 2.0])
    assert {name: texts.tolist() for name, texts in log.attributes.items()} == {
        "store": ["x", "y"],
        "size": ["1.5", "2"],
    }


def test_an_opening_lag_belongs_to_the_first_row_of_a_series() -> None:
    log = log_of(last_sales=[4, None, None, None, 9], last_stockout=[True, None, None, None, None])
    np.testing.assert_array_equal(log.last_sales, [4, np.nan])
    assert log.last_stockout.tolist() == [True, False]


def test_unused_columns_are_named() -> None:
    assert log_of(weather=[1] * 5, note=["?"] * 5).notes.unused_columns == ("weather", "note")


@pytest.mark.parametrize(
    ("levels", "values", "expected"),
    [
        ((0, 1), [0, 1, 1, 0, 1], [0, 1, 1, 0, 1]),
        ((1, 0), [0.0, 1.0, 1.0, 0.0, 1.0], [1, 0, 0, 1, 0]),
        ((1, 0), ["0.0", "1", "1.0", "0", "1"], [1, 0, 0, 1, 0]),
        ((True, False), [False, True, True, True, True], [1, 0, 0, 0, 0]),
        ((True, False), ["False", "TRUE", "true", "True", "True"], [1, 0, 0, 0, 0]),
        (("A", "a"), ["a", "A", "A", "A", "A"], [1, 0, 0, 0, 0]),
        (None, ["x", "z", "y", "x", "z"], [0, 2, 1, 0, 2]),
    ],
)
def test_levels_of_any_type(levels: tuple[Any, ...] | None, values: list[Any], expected: list[int]) -> None:
    problem = Problem(features=(Feature(name="level", kind="categorical", levels=levels),))
    assert log_of(problem, level=values).features[:, 0].tolist() == expected


def test_levels_that_were_found_are_kept_in_the_problem() -> None:
    log = log_of(Problem(features=(Feature(name="day", kind="categorical"),)), day=["b", "a", "b", "a", "b"])
    assert log.problem.features[0].levels == ("a", "b")
    assert log.features[:, 0].tolist() == [1, 0, 1, 0, 1]


def test_one_row_is_a_log() -> None:
    log = read_log(frame().iloc[:1])
    assert (len(log), log.has_next.tolist(), log.notes.balance_rows) == (1, [False], 0)


def test_a_problem_beside_the_table_is_found_and_can_be_overruled(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    write_table({name: np.array(values) for name, values in columns().items()}, path)
    assert read_log(path).problem.arrival == "after"
    (tmp_path / "log.toml").write_text('arrival = "before"\n')
    assert read_log(path).problem.arrival == "before"
    assert read_log(str(path), Problem(arrival="after")).problem.arrival == "after"
    other = tmp_path / "other.toml"
    other.write_text('balance = "netted"\n')
    assert read_log(path, other).problem == Problem(balance="netted")


def test_progress_counts_columns_up_to_their_number() -> None:
    seen: list[tuple[int, int]] = []
    read_log(frame(), progress=lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == [1, 2, 3, 4, 5, 6]
    assert all(done <= total for done, total in seen)


@pytest.mark.parametrize("dtype", ["string", "object"])
def test_a_text_column_without_a_single_text_is_reported_row_by_row(dtype: str) -> None:
    table = frame()
    table["series"] = pd.Series([None] * len(table), dtype=dtype)
    with pytest.raises(LostSalesError, match="series must be present, but row 0"):
        read_log(table)


OURS = pd.DataFrame({"series": ["a"] * 3, "period": [1, 2, 3], "sales": [4.0, 2.0, 5.0]})
THEIRS = OURS.rename(columns={"series": "unique_id", "period": "ds", "sales": "y"})


def test_the_names_of_forecasting_libraries_are_understood() -> None:
    log = read_log(THEIRS)
    assert log.sales.tolist() == [4, 2, 5]
    assert log.problem.columns.series == "unique_id"
    assert log.price.tolist() == [1, 1, 1]
    assert not log.censored.any()
    assert log.demand_only


def test_a_flag_of_stock_outs_is_read_and_filled() -> None:
    table = pd.concat([THEIRS.assign(unique_id=f"s{i}", stockout=[False, True, False]) for i in range(20)])
    log = read_log(table)
    assert log.censored.sum() == 20
    assert (impute_by_curves(log, replicates=0).expected_demand[log.censored] > 2).all()


def test_our_own_names_win_where_a_table_has_both() -> None:
    log = read_log(OURS.assign(y=0.0, stockout=False, price=2.0))
    assert log.sales.tolist() == [4, 2, 5]
    assert "y" in log.notes.unused_columns


def test_a_feature_may_be_called_y() -> None:
    log = read_log(OURS.assign(y=[1.0, 2.0, 3.0], stockout=False, price=2.0), Problem(features=("y",)))
    assert log.features[:, 0].tolist() == [1, 2, 3]


def test_prices_may_be_missing_only_where_that_is_asked_for() -> None:
    with pytest.raises(LogError, match="missing column 'price'"):
        read_log(OURS)
    assert read_log(OURS, sales_only=True).price.tolist() == [1, 1, 1]


def test_without_stock_and_stockouts_sales_are_demand_with_a_warning() -> None:
    log = read_log(OURS.assign(price=2.0))
    assert not log.censored.any()
    assert "sales are taken as demand" in log.notes.warnings[0]
    assert not read_log(OURS.assign(price=2.0, stockout=False)).notes.warnings
    with pytest.raises(LostSalesError, match="inspect, audit, impute, demand and forecast can use it"):
        log.decisions("fit")


def test_stock_without_orders_is_still_incomplete() -> None:
    with pytest.raises(LogError, match="missing column 'order'"):
        read_log(THEIRS.assign(stock=9.0))
