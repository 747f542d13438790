"""The textbook board: figures by hand, and one case against its published optimum."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import poisson

from lostsales.data.log import DecisionLog
from lostsales.errors import LostSalesError
from lostsales.lab.benchmarks import cut_observations, zipkin
from lostsales.lab.benchmarks.board import Figures
from lostsales.lab.benchmarks.boards import open_board
from lostsales.lab.benchmarks.cut_observations import CutObservations
from lostsales.lab.benchmarks.zipkin import LOST_COSTS, Case, Zipkin
from lostsales.lab.exact.solve import solve


def test_there_are_28_cases_and_rules_never_beat_the_optimum() -> None:
    cases = Zipkin().cases
    assert len({case.key for case in cases}) == 28
    for case in cases:
        published = case.published()
        assert min(published.values()) == published["optimum"]
        assert len(published) == (3 if case.law == "poisson" else 1)


@pytest.mark.parametrize(("law", "lead_time"), [("poisson", 1), ("poisson", 3), ("geometric", 2)])
def test_published_optima_are_those_that_the_exact_solver_finds(law: str, lead_time: int) -> None:
    for lost in LOST_COSTS:
        case = Case(law, lead_time, lost)
        solved = solve(case.scenario(zipkin.MOST_ORDER[law]), average=True)
        assert -solved.value == pytest.approx(case.published()["optimum"], abs=0.006)


@pytest.mark.slow
@pytest.mark.parametrize(("law", "lead_time"), [("poisson", 2), ("geometric", 1)])
def test_told_the_law_the_planner_costs_the_optimum(law: str, lead_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipkin, "SIZES", ())
    case = Case(law, lead_time, 9, episodes=20)
    found = case.run()
    assert found["optimum"] == pytest.approx(case.published()["optimum"], abs=0.006)
    assert found["known"] == pytest.approx(found["optimum"], rel=0.004)


@pytest.mark.slow
def test_a_log_costs_a_little_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipkin, "SIZES", (250,))
    case = Case("poisson", 1, 9, logs=1, episodes=10)
    found = case.run()
    optimum, learned = float(np.asarray(found["optimum"])), np.asarray(found["250"])
    assert learned.shape == (1,)
    assert 0.99 * optimum < learned[0] < 1.2 * optimum


def test_means_are_over_logs_and_lead_times() -> None:
    """Two lead times with two logs: 1 and 3, 5 and 7 per cent above, whatever the lost-sale cost."""
    cases = tuple(Case("poisson", lead_time, lost, logs=2) for lead_time in (1, 2) for lost in (4, 9))
    measured: dict[str, Figures] = {}
    for case in cases:
        first = 1 + 4 * (case.lead_time - 1)
        from_logs = [10.0 + 0.1 * first, 10.0 + 0.1 * (first + 2)]
        measured[case.key] = {"optimum": 10.0, "known": 10.05} | {str(size): from_logs for size in zipkin.SIZES}
    rows = Zipkin(cases, cut=()).rows(measured)
    means = {row.case: row for row in rows if row.board == "mean of all cases"}
    assert means["Poisson, distribution known"].ours == pytest.approx(0.5)
    assert means["Poisson, distribution known"].std_error is None
    learned = means["Poisson, from 250 rows"]
    assert learned.ours == pytest.approx(4.0)
    assert learned.count == 4
    assert learned.std_error == pytest.approx(np.std([1, 3, 5, 7], ddof=1) / 2)
    capped = [row for row in rows if row.published_by == "best capped base-stock" and row.board == "distribution known"]
    assert [row.published for row in capped] == [4.07, 5.48, 4.40, 6.12]


def test_observations_are_cut_at_their_capacities(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planner is asked as a user would, with a log in which a third of demands or so is hidden."""
    asked: list[DecisionLog] = []
    monkeypatch.setattr(cut_observations, "fit", lambda log, _: asked.append(log))
    CutObservations(1_000).learned(3)
    log = asked[0]
    assert log.stockout is not None
    assert len(log) == 1_000
    assert (log.sales <= log.stock).all()
    assert (log.sales[log.stockout] == log.stock[log.stockout]).all()
    hidden = float(poisson.sf(np.arange(60), 5.0) @ poisson.pmf(np.arange(60), 6.0))  # demand above its capacity
    assert np.mean(log.stockout) == pytest.approx(hidden, abs=4 * math.sqrt(hidden * (1 - hidden) / 1_000))


def test_cut_observations_are_beside_the_published_cost() -> None:
    row = CutObservations(100).row({"optimum": 4.4, "planner": [4.4, 4.5, 4.6]})
    assert row.ours == pytest.approx(4.5)
    assert (row.published, row.count) == (4.481, 3)
    assert row.std_error == pytest.approx(0.1 / np.sqrt(3))


@pytest.mark.slow
def test_from_cut_observations_the_planner_costs_little_more_than_the_optimum() -> None:
    found = CutObservations(1_000, repetitions=4).run()
    assert found["optimum"] == pytest.approx(4.40, abs=0.006)
    assert np.mean(found["planner"]) < 4.45


def test_it_takes_no_data() -> None:
    with pytest.raises(LostSalesError, match="needs no data, but somewhere was given"):
        open_board("zipkin", Path("somewhere"))
