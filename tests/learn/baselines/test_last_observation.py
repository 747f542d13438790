"""Ordinary FQI under its treatments, and the plugged-in demand."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import find_runs
from lostsales.learn.baselines import last_observation as shallow
from lostsales.learn.baselines.last_observation import FQI
from lostsales.learn.baselines.plug_in import PlugIn
from lostsales.learn.cfqi.iteration import iterate
from lostsales.learn.fit import fit
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.q_function import FunctionClass
from lostsales.policy.rollout import play
from lostsales.policy.view import Action
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.learn.small import days, small_log

TREATMENTS = ("fqi-observed", "fqi-dropped", "fqi-imputed", "fqi-plugin")
FEW = FunctionClass(kernels=(Kernel(kind="rbf", coefficient=0.03),), ridges=(1.0,))


@cache
def full_shelves() -> SalesLog:
    """A shop that never runs out."""
    log = simulate(Scenario.load("released", ("start.stock=900", "demand.rho=0.5")), episodes=6, seed=4)[0]
    assert not log.censored.any()
    return log


@pytest.mark.parametrize("method", TREATMENTS)
def test_without_stock_outs_all_are_classical_fqi(method: str) -> None:
    """And so is C-FQI: nothing is imputed, and no depth is above 0."""
    tables = days(full_shelves(), 9)
    plain = fit(full_shelves(), "c-fqi", iterations=3, function=FEW)
    other = fit(full_shelves(), method, iterations=3, function=FEW)
    one, two = (each.recommend(*tables) for each in (plain, other))
    pd.testing.assert_frame_equal(one, two, rtol=1e-9)


@pytest.mark.parametrize("method", TREATMENTS)
def test_a_method_is_fqi_with_its_treatment(method: str) -> None:
    log = small_log("released")
    named = fit(log, method, iterations=1, function=FEW)
    treatment: Any = method.removeprefix("fqi-")
    by_setting = fit(log, FQI(treatment=treatment, iterations=1, function=FEW))
    recent, today = days(small_log("released", seed=2), 5)
    pd.testing.assert_frame_equal(named.recommend(recent, today), by_setting.recommend(recent, today))


def parts_of(monkeypatch: pytest.MonkeyPatch, method: str, log: SalesLog) -> Any:
    """What the iterations are given."""
    given: list[Any] = []

    def watched(parts: Any, *rest: Any) -> Any:
        given.extend(parts)
        return iterate(parts, *rest)

    monkeypatch.setattr(shallow, "iterate", watched)
    fit(log, method, iterations=1, function=FEW)
    return given[0]


def test_treatments_differ_in_the_profit_of_stock_outs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    log = small_log("released")
    observed, dropped, imputed, plugged = (parts_of(monkeypatch, each, log) for each in TREATMENTS)
    censored = log.censored[observed.rows]
    assert censored.sum() > 50
    np.testing.assert_array_equal(observed.profit, log.cash[observed.rows])
    np.testing.assert_array_equal(dropped.rows, observed.rows[~censored])
    np.testing.assert_array_equal(dropped.profit, observed.profit[~censored])
    np.testing.assert_array_equal(imputed.rows, observed.rows)
    np.testing.assert_array_equal(imputed.block, observed.block)
    np.testing.assert_allclose(imputed.profit[~censored], observed.profit[~censored])
    assert (imputed.profit <= observed.profit).all()
    assert (imputed.profit[censored] < observed.profit[censored]).mean() > 0.5
    np.testing.assert_array_equal(plugged.profit, imputed.profit)
    after = np.r_[False, log.censored[:-1]][observed.rows] & (observed.rows % 50 > 0)
    np.testing.assert_array_equal(plugged.block[~after], imputed.block[~after])
    assert (plugged.block[after, 0] >= imputed.block[after, 0]).all()


def test_the_state_is_the_last_observation(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: last sales, economy, interest, stock-out, stock (Appendix C)."""
    log = small_log("released")
    part = parts_of(monkeypatch, "fqi-imputed", log)
    row = int(np.flatnonzero(log.censored[part.rows - 1] & (part.rows % 50 > 0))[0])
    t = int(part.rows[row])
    economy, interest = log.features[t]
    stock = np.asarray(log.stock)
    expected = [log.sales[t - 1], economy, interest, 1.0, stock[t]]
    np.testing.assert_array_equal(part.block[row], expected)
    np.testing.assert_array_equal(part.next_observed[row][[0, -1]], [log.sales[t], stock[t + 1]])


def test_the_plugged_in_demand_is_the_mean_of_the_truncated_normal() -> None:
    """Appendix C, where demand is far enough from 0 for the law to be linear."""
    log, truth = simulate(Scenario.load("steady", ("demand.intercept=18.5",)), episodes=1_000, seed=8)
    runs = find_runs(log)
    is_observed = runs.observed.is_observed
    filled = PlugIn.fit(log, runs).of_log(log, runs)
    np.testing.assert_array_equal(filled[is_observed], truth.demand[is_observed])
    economy, interest = log.features.T
    mean = 18.5 - 0.6 * interest + 2 * economy - 3 * log.price + 0.8 * runs.anchor_demand
    at = (np.asarray(log.stock) + 0.5 - mean) / 3  # whole demand above the stock is at least half a unit above it
    first = (runs.depth == 0) & ~is_observed
    expected = (mean + 3 * norm.pdf(at) / norm.sf(at))[first]
    assert filled[first].mean() == pytest.approx(expected.mean(), abs=0.05)
    assert np.abs(filled[first] - expected).mean() < 0.15  # the noise has a standard deviation of 3
    for depth in (1, 2, 3):
        rows = (runs.depth == depth) & ~is_observed
        assert filled[rows].mean() == pytest.approx(truth.demand[rows].mean(), rel=0.03)


def test_a_log_and_a_view_plug_in_the_same() -> None:
    world = Scenario.load("paper")
    log = simulate(world, episodes=20, seed=8)[0]
    runs = find_runs(log)
    plug_in = PlugIn.fit(log, runs)
    filled = plug_in.of_log(log, runs).reshape(20, 50)

    class Replay:
        """Repeats the log's actions."""

        observes = "history"

        def decide(self, view: Any, rng: np.random.Generator) -> Any:  # noqa: ARG002
            if view.period:
                np.testing.assert_allclose(plug_in.of_view(log.problem, view), filled[:, view.period - 1])
            prices, orders = log.price.reshape(20, 50), np.asarray(log.order).reshape(20, 50)
            return Action(prices[:, view.period], orders[:, view.period])

    seeds = np.random.SeedSequence(8).spawn(1)[0].spawn(2)
    rngs = [np.random.Generator(np.random.SFC64(each)) for each in seeds]
    steps = list(play(Replay(), world, world, world.unit_costs, 50, 20, *rngs))  # type: ignore[arg-type]
    np.testing.assert_array_equal(np.stack([step.outcome.sales for step in steps], axis=1), log.sales.reshape(20, 50))
    assert max(int(step.view.depth.max()) for step in steps) >= 2
