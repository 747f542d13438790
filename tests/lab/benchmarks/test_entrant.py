"""Anybody's policy on every board: what it is shown, what it may answer, and that nobody else's figures change."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson
from typer.testing import CliRunner

from lostsales.apps.cli import app
from lostsales.errors import LostSalesError
from lostsales.lab.benchmarks import zipkin
from lostsales.lab.benchmarks.board import run_board
from lostsales.lab.benchmarks.boards import open_board
from lostsales.lab.benchmarks.censored_newsvendor import Regime
from lostsales.lab.benchmarks.cut_observations import CutObservations
from lostsales.lab.benchmarks.entrant import Entrant, EntrantPolicy
from lostsales.lab.benchmarks.freshretail import FreshRetail
from lostsales.lab.benchmarks.inventorybench import InventoryBench, play_batch
from lostsales.lab.benchmarks.inventorybench_data import Batch
from lostsales.lab.benchmarks.orange_juice import OrangeJuice
from lostsales.lab.benchmarks.vn2 import Vn2, Window, entrant_rule, official_rule, play_weeks, warmed_up
from lostsales.lab.benchmarks.zipkin import Case
from lostsales.policy.simple import BaseStockRule
from lostsales.simulation.simulator import evaluate_policy
from tests.lab.benchmarks.made_up import freshretail_file, inventorybench_folder, vn2_folder
from tests.lab.benchmarks.test_orange_juice import made_up_table

HERE = __name__


class UpTo:
    """Fills up to three times the usual sales, or to 20 where nothing was ever sold; answers with a column."""

    def fit(self, frame: pd.DataFrame) -> None:  # noqa: D102
        self.level = 3 * frame["sales"].mean()

    def decide(self, frame: pd.DataFrame) -> pd.DataFrame:  # noqa: D102
        return frame.assign(order=np.rint(np.maximum(self.level - frame["stock"] - frame["on_order"], 0)))


class Twenty:
    """A base-stock of 20, without learning; answers with an array."""

    def decide(self, frame: pd.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.float64]]:  # noqa: D102
        return np.asarray(np.maximum(20.0 - frame["stock"].to_numpy() - frame["on_order"].to_numpy(), 0.0))


class LastWeeks:
    """Forecasts and demands: the mean of what the series sold."""

    def fit(self, frame: pd.DataFrame) -> None:  # noqa: D102
        self.keys = [name for name in ("store", "brand", "series") if name in frame]
        self.mean = frame.groupby(self.keys)["sales"].mean().rename("mean")

    def decide(self, frame: pd.DataFrame) -> pd.Series:  # noqa: D102
        assert "sales" not in frame or "stockout" in frame, "the sales to forecast are not shown"
        return frame.join(self.mean, on=self.keys)["mean"]


class Negative:  # noqa: D101
    def decide(self, frame: pd.DataFrame) -> pd.Series:  # noqa: D102
        return -frame["stock"] - 1


def entrant(policy: type) -> Entrant:
    return Entrant(f"{HERE}:{policy.__name__}")


def test_in_the_simulator_it_earns_what_the_same_rule_earns() -> None:
    case = Case("poisson", 2, 9)
    shop = case.scenario(30)
    policy = EntrantPolicy(shop.problem, entrant(Twenty).start({}))
    ours = evaluate_policy(shop, BaseStockRule(shop.problem, 20.0, 0.0), 20, seed=3)
    assert evaluate_policy(shop, policy, 20, seed=3) == ours


def test_the_textbook_board_by_an_entrant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipkin, "SIZES", (250,))
    board = zipkin.Zipkin(
        cases=(Case("poisson", 1, 9, logs=2, episodes=4),), cut=(CutObservations(100, 2, 4),), entrant=entrant(UpTo)
    )
    rows = run_board(board, tmp_path)
    assert [row.board for row in rows] == [
        "from 250 rows",
        "mean of all cases",
        "mean of all cases",
        "cut observations",
    ]
    assert rows[0].ours > rows[0].published  # type: ignore[operator]


def test_the_newsvendor_board_by_an_entrant() -> None:
    """An order up to the largest stock of the log is the best at the edge: what it costs more is chance, and small."""

    class AtTheEdge:
        def decide(self, frame: pd.DataFrame) -> pd.Series:
            return (22 - frame["stock"]).clip(lower=0)

    globals()["AtTheEdge"] = AtTheEdge
    found = Regime("poisson", "knife-edge", logs=3, entrant=Entrant(f"{HERE}:AtTheEdge")).run()
    assert np.allclose(found["above"], 0.0)
    part = Regime("poisson", "unidentifiable", logs=3, entrant=Entrant(f"{HERE}:AtTheEdge"))
    fractile = poisson.cdf(22, 20) + 0.1
    assert part.fractile == pytest.approx(fractile)
    costs = [
        part.shop.costs.lost * poisson.sf(np.arange(level, 200), 20).sum() + poisson.cdf(np.arange(level), 20).sum()
        for level in (22, int(poisson.ppf(fractile, 20)))
    ]
    assert np.mean(part.run()["above"]) == pytest.approx(100 * (costs[0] / costs[1] - 1), abs=2)


def test_an_instance_is_shown_as_its_publisher_shows_it() -> None:
    """Two periods of lead time, and one order that never arrives and is on the way for nobody."""
    shown: list[pd.DataFrame] = []

    class Noted:
        def fit(self, frame: pd.DataFrame) -> None:
            assert frame["sales"].tolist() == [7.0, 7.0]

        def decide(self, frame: pd.DataFrame) -> list[float]:
            shown.append(frame)
            return [10.0]

    globals()["Noted"] = Noted
    times = np.array([[2, -1, 2, 2]])
    batch = Batch("real", "4", np.full(1, 9.0), np.ones(1), np.full((1, 2), 7.0), np.full((1, 4), 6.0), times)
    score = play_batch(batch, entrant=Entrant(f"{HERE}:Noted"))
    seen = pd.concat(shown)
    assert seen["on_order"].tolist() == [0, 10, 10, 10]
    assert seen["stock"].tolist() == [0, 0, 0, 4]
    assert seen["last_received"].tolist() == [0, 0, 0, 10]
    assert seen["last_sales"].tolist() == [0, 6, 6, 6]
    assert score[0] == pytest.approx((9 * 10 - 4) / (9 * 24))


def test_the_official_rule_as_an_entrant_costs_the_same(tmp_path: Path) -> None:
    board = Vn2.read(vn2_folder(tmp_path / "data"))
    part = board.parts[0]
    asked = iter([official_rule(board.data, week, warmed_up(board.data, part.first), 8) for week in (part.first,)])

    class Official:
        def decide(self, frame: pd.DataFrame) -> list[float]:
            return list(next(asked, np.zeros(len(frame))))

    globals()["Official"] = Official
    start = warmed_up(board.data, part.first)
    rule = entrant_rule(Entrant(f"{HERE}:Official"), board.data, part.first)
    first_only = play_weeks(
        board.data,
        part.first,
        start,
        lambda data, week, state, left: (
            official_rule(data, week, state, left) if week == part.first else np.zeros(len(state))
        ),
    )
    assert play_weeks(board.data, part.first, start, rule) == pytest.approx(first_only)
    assert isinstance(part, Window)


@pytest.mark.parametrize("name", ["inventorybench", "vn2", "freshretail", "orange-juice"])
def test_every_board_with_data_runs_an_entrant(name: str, tmp_path: Path) -> None:
    boards: dict[str, Callable[[], Any]] = {
        "inventorybench": lambda: InventoryBench.read(inventorybench_folder(tmp_path / "data")),
        "vn2": lambda: Vn2.read(vn2_folder(tmp_path / "data")),
        "freshretail": lambda: FreshRetail.read(freshretail_file(tmp_path / "data.parquet")),
        "orange-juice": lambda: OrangeJuice.read(made_up_table(tmp_path / "data.csv")),
    }
    plays = LastWeeks if name in ("freshretail", "orange-juice") else UpTo
    rows = run_board(replace(boards[name](), entrant=entrant(plays)), tmp_path / "out")
    assert rows
    assert all(np.isfinite(row.ours) for row in rows)


def test_the_command_names_the_entrant_and_keeps_its_files_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "class Policy:\n    def decide(self, frame):\n        return (40 - frame['stock']).clip(lower=0)\n"
    )
    inventorybench_folder(tmp_path / "data")
    done = CliRunner().invoke(
        app, ["benchmark", "inventorybench", "data", "--policy", "mine:Policy", "--out", "out", "--json"]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["policy"] == "mine:Policy"
    assert "mine:Policy" in (tmp_path / "out" / "inventorybench-mine-Policy.md").read_text()


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("nowhere:Policy", "is not there"),
        ("json:Nothing", "is not there"),
        ("json", "my_package:MyPolicy"),
        ("json:__name__", "decide"),
    ],
)
def test_a_policy_that_is_not_there_is_refused_before_any_work(place: str, why: str) -> None:
    with pytest.raises(LostSalesError, match=why):
        open_board("zipkin", None, place)


def test_an_answer_that_is_no_order_is_refused() -> None:
    with pytest.raises(LostSalesError, match="at least 0 for each of 2 rows"):
        entrant(Negative).start({})({"stock": np.zeros(2)})
