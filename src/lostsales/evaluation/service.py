"""Service and stock: fill rate, share of periods without a stock-out, cover, turns and stock value."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.assortment import periods_a_week
from lostsales.data.log import DecisionLog
from lostsales.policy.period import Flow
from lostsales.types import Floats

DAYS_A_YEAR = 365.25
TINY = 1e-12  # against division by 0


@dataclass(frozen=True)
class ServiceFigures:
    """Service to customers and the stock that it took, over the periods of an evaluation.

    Attributes
    ----------
    fill_rate : float
        Share of the demanded units that were served.
    in_stock : float
        Share of the periods of a product without a stock-out.
    stock_value : float
        Mean stock at the end of a period at its order cost, of all products together.
    cover : float
        Periods that this stock lasts at the mean rate of sales.
    days_of_cover : float or None
        The same in days, and turns of the stock a year; None where periods are plain numbers.
    turns : float or None
    waste : float or None
        Units thrown away a period, of all products together; None of goods that keep, as the next two.
    waste_cost : float or None
        Their order cost and cost of waste.
    waste_share : float or None
        Their share of all units sold or thrown away: of what was bought, once stock is as it was.

    """

    fill_rate: float
    in_stock: float
    stock_value: float
    cover: float
    days_of_cover: float | None = None
    turns: float | None = None
    waste: float | None = None
    waste_cost: float | None = None
    waste_share: float | None = None

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Figures with their names, as people read them."""
        found = [
            ("fill rate", f"{self.fill_rate:.1%}"),
            ("periods without a stock-out", f"{self.in_stock:.1%}"),
            ("stock value", f"{self.stock_value:,.{0 if self.stock_value >= 100 else 2}f}"),
        ]
        if self.waste is not None and self.waste_cost is not None and self.waste_share is not None:
            found += [
                ("thrown away a period", f"{self.waste:,.1f} units, {self.waste_cost:,.2f}"),
                ("thrown away of purchases", f"{self.waste_share:.1%}"),
            ]
        if self.days_of_cover is None or self.turns is None:
            return (*found, ("periods of cover", f"{self.cover:.1f}"))
        return (*found, ("days of cover", f"{self.days_of_cover:.1f}"), ("turns a year", f"{self.turns:.1f}"))


@dataclass(frozen=True)
class ServiceComparison:
    """Service under a policy and under the decisions of the log, in the same periods."""

    policy: ServiceFigures
    log: ServiceFigures

    @property
    def lines(self) -> tuple[tuple[str, str, str], ...]:
        """Name, figure of the log and figure of the policy."""
        pairs = zip(self.log.lines, self.policy.lines, strict=True)
        return tuple((name, was, would) for (name, was), (_, would) in pairs)


def compared_service(log: DecisionLog, own: Flow, logged: Flow, count: Floats, products: int) -> ServiceComparison:
    """Service under a policy and in the log, from flows of rows that are replayed `count` times, each (rows,).

    `own` is summed over the replays of a row, `logged` is that of a single one; `products` are those of the assortment.
    """
    return ServiceComparison(
        service_figures(log, own, count, products),
        service_figures(log, Flow(*(each * count for each in logged)), count, products),
    )


def service_figures(log: DecisionLog, flow: Flow, count: Floats, products: int) -> ServiceFigures:
    """Figures from the summed flow of the periods in each row of a log, and the number of these periods, (rows,)."""
    demand, sales, stockout, left, wasted = (float(each.sum()) for each in flow)
    cost = np.broadcast_to(np.asarray(log.costs.order, dtype=np.float64), len(log))
    value, sold = float(flow.left @ cost), float(flow.sales @ cost)
    total = max(float(count.sum()), TINY)
    cover = value / max(sold, TINY) if value > 0 else left / max(sales, TINY)
    days, weekly = None, periods_a_week(log)
    if weekly is not None:
        days = cover * 7 * float(count @ (1.0 / weekly)[log.products.of_row]) / total
    waste: dict[str, float] = {}
    if log.waste_cost is not None:
        waste["waste"] = wasted / total * products
        waste["waste_cost"] = float(flow.wasted @ (cost + log.waste_cost)) / total * products
        waste["waste_share"] = wasted / max(wasted + sales, TINY)
    return ServiceFigures(
        fill_rate=sales / demand if demand > 0 else 1.0,
        in_stock=1.0 - stockout / total,
        stock_value=value / total * products,
        cover=cover,
        days_of_cover=days,
        turns=None if days is None else DAYS_A_YEAR / max(days, TINY),
        **waste,
    )
