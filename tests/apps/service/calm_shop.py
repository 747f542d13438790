"""A calm shop of forty products: a lead time of two days, one order day a week, and a manager who covers it."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from benchmarks.assortments import WEEK, Assortment, AssortmentManager
from lostsales.data.problem import Problem
from lostsales.policy.rollout import Opening
from lostsales.policy.view import Action, View

LEAD_TIME = 2
COVER = LEAD_TIME + WEEK  # until the order of next week arrives
SAFETY = 1.6  # standard deviations of demand over the cover
PERIODS = 16 * WEEK


class WeeklyShop(Assortment):
    """Orders on the first day of the week, which can be sold two days later."""

    @property
    def problem(self) -> Problem:
        """What a retailer knows of the shop."""
        shop = super().problem.model_dump(exclude_defaults=True)
        return Problem.model_validate(
            shop | {"arrival": "after", "supply": {"lead_time": LEAD_TIME, "order_days": WEEK}}
        )

    def open(self, series: int, rng: np.random.Generator) -> Opening:
        """The first day of the week, with stock for half of one."""
        return super().open(series, rng)._replace(stock=self.case * np.ceil(WEEK / 2 * self.size / self.case))


@dataclass(frozen=True, eq=False)
class WeeklyManager(AssortmentManager):
    """Orders up to the demand of the cover and a safety stock; prices as any manager of an assortment."""

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every product."""
        shop, price = self.shop, super().decide(view, rng).price
        level = COVER * shop.size + SAFETY * np.sqrt(COVER * shop.size * shop.variance_ratio)
        wanted = np.where(view.features[0] == 0, np.maximum(level - view.stock - view.on_order, 0.0), 0.0)
        return Action(price, shop.case * np.rint(wanted / shop.case))


@cache
def calm_table() -> pd.DataFrame:
    """Sixteen weeks of the manager: the day after is an order day."""
    shop = calm_shop()
    days = [
        pd.DataFrame(
            {
                "series": shop.names,
                "period": period,
                "weekday": step.view.features[0].astype(np.int64),
                "department": shop.department,
                "stock": step.view.stock,
                "price": step.action.price,
                "order": step.action.order,
                "sales": step.outcome.sales,
                "stockout": step.outcome.stockout,
                "unit_cost": shop.unit_cost,
                "holding_cost": shop.holding_cost,
            }
        )
        for period, step in enumerate(shop.steps(WeeklyManager(shop), PERIODS, seed=5))
    ]
    return pd.concat(days)


@cache
def calm_shop() -> WeeklyShop:
    """Forty products."""
    return WeeklyShop.draw(40, 5)  # type: ignore[return-value]
