"""Decisions of a policy in the rows of a log."""

import numpy as np

from lostsales.demand.censoring.runs import find_runs
from lostsales.evaluation.policy_on_log import decisions
from lostsales.learn.fit import fit
from lostsales.policy.history import log_as_asked
from tests.learn.small import small_log


def test_a_planner_asks_for_the_features_of_the_log_alone() -> None:
    log = small_log("released")
    policy, runs = fit(log, "planner", seed=0), find_runs(log)
    assert log_as_asked(policy, log) is log
    rows = np.flatnonzero(runs.depth >= 0)[:50]
    decided = decisions(policy, log, runs, rows, np.random.default_rng(0))
    assert decided.shape == (1, 50, 2)
    assert np.isin(decided[0, :, 0], log.price).all()
