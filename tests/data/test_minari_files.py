"""Logs as datasets of Minari: every log comes back, and nothing hidden is in what a learner gets."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.log import DecisionLog
from lostsales.data.minari_files import write_minari
from lostsales.errors import LostSalesError
from tests.apps.running import run

minari = pytest.importorskip("minari")


def dated_log() -> DecisionLog:
    """Dates, text and features of levels, as shops have them, without a flag and without sales before."""
    days = pd.date_range("2026-01-01", periods=4).tolist()
    table = {"product": ["milk"] * 4 + ["ale, dark"] * 4, "day": days * 2, "weather": ["wet", "dry"] * 4}
    table |= {"stock": [5, 2, 4, 4, 9, 6, 5, 2], "price": [1.5, 2] * 4, "order": [0, 3, 1, 0] * 2}
    table["sales"] = [3, 2, 1, 4, 3, 1, 4, 2]
    problem = lostsales.Problem(
        columns={"series": "product", "period": "day"},
        features=({"name": "weather", "kind": "categorical", "levels": ("dry", "wet")},),
        costs={"lost": 2, "order": 1, "holding": 0.5},
    )
    return lostsales.read_log(pd.DataFrame(table), problem).decisions("fit")


def simulated(scenario: str) -> DecisionLog:
    return lostsales.simulate(scenario, episodes=3, seed=1)[0]


@pytest.mark.parametrize("scenario", ["", "released", "lost-sales"])
def test_a_log_comes_back_from_its_dataset(scenario: str, tmp_path: Path) -> None:
    log = simulated(scenario) if scenario else dated_log()
    write_minari(log, tmp_path / "shop-v0")
    back = lostsales.read_log(tmp_path / "shop-v0")
    assert back.problem == log.problem
    columns = back.table_columns
    for name, values in log.table_columns.items():
        np.testing.assert_array_equal(np.asarray(values), np.asarray(columns[name]), err_msg=name)


def test_a_step_is_what_a_retailer_sees_and_the_next_observation_follows(tmp_path: Path) -> None:
    log, truth = lostsales.simulate("released", episodes=4, seed=2)
    write_minari(log, tmp_path / "released-v0")
    dataset = minari.MinariDataset(tmp_path / "released-v0" / "data")
    assert (dataset.total_episodes, dataset.total_steps) == (4, 4 * 49)
    episode = next(iter(dataset.iterate_episodes()))
    stock, last_sales, last_stockout = episode.observations[:, 2:].T
    assert stock.tolist() == log.stock[:50].tolist()
    assert last_sales[0] == 5.0
    assert last_sales[1:].tolist() == log.sales[:49].tolist()
    assert last_stockout[1:].tolist() == log.censored[:49].tolist()
    assert episode.actions.T.tolist() == [log.price[:49].tolist(), log.order[:49].tolist()]
    assert episode.truncations.tolist() == [False] * 48 + [True]
    assert not episode.terminations.any()
    # The truth costs what the reward does not show: two for every hidden lost sale.
    np.testing.assert_allclose(episode.rewards - truth.profit[:49], 2.0 * truth.lost[:49])
    assert truth.lost[:49].any()


def test_the_command_writes_a_dataset_that_the_commands_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, truth = tmp_path / "released-v0", tmp_path / "truth.parquet"
    given = ("simulate", "released", "--episodes", "3", "--seed", "1", "--format", "minari")
    for _ in range(2):  # a dataset is replaced
        run(*given, "--out", out, "--truth", truth)
    assert json.loads(run("inspect", out, "--json"))["rows"] == 150
    assert "demand" in pd.read_parquet(truth)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    assert minari.load_dataset("released-v0").total_episodes == 3


def test_what_is_no_dataset_is_neither_replaced_nor_read(tmp_path: Path) -> None:
    log = simulated("released")
    (tmp_path / "mine").mkdir()
    with pytest.raises(LostSalesError, match="no dataset of Minari"):
        write_minari(log, tmp_path / "mine")
    write_minari(log, tmp_path / "shop-v0")
    metadata = tmp_path / "shop-v0" / "data" / "metadata.json"
    metadata.write_text(metadata.read_text().replace('"lostsales"', '"other"'))
    with pytest.raises(LostSalesError, match="no log that lostsales wrote"):
        lostsales.read_log(tmp_path / "shop-v0")
