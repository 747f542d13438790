"""A log as a panel: demand by product and period, with censoring."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.observed import observe
from lostsales.demand.forecasting.periods import Cycle, PeriodColumns
from lostsales.types import Array, Bools, Floats, Ints

MOST_COLUMNS = 1_500  # most periods of history
COUNTS_A_PERIOD = 10.0  # mean to which demand that is not counted is scaled


@dataclass(frozen=True, eq=False)
class Panel:
    """Demand of products (rows) in periods (columns); the last column is the last period of any product."""

    names: Array  # (products,) text
    demand: Floats  # (products, columns) demand or its lower bound, in multiples of `unit`; 0 where unknown
    exposure: Floats  # (products, columns) share of the period on sale, 0 where demand is unknown
    censored: Bools  # (products, columns) demand is a lower bound
    silent: Bools  # (products, columns) an uninformative stock-out without sales
    last: Ints  # (products,) column of the last row of each
    coming: Ints  # (products, horizon) columns of the periods to forecast
    coming_period: Array  # (products, horizon)
    cycles: tuple[Cycle, ...]
    integer: bool  # demand is modelled as a count: whole, and not too large
    unit: float  # 1 for counts
    whole: bool  # sales are whole numbers, counts or larger


def panel_of(log: SalesLog, horizon: int, season: int | None) -> Panel:
    """Panel of a log: uninformative rows have no exposure, and sales of stock-outs are lower bounds."""
    products = log.products
    at = PeriodColumns.of(log, products)
    observed = observe(log)
    width = int(at.column.max()) + 1
    column = at.column - max(width - MOST_COLUMNS, 0)
    kept = column >= 0
    width = min(width, MOST_COLUMNS)
    last = np.zeros(len(products), dtype=np.int64)
    np.maximum.at(last, products.of_row, np.maximum(column, 0))
    coming, period = at.coming(log, products, last + at.column.max() + 1 - width, horizon)
    coming = coming - (int(at.column.max()) + 1 - width)
    integer = observed.integer
    # A count strictly above the available stock is at least one more.
    least = observed.available + (integer & (observed.censored_above >= observed.available))
    seen = np.where(observed.is_observed, observed.demand, least)
    unit = 1.0 if integer else max(float(seen.mean()) / COUNTS_A_PERIOD, 1e-12)
    whole = bool((log.sales == np.rint(log.sales)).all())
    place = products.of_row[kept], column[kept]
    demand, exposure = np.zeros((len(products), width)), np.zeros((len(products), width))
    censored = np.zeros((len(products), width), dtype=bool)
    share = np.where(log.is_share, 1.0 - (0.0 if log.out_share is None else log.out_share), 1.0)
    seen = np.where(log.is_share, log.sales, seen)
    exact = observed.is_observed | log.is_share
    tells = exact | (seen > 0)
    demand[place] = np.where(tells, seen / unit, 0.0)[kept]
    exposure[place] = (share * tells)[kept]
    censored[place] = (tells & ~exact)[kept]
    silent = np.zeros_like(censored)
    silent[place] = ~tells[kept]
    first = int(at.column.max()) + 1 - width
    cycles = PeriodColumns(at.column, at.grid, at.is_monthly, at.first + first).cycles(int(coming.max()) + 1, season)
    return Panel(products.names, demand, exposure, censored, silent, last, coming, period, cycles, integer, unit, whole)
