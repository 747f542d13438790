"""Audit of price and order decisions: explanatory variables, tests for hidden causes, and a verdict."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.reading.evening_orders import order_moment
from lostsales.demand.audit.decision_causes import Explained, FreePrice, explained_by, free_prices
from lostsales.demand.audit.decision_panel import DecisionPanel
from lostsales.demand.audit.decision_tests import ORDERS, DecisionTest, PriceLink, decision_tests
from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.shop import LEAST_ROWS, ShopDemand

FREELY = 0.02  # explained share of the variance of prices below which they are treated as free

PriceSetting = Literal["freely", "shown", "hidden", "unknown"]
VERDICTS: dict[PriceSetting, str] = {
    "freely": "prices varied freely",
    "shown": "prices varied only with what the log shows",
    "hidden": "prices or orders varied with something that the log does not show",
    "unknown": "it cannot be determined how prices were set",
}


@dataclass(frozen=True)
class BehaviourAudit:
    """Audit of the decisions of a log.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=20, seed=1)
    >>> audit_behaviour(log).sentence
    'prices varied freely'

    """

    verdict: PriceSetting
    explained: tuple[Explained, ...]
    free_prices: tuple[FreePrice, ...]
    tests: tuple[DecisionTest, ...]
    price_link: PriceLink | None
    why_not: str = ""  # why it is unknown
    evening: str = ""  # that orders seem to be placed at closing time, where that would explain their link to demand

    @property
    def is_hidden(self) -> bool:
        """True if a test rejects."""
        return self.verdict == "hidden"

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        reason = "; ".join(each.what for each in self.tests if each.rejected) or self.why_not
        words = f"{VERDICTS[self.verdict]}: {reason}" if reason else VERDICTS[self.verdict]
        return f"{self.evening}. Otherwise {words}" if self.evening else words


def audit_behaviour(log: SalesLog, seed: int = 0, model: ShopDemand | None = None) -> BehaviourAudit:
    """Examine how the prices and orders of a log were set.

    Parameters
    ----------
    log : SalesLog
        What `read_log` returns.
    seed : int
        Of the draws of hidden demands, and of the rows of a large log.
    model : ShopDemand, optional
        Demand model of the shop, where it is at hand.

    Returns
    -------
    BehaviourAudit
        What explains the decisions, the tests, and the verdict.

    """
    shown = int(np.count_nonzero(np.isfinite(gather_evidence(log).high)))
    if shown < LEAST_ROWS:
        return _unknown(f"{shown} rows have a known demand after another, and {LEAST_ROWS} are needed")
    if np.ptp(log.price) == 0:
        return _unknown("the price never varied")
    return behaviour_of(DecisionPanel.of(log, seed, model))


def _evening(log: SalesLog, tests: tuple[DecisionTest, ...]) -> str:
    """The likeliest cause of orders that follow the demand of the same period."""
    moment = order_moment(log) if any(each.rejected and each.name == ORDERS for each in tests) else None
    return moment.sentence if moment is not None and moment.is_close else ""


def behaviour_of(panel: DecisionPanel) -> BehaviourAudit:
    """The audit of a panel."""
    tests, link = decision_tests(panel)
    explained = explained_by(panel)
    verdict: PriceSetting = "freely" if explained[-1].price < FREELY else "shown"
    if any(each.rejected for each in tests):
        verdict = "hidden"
    elif all(each.why_not for each in tests):
        return BehaviourAudit("unknown", explained, free_prices(panel), tests, link, "too few rows for any test")
    return BehaviourAudit(verdict, explained, free_prices(panel), tests, link, evening=_evening(panel.log, tests))


def _unknown(why: str) -> BehaviourAudit:
    return BehaviourAudit("unknown", (), (), (), None, why)
