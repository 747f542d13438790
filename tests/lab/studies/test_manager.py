"""The study of managers' logs: its table by hand, its journal, and the manager who strays."""

import json
from pathlib import Path

import numpy as np
import pytest

from lostsales.errors import LostSalesError
from lostsales.lab.studies.manager import LearnedFromLog, ManagerStudy, manager_table
from lostsales.policy.view import View
from lostsales.simulation.manager_policy import ManagerPolicy
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy

SHOP = Scenario.load("manager-slow", ("horizon=14",))


def test_the_table_by_hand() -> None:
    study = ManagerStudy(SHOP, methods=("base-stock",))
    outcomes = [
        LearnedFromLog(0, 2.0, 0.5, 10.0, {"base-stock": 3.0}, {"base-stock": 12.0}),
        LearnedFromLog(1, 2.0, 0.5, 10.0, {"base-stock": 1.6}, {"base-stock": 5.0}),
        LearnedFromLog(2, 2.0, 0.1, 4.0, {"base-stock": 1.4}, {"base-stock": 4.0}),
    ]
    (row,) = manager_table(study, outcomes)
    assert (row.logs, row.profit, row.gain, row.worst_gain) == pytest.approx((3, 2.0, 0.0, -0.6))
    assert row.profit_error == pytest.approx(np.std([3.0, 1.6, 1.4], ddof=1) / np.sqrt(3))
    assert (row.above, row.above_less_error, row.stock_ratio) == pytest.approx((1 / 3, 2 / 3, 1.2))


def test_it_resumes_from_its_journal_and_refuses_that_of_another_study(tmp_path: Path) -> None:
    journal, study = tmp_path / "study.jsonl", ManagerStudy(SHOP, methods=("base-stock",), series=2, replications=1)
    (first,) = study.run(journal)
    head, line = journal.read_text().splitlines()
    kept = json.loads(line) | {"profit": {"base-stock": 99.0}}
    journal.write_text(f"{head}\n{json.dumps(kept)}\n")
    again = ManagerStudy(SHOP, methods=("base-stock",), series=2, replications=2).run(journal)
    assert [each.number for each in again] == [0, 1]
    assert again[0].profit == {"base-stock": 99.0}  # taken from the journal, not learned again
    assert again[1].manager == first.manager == evaluate_policy(SHOP, ManagerPolicy.of(SHOP), 200, 1).mean_profit
    with pytest.raises(LostSalesError, match="holds a study of managers' logs with other settings"):
        ManagerStudy(SHOP, methods=("base-stock",), series=3, replications=1).run(journal)
    journal.write_text("[]")
    with pytest.raises(LostSalesError, match="not the file of a study of managers' logs"):
        study.run(journal)


def test_a_share_of_the_orders_strays() -> None:
    """Level 3 at stock 1: orders of 2, and one in seven of 15 % is drawn as such."""
    manager, rows = ManagerPolicy.of(SHOP), 20_000
    none = np.zeros(rows, dtype=np.int64)
    view = View(0, (np.zeros(rows),), np.ones(rows), np.ones(rows), none > 0, none, None)
    action = manager.decide(view, np.random.default_rng(0))
    strays = np.bincount(action.order.astype(np.int64), minlength=7) / rows
    assert strays == pytest.approx(np.where(np.arange(7) == 2, 0.85, 0) + 0.15 / 7, abs=0.01)
    assert set(action.price) == {4.0, 4.5, 5.0, 5.5}
