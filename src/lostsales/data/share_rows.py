"""Periods that were partly out of stock: their sales are those of a known share of the period's demand."""

from typing import NamedTuple

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.products import means_by_group
from lostsales.data.units import common_step
from lostsales.types import Bools, Floats

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
