"""Bounds on the demand of each row of a log: exact, at least, between, or none."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.products import means_by_group
from lostsales.data.units import common_step
from lostsales.types import Bools, Floats, Ints

# How a row was read, by name, in the order of the codes below.
ROW_KINDS = {
    "exact": "exactly the sales: not out of stock",
    "next_stock": "exact, read off the next stock (balance netted)",
    "flagged": "above what was available (where no stock is recorded, above the sales): by the stock-out flag",
    "sold_out": "at least what was available: sold out, whether more was asked for is not recorded",
    "part_of_period": "at least the sales: out of stock for a time, and not known to have sold out",
    "between": "between the sales and what the time out of stock allows (out_of_stock_pace)",
    "nothing": "nothing: out of stock, and nothing sold",
    "share": "the sales of a known share of the period, and what is usual in the rest (in_stock_share)",
}
EXACT, NEXT_STOCK, FLAGGED, SOLD_OUT, PART_OF_PERIOD, BETWEEN, NOTHING, SHARE = range(len(ROW_KINDS))

LARGE = 1_000  # units


@dataclass(frozen=True, eq=False)
class DemandBounds:
    """Bounds on the demand of every row; a hidden demand is at least the log's `censoring_level`."""

    kind: Ints  # (rows,) index into ROW_KINDS
    is_exact: Bools  # (rows,)
    demand: Floats  # (rows,) the demand where it is exact, else the sales
    is_strict: Bools  # (rows,) a hidden demand lies above its censoring level, not at it
    most: Floats  # (rows,) the most that a hidden demand can be, inf where nothing tells
    integer: bool  # demand comes in whole units

    @property
    def counts(self) -> dict[str, int]:
        """Rows of each kind."""
        return dict(zip(ROW_KINDS, np.bincount(self.kind, minlength=len(ROW_KINDS)).tolist(), strict=True))


def demand_bounds(log: SalesLog) -> DemandBounds:
    """Read every row of a log.

    A stock-out flag at a sell-out says that demand was above what was available; without a flag, or by the time out of
    stock, it was at least that. Out of stock with units left over, the shelf was empty for a part of the period: demand
    was at least the sales. Under the balance "netted" a positive next stock gives the demand back (Section 2.1).
    """
    level, hidden = log.censoring_level, log.censored
    demand, shown = log.sales.copy(), _read_off_next_stock(log)
    back = hidden & ~np.isnan(shown)
    demand[back] = shown[back]
    # If demand is large, its whole units are too fine to matter, and counting each would take time.
    integer = bool(np.median(demand) < LARGE and _whole(demand) and _whole(level[np.isfinite(level)]))
    most = np.where(hidden, _most(log, integer), np.inf)
    is_exact = ~hidden | back | (most <= level)
    is_strict = np.zeros(len(log), dtype=bool)
    if log.stockout is not None:
        is_strict = ~hidden | (log.stockout & ~log.is_partial)
    kind = np.full(len(log), EXACT)
    weak = PART_OF_PERIOD if log.demand_only else np.where(log.is_partial, PART_OF_PERIOD, SOLD_OUT)
    kind[hidden] = np.where(is_strict, FLAGGED, weak)[hidden]
    kind[hidden & ~is_strict & (level <= 0)] = NOTHING
    kind[np.isfinite(most)] = BETWEEN
    kind[log.is_share] = SHARE
    kind[back] = NEXT_STOCK
    return DemandBounds(kind, is_exact, demand, is_strict, most, integer)


def _most(log: SalesLog, integer: bool) -> Floats | float:
    """The most that demand can have been: while out of stock it ran at most `out_of_stock_pace` times as fast.

    Without sales there is no pace to go by. If the share in stock is known, the end is such that the middle between
    it and the sales is what is expected.
    """
    if log.is_share.any():
        most = 2 * share_demand(log).mean - log.sales
        return np.where(log.is_share, np.rint(most) if integer else most, np.inf)
    pace, share = log.problem.out_of_stock_pace, log.out_share
    if pace is None or share is None:
        return np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        most = log.sales * (1 + pace * share / (1 - share))
    told = (share > 0) & (share < 1) & (log.sales > 0)
    return np.where(told, np.floor(most) if integer else most, np.inf)


def _read_off_next_stock(log: SalesLog) -> Floats:
    """The demand of each row as its next stock shows it, else NaN."""
    shown = np.full(len(log), np.nan)
    if log.ledger is None or len(log) < 2:
        return shown
    stock, _, arrived, _, moved, _ = log.ledger
    read = shown_by_next_stock(log.problem, stock[:-1], arrived[:-1], stock[1:] - moved[:-1])
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


WINDOW = 14  # periods before and after, whose demand is usual for a period
OF_A_MEAN = 2.0  # periods at the mean of a series that those of the window are worth
COUNTS_A_PERIOD = 10.0  # of a usual demand that has no unit
LEAST_EXCESS = 0.01  # variance of days beyond chance, relative to the squared mean


class ShareDemand(NamedTuple):
    """Demand of a whole period given the sales of a share of it."""

    mean: Floats  # (rows,)
    error: Floats  # (rows,) standard deviation


def share_demand(log: SalesLog) -> ShareDemand:
    """The demand of every row that is known for a share of its period.

    Demand of a period is Poisson around a rate that varies between periods by a gamma law: its mean is that of the
    whole periods about it, its spread theirs. Given y sold in a share s, the rate is (size + y) / (size / usual + s),
    and in the rest of the period it goes on.
    """
    exact = ~log.censored
    usual, unit = _usual(log, exact), _unit(log.sales)
    excess = float(
        ((log.sales - usual) ** 2 - unit * usual)[exact].sum() / max(float((usual[exact] ** 2).sum()), 1e-300)
    )
    size = 1.0 / max(excess, LEAST_EXCESS)
    share = 1.0 - (log.out_of_stock if log.out_of_stock is not None else np.zeros(len(log)))
    counts, per_period = log.sales / unit, np.maximum(usual / unit, 1e-9)
    rate = (size + counts) / (size / per_period + share)
    rest = 1.0 - share
    variance = rest * rate + rest**2 * rate / (size / per_period + share)
    return ShareDemand(log.sales + unit * rest * rate, unit * np.sqrt(variance))


def _usual(log: SalesLog, exact: Bools) -> Floats:
    """Mean demand of the whole periods about each row, drawn to that of its series, (rows,)."""
    n = len(log.names)
    share = np.ones(len(log)) if log.out_of_stock is None else np.clip(1.0 - log.out_of_stock, 0.0, 1.0)
    sold, time = np.bincount(log.series, log.sales, n), np.bincount(log.series, share, n)
    scaled = np.where(time > 0, sold / np.maximum(time, 1e-9), log.sales.mean())
    whole = np.where(np.bincount(log.series, exact, n) > 0, means_by_group(log.sales, log.series, n, exact), scaled)
    ends = np.r_[log.starts[1:], len(log)]
    rows = np.arange(len(log))
    low, high = np.maximum(rows - WINDOW, log.starts[log.series]), np.minimum(rows + WINDOW + 1, ends[log.series])
    total, count = (np.r_[0.0, np.cumsum(each)] for each in (log.sales * exact, exact.astype(np.float64)))
    near, known = total[high] - total[low], count[high] - count[low]
    return np.asarray((near + OF_A_MEAN * whole[log.series]) / (known + OF_A_MEAN))


def _unit(sales: Floats) -> float:
    """Unit in which sales are counted: 1, a common step of theirs, or a part of their mean."""
    if (sales == np.rint(sales)).all():
        return 1.0
    return common_step(sales) or max(float(sales.mean()) / COUNTS_A_PERIOD, 1e-12)
