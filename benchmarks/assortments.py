"""An assortment: products of different price, size, elasticity and noise in one shop, with a manager and an optimum.

Demand of a product is a count, negative binomial or Poisson, with mean

    size * (price / usual price) ** elasticity * weekday factor,

so that the optimum of each product is a small dynamic program over weekdays and stocks (`optimal_policy`). Tests and
benchmarks share it; no command does.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from lostsales.data.economics import UnitCosts, carried, order_cost, sales_profit
from lostsales.data.feature import Feature
from lostsales.data.problem import Costs, Problem
from lostsales.lab.exact.value_iteration import Actions, Criterion, Program, Values, solve_program
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes, Policy
from lostsales.policy.rollout import Opening, Step, play
from lostsales.policy.view import Action, Features, View
from lostsales.types import Array, Floats, Ints

WEEK = 7  # days
PROMOTION = 0.8  # of the usual price
PRICES = (0.8, 0.9, 1.0, 1.1)  # of the usual price, that managers used


@dataclass(frozen=True, eq=False)
class Assortment:
    """The products of a shop; every array has one entry a product."""

    names: Array  # text
    department: Array  # text
    usual_price: Floats
    unit_cost: Floats
    holding_cost: Floats
    size: Floats  # mean demand at the usual price
    elasticity: Floats
    weekday: Floats  # (products, 7) factors of demand, of mean 1
    variance_ratio: Floats  # variance over mean of demand, at least 1
    case: Floats  # orders are multiples of it
    stockout_share: Floats  # that the manager aims at
    periods: Ints  # of the log

    @classmethod
    def draw(cls, products: int, seed: int = 0) -> "Assortment":
        """Sizes 30-fold, prices 5-fold, elasticities -0.8 to -3 by department and product, 60 to 300 periods."""
        rng = np.random.default_rng(seed)
        department = rng.integers(0, 4, products)
        usual = np.round(2 * 5 ** rng.random(products), 1)
        size = 3 * 30 ** rng.permutation((np.arange(products) + 0.5) / products)
        middle = np.array([-1.3, -1.7, -2.1, -2.5])[department]
        pattern = rng.normal(0, 0.12, WEEK) + rng.normal(0, 0.05, (products, WEEK))
        return cls(
            names=np.array([f"product {number}" for number in range(products)], dtype=object),
            department=np.array(["bakery", "dairy", "drinks", "snacks"], dtype=object)[department],
            usual_price=usual,
            unit_cost=np.round(usual * rng.uniform(0.4, 0.65, products), 2),
            holding_cost=np.round(0.02 * usual, 3),
            size=size,
            elasticity=np.clip(middle + rng.normal(0, 0.35, products), -3.0, -0.8),
            weekday=np.exp(pattern) / np.exp(pattern).mean(axis=1, keepdims=True),
            variance_ratio=rng.uniform(1.0, 2.5, products),
            case=np.where(size > 12, rng.choice([1.0, 6.0], products), 1.0),
            stockout_share=rng.uniform(0.05, 0.3, products),
            periods=rng.integers(60, 301, products),
        )

    @property
    def problem(self) -> Problem:
        """Problem of the shop as a retailer knows it."""
        return Problem(
            arrival="before",
            features=(Feature(name="weekday", kind="categorical"),),
            attributes=("department",),
            costs=Costs(lost=0.0, order="unit_cost", holding="holding_cost"),
        )

    @property
    def unit_costs(self) -> UnitCosts:
        """Unit costs by product."""
        return UnitCosts(0.0, self.unit_cost, self.holding_cost)

    def mean(self, price: Floats, weekday: Floats) -> Floats:
        """Expected demand of each product."""
        factor = self.weekday[np.arange(len(self.names)), weekday.astype(np.int64)]
        return np.asarray(self.size * (price / self.usual_price) ** self.elasticity * factor)

    def quantile(self, share: Floats, mean: Floats) -> Floats:
        """Demand below which a share of the law lies."""
        return count_quantile(share, mean, self.variance_ratio)

    # A market, as `play` asks for it.
    def open(self, series: int, rng: np.random.Generator) -> Opening:
        """The first day of the week, with stock for a day."""
        stock = self.case * np.ceil(self.size / self.case)
        first = np.zeros(series)
        return Opening((first,), stock, rng.poisson(self.size).astype(np.float64), self.names)

    def demand(
        self, period: int, features: Features, price: Floats, last_demand: Floats, rng: np.random.Generator
    ) -> Floats:
        """Demand by inversion of one uniform number per product, whatever the decisions."""
        del period, last_demand
        return self.quantile(rng.random(len(price)), self.mean(price, features[0]))

    def next_features(self, features: Features, price: Floats, rng: np.random.Generator) -> Features:
        """The next day of the week."""
        del price, rng
        return ((features[0] + 1) % WEEK,)

    def steps(self, policy: Policy, periods: int, seed: int) -> list[Step]:
        """Play days of a policy; the same seed shows every policy the same customers."""
        market, decides = (np.random.default_rng(each) for each in np.random.SeedSequence(seed).spawn(2))
        return list(play(policy, self, self.problem, self.unit_costs, periods, len(self.names), market, decides))

    def profits(self, policy: Policy, periods: int = 364, seed: int = 0, warm_up: int = 14) -> Floats:
        """Profit a period under a policy, (periods, products)."""
        return np.array([step.outcome.profit for step in self.steps(policy, warm_up + periods, seed)[warm_up:]])

    def columns(self, seed: int = 0) -> dict[str, Array]:
        """The table that the manager leaves, each product with its last periods, and the true demand beside it."""
        longest = int(self.periods.max())
        parts: dict[str, list[Array]] = {}
        for period, step in enumerate(self.steps(AssortmentManager(self), longest, seed)):
            rows = np.flatnonzero(longest - self.periods <= period)
            day = {
                "series": self.names,
                "period": np.full(len(self.names), period),
                "weekday": step.view.features[0].astype(np.int64),
                "department": self.department,
                "stock": step.view.stock,
                "price": step.action.price,
                "order": step.action.order,
                "sales": step.outcome.sales,
                "stockout": step.outcome.stockout,
                "unit_cost": self.unit_cost,
                "holding_cost": self.holding_cost,
                "demand": step.outcome.demand,
            }
            for name, values in day.items():
                parts.setdefault(name, []).append(values[rows])
        return {name: np.concatenate(each) for name, each in parts.items()}


@dataclass(frozen=True, eq=False)
class AssortmentManager(PolicyBase):
    """Orders up to a level that serves most days, with random deviations, and has promotions on some days."""

    shop: Assortment
    observes: Observes = "sales"

    @property
    def problem(self) -> Problem:
        """Problem of the shop."""
        return self.shop.problem

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every product."""
        shop, products = self.shop, len(self.shop.names)
        relative = rng.choice([1.0, PROMOTION, 0.9, 1.1], products, p=[0.6, 0.2, 0.1, 0.1])
        price = np.round(relative * shop.usual_price, 2)
        level = shop.quantile(1 - shop.stockout_share, shop.mean(price, view.features[0]))
        wanted = np.maximum(level * rng.lognormal(0.0, 0.1, products) - view.stock, 0.0)
        return Action(price, shop.case * np.rint(wanted / shop.case))


def _law(mean: Floats, ratio: Floats) -> tuple[Floats, Floats]:
    """Number and probability of a negative binomial with a mean and a ratio of variance to mean."""
    above = np.maximum(np.asarray(ratio) - 1, 1e-3)  # nearly Poisson
    return np.asarray(mean / above), np.asarray(1 / (1 + above))


def count_quantile(share: Floats, mean: Floats, ratio: Floats) -> Floats:
    """Quantiles of demand of a mean and a ratio of variance to mean."""
    return np.asarray(stats.nbinom.ppf(share, *_law(mean, ratio)))


def count_cdf(demand: Floats, mean: Floats, ratio: Floats) -> Floats:
    """Probability of a demand of at most so much."""
    return np.asarray(stats.nbinom.cdf(demand, *_law(mean, ratio)))


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
