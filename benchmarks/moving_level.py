"""`python -m benchmarks.moving_level [--logs N]`: the planner where the level of demand moves, and one that is told it.

Shops with Poisson demand that falls by a quarter for each unit of price, three prices, orders that
arrive before sales, and a manager who orders up to a stray level. In mid-log demand rises by half for good, or it
doubles slowly over the log and on, or nothing moves. After the log each planner decides day by day from the rows so
far. Told the level means: the same planner on quantities divided by the true level, times it again.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lostsales.data.log import DecisionLog
from lostsales.data.problem import Costs, Problem
from lostsales.data.reading.gate import read_log
from lostsales.data.relative import at_usual_level
from lostsales.learn.fit import fit
from lostsales.learn.planner.planner import Planner
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.recent_rows import RecentRows
from lostsales.policy.recommendation import open_day
from lostsales.policy.shop_units import relative_view
from lostsales.types import Floats

PRICES = np.array([4.0, 5.0, 6.0])
COSTS = Costs(lost=1.0, order=2.0, holding=0.3)
PROBLEM = Problem(arrival="before", prices=tuple(PRICES), costs=COSTS)
BASE, AFTER = 10.0, 40
MOVES: dict[str, Callable[[Floats], Floats]] = {
    "jumps by half": lambda t: np.where(t < 0.5, 1.0, 1.5),
    "doubles slowly": lambda t: 2.0**t,
    "does not move": lambda t: np.ones_like(t),
    "rises by half after the log": lambda t: np.where(t < 1.0, 1.0, 1.5),
}


def mean_demand(level: Floats | float, price: Floats) -> Floats:
    """Expected demand of a period."""
    return BASE * level * np.exp(-0.3 * (price - 5.0))


@dataclass
class Shop:
    """Rows of some products, written day by day."""

    level: Floats  # (periods,)
    products: int
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.rows: list[pd.DataFrame] = []
        self.stock = np.full(self.products, 10.0)
        self.profit: list[float] = []

    def day(self, period: int, price: Floats, order: Floats) -> None:
        """Sell, count profit, and write the rows."""
        demand = self.rng.poisson(mean_demand(self.level[period], price)).astype(float)
        available = self.stock + order
        sales = np.minimum(available, demand)
        lost, left = demand - sales, available - sales
        self.rows.append(
            pd.DataFrame(
                {"series": np.arange(self.products), "period": period, "stock": self.stock, "price": price}
                | {"order": order, "sales": sales, "stockout": demand > available}
            )
        )
        earned = price * sales - 1.0 * lost - 2.0 * order - 0.3 * left
        # What is left keeps its purchase price, so that no planner wins by selling out at the end.
        self.profit.append(float((earned + 2.0 * (left - self.stock)).mean()))
        self.stock = left

    @property
    def log(self) -> DecisionLog:
        """All rows so far."""
        return read_log(pd.concat(self.rows), PROBLEM).decisions("plan")


def written(level: Floats, periods: int, products: int, seed: int) -> Shop:
    """A shop with a manager's log: prices at random, orders up to about what the last days sold."""
    shop = Shop(level, products, np.random.default_rng(seed))
    usual = np.full(products, BASE)
    for period in range(periods):
        price = shop.rng.choice(PRICES, products)
        up_to = np.rint(usual * shop.rng.uniform(0.7, 1.8, products))
        shop.day(period, price, np.maximum(up_to - shop.stock, 0.0))
        sold = shop.rows[-1]["sales"].to_numpy()
        usual = 0.9 * usual + 0.1 * np.maximum(sold, 0.7 * usual)
    return shop


def run(shop: Shop, policy: SavedPolicy, periods: int, told: Floats | None = None) -> float:
    """Mean profit of the periods after a log; `told` are the true levels."""
    for period in range(periods, periods + AFTER):
        recent = RecentRows.of(read_log(pd.concat(shop.rows[-60:]), PROBLEM))
        today = pd.DataFrame({"series": np.arange(shop.products), "period": period, "stock": shop.stock})
        view = open_day(policy, recent, today).view
        if told is None:
            price, order = policy.decide(view, np.random.default_rng(0))
        else:
            level = np.full(shop.products, told[period])
            at_level = relative_view(view, level, np.ones(len(level)))
            price, order = policy.decide(at_level, np.random.default_rng(0))
            order = order * level
        shop.day(period, price, np.rint(order))
    return float(np.mean(shop.profit[-AFTER:]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=3)
    parser.add_argument("--periods", type=int, default=150)
    parser.add_argument("--products", type=int, default=6)
    asked = parser.parse_args()
    settings = Planner(draws=1)
    for name, move in MOVES.items():
        ratios = []
        for seed in range(asked.logs):
            level = move(np.arange(asked.periods + AFTER) / asked.periods)
            log = written(level, asked.periods, asked.products, seed).log
            true = level[log.period]
            told = settings.plan(at_usual_level(log, true / true.mean()))
            ways: dict[str, tuple[SavedPolicy, Floats | None]] = {
                "told": (told, level / true.mean()),
                "fixed": (fit(log, settings.model_copy(update={"level": "fixed"})), None),
                "learn": (fit(log, settings), None),
                "follow": (fit(log, settings.model_copy(update={"level": "follow"})), None),
            }
            earned = {}
            for way, (policy, levels) in ways.items():
                shop = written(level, asked.periods, asked.products, seed)
                shop.rng = np.random.default_rng(1000 + seed)
                earned[way] = run(shop, policy, asked.periods, levels)
            ratios.append([earned[way] / earned["told"] for way in ("fixed", "learn", "follow")])
            found = ways["learn"][0].summary().get("level", "fixed")
            print(f"{name}, log {seed}: {np.round(ratios[-1], 3)}, learned: {found}", flush=True)
        shown = ", ".join(f"{each:.3f}" for each in np.mean(ratios, axis=0))
        error = float(np.max(np.std(ratios, axis=0))) / np.sqrt(len(ratios))
        print(
            f"{name}: fixed, learn, follow: {shown} of the planner told (standard error up to {error:.3f})", flush=True
        )


if __name__ == "__main__":
    main()
