"""More lags of demand in the state (Appendix G.1), in a market whose demand depends on the last but one."""

from pathlib import Path

import numpy as np
import pytest

import lostsales
from lostsales.demand.censoring.runs import find_runs
from lostsales.learn.cfqi.learn import CFQI, learn
from lostsales.learn.cfqi.partition import lags_of_rows, lags_of_view
from lostsales.policy.history import view_of_rows
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import evaluate_policy, simulate

CHANGES = ("demand.rho=0.0", "demand.second_rho=0.9", "demand.intercept=7.5", "demand.noise.scale=2.5", "capacity=40")
SHOP = Scenario.load("two-lag", CHANGES)


def test_lags_by_hand_and_the_same_in_a_view() -> None:
    log, _ = simulate(SHOP, episodes=6, seed=1)
    runs = find_runs(log)
    rows = np.flatnonzero(runs.depth >= 0)
    found = lags_of_rows(log, runs, rows, 3)
    np.testing.assert_array_equal(found, lags_of_view(view_of_rows(log, runs, rows), 3))
    place = np.arange(len(log)) - log.starts[log.series]
    for row, lags in zip(rows, found, strict=True):
        anchor = row - 1 - runs.depth[row]
        for back, lag in zip((1, 2), lags, strict=True):
            inside = anchor - back >= row - place[row]
            assert lag == (log.sales[anchor - back] if inside else runs.anchor_demand[row])
    assert lags_of_rows(log, runs, rows, 1).shape == (len(rows), 0)


@pytest.mark.parametrize("method", ["c-fqi", "pc-fqi"])
def test_a_second_lag_pays_where_demand_depends_on_it(method: str, tmp_path: Path) -> None:
    log, _ = simulate(SHOP, episodes=30, seed=2)
    earned = []
    for lags in (1, 2):
        policy = lostsales.fit(log, method, iterations=10, pricing="free", lags=lags)
        policy.save(tmp_path / "policy")
        earned.append(evaluate_policy(SHOP, lostsales.load(tmp_path / "policy"), 200, 3).mean_profit)
    assert earned[1] > earned[0] + 1.0


def test_one_lag_is_the_default_and_more_are_more_coordinates() -> None:
    log, _ = simulate(SHOP, episodes=6, seed=1)
    one, three = (learn(log, CFQI(iterations=2, lags=lags)) for lags in (1, 3))
    for a, b in zip(one.parts, three.parts, strict=True):
        assert b.block.shape[1] == a.block.shape[1] + 2
    assert CFQI().lags == 1
