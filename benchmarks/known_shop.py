"""`python -m benchmarks.known_shop [--seeds N] [--weekly]`: a made-up shop whose law of demand is known.

60 products in five groups over two years of days, or 150 weeks: a level that wanders, weekdays and a yearly season
that differ by group and by product, prices, promotions, negative binomial demand of a dispersion of each product, and
stock-outs in 5 to 30 % of its rows. Elasticities and lost demand are compared with the truth, four-week forecasts at
known prices with those of the law itself, which knows the level at the last day (or, "moves", also how it will move).
"""

import argparse
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import nbinom

from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.fitting import fit_demand
from lostsales.demand.forecast import forecast
from lostsales.demand.shop import ShopDemand
from lostsales.types import Bools, Floats

LEVELS = (10, 30, 50, 70, 90)
PROBLEM = Problem(features=("promo",), attributes=("group",))


class Size(NamedTuple):
    """Length of the history and of the forecast, and wandering of the level per period."""

    step: str
    periods: int
    ahead: int
    year: float
    wander: float


DAILY, WEEKLY = Size("1D", 730, 28, 365.25, 0.012), Size("7D", 150, 4, 52.18, 0.03)


@dataclass(frozen=True, eq=False)
class KnownShop:
    """Log, future and truth; arrays are (products, periods)."""

    table: pd.DataFrame
    demand: Floats
    mean: Floats
    still: Floats  # mean of the coming periods if the level stayed that of the last one, (products, ahead)
    size: Floats  # (products, 1) of the negative binomial distribution
    elasticity: Floats  # (products,)
    sold_out: Bools
    kind: Size

    @classmethod
    def drawn(cls, seed: int, kind: Size, products: int = 60, groups: int = 5) -> "KnownShop":
        """Draw a shop."""
        rng = np.random.default_rng(seed)
        periods, group = kind.periods + kind.ahead, np.arange(products) % groups
        dates = pd.date_range("2023-01-02", periods=periods, freq=kind.step)
        base = np.exp(rng.uniform(0.0, np.log(30), products))[:, None]
        elasticity = rng.uniform(-3.0, -1.0, groups)[group] + 0.25 * rng.normal(size=products)
        days = rng.normal(0, 0.2, 7) + rng.normal(0, 0.15, (groups, 7))[group] + rng.normal(0, 0.08, (products, 7))
        angle = 2 * np.pi * np.arange(periods) / kind.year
        waves = np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)])
        year = rng.normal(0, 0.15, 4) + rng.normal(0, 0.12, (groups, 4))[group] + rng.normal(0, 0.05, (products, 4))
        season = year @ waves
        if kind is DAILY:
            season += days[:, dates.day_of_week.to_numpy()]
        level = np.cumsum(kind.wander * rng.normal(size=(products, periods)), axis=1)
        hold = 28 if kind is DAILY else 8
        regular = np.repeat(rng.normal(0, 0.08, (products, periods // hold + 1)), hold, axis=1)[:, :periods]
        hold = 7 if kind is DAILY else 2
        promo = np.repeat(rng.random((products, periods // hold + 1)) < 0.12, hold, axis=1)[:, :periods]
        price = np.round(5 * np.exp(regular - promo * rng.choice([0.1, 0.2, 0.3], (products, 1))), 2)
        relative = np.log(price / np.median(price, axis=1, keepdims=True))
        effect = elasticity[:, None] * relative + (0.3 + 0.1 * rng.normal(size=(products, 1))) * promo
        mean = base * np.exp(season + level + effect)
        size = np.exp(rng.normal(np.log(6.0), 0.5, (products, 1)))
        demand = rng.negative_binomial(size, size / (size + mean)).astype(float)
        short = rng.uniform(0.05, 0.3, (products, 1))
        expected = base * np.exp(season + level + 0.5 * effect)
        stock = nbinom.ppf(rng.uniform(1 - 2 * short, 1.0), size, size / (size + expected))
        table = pd.DataFrame(
            {
                "series": np.repeat([f"p{i:02}" for i in range(products)], periods),
                "period": np.tile(dates, products),
                "price": price.reshape(-1),
                "promo": promo.reshape(-1).astype(float),
                "sales": np.minimum(demand, stock).reshape(-1),
                "stockout": (demand > stock).reshape(-1),
                "group": np.repeat([f"g{each}" for each in group], periods),
            }
        )
        start = kind.periods
        blind = mean[:, start:] * np.exp(level[:, start - 1 : start] - level[:, start:])
        return cls(table, demand, mean, blind, size, elasticity, demand > stock, kind)

    def rows(self, *, future: bool) -> pd.DataFrame:
        """Rows of the history, or prices and promotions after it."""
        after = self.table["period"] >= np.sort(self.table["period"].unique())[self.kind.periods]
        columns = ["series", "period", "price", "promo"] if future else list(self.table)
        return pd.DataFrame(self.table.loc[after if future else ~after, columns])

    def quantile(self, level: float, *, moves: bool) -> Floats:
        """Quantile of the law at the level of the last day, or at the level to come."""
        steps = self.kind.wander**2 * np.arange(1, self.kind.ahead + 1) * (not moves)
        mean = self.mean[:, self.kind.periods :] if moves else self.still * np.exp(steps / 2)
        variance = mean + mean**2 * (np.exp(steps) * (1 + 1 / self.size) - 1)
        return np.asarray(nbinom.ppf(level, mean**2 / (variance - mean), mean / variance))


def pinball(demand: Floats, quantiles: dict[int, Floats]) -> float:
    """Mean loss of quantiles by their levels in per cent."""
    losses = []
    for level, quantile in quantiles.items():
        error = demand - quantile
        losses.append(np.maximum(level / 100 * error, (level / 100 - 1) * error).mean())
    return float(np.mean(losses))


def covered(demand: Floats, quantiles: dict[int, Floats]) -> float:
    """Share of demands within the 80 % band."""
    return float(((demand >= quantiles[10]) & (demand <= quantiles[90])).mean())


def measured(seed: int, kind: Size) -> dict[str, float]:
    """Figures of one shop."""
    shop = KnownShop.drawn(seed, kind)
    log = read_log(shop.rows(future=False), PROBLEM, sales_only=True)
    began = time.process_time()
    model = fit_demand(log)
    assert isinstance(model, ShopDemand)
    found, past = model.elasticities(), slice(0, kind.periods)
    hidden = shop.sold_out[:, past]
    sales = shop.table["sales"].to_numpy().reshape(shop.demand.shape)[:, past]
    lost = (model.expected_demand - log.sales).reshape(sales.shape) * hidden
    true = (shop.demand[:, past] - sales) * hidden
    small = np.argsort(shop.mean.mean(axis=1))[: len(sales) // 5]
    ahead = forecast(log, kind.ahead, LEVELS, future=shop.rows(future=True))
    seconds = time.process_time() - began
    demand = shop.demand[:, kind.periods :]
    ours = {level: ahead.quantiles[float(level)].reshape(demand.shape) for level in LEVELS}
    law, moved = ({level: shop.quantile(level / 100, moves=moves) for level in LEVELS} for moves in (False, True))
    loss = pinball(demand, ours)
    return {
        "sold out": float(hidden.mean()),
        "elasticity off": float(np.abs(found.elasticity - shop.elasticity).mean()),
        "bands": float(((found.low <= shop.elasticity) & (shop.elasticity <= found.high)).mean()),
        "lost": float(lost.sum() / true.sum()),
        "smallest": float(lost[small].sum() / true[small].sum()),
        "loss to law": loss / pinball(demand, law),
        "to moves": loss / pinball(demand, moved),
        "covered": covered(demand, ours),
        "by law": covered(demand, law),
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--weekly", action="store_true")
    asked = parser.parse_args()
    rows = []
    for seed in range(asked.first, asked.first + asked.seeds):
        rows.append(measured(seed, WEEKLY if asked.weekly else DAILY))
        print(seed, ", ".join(f"{name} {value:.3f}" for name, value in rows[-1].items()), flush=True)
    print("mean", ", ".join(f"{name} {np.mean([row[name] for row in rows]):.3f}" for name in rows[0]))


if __name__ == "__main__":
    main()
