"""Evaluation of series that are longer than the horizon."""

import numpy as np
import pytest

from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.selection import fit_law
from lostsales.evaluation import task as task_module
from lostsales.evaluation.estimators.replay import ReplayPeriods
from lostsales.evaluation.evaluate import evaluate
from lostsales.evaluation.task import episodes_of
from lostsales.learn.fit import fit
from tests.learn.small import small_log


def test_episodes_start_every_so_many_rows_of_a_series() -> None:
    series = np.array([0, 0, 0, 0, 0, 2, 2])
    np.testing.assert_array_equal(episodes_of(series, 2), [0, 0, 1, 1, 2, 3, 3])
    np.testing.assert_array_equal(episodes_of(series, None), [0, 0, 0, 0, 0, 1, 1])
    assert not len(episodes_of(series[:0], 2))


def test_a_replay_with_restarts_covers_all_periods_and_opens_after_a_known_demand() -> None:
    log = small_log("steady", 12)
    evidence = fit_law(log, (Family("linear", False),)).evidence
    periods = ReplayPeriods.of(log, evidence, 20, 36, 0, restarts=True)
    assert periods.row.shape == (20, 36)  # of 50 periods 20, 20 and 10
    assert (evidence.depth[periods.row[0]] == 0).all()
    np.testing.assert_array_equal(periods.stock, log.stock[evidence.rows[periods.row[0]]])
    replayed = np.unique(periods.row[periods.is_replayed])
    assert len(replayed) > 0.9 * len(evidence)  # but rows in a run of stock-outs that goes on where one starts
    whole = ReplayPeriods.of(log, evidence, 20, 36, 0)
    assert whole.row.max() - whole.row.min() < len(evidence) - 20
    assert not np.isnan(evidence.lag[periods.row[0]]).any()


@pytest.mark.slow
def test_long_series_are_cut_by_default_and_the_figures_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay of the first periods alone would compare them with the profit of all."""
    log = small_log("steady", 15)
    policy = fit(log, "newsvendor")
    whole = evaluate(policy, log, estimators=["model"])
    assert (whole.estimand.horizon, whole.estimand.restarts) == (50, False)
    monkeypatch.setattr(task_module, "MOST_HORIZON", 20)
    cut = evaluate(policy, log, estimators=["model", "fqe"])
    assert (cut.estimand.horizon, cut.estimand.restarts) == (20, True)
    assert "every 20 periods of each series" in str(cut.estimand)
    assert cut.estimates[1].scored
    assert whole.best is not None
    assert cut.best is not None
    assert whole.best.gain is not None
    assert cut.best.gain is not None
    half_width = whole.best.gain.value - whole.best.gain.low
    assert abs(cut.best.gain.value - whole.best.gain.value) < 0.5 * half_width
    given = evaluate(policy, log, estimators=["model"], horizon=30)
    assert (given.estimand.horizon, given.estimand.restarts) == (30, False)
