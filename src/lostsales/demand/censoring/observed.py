"""Demand as right-censored data: observed, or only known to lie above a point."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.types import Bools, Floats


@dataclass(frozen=True, eq=False)
class Observed:
    """Demand as right-censored data: observed, or above `censored_above`, and then at least `available`."""

    demand: Floats  # (rows,) the demand where it is observed, else `censored_above`
    is_observed: Bools  # (rows,)
    censored_above: Floats  # (rows,) a stock-out shows only that demand lies above this
    available: Floats  # (rows,) units available, the least that a hidden demand can be
    integer: bool  # demand comes in whole units

    @property
    def any_observed(self) -> bool:
        """True where at least one demand is observed."""
        return bool(self.is_observed.any())


def observe(log: SalesLog) -> Observed:
    """Read demand off a log.

    A stock-out by the flag hides a demand above what was available. Without a flag a sell-out shows only that demand
    was at least that, so it is censored just below: at available - 1 where demand comes in whole units. Under the
    balance "netted" a positive next stock gives the demand back (Section 2.1).
    """
    demand, is_observed = log.sales.copy(), ~log.censored
    available = log.available
    recovered = _read_off_next_stock(log)
    back = ~is_observed & ~np.isnan(recovered)
    demand[back], is_observed = recovered[back], is_observed | back
    integer = bool(_whole(demand) and _whole(available[np.isfinite(available)]))
    just_below = available - 1.0 if integer else np.nextafter(available, -np.inf)
    above = just_below if log.stockout is None else available
    return Observed(np.where(is_observed, demand, above), is_observed, above, available, integer)


def _read_off_next_stock(log: SalesLog) -> Floats:
    """The demand of each row as its next stock shows it, else NaN."""
    shown = np.full(len(log), np.nan)
    if log.stock is None or log.order is None or len(log) < 2:
        return shown
    arrived = log.order if log.received is None else log.received
    moved = 0.0 if log.adjustment is None else log.adjustment[:-1]
    read = shown_by_next_stock(log.problem, log.stock[:-1], arrived[:-1], log.stock[1:] - moved)
    shown[:-1] = np.where(log.has_next[:-1], read, np.nan)
    return shown


def shown_by_next_stock(problem: Problem, stock_t: Floats, arrived_t: Floats, stock_tp1: Floats) -> Floats:
    """D_t = Y_t + O_t - Y_{t+1} where the netted balance shows it, else NaN.

    A stock that is larger than what arrived did not come about by this balance.

    >>> problem, three = Problem(balance="netted"), np.full(3, 3.0)
    >>> shown_by_next_stock(problem, three, three + 2, np.array([0.0, 4.0, 6.0]))
    array([nan,  4., nan])
    """
    if problem.balance != "netted" or problem.arrival != "after":
        return np.full(len(stock_t), np.nan)
    below = np.inf if problem.capacity is None else problem.capacity
    clear = (stock_tp1 > 0) & (stock_tp1 < below) & (stock_tp1 <= arrived_t)
    return np.where(clear, stock_t + arrived_t - stock_tp1, np.nan)


def _whole(values: Floats) -> bool:
    return bool((values == np.rint(values)).all())
