"""A level of demand that moves: found where it does, followed through recent rows, and kept in a file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lostsales
from benchmarks.moving_level import PROBLEM, written
from lostsales.data.log import DecisionLog
from lostsales.data.relative import at_usual_level
from lostsales.demand.censoring.runs import find_runs
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.selection import fit_demand
from lostsales.demand.model.level_loops import filter_levels, level_paths
from lostsales.learn.planner.moving_level import has_quantities, moving_levels
from lostsales.learn.planner.planner import Planner
from lostsales.policy.history import recent_demand
from lostsales.policy.shop_units import InShopUnits
from lostsales.policy.view import View
from lostsales.types import Floats
from tests.demand.logs import log_of_draws
from tests.learn.planner.true_law import view_of

FAMILIES = (Family("linear", True),)


def shop_log(level: Floats, products: int = 4, seed: int = 1) -> DecisionLog:
    return written(level, len(level), products, seed).log


@pytest.fixture(scope="module")
def jumped() -> DecisionLog:
    return shop_log(np.repeat([1.0, 1.5], [60, 60]))


def test_one_rate_is_the_filter_of_levels() -> None:
    rng = np.random.default_rng(0)
    demand, censored = rng.poisson(5.0, 40).astype(float), rng.uniform(size=40) < 0.3
    decays, usual, spread, nothing = np.array([0.9]), np.array([4.0]), (0.1, 0.1), np.zeros((1, 1))
    whole, series = np.ones((1, 40)), np.zeros(40, dtype=np.int64)
    paths = level_paths(
        demand, whole[0], censored, series, nothing.copy(), nothing.copy(), nothing.copy(), decays, 0.3, usual, spread,
        True, 0.95,
    )  # fmt: skip
    for end in (1, 10, 39):  # a period that says nothing: the level before it is seen
        known = np.where(np.arange(40) < end, whole, 0.0)
        found, _ = filter_levels(
            demand[None], known, censored[None], whole, series[:1], np.array([end]), decays, 0.3, usual, spread, True
        )
        assert paths[end, 0] == pytest.approx(found[0, 0])
    assert paths[0].tolist() == [4.0, 4.0]


def test_a_jump_is_found_and_steady_demand_is_left_alone(jumped: DecisionLog) -> None:
    model = fit_demand(jumped, FAMILIES)
    found = moving_levels(jumped, model)
    assert found is not None
    states, relative = found
    late, early = jumped.period >= 80, (jumped.period >= 20) & (jumped.period < 60)
    assert relative[late].mean() / relative[early].mean() == pytest.approx(1.5, rel=0.1)
    assert np.mean(list(states.now().values())) == pytest.approx(relative[late].mean(), rel=0.1)
    steady = shop_log(np.ones(120))
    assert moving_levels(steady, fit_demand(steady, FAMILIES)) is None


@pytest.mark.parametrize("scenario", ["released", "steady"])
def test_memory_and_features_are_no_moving_level(scenario: str) -> None:
    log, _ = lostsales.simulate(scenario, episodes=20, seed=3)
    assert moving_levels(log, fit_demand(log, FAMILIES)) is None


def test_quantities_at_the_usual_level_hide_what_they_hid(jumped: DecisionLog) -> None:
    relative = np.where(jumped.period < 60, 0.8, 1.2)
    log = at_usual_level(jumped, relative)
    np.testing.assert_array_equal(log.censored, jumped.censored)
    np.testing.assert_allclose(log.available, np.rint(jumped.available / relative))
    assert (log.sales <= log.available).all()
    assert (log.sales == np.rint(log.sales)).all()
    half = log.period < 60
    assert log.sales[half].mean() == pytest.approx(jumped.sales[half].mean() / 0.8, rel=0.02)


def test_levels_follow_recent_rows(jumped: DecisionLog) -> None:
    found = moving_levels(jumped, fit_demand(jumped, FAMILIES))
    assert found is not None
    later = written(np.repeat([1.0, 1.5, 0.75], [60, 60, 15]), 135, 4, 1).log
    before, after = found[0].now(), found[0].after(later).now()
    assert np.mean(list(after.values())) / np.mean(list(before.values())) == pytest.approx(0.5, rel=0.2)
    assert found[0].after(jumped).now() == before  # rows that were seen already count once


def test_a_levelled_policy_decides_saves_and_loads(jumped: DecisionLog, tmp_path: Path) -> None:
    policy = lostsales.fit(jumped, Planner(draws=1, iterations=5, families=FAMILIES))
    assert isinstance(policy, InShopUnits)
    assert policy.level is not None
    assert policy.summary()["level"] == "moves"
    today = pd.DataFrame({"series": range(4), "period": 135, "stock": 0.0})
    rows = pd.concat(written(np.repeat([1.0, 1.5, 0.75], [60, 60, 15]), 135, 4, 1).rows)
    high = policy.recommend(rows[rows["period"] < 120], today.assign(period=120))
    low = policy.recommend(rows, today)
    assert (high["order"] == np.rint(high["order"])).all()
    assert low["order"].sum() < 0.75 * high["order"].sum()
    policy.save(tmp_path / "policy")
    pd.testing.assert_frame_equal(lostsales.load(tmp_path / "policy").recommend(rows, today), low)
    with pytest.warns(UserWarning, match="does not fit"):  # what it leaves open is the level
        fixed = lostsales.fit(jumped, Planner(draws=1, iterations=5, families=FAMILIES, level="fixed"))
    assert not isinstance(fixed, InShopUnits)


def test_a_level_that_moves_after_the_log_is_followed_within_some_periods(tmp_path: Path) -> None:
    before = np.ones(80)
    log = shop_log(before, products=8)
    settings = Planner(draws=1, iterations=5, families=FAMILIES)
    policy, fixed = (lostsales.fit(log, settings.model_copy(update={"level": each})) for each in ("follow", "fixed"))
    assert isinstance(policy, InShopUnits)
    assert policy.level is not None
    rows = pd.concat(written(np.r_[before, np.full(12, 1.5)], 92, 8, 1).rows)
    today = pd.DataFrame({"series": range(8), "period": 92, "stock": 0.0})
    assert Planner().level == "follow"
    still = rows[rows["period"] < 80], today.assign(period=80)
    pd.testing.assert_series_equal(policy.recommend(*still)["order"], fixed.recommend(*still)["order"])
    assert policy.recommend(rows, today)["order"].sum() > 1.25 * policy.recommend(*still)["order"].sum()
    policy.save(tmp_path / "policy")
    again = lostsales.load(tmp_path / "policy").recommend(rows, today)
    pd.testing.assert_frame_equal(again, policy.recommend(rows, today))


def test_what_the_filter_does_by_chance_moves_no_level() -> None:
    """Demand of 1 a period: the filter strays by more than a fifth, and says so of one in a hundred rows at most."""
    rng = np.random.default_rng(5)
    demand = rng.poisson(1.0, (8, 100)).astype(float)
    log = log_of_draws(demand, rng.integers(0, 5, demand.shape).astype(float)).decisions("fit")
    found = moving_levels(log, fit_demand(log, FAMILIES), always=True)
    assert found is not None
    states, relative = found
    assert (relative == 1).all()
    later = [
        states.after(log_of_draws(np.c_[demand, rng.poisson(1.0, (8, 12))], np.full((8, 112), 9.0))) for _ in range(5)
    ]
    moved = [level != 1 for each in later for level in each.now().values()]
    by_a_fifth = [level != 1 for each in later for level in replace(each, chance=0.0).now().values()]
    assert np.mean(moved) < 0.1 < 0.25 < np.mean(by_a_fifth)


def test_a_level_that_strayed_at_the_end_of_a_steady_log_is_usual_without_recent_rows_and_fades_in_a_hole() -> None:
    log = shop_log(np.ones(80), products=8)
    policy = lostsales.fit(log, Planner(draws=1, iterations=5, families=FAMILIES))
    assert isinstance(policy, InShopUnits)
    assert policy.level is not None
    names = [str(name) for name in policy.level.names]
    high = shop_log(np.r_[np.ones(80), np.full(12, 1.6)], products=8)
    strayed = replace(policy, level=policy.level.after(high))
    assert strayed.level is not None
    nothing = np.zeros(8)
    view = View(0, (), nothing, nothing, nothing > 0, nothing.astype(np.int16), None, ())
    view = replace(view, names=np.array(names, dtype=object))
    recent = replace(recent_demand(high, find_runs(high), np.arange(8), high.starts), log=high)
    assert np.mean(strayed.rows(replace(view, recent=recent)).scale) > 1.25
    assert (strayed.rows(view).scale == 1).all()
    steady = shop_log(np.ones(2), products=8)
    later = replace(steady, period=steady.period + 300)
    assert policy.level.step == 1
    alone = policy.level.after(later).levels()
    after_hole, at_once = (replace(strayed.level, step=each).after(later).levels() for each in (1, 0))
    np.testing.assert_allclose(after_hole, alone, rtol=0.05)
    assert (at_once / alone).mean() > 1.15


def test_a_replay_is_at_the_mean_level_of_its_log(jumped: DecisionLog) -> None:
    """The law of the log is that of its mean level: decided at the level of its end, a replay would order too much."""
    policy = lostsales.fit(jumped, Planner(draws=1, iterations=5, families=FAMILIES))
    assert isinstance(policy, InShopUnits)
    assert policy.level is not None
    at_the_end, whole = policy.level.now(), policy.replayed_on(jumped)
    assert np.mean(list(at_the_end.values())) > 1.12
    assert whole.replayed is not None
    assert np.mean(list(whole.replayed.values())) == pytest.approx(1.0, abs=0.03)
    view = view_of([], 0.0, 10.0, 0)
    highest = max(at_the_end, key=lambda name: at_the_end[name])
    view = replace(view, names=np.array([highest], dtype=object))
    assert whole.rows(view).scale == pytest.approx(1.0, abs=0.05)
    assert policy.rows(view).scale == at_the_end[highest] > 1.2


def test_a_problem_that_names_quantities_has_one_unit_and_fit_says_so(jumped: DecisionLog) -> None:
    assert not has_quantities(PROBLEM)
    limited = PROBLEM.model_copy(update={"capacity": 60.0})
    assert has_quantities(limited)
    with pytest.warns(UserWarning, match="is not followed|does not fit") as caught:
        policy = lostsales.fit(replace(jumped, problem=limited), Planner(draws=1, iterations=3, families=FAMILIES))
    assert any("is not followed: the problem names quantities" in str(each.message) for each in caught)
    assert not isinstance(policy, InShopUnits)
