"""Demand by price: Kaplan-Meier's jumps, sums, and what a market draws from them."""

import numpy as np
import pytest

from lostsales.demand.censoring.runs import find_runs
from lostsales.demand.survival.curve import kaplan_meier
from lostsales.learn.baselines.demand_by_price import DiscreteDemand, PriceMarket, laws_by_price
from tests.learn.small import small_log


def test_the_law_has_the_jumps_of_the_curve_and_the_rest_at_the_largest() -> None:
    """Product limit by hand: 1, 2, 2+, 3+ leaves 1 - 3/4 - ... = 1/2 above 2, which Efron's rule puts at 3."""
    curve = kaplan_meier(np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, False]))
    law = DiscreteDemand.of(curve)
    assert dict(zip(law.levels, law.chance, strict=True)) == pytest.approx({1: 0.25, 2: 0.25, 3: 0.5})
    assert law.mean == pytest.approx(2.25)
    assert law.sold(2.0) == pytest.approx(1.75)
    np.testing.assert_array_equal(law.quantile(np.array([0.0, 0.25, 0.26, 0.5, 0.51, 1.0])), [1, 1, 2, 2, 3, 3])


def test_the_sum_of_two_dice() -> None:
    die = DiscreteDemand(np.arange(1.0, 7.0), np.full(6, 1 / 6))
    two = die.plus(die)
    np.testing.assert_array_equal(two.levels, np.arange(2, 13))
    np.testing.assert_allclose(two.chance * 36, [1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1])


def test_a_law_of_many_levels_is_thinned_to_its_quantiles() -> None:
    demand = np.random.default_rng(0).gamma(2.0, 3.0, 5_000)
    law = DiscreteDemand.of(kaplan_meier(demand, np.ones(5_000, dtype=bool), integer=False))
    assert len(law.levels) == 500
    assert law.mean == pytest.approx(demand.mean(), rel=0.01)


def test_a_price_with_few_rows_borrows_from_the_nearest() -> None:
    log = small_log("paper")
    runs = find_runs(log)
    prices = np.array([3.0, 4.0, 4.1, 4.5, 5.0])  # 3 and 5 lie outside the log, 4.1 was never charged
    laws = laws_by_price(log, runs, prices)
    assert list(laws) == [4.0, 4.1, 4.5]
    np.testing.assert_array_equal(laws[4.1].chance, laws[4.0].chance)
    assert laws[4.0].mean > laws[4.5].mean


def test_all_groups_meet_the_same_customers() -> None:
    laws = {
        4.0: DiscreteDemand(np.array([1.0, 5.0]), np.array([0.3, 0.7])),
        5.0: DiscreteDemand(np.array([2.0]), np.ones(1)),
    }
    market = PriceMarket(laws, np.array([3.0, 8.0]), paths=2_000)
    rng = np.random.default_rng(0)
    opening = market.open(4_000, rng)
    np.testing.assert_array_equal(opening.stock[:2_000], opening.stock[2_000:])
    assert set(opening.stock) == {3.0, 8.0}
    drawn = market.demand(0, (), np.full(4_000, 4.0), opening.last_demand, rng)
    np.testing.assert_array_equal(drawn[:2_000], drawn[2_000:])
    assert (drawn[:2_000] == 5).mean() == pytest.approx(0.7, abs=4 * np.sqrt(0.21 / 2_000))
    dearer = market.demand(0, (), np.repeat([4.0, 5.0], 2_000), opening.last_demand, rng)
    assert set(dearer[2_000:]) == {2.0}
