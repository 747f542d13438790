"""Profit of the planner in corner shops with a known truth: `python -m benchmarks.corner_shops [--shops N] ...`.

Every shop has weekdays, a yearly season, levels that wander, announced promotions, elasticities of -1.2 to -3.2,
negative binomial demand, case sizes, order days, a lead time and goodwill. Its manager runs it for the days to learn
from; then manager, planner and an informed reference go on from the same stock with the same customers. The reference
knows levels, seasons, elasticities and promotions, and decides on sample paths like the planner.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import nbinom

import lostsales
from lostsales.data.economics import UnitCosts
from lostsales.data.shop import Shop
from lostsales.demand.model.moving_levels import MEMBERS, MovingLevels
from lostsales.learn.planner.paths.search import Search, find_actions, terms_of
from lostsales.learn.planner.paths.search_loops import Situation, kept_prices
from lostsales.types import Array, Bools, Floats

FIRST_DAY = np.datetime64("2024-01-01", "ns")  # a Monday
AHEAD = 40  # days beyond the last one for which seasons and promotions are known
PROMOTION = 0.78  # price of a promotion relative to the usual one
RANGE = np.linspace(PROMOTION, 1.1, 17)  # relative prices of the reference: those that the manager has charged
GROUPS, PROMOTED, PROMOTION_COVER = 4, 0.1, 1.5  # share of weeks, and how much more the manager orders for them
DRIFT, REVERSION = 0.02, 0.99  # of the logarithm of a level, per day
Decide = Callable[[int, Floats, Floats, dict[str, Floats]], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class CornerShop:
    """A shop and its future: every array is (products,) or (products, days)."""

    lead: int
    days: int
    size: Floats
    elasticity: Floats
    usual: Floats
    cost: Floats
    lost: Floats
    holding: Floats
    case: Floats
    group: Array
    shape: Floats  # of the negative binomial
    lift: Floats  # of a promotion beyond its price
    season: Floats
    promoted: Bools
    level: Floats
    customers: Floats  # uniform draws
    manager_price: Floats
    manager_noise: Floats
    may_order: Bools  # (days,)

    @classmethod
    def draw(cls, seed: int, products: int, days: int, lead: int) -> "CornerShop":
        """Draw a shop."""
        rng = np.random.default_rng([seed, 1])
        size = np.exp(rng.normal(np.log(10), 0.8, products)).clip(1.5, 60)
        elasticity = rng.uniform(-3.2, -1.2, products)
        usual = np.asarray(np.round(np.exp(rng.normal(np.log(4), 0.6, products)), 2), dtype=np.float64)
        cost = usual * rng.uniform(0.45, 0.7, products)
        case = np.minimum(rng.choice([1.0, 6.0, 12.0], products), np.maximum(1, np.round(size)))
        group = rng.integers(0, GROUPS, products)
        weekday = np.exp(rng.normal(0, 0.25, (4, 7)))
        swing, phase = rng.normal(0, 0.2, 4), rng.uniform(0, 2 * np.pi, 4)
        shape, lift = rng.uniform(4, 20, products), rng.uniform(1.1, 1.5, products)
        every = np.arange(days + AHEAD)
        season = (weekday / weekday.mean(axis=1, keepdims=True))[group][:, every % 7]
        season = season * np.exp(swing[group][:, None] * np.sin(2 * np.pi * every / 364 + phase[group][:, None]))
        weeks = rng.random((products, len(every) // 7 + 1)) < PROMOTED
        promoted = np.repeat(weeks, 7, axis=1)[:, : len(every)]
        level, now = np.empty((products, days)), rng.normal(0, DRIFT / np.sqrt(1 - REVERSION**2), products)
        for day in range(days):
            now = REVERSION * now + DRIFT * rng.normal(size=products)
            level[:, day] = now
        customers = rng.random((products, days))
        blocks = rng.choice([0.9, 1.0, 1.0, 1.0, 1.1], (products, len(every) // 21 + 1))
        price = usual[:, None] * np.where(promoted, PROMOTION, np.repeat(blocks, 21, axis=1)[:, : len(every)])
        noise = rng.uniform(0.85, 1.2, (products, days))
        lost, holding = 0.3 * (usual - cost), 0.004 * cost
        may_order = np.isin(every % 7, (0, 3))
        return cls(
            lead=lead,
            days=days,
            size=size,
            elasticity=elasticity,
            usual=usual,
            cost=cost,
            lost=lost,
            holding=holding,
            case=case,
            group=group,
            shape=shape,
            lift=lift,
            season=season,
            promoted=promoted,
            level=level,
            customers=customers,
            manager_price=np.asarray(np.round(price, 2), dtype=np.float64),
            manager_noise=noise,
            may_order=may_order,
        )

    def mean(self, day: int, price: Floats) -> Floats:
        """Expected demand of a day."""
        lift = np.where(self.promoted[:, day], self.lift, 1.0)
        usual = self.size * np.exp(self.level[:, day]) * self.season[:, day]
        return np.asarray(usual * (price / self.usual) ** self.elasticity * lift)

    def run(self, decide: Decide, first: int, last: int, state: "State | None" = None) -> "State":
        """Play days; an order of a day can be sold from the lead time on."""
        n = len(self.size)
        if state is None:
            names = ("stock", "price", "order", "sales", "demand", "profit")
            state = State(
                np.round(5 * self.size), np.zeros((n, self.lead)), {name: np.zeros((n, self.days)) for name in names}
            )
        stock, coming, record = state.stock, state.coming, {name: each.copy() for name, each in state.record.items()}
        for day in range(first, last):
            stock, coming = stock + coming[:, 0], np.column_stack([coming[:, 1:], np.zeros(n)])
            price, order = decide(day, stock, coming, record)
            order = order * self.may_order[day]
            coming[:, -1] += order
            mean = self.mean(day, price)
            demand = nbinom.ppf(self.customers[:, day], self.shape, self.shape / (self.shape + mean))
            sales = np.minimum(demand, stock)
            profit = price * sales - self.lost * (demand - sales) - self.cost * order - self.holding * (stock - sales)
            for name, values in zip(record, (stock, price, order, sales, demand, profit), strict=True):
                record[name][:, day] = values
            stock = stock - sales
        return State(stock, coming, record)

    def manager(self, day: int, stock: Floats, coming: Floats, record: dict[str, Floats]) -> tuple[Floats, Floats]:
        """The last four weeks' sales for lead time and cover, more before a promotion."""
        usual = record["sales"][:, max(day - 28, 0) : day].mean(axis=1) if day > 3 else self.size
        soon = np.where(self.promoted[:, day + self.lead], PROMOTION_COVER, 1.0)
        wanted = 1.25 * (self.lead + 3.5) * usual * self.manager_noise[:, day] * soon - stock - coming.sum(axis=1)
        return self.manager_price[:, day], np.ceil(np.maximum(wanted, 0) / self.case - 0.3).clip(0) * self.case

    def informed(self, prices: str) -> Decide:
        """The reference: `prices` are the best constant ones outside promotions, or those of the manager."""
        relative = RANGE[None] * np.ones((len(self.size), 1))
        gain = (relative * self.usual[:, None] - self.cost[:, None]) * relative ** self.elasticity[:, None]
        best = RANGE[gain.argmax(axis=1)] * self.usual
        shop = Shop(supply={"lead_time": self.lead}, discount=0.999)
        search = Search(paths=128, ahead=8, seed=1)
        review = int(np.diff(np.flatnonzero(self.may_order[:21])).max())
        terms, periods = terms_of(shop, review=review), search.periods(self.lead, review)
        slow = np.where(np.arange(MEMBERS) == 0, 1.0, 1e-6)

        def decide(day: int, stock: Floats, coming: Floats, record: dict[str, Floats]) -> tuple[Floats, Floats]:  # noqa: ARG001
            days, n = np.arange(day, day + periods), len(stock)
            promoted = self.promoted[:, days]
            planned = np.where(promoted, self.manager_price[:, days], best[:, None])
            planned = self.manager_price[:, days] if prices == "given" else planned
            exposure = self.season[:, days] * (planned / self.usual[:, None]) ** self.elasticity[:, None]
            exposure = exposure * np.where(promoted, self.lift[:, None], 1.0)
            level = self.size * np.exp(self.level[:, max(day - 1, 0)])
            levels = MovingLevels.start(n, True, level, 1 / self.shape, slow / slow.sum(), weight=1_000)
            situation = Situation(
                stock=stock,
                pipeline=np.ascontiguousarray(coming[:, : self.lead - 1]),
                chances=np.tile(np.array(shop.lead_times.chances), (n, 1)),
                lost=np.zeros(n),
                exposure=np.ascontiguousarray(exposure),
                may_order=np.tile(self.may_order[days], (n, 1)),
                costs=UnitCosts(self.lost, self.cost, self.holding, 0.0),
                multiple=self.case,
                minimum=np.zeros(n),
                limit=np.full(n, np.inf),
                **kept_prices(planned[:, 0], periods) | {"price": np.ascontiguousarray(planned)},
            )
            return planned[:, 0], find_actions(levels, situation, terms, search).order

        return decide

    def table(self, record: dict[str, Floats], first: int, last: int) -> pd.DataFrame:
        """Days as a shop writes them down."""
        product, day = (
            np.repeat(np.arange(len(self.size)), last - first),
            np.tile(np.arange(first, last), len(self.size)),
        )
        columns = {name: record[name][:, first:last].reshape(-1) for name in ("stock", "price", "order", "sales")}
        return self._keys(product, day).assign(**columns)

    def _keys(self, product: Array, day: Array) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "product": [f"product {each:03d}" for each in product],
                "date": FIRST_DAY + day * np.timedelta64(1, "D"),
                "group": [f"group {each}" for each in self.group[product]],
                "promotion": self.promoted[product, day].astype(int),
                "unit_cost": self.cost[product],
                "lost_cost": self.lost[product],
                "holding_cost": self.holding[product],
                "case": self.case[product],
            }
        )

    @property
    def problem(self) -> lostsales.Problem:
        """Problem of the shop."""
        keys: dict[str, Any] = {
            "features": [{"name": "promotion", "kind": "categorical", "levels": ["0", "1"]}],
            "attributes": ["group"],
            "columns": {"series": "product", "period": "date"},
            "supply": {"lead_time": self.lead, "multiple": "case", "order_days": ["Monday", "Thursday"]},
            "costs": {"order": "unit_cost", "lost": "lost_cost", "holding": "holding_cost"},
        }
        return lostsales.Problem.model_validate(keys)

    def follow(self, policy: lostsales.SavedPolicy, given: bool) -> Decide:
        """The policy day by day, with the promotions of the coming two weeks announced."""
        n = len(self.size)

        def decide(day: int, stock: Floats, coming: Floats, record: dict[str, Floats]) -> tuple[Floats, Floats]:  # noqa: ARG001
            product, days = np.repeat(np.arange(n), 14), np.tile(np.arange(day, day + 14), n)
            today = self._keys(product, days).assign(stock=np.where(days == day, stock[product], np.nan))
            found = policy.recommend(self.table(record, max(day - 70, 0), day), today)
            price = self.manager_price[:, day] if given else found["price"].to_numpy(float)
            return np.where(self.promoted[:, day], self.manager_price[:, day], price), found["order"].to_numpy(float)

        return decide


@dataclass(frozen=True, eq=False)
class State:
    """Stock, orders on the way and the days so far."""

    stock: Floats  # (products,)
    coming: Floats  # (products, lead)
    record: dict[str, Floats]  # each (products, days)

    def value(self, shop: CornerShop) -> Floats:
        """Value of stock and orders on the way at cost, (products,)."""
        return np.asarray(shop.cost * (self.stock + self.coming.sum(axis=1)))


def trial(seed: int, products: int, train: int, lead: int, test: int = 84) -> dict[str, Any]:
    """Profit per day of manager, references and planner in one shop."""
    shop = CornerShop.draw(seed, products, train + test, lead)
    before = shop.run(shop.manager, 0, train)

    def profit(decide: Decide) -> Floats:
        after = shop.run(decide, train, train + test, before)
        earned = after.record["profit"][:, train:].sum(axis=1)
        return np.asarray((earned + after.value(shop) - before.value(shop)) / test)

    log = lostsales.read_log(shop.table(before.record, 0, train), shop.problem)
    began = time.process_time()
    planner, orders = lostsales.fit(log), lostsales.fit(log, "planner", pricing="given")
    seconds = (time.process_time() - began) / 2
    manager, given, free = profit(shop.manager), profit(shop.informed("given")), profit(shop.informed("best"))
    began = time.process_time()
    planned = profit(shop.follow(planner, given=False))
    deciding = time.process_time() - began
    ordered = profit(shop.follow(orders, given=True))
    return {
        "of the reference": planned.sum() / free.sum(),
        "at given prices": ordered.sum() / given.sum(),
        "manager": manager.sum() / free.sum(),
        "products below": int(np.sum(planned < 0.98 * manager)),
        "fit, s": seconds,
        "decide, s": deciding,
    }


def main() -> None:
    """Print one row a shop, and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, usual in (("shops", 10), ("first", 100), ("products", 24), ("days", 364), ("lead", 2)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for seed in range(asked.first, asked.first + asked.shops):
        rows.append(trial(seed, asked.products, asked.days, asked.lead))
        print(seed, {name: round(float(value), 3) for name, value in rows[-1].items()}, flush=True)
    table = pd.DataFrame(rows)
    print(table.mean().round(3).to_dict(), "standard error", (table.std() / np.sqrt(len(table))).round(3).to_dict())


if __name__ == "__main__":
    main()
