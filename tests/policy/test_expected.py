"""Expectations until the next order would arrive, against Poisson demand computed exactly."""

import numpy as np
import pytest
from scipy.stats import poisson

from lostsales.data.economics import UnitCosts
from lostsales.data.shop import Shop
from lostsales.policy.expected import Expected
from lostsales.policy.view import Action, View
from lostsales.types import Floats

MEAN = 20.0


def outlook(available: Floats) -> tuple[Floats, Floats, Floats]:
    levels = np.arange(200.0)
    short = np.maximum(levels - available[:, None], 0.0) @ poisson.pmf(levels, MEAN)
    return np.full(len(available), MEAN), poisson.sf(np.floor(available), MEAN), short


def expected(stock: float, order: float, lead_time: int, every: int | None = None) -> Expected:
    supply = {"lead_time": lead_time} | ({} if every is None else {"order_days": every})
    shop = Shop.model_validate({"arrival": "before" if lead_time == 0 else "after", "supply": supply})
    one = np.ones(1)
    way = None if lead_time < 2 else np.zeros((1, lead_time - 1))
    phase = None if every is None else np.zeros(1, dtype=np.int64)
    view = View(
        0, (), stock * one, MEAN * one, one < 0, np.zeros(1, np.int16), None, pipeline=way, order_phase=phase
    )  # fmt: skip
    return Expected.of(view, Action(5 * one, order * one), outlook, shop, UnitCosts(0.5, 3.0, 0.01), one, one < 0)


def test_of_one_period_the_cover_is_today() -> None:
    found = expected(12, 6, lead_time=0)
    assert found.periods == 1
    for name in ("demand", "sales", "lost", "leftover", "stockout_chance"):
        assert getattr(found, f"cover_{name}") == getattr(found, name)


@pytest.mark.parametrize(("lead_time", "every", "periods"), [(1, None, 2), (2, None, 3), (2, 7, 9)])
@pytest.mark.parametrize("slack", [-0.5, 0.0, 1.0, 2.0])  # of the stock, in standard deviations of the demand
def test_the_chance_of_a_stock_out_is_that_of_the_summed_demand(
    lead_time: int, every: int | None, periods: int, slack: float
) -> None:
    total = MEAN * periods
    stock = np.rint(total + slack * np.sqrt(total))
    found = expected(stock, 0, lead_time, every)
    assert found.periods == periods
    one_unit = poisson.pmf(MEAN, MEAN)  # demand is whole, and the threshold of one period is not
    assert found.cover_stockout_chance == pytest.approx(poisson.sf(stock, total), abs=one_unit)
    assert found.cover_demand == pytest.approx(total)


def test_an_order_that_arrives_later_moves_all_figures_of_its_cover() -> None:
    none, some = expected(60, 0, 2, 7), expected(60, 100, 2, 7)
    for name in ("demand", "sales", "lost", "leftover", "stockout_chance"):  # today is as it was
        assert getattr(none, name) == getattr(some, name)
    assert some.cover_sales > none.cover_sales + 90
    assert some.cover_lost < none.cover_lost - 90
    assert none.cover_stockout_chance > 0.999
    assert some.cover_sales + some.cover_lost == pytest.approx(some.cover_demand)
    assert some.cover_sales[0] + some.cover_leftover[0] == pytest.approx(60 + 100)
