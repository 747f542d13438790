"""Most profitable prices of tables without stock."""

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.problem import Columns, Costs, Problem
from lostsales.demand.shop import ShopDemand
from lostsales.errors import LostSalesError

PROBLEM = Problem(
    columns=Columns(series="product", period="date"), costs=Costs(lost=0, order="cost", holding=0)
)  # price and sales have our names
COST = {"tea": 1.5, "coffee": 3.0}


def model(costs: bool = True, moves: bool = True) -> ShopDemand:
    """Demand of 400 days falls with the price by an elasticity of -2, so that twice the cost earns most."""
    rng, parts = np.random.default_rng(5), []
    for name, cost in COST.items():
        price = rng.choice([2.4, 2.7, 3.0, 3.3, 3.6], 400) if moves else np.full(400, 3.0)
        sales = rng.poisson(60 * (price / 3.0) ** -2.0)
        dates = pd.date_range("2025-01-01", periods=400)
        parts.append(pd.DataFrame({"product": name, "date": dates, "price": price, "sales": sales, "cost": cost}))
    problem = PROBLEM if costs else PROBLEM.model_copy(update={"costs": Costs()})
    found = lostsales.fit_demand(lostsales.read_log(pd.concat(parts), problem))
    assert isinstance(found, ShopDemand)
    return found


def test_twice_the_cost_earns_most_at_an_elasticity_of_minus_two() -> None:
    found = model().best_prices()
    price = dict(zip(found.names.tolist(), found.price.tolist(), strict=True))
    assert price["tea"] == pytest.approx(3.0, abs=0.25)
    assert price["coffee"] == 3.6  # twice its cost is more than it was ever sold at
    # A week of coffee at 3.6 instead of the prices charged, by the true demand.
    demand = {each: 60 * (each / 3.0) ** -2.0 for each in (2.4, 2.7, 3.0, 3.3, 3.6)}
    margins = {each: (each - 3.0) * demand[each] for each in demand}
    true = 7 * (margins[3.6] - np.mean(list(margins.values())))
    at = found.names.tolist().index("coffee")
    assert found.gain[at] == pytest.approx(true, rel=0.1)
    assert (found.low <= found.gain).all()
    assert (found.gain <= found.high).all()
    assert found.per == "week"


def test_a_price_that_never_moved_stays() -> None:
    found = model(moves=False).best_prices()
    assert found.price.tolist() == [3.0, 3.0]
    np.testing.assert_allclose([found.gain, found.low, found.high], 0.0, atol=1e-9)


def test_without_costs_there_is_no_best_price() -> None:
    with pytest.raises(LostSalesError, match=r"set \[costs\] order"):
        model(costs=False).best_prices()
