"""Traces: coverage of the band of censored demand, and the choice of typical series."""

import numpy as np
import pytest

from lostsales.data.splits import units_of
from lostsales.demand.censoring.runs import find_runs
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.report.traces import MOST_PERIODS, MOST_SERIES, hidden_demand, typical_series, typical_traces
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.learn.small import scenario, small_log


@pytest.mark.parametrize("name", ["steady", pytest.param("released", marks=pytest.mark.slow)])
def test_the_band_of_censored_demand_has_its_nominal_coverage(name: str) -> None:
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


def test_traces_are_in_order_of_stockout_share_with_the_median_first() -> None:
    traces = typical_traces(PreparedLog.of(small_log("steady", episodes=12)))
    shares = [trace.stockout_share for trace in traces]
    assert len(traces) == MOST_SERIES
    assert sorted(shares)[2] == shares[0]
    assert shares[1:] == sorted(shares[1:])
    for trace in traces:
        assert len(trace.period) == 50
        assert (np.isnan(trace.expected) == ~trace.hidden).all()


def test_without_a_demand_law_the_last_periods_of_a_long_series_are_shown() -> None:
    log, _ = simulate(Scenario.load("steady", (f"horizon={MOST_PERIODS + 20}",)), episodes=1, seed=2)
    (trace,) = typical_traces(PreparedLog(log, find_runs(log), units_of(log, 20), np.zeros(len(log)), laws=None))
    assert list(trace.period) == list(range(20, MOST_PERIODS + 20))
    estimated = trace.hidden & ~np.isnan(trace.expected)
    assert estimated.any()
    assert np.isnan(trace.low).all()  # the error of a mean is no band of demand


def test_typical_series_are_distinct_and_rising() -> None:
    log = small_log("released", episodes=8)
    chosen = typical_series(log, log.censored)
    assert (np.diff(chosen) > 0).all()
    assert len(chosen) == MOST_SERIES
