"""Lemmas 3 and 4 of the paper by enumeration of all demands, in a market whose demand depends on the last one."""

from itertools import product

import numpy as np
import pytest

from lostsales.demand.survival.curve import SurvivalCurve, kaplan_meier
from lostsales.demand.survival.tail import Tail
from lostsales.types import Floats

MOST = 6  # D_max
NOISE = {-1: 0.2, 0: 0.5, 1: 0.2, 2: 0.1}
STOCK = {1: 0.3, 3: 0.3, 5: 0.1, MOST: 0.3}  # Y_t, which does not depend on demand (Assumption 4)
PRICES = (2.0, 4.0)
LOST, ORDER, HOLDING = 0.5, 0.3, 0.1
Law = dict[int, float]


def law(last: int, price: float) -> Law:
    """P(D_t = d | D_{t-1}, P_t)."""
    chances = dict.fromkeys(range(MOST + 1), 0.0)
    for shock, chance in NOISE.items():
        chances[min(max(round(4 + 0.6 * last - 0.7 * price) + shock, 0), MOST)] += chance
    return chances


def after_run(anchor: int, run: tuple[tuple[float, int], ...], price: float) -> Law:
    """P(D_t = d | H): the anchor's demand, then (price, stock) of periods whose demand was above the stock."""
    known: Law = {anchor: 1.0}
    for paid, stock in run:
        following = dict.fromkeys(range(MOST + 1), 0.0)
        for last, chance in known.items():
            for demand, likely in law(last, paid).items():
                following[demand] += chance * likely
        above = sum(chance for demand, chance in following.items() if demand > stock)
        known = {demand: chance / above for demand, chance in following.items() if demand > stock} if above else {}
    found = dict.fromkeys(range(MOST + 1), 0.0)
    for last, chance in known.items():
        for demand, likely in law(last, price).items():
            found[demand] += chance * likely
    return found


def histories(depth: int) -> list[Law]:
    """The conditional law after every history of a depth that has a positive probability."""
    runs = list(product(product(PRICES, (1, 3)), repeat=depth))
    found = [after_run(anchor, run, price) for anchor in range(MOST + 1) for run in runs for price in PRICES]
    return [each for each in found if sum(each.values()) > 0]


def curve_of(chances: Law, stocks: dict[int, float], tail: Tail) -> SurvivalCurve:
    """Kaplan-Meier of the whole population of (min(D, Y), Delta) after a history, each weighed by its probability."""
    cells = [
        (float(min(demand, stock)), demand <= stock, likely * share)
        for (demand, likely), (stock, share) in product(chances.items(), stocks.items())
        if likely * share > 0
    ]
    sales, observed, weights = (np.array(column) for column in zip(*cells, strict=True))
    return kaplan_meier(sales, observed, weights, demand_max=MOST, tail=tail)


def mean_above(chances: Law, stock: int) -> float:
    """E[D | D > stock] by its definition."""
    above = {demand: chance for demand, chance in chances.items() if demand > stock}
    return sum(demand * chance for demand, chance in above.items()) / sum(above.values())


def profit(price: float, stock: int, demand: float) -> float:
    """Equation 2 without an order, which is the same on both sides."""
    return price * min(stock, demand) - LOST * max(demand - stock, 0) - HOLDING * max(stock - demand, 0)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_lemma_4_the_survival_function_of_demand_gives_its_mean_above_the_stock(depth: int) -> None:
    found = histories(depth)
    assert len(found) >= 14
    for chances in found:
        curve = curve_of(chances, STOCK, "refuse")
        exact = np.array([sum(p for d, p in chances.items() if d > level) for level in range(MOST)])
        np.testing.assert_allclose(curve(np.arange(MOST, dtype=np.float64)), exact, atol=1e-12)
        for stock in (1, 3, 5):
            if exact[stock] > 0:
                by_lemma = stock + float(np.sum(exact[stock:]) / exact[stock])
                np.testing.assert_allclose(by_lemma, mean_above(chances, stock))
                np.testing.assert_allclose(stock + curve.mean_excess(stock, stock), by_lemma)


def biases(chances: Law, stocks: dict[int, float], tail: Tail) -> Floats:
    """E[(R_t - surrogate) 1(Delta_t = 0) | H, Y_t] for each stock, with the conditional mean by a fitted curve."""
    curve, found = curve_of(chances, stocks, tail), []
    for stock in stocks:
        hidden = {demand: chance for demand, chance in chances.items() if demand > stock}
        expected = stock + curve.mean_excess(stock, stock) if hidden else 0.0
        surrogate = profit(2.0, stock, expected)
        found.append(sum(chance * (profit(2.0, stock, demand) - surrogate) for demand, chance in hidden.items()))
    return np.array(found)


@pytest.mark.parametrize("tail", ["to_max", "exponential", "last"])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_lemma_3_the_surrogate_profit_is_right_on_average_where_the_curve_is_identified(depth: int, tail: Tail) -> None:
    for chances in histories(depth):
        np.testing.assert_allclose(biases(chances, STOCK, tail), 0.0, atol=1e-12)


def test_beyond_the_largest_stock_the_rules_differ_and_last_is_the_rosiest() -> None:
    """Stocks up to 3 alone: of the mass above 3 no demand is ever seen, so that Lemma 3 fails there and only there."""
    short, compared = {1: 0.5, 3: 0.5}, 0
    for chances in histories(1):
        if (beyond := sum(p for d, p in chances.items() if d > 3)) < 1e-12:
            np.testing.assert_allclose(biases(chances, short, "last"), 0.0, atol=1e-12)
            continue
        last, exponential, to_max = (biases(chances, short, tail)[1] for tail in ("last", "exponential", "to_max"))
        compared += 1
        assert last < 0  # the true profit is lower: lost sales beyond the stock count as none
        assert last <= exponential + 1e-12 <= to_max + 2e-12
        assert to_max >= -1e-12  # all of it at D_max is the most that can be lost
        np.testing.assert_allclose(last, -LOST * beyond * (mean_above(chances, 3) - 3))
    assert compared > 20
