"""Typical series: what stock-outs hid is where the truth is, and the choice spans few and many stock-outs."""

import numpy as np
import pytest

from lostsales.data.splits import units_of
from lostsales.demand.censoring.runs import find_runs
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.report.traces import MOST_PERIODS, MOST_SERIES, hidden_demand, tell, typical_series
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.learn.small import scenario, small_log


@pytest.mark.parametrize("name", ["steady", "released"])
def test_the_band_of_hidden_demand_holds_the_truth_as_often_as_it_says(name: str) -> None:
    log, truth = simulate(scenario(name), episodes=30, seed=11)
    mean, low, high = hidden_demand(PreparedLog.of(log), np.arange(len(log.names)), log)
    hidden = ~np.isnan(mean)
    np.testing.assert_array_equal(hidden, log.censored)
    assert (low[hidden] >= log.available[hidden]).all()
    demand = truth.demand[hidden]
    inside = np.mean((low[hidden] <= demand) & (demand <= high[hidden]))
    assert 0.86 <= inside <= 0.97  # 90 %, and a little more where demand comes in whole units
    error = np.abs(np.mean(mean[hidden] - demand)) / demand.std()
    assert error < 0.15


def test_the_middle_series_comes_first_and_the_others_span_all() -> None:
    traces = tell(PreparedLog.of(small_log("steady", episodes=12)))
    shares = [trace.stockout_share for trace in traces]
    assert len(traces) == MOST_SERIES
    assert sorted(shares)[2] == shares[0]
    assert shares[1:] == sorted(shares[1:])
    for trace in traces:
        assert len(trace.period) == 50
        assert (np.isnan(trace.expected) == ~trace.hidden).all()


def test_one_long_series_is_shown_to_its_end_without_a_law_of_demand() -> None:
    log, _ = simulate(Scenario.load("steady", (f"horizon={MOST_PERIODS + 20}",)), episodes=1, seed=2)
    (trace,) = tell(PreparedLog(log, find_runs(log), units_of(log, 20), np.zeros(len(log)), laws=None))
    assert list(trace.period) == list(range(20, MOST_PERIODS + 20))
    told = trace.hidden & ~np.isnan(trace.expected)
    assert told.any()
    assert (trace.low[told] <= trace.expected[told]).all()


def test_typical_series_are_of_a_usual_length() -> None:
    log = small_log("released", episodes=8)
    chosen = typical_series(log, log.censored)
    assert (np.diff(chosen) > 0).all()
    assert len(chosen) == MOST_SERIES
