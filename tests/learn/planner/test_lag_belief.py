"""Decisions on several last demands: which are hidden, what stays of them, and the belief against enumeration."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from lostsales.data.log import SalesLog
from lostsales.data.problem import Costs, Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.residuals import Residuals
from lostsales.demand.law.selection import fit_law
from lostsales.learn.planner.lag_belief import past_demands, plan_memory
from lostsales.learn.planner.planner import Planner
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.policy.file_format import load
from lostsales.policy.view import Action, ClosedPeriod, View
from lostsales.types import Floats
from tests.learn.planner.true_law import view_of

WEIGHTS, MEMORY, LEVEL, PRICE, SD = (0.6, 0.4), 0.8, 8.0, -1.0, 3.0
PROBLEM = Problem(
    prices=(3.0, 4.0, 5.0), orders=tuple(map(float, range(0, 31, 2))), costs=Costs(lost=1, order=1, holding=0.3)
)


def log_of_two_lags(series: int = 12, periods: int = 40) -> SalesLog:
    """Sold from a stock that is filled up every period."""
    rng = np.random.default_rng(1)
    last, before, rows = np.full(series, 14.0), np.full(series, 14.0), []
    for t in range(periods):
        price, stock = rng.choice([3.0, 4.0, 5.0], series), np.rint(rng.uniform(8, 30, series))
        middle = LEVEL + MEMORY * (WEIGHTS[0] * last + WEIGHTS[1] * before) + PRICE * price
        last, before = np.maximum(np.rint(middle + rng.normal(0, SD, series)), 0), last
        frame = {"series": np.arange(series), "period": t, "stock": stock, "price": price, "order": 0.0}
        rows.append(pd.DataFrame(frame | {"sales": np.minimum(last, stock), "stockout": last > stock}))
    return read_log(pd.concat(rows), PROBLEM)


@pytest.fixture(scope="module")
def policy() -> PlanPolicy:
    """A plan that knows the law."""
    log = log_of_two_lags()
    model = fit_law(log, (Family("linear", False),))
    law = replace(
        model.law,
        family=Family("linear", False, lags=2),
        mean=LinearMean(LEVEL, np.array([PRICE, MEMORY])),
        residuals=Residuals.normal(SD),
        lag_weights=WEIGHTS,
        level=0 * model.law.level,
    )
    return Planner(draws=1, iterations=10).plan(log.decisions("plan"), model=replace(model, law=law))


def history(sales: list[float], stocks: list[float], depths: list[int]) -> View:
    """An open period after closed ones: `sales` before each and before the open one, its stock and depth."""
    past: tuple[ClosedPeriod, ...] = ()
    for at, stock in enumerate(stocks[:-1]):
        view = view_of([], stock, sales[at], depths[at])
        past += (ClosedPeriod(view, Action(np.array([4.0]), np.array([0.0]))),)
    return view_of([], stocks[-1], sales[-1], depths[-1], past)


def test_observed_demands_enter_with_their_weights(policy: PlanPolicy) -> None:
    belief = policy.tracker.belief(history([11.0, 16.0, 9.0], [30.0, 30.0, 30.0], [0, 0, 0]))
    assert belief.mean[0] == 9
    assert belief.lag[0] == pytest.approx(0.6 * 9 + 0.4 * 16)
    assert belief.stays[0] == pytest.approx(0.4 * 9)


def above(middle: Floats, level: float) -> tuple[Floats, Floats]:
    """Whole demands above a level and their chances, given the mean of the latent, (..., demands)."""
    demand = np.arange(level + 1, 80.0)
    ends = (np.r_[demand - 0.5, np.inf] - middle[..., None]) / SD
    return demand, np.diff(norm.cdf(ends), axis=-1)


def test_two_hidden_demands_against_enumeration(policy: PlanPolicy) -> None:
    """After 13 and 14, more than 12 and then more than 15 were asked for."""
    view = history([13.0, 14.0, 12.0, 15.0], [20.0, 12.0, 15.0, 9.0], [0, 0, 1, 2])
    first, p_first = above(np.array(LEVEL + MEMORY * (0.6 * 14 + 0.4 * 13) - 4), 12)
    middle = LEVEL + MEMORY * (0.6 * first + 0.4 * 14) - 4
    second, p_second = above(middle, 15)
    joint = p_first[:, None] * p_second
    joint /= joint.sum()
    means = (joint.sum(axis=1) @ first, joint.sum(axis=0) @ second)
    belief = policy.tracker.belief(view)
    # The mean of the first is not moved by what the second showed: a part of a unit.
    assert belief.mean[0] == pytest.approx(means[1], abs=0.4)
    assert belief.lag[0] == pytest.approx(0.6 * means[1] + 0.4 * means[0], abs=0.5)


def test_a_demand_that_was_hidden_before_an_observed_one_still_counts(policy: PlanPolicy) -> None:
    """Of the last demand but one it is known that it was more than 12."""
    view = history([13.0, 14.0, 12.0, 17.0], [20.0, 12.0, 25.0, 9.0], [0, 0, 1, 0])
    demand, chances = above(np.array(LEVEL + MEMORY * (0.6 * 14 + 0.4 * 13) - 4), 12)
    hidden = float(demand @ chances / chances.sum())
    belief = policy.tracker.belief(view)
    assert belief.mean[0] == 17
    assert belief.lag[0] == pytest.approx(0.6 * 17 + 0.4 * hidden, abs=0.1)


def test_one_lag_looks_back_no_further_than_the_run() -> None:
    view = history([13.0, 14.0, 12.0, 15.0], [20.0, 12.0, 15.0, 9.0], [0, 0, 1, 2])
    found = past_demands(view, 1)
    assert found.is_hidden[:, 0].tolist() == [True, True]
    assert found.depth[:, 0].tolist() == [1, 0]
    assert found.demand[:, 0].tolist() == [15, 12, 14]


def test_what_stays_in_a_plan_is_the_regression_on_the_lag() -> None:
    log = log_of_two_lags(30, 60)
    model = fit_law(log, (Family("linear", False, lags=2),))
    memory, weights = plan_memory(model.evidence, model.law), model.law.lag_weights
    assert memory.weight == weights[0]
    assert 0 < memory.carry < 1
    usual = float(np.nanmean(model.evidence.lag))
    assert weights[0] * usual + memory.carry * usual + memory.offset == pytest.approx(usual, rel=0.05)


def test_the_demand_before_the_last_moves_the_decision_and_survives_saving(
    policy: PlanPolicy, tmp_path: object
) -> None:
    low = history([14.0, 4.0, 14.0], [30.0, 30.0, 10.0], [0, 0, 0])
    high = history([14.0, 24.0, 14.0], [30.0, 30.0, 10.0], [0, 0, 0])
    assert policy.explain(high).order[0] > policy.explain(low).order[0]
    policy.save(f"{tmp_path}/plan")
    again = load(f"{tmp_path}/plan")
    assert again.explain(high).order == policy.explain(high).order
