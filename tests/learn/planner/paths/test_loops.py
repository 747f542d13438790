"""Compiled loops decide, to the last bit, as the search that goes through one path after the other."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lostsales
from lostsales.data.economics import UnitCosts
from lostsales.data.shop import Shop
from lostsales.demand.model.counts import count_quantile, small_count_quantiles
from lostsales.demand.model.moving_levels import MovingLevels
from lostsales.learn.planner.lookahead import Lookahead
from lostsales.learn.planner.paths.product_levels import LOOK_BACK
from lostsales.learn.planner.paths.search import Search, common_draws, find_actions, terms_of
from lostsales.policy.recent_demand import ShownDemand
from lostsales.policy.view import View
from tests.learn.planner.paths.path_by_path import action_of_series
from tests.learn.planner.paths.test_orders import situation

SHOPS: dict[str, dict[str, Any]] = {
    "order before sales": {"supply": {"lead_time": 0}},
    "next period, netted": {"arrival": "after", "balance": "netted"},
    "three periods": {"supply": {"lead_time": 3, "share": 0.9}},
    "random, some lost": {"supply": {"lead_time": {"1": 0.5, "3": 0.3, "lost": 0.2}}},
    "random, in order": {"supply": {"lead_time": {"1": 0.4, "2": 0.6}, "crossing": False, "capacity": 30}},
    "must fit": {"supply": {"lead_time": 2}, "capacity": 25, "capacity_rule": "forbid"},
    "discards": {"supply": {"lead_time": 0}, "capacity": 12},
}


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("hold", [0, 1, 3])
@pytest.mark.parametrize("name", SHOPS)
def test_the_search_is_that_of_one_path_after_the_other(name: str, hold: int, counted: bool) -> None:
    """Orders at given prices, then prices of one and of three periods."""
    shop = Shop.model_validate(SHOPS[name] | {"discount": 0.97})
    longest, n, rng = shop.lead_times.longest, 8, np.random.default_rng(3)
    search = Search(paths=9, ahead=3, seed=5)
    terms, periods = terms_of(shop, review=2, hold=hold), search.periods(longest, 2)
    mean = np.array([0.3, 2.0, 8.0, 8.0, 25.0, 29.5, 60.0, 400.0])
    shown, is_censored = rng.poisson(mean[:, None], (n, 30)).astype(np.float64), rng.random((n, 30)) < 0.2
    levels = MovingLevels.start(n, counted, mean).after(shown if counted else 1.1 * shown, is_censored).pooled()
    may_order = rng.random((n, periods)) < 0.7
    may_order[::2, 0] = True
    at = situation(
        shop,
        np.rint(mean * rng.random(n)),
        rng.integers(0, 9, (n, max(longest - 1, 0))).astype(np.float64),
        periods,
        exposure=rng.uniform(0.0, 2.0, (n, periods)) * (rng.random((n, periods)) < 0.9),
        may_order=may_order,
        costs=UnitCosts(np.ones(n), np.full(n, 1.5), np.ones(n), fixed_order=1.5),
        multiple=np.array([1.0, 1.0, 2.0, 1.0, 6.0, 0.0, 12.0, 1.0]),
        minimum=np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 40.0]),
        limit=np.array([np.inf] * 6 + [50.0, np.inf]),
    )
    if hold:
        choices = at.price[:, :1] * rng.choice([0.8, 1.0, 1.1, np.nan], (n, 4))
        at = at._replace(
            price=np.ascontiguousarray(at.price * rng.uniform(0.9, 1.1, (n, periods))),
            choices=choices,
            effect=rng.uniform(0.5, 1.5, (n, 4)),
            penalty=rng.uniform(0.0, 2.0, (n, 4)),
        )
    found = find_actions(levels, at, terms, search)
    draws = common_draws(search.paths, periods, at.pipeline.shape[1], longest, search.seed)
    expected = np.array([action_of_series(levels, i, at, terms, draws) for i in range(n)])
    assert len(np.unique(found.order)) > 2
    assert (hold == 0) == bool((found.price == at.price[:, 0]).all())
    np.testing.assert_array_equal(np.column_stack(found), expected)


def test_quantiles_of_small_counts_side_by_side_are_those_one_by_one() -> None:
    rng, rows = np.random.default_rng(1), 1_001
    mean = np.r_[0.0, 1e-9, 1e-6, 399.0, np.exp(rng.uniform(-7, 6, rows - 4))]
    variance = mean * (1 + mean * np.exp(rng.uniform(-25, 3, rows)))
    level, found = rng.uniform(0.001, 0.999, rows), np.empty(rows)
    small_count_quantiles(level, mean, variance, found)
    each = [count_quantile(*row) for row in zip(level, mean, variance, strict=True)]
    np.testing.assert_array_equal(found, each)
    assert found.max() > 400


def test_levels_that_a_roll_out_keeps_are_those_of_all_periods() -> None:
    """Known and unknown series, in more periods than a level remembers, and counted in units of each."""
    log, _ = lostsales.simulate(lostsales.Scenario.load("newsvendor", ("horizon=30",)), episodes=3, seed=1)
    policy = Lookahead().fit(log)
    facts, market = policy.levels, policy.market
    rng, periods, unit = np.random.default_rng(4), LOOK_BACK + 5, np.array([1.0, 2.0, 1.0, 0.5])
    names = np.array([*log.names[:2], "new", "newer"], dtype=object)
    at = policy.products.attributes.places(names, 4)
    assert at.tolist() == [0, 1, -1, -1]
    record, kept = ShownDemand.of(4, periods), 0
    for period in range(periods):
        recent = record.before(period).in_units(unit)
        last = np.zeros(4) if period == 0 else record.shown[:, period - 1]
        view = View(period, (), last, last, last > 9, np.zeros(4, dtype=np.int16), None, names=names, recent=recent)
        kept += facts in record.memo
        found = facts.levels_of(view, at, True, market, ()).state
        anew = facts.levels_of(replace(view, recent=replace(recent, memo=None)), at, True, market, ()).state
        for own, other in zip(found, anew, strict=True):
            np.testing.assert_array_equal(own, other)
        record.add(period, rng.poisson([3.0, 8.0, 20.0, 1.0]).astype(np.float64), rng.random(4) < 0.2)
    assert kept == periods - 2  # not before anything was shown


def test_levels_are_not_kept_for_other_units_or_other_series() -> None:
    log, _ = lostsales.simulate(lostsales.Scenario.load("newsvendor", ("horizon=30",)), episodes=3, seed=1)
    policy, record, at = Lookahead().fit(log), ShownDemand.of(3, 3), np.arange(3)
    facts, market = policy.levels, policy.market
    for period in range(2):
        record.add(period, np.array([4.0, 5.0, 20.0]), np.zeros(3, dtype=bool))
    stock, none = np.zeros(3), np.zeros(3, dtype=np.int16)
    view = View(2, (), stock, stock, stock > 0, none, None, names=log.names, recent=record.before(2))
    first = facts.levels_of(view, at, True, market, ())
    halves = facts.levels_of(replace(view, recent=record.before(2).in_units(np.full(3, 2.0))), at, True, market, ())
    np.testing.assert_array_less(halves.mean, first.mean)
    some = facts.levels_of(view.take(np.array([2, 0])), at[[2, 0]], True, market, ())
    np.testing.assert_array_equal(some.mean, first.mean[[2, 0]])
