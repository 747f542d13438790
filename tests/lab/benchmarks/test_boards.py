"""Boards on made-up files: protocols by hand, resuming, and files that cannot be used."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from lostsales.apps.cli import app
from lostsales.lab.benchmarks.board import run_board
from lostsales.lab.benchmarks.inventorybench import InventoryBench, InventoryBenchPolicy, play_batch
from lostsales.lab.benchmarks.inventorybench_data import Batch, read_instances
from lostsales.lab.benchmarks.inventorybench_supply import Deliveries
from lostsales.lab.benchmarks.vn2 import Vn2, close_week, official_rule, play_weeks
from lostsales.lab.benchmarks.vn2_data import WEEK, WeeklySales, read_sales
from lostsales.types import Floats
from tests.lab.benchmarks.made_up import inventorybench_folder, vn2_folder


def test_a_folder_and_a_table_of_instances_are_the_same(tmp_path: Path) -> None:
    batches = read_instances(inventorybench_folder(tmp_path / "folder"))
    assert [(batch.kind, batch.lead, len(batch)) for batch in batches][2] == ("real", "stochastic", 1)
    rows = [
        {
            "instance": "made up",
            "kind": each.kind,
            "lead": each.lead,
            "profit": each.profit[0],
            "holding": each.holding[0],
            "train": each.train[0].astype(int).tolist(),
            "demand": each.demand[0].astype(int).tolist(),
            "lead_times": each.lead_times[0].tolist(),
        }
        for each in batches
    ]
    pd.DataFrame(rows).to_parquet(tmp_path / "table.parquet")
    for one, other in zip(batches, read_instances(tmp_path / "table.parquet"), strict=True):
        np.testing.assert_array_equal(one.lead_times, other.lead_times)
        np.testing.assert_array_equal(one.demand, other.demand)


def test_demand_that_never_moves_scores_nearly_one() -> None:
    shape = (1, 20)
    batch = Batch(
        "real", "0", np.full(1, 9.0), np.ones(1), np.full((1, 5), 40.0), np.full(shape, 40.0), np.zeros(shape, int)
    )
    assert play_batch(batch)[0] > 0.95
    assert play_batch(batch, sales_only=True)[0] > 0.95


@pytest.mark.parametrize("lead", ["0", "4", "stochastic"])
def test_in_the_publishers_interface_it_orders_as_on_our_board(lead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five instances at once here; one at a time there, by the rules of the publisher's harness."""
    rng = np.random.default_rng(4)
    shape = (5, 12)
    times = {"stochastic": rng.choice([1, 2, 3, -1], shape)}.get(lead, np.full(shape, 0 if lead == "0" else 4))
    train, demand = rng.poisson(20, (5, 5)).astype(float), rng.poisson(20, shape).astype(float)
    batch = Batch("real", lead, np.full(5, 4.0), np.ones(5), train, demand, times)
    ours: list[Floats] = []
    arrived = Deliveries.arrived

    def noted(deliveries: Deliveries, t: int, order: Floats) -> Floats:
        ours.append(order)
        return arrived(deliveries, t, order)

    monkeypatch.setattr(Deliveries, "arrived", noted)
    play_batch(batch)
    promised = 2 if lead == "stochastic" else int(lead)
    for instance in range(5):
        policy = InventoryBenchPolicy("x", [("day", each) for each in train[instance]], promised, 4.0, 1.0)
        stock, coming, previous = 0.0, dict[int, float](), (0.0, 0.0, 0.0)
        for t in range(12):
            order = max(0, int(policy.get_order(t + 1, "day", stock, sum(coming.values()), *previous, 4.0, 1.0)))
            assert order == ours[t][instance]
            if times[instance, t] >= 0:
                coming[t + times[instance, t]] = coming.get(t + times[instance, t], 0.0) + order
            came = coming.pop(t, 0.0)
            stock = max(stock + came - demand[instance, t], 0.0)
            previous = (demand[instance, t], float(order), came)


def test_a_repeated_run_measures_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = InventoryBench.read(inventorybench_folder(tmp_path / "data"))
    rows = run_board(board, tmp_path / "out")
    assert [row.case for row in rows].count("all instances") == 2
    (tmp_path / "out" / "inventorybench-real-4-demand.json").unlink()
    runs: list[str] = []

    def noted(batch: Batch, *_: object) -> Floats:
        runs.append(batch.lead)
        return np.zeros(1)

    monkeypatch.setattr("lostsales.lab.benchmarks.inventorybench.play_batch", noted)
    again = run_board(board, tmp_path / "out")
    assert runs == ["4"]
    assert [row.ours for row in again if row.case == "real, lead time 0"] == [
        row.ours for row in rows if row.case == "real, lead time 0"
    ]


def test_the_official_rule_by_hand() -> None:
    weeks = np.datetime64("2023-01-02") + WEEK * np.arange(70)
    data = WeeklySales(np.full((1, 70), 5.0), np.ones((1, 70), dtype=bool), weeks)
    assert official_rule(data, 60, np.array([[4.0, 3.0, 2.0]]), 8)[0] == 4 * 5 - 9
    left, short, state = close_week(data, 60, np.array([[4.0, 3.0, 2.0]]), np.array([7.0]))
    assert (left[0], short[0], state[0].tolist()) == (2.0, 0.0, [2.0, 2.0, 7.0])
    # Nothing is ordered: 7 and then 2 units are there, and 5 a week are wanted.
    cost = play_weeks(data, 60, np.array([[4.0, 3.0, 2.0]]), lambda _data, _week, _state, _left: np.zeros(1))
    assert cost == pytest.approx(0.2 * 2 + 1 + 6 * 5)


def test_a_later_week_does_not_change_an_order(tmp_path: Path) -> None:
    from lostsales.lab.benchmarks.vn2 import our_rule

    data = read_sales(vn2_folder(tmp_path / "data"))
    state = np.full((8, 3), 2.0)
    other = WeeklySales(np.where(np.arange(75) >= 66, 50.0, data.sales), data.in_stock, data.weeks)
    order = our_rule(data, 66, state, 8)
    np.testing.assert_array_equal(order, our_rule(other, 66, state, 8))
    np.testing.assert_array_equal(order, our_rule(data, 66, state, 20))
    assert not np.array_equal(order, our_rule(data, 66, state, 3))  # for the third week alone


def test_vn2_has_windows_and_the_official_weeks(tmp_path: Path) -> None:
    board = Vn2.read(vn2_folder(tmp_path / "data"))
    assert [part.key for part in board.parts][-1] == "official-weeks"
    rows = run_board(board, tmp_path / "out")
    assert [(row.board, row.case) for row in rows[-2:]] == [("official weeks", "official"), ("official weeks", "ours")]
    assert all(np.isfinite(row.ours) and row.ours > 0 for row in rows)


def test_the_command_writes_tables_and_a_picture(tmp_path: Path) -> None:
    data = inventorybench_folder(tmp_path / "data")
    arguments = ["benchmark", "inventorybench", str(data), "--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    found = json.loads(result.stdout)
    assert len(found["rows"]) == 14
    assert [Path(each).suffix for each in found["written"]] == [".csv", ".json", ".md", ".png"]
    assert all(Path(each).stat().st_size > 100 for each in found["written"])
