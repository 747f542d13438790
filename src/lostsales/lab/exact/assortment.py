"""The optimum of an assortment: each product's dynamic program over weekdays and stocks under its true demand."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.economics import carried, order_cost, sales_profit
from lostsales.data.problem import Problem
from lostsales.lab.exact.value_iteration import Actions, Criterion, Program, Values, solve_program
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes
from lostsales.policy.view import Action, View
from lostsales.simulation.assortment import PRICES, WEEK, Assortment, count_cdf, count_quantile
from lostsales.types import Floats, Ints

DISCOUNT = 0.99  # per day
TAIL = 1e-9  # probability of a larger demand, which is left out
PRECISION = 1e-6  # of a value, relative to the spread of the first week


@dataclass(frozen=True, eq=False)
class OptimalPolicy(PolicyBase):
    """Reads the decision of each product, weekday and stock off a table."""

    problem: Problem
    price: tuple[Floats, ...]  # by product, (7, stocks)
    level: tuple[Floats, ...]  # by product, (7, stocks) to which an order brings the stock
    observes: Observes = "sales"

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every product."""
        del rng
        weekday, stock = int(view.features[0][0]), view.stock.astype(np.int64)
        at = [np.minimum(each, table.shape[1] - 1) for each, table in zip(stock, self.level, strict=True)]
        price = np.array([table[weekday, each] for table, each in zip(self.price, at, strict=True)])
        level = np.array([table[weekday, each] for table, each in zip(self.level, at, strict=True)])
        return Action(price, np.maximum(level - view.stock, 0.0))


def optimal_policy(shop: Assortment, prices: tuple[float, ...] = PRICES) -> OptimalPolicy:
    """The best policy of each product under its true law, at these prices relative to the usual one."""
    found = [_solve(shop, product, np.array(prices)) for product in range(len(shop.names))]
    price, level = (tuple(tables) for tables in zip(*found, strict=True))
    return OptimalPolicy(shop.problem, price, level)


def _solve(shop: Assortment, product: int, relative: Floats) -> tuple[Floats, Floats]:
    """Price and order-up-to level of one product by weekday and stock, by value iteration over weeks."""
    price = np.round(relative * shop.usual_price[product], 2)
    mean = shop.size[product] * (price / shop.usual_price[product]) ** shop.elasticity[product]
    means = shop.weekday[product][:, None] * mean  # (7, prices)
    most = int(count_quantile(np.array(1 - TAIL), means.max(), shop.variance_ratio[product])) + 1
    case = int(shop.case[product])
    stocks = np.arange(2 * most + case)
    pmf = np.diff(count_cdf(np.arange(most + 1.0), means[..., None], shop.variance_ratio[product]), prepend=0.0)
    pmf[..., -1] += 1 - pmf.sum(axis=-1)
    demands, costs = np.arange(most + 1), shop.unit_costs.at(np.array(product))
    left = carried(stocks[:, None], demands, shop.problem.flow)  # (stocks, demands)
    sold = stocks[:, None] - left
    of_sold, of_lost, of_left = (np.einsum("wpd,sd->wps", pmf, each) for each in (sold, demands - sold, left))
    profit, ordering = sales_profit(price[:, None], of_sold, of_lost, of_left, costs), order_cost(stocks, costs)

    def week(value: Values) -> tuple[Values, Actions]:
        """Values at the start of a week, and prices and levels of its days, from values at the next one."""
        ahead, chosen = value[0], np.empty((2, WEEK, len(stocks)))
        for day in reversed(range(WEEK)):
            by_price = profit[day] + DISCOUNT * np.einsum("pd,sd->ps", pmf[day], ahead[left])
            net = by_price.max(axis=0) - ordering
            best = _best_above(net, case)
            ahead, chosen[:, day] = net[best] + ordering, (price[by_price.argmax(axis=0)[best]], stocks[best])
        return (ahead,), tuple(chosen)

    program = Program((np.zeros(len(stocks)),), week, precision=PRECISION)
    chosen_price, level = solve_program(program, Criterion(DISCOUNT**WEEK)).actions[0]
    return chosen_price, level


def _best_above(net: Floats, case: int) -> Ints:
    """The best of a stock and those a whole number of cases above it, (stocks,)."""
    best = np.arange(len(net))
    for at in range(len(net) - case - 1, -1, -1):
        if net[best[at + case]] > net[at]:
            best[at] = best[at + case]
    return best
