"""Identifiability of the best order from a log that never shows demand above the largest stock.

Hssaine and Sinclair, The Data-Driven Censored Newsvendor Problem: a log identifies the distribution of demand up to the
most that was ever available and says nothing beyond. The optimal order of a newsvendor, the critical quantile, is
therefore identified exactly where the probability of a demand up to there reaches the critical fractile.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from lostsales.data.confidence import margin
from lostsales.data.economics import UnitCosts, critical_fractile
from lostsales.data.log import SalesLog
from lostsales.data.scale import series_scale
from lostsales.demand.audit.identifiability import by_price
from lostsales.demand.censoring.observed import Observed
from lostsales.types import Bools, Floats

Identifiability = Literal["identifiable", "knife-edge", "unidentifiable"]


@dataclass(frozen=True)
class CriticalQuantile:
    """Identification of the critical quantile of demand at a price, if demands are independent."""

    what: str  # such as "price 4"
    rows: int
    fractile: float  # the critical fractile
    boundary: float  # the most that was ever available
    reached: float  # probability of a demand up to there, by Kaplan-Meier
    std_error: float  # of it, by Greenwood's formula
    verdict: Identifiability
    is_relative: bool = False  # the boundary is in mean sales of a product, as these differ

    @property
    def sentence(self) -> str:
        """The verdict, with the figures behind it."""
        most = f"{self.boundary:.3g}{' times the mean sales' if self.is_relative else ''}"
        says = {
            "identifiable": "the best order is identified",
            "knife-edge": "whether the best order is identified cannot be determined",
            "unidentifiable": f"the best order lies above {most}, the most that was ever available",
        }[self.verdict]
        found = f"{self.reached:.1%} of demands are at most {most} (standard error {self.std_error:.1%})"
        return f"{self.verdict}: {says}; {found}, and the critical fractile is {self.fractile:.1%}"


def critical_quantiles(log: SalesLog, observed: Observed) -> tuple[CriticalQuantile, ...]:
    """One for each price, those with the most rows first.

    None without stock, orders or costs, and where an order covers the demand of more than one period.
    """
    if log.demand_only or log.costs is None or round(log.problem.lead_times.mean) > 1:
        return ()
    scale = series_scale(log)[log.series]
    is_relative = bool((scale != 1).any())
    demand, is_event = observed.sample
    groups = sorted(by_price(log), key=lambda group: -int(group[1].sum()))
    return tuple(
        replace(
            _examined(log, log.costs, what, found, demand / scale, is_event, observed.available / scale),
            is_relative=is_relative,
        )
        for what, rows in groups
        if (found := rows & observed.is_learnable).any()
    )


def _examined(
    log: SalesLog, costs: UnitCosts, what: str, rows: Bools, demand: Floats, is_event: Bools, available: Floats
) -> CriticalQuantile:
    """Compare the reach of a group with its fractile, at its mean price and costs.

    Identifiable: at some level the lower confidence limit of P(D <= level) is at least the fractile. Unidentifiable:
    the upper limit at the last level is below it. The limits count one more row at risk, whose demand is never
    reached: they do not trust the few rows that reach the highest levels.
    """
    costs = costs.at(np.flatnonzero(rows)).mean()
    lead_time = round(log.problem.lead_times.mean)
    fractile = critical_fractile(float(log.price[rows].mean()), costs, log.problem.discount, lead_time)
    order = np.argsort(demand[rows], kind="stable")
    _, first = np.unique(demand[rows][order], return_index=True)
    events, at_risk = np.add.reduceat(is_event[rows][order].astype(np.float64), first), len(order) + 1.0 - first
    above = np.cumprod(1 - events / at_risk)
    width = margin(above * np.sqrt(np.cumsum(events / (at_risk * (at_risk - events)))))
    reached = 1 - float(np.prod(1 - events / (at_risk - 1)))
    verdict: Identifiability = "knife-edge"
    if (1 - above - width).max() >= fractile:
        verdict = "identifiable"
    elif reached + width[-1] < fractile:
        verdict = "unidentifiable"
    boundary = float(available[rows].max())
    return CriticalQuantile(what, len(order), fractile, boundary, reached, float(width[-1] / margin(1.0)), verdict)
