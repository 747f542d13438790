"""Contents of a product page: its past with hidden demand, its price response, and its part of the policy."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.sublogs import series_of
from lostsales.demand.imputing import impute
from lostsales.errors import LostSalesError
from lostsales.evaluation.report.policy_map import DepthMap, even_steps, map_of_view
from lostsales.evaluation.report.traces import BAND, MOST_PERIODS, Trace, trace_of
from lostsales.policy.history import view_of_rows
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.recent_rows import RecentRows
from lostsales.policy.view import View
from lostsales.types import Floats, Ints

MOST_PRICES = 60  # points of the price response


@dataclass(frozen=True, eq=False)
class ProductResponse:
    """Demand of today at each price; every array is (prices,)."""

    prices: Floats
    demand: Floats  # its mean
    low: Floats  # 5 % ...
    high: Floats  # ... and 95 % quantile
    seen_prices: Floats  # (seen,) prices that the product had
    seen_sales: Floats  # (seen,) mean sales there, where nothing was hidden


@dataclass(frozen=True, eq=False)
class ProductRange:
    """Prices and orders that may be chosen for a product, each ascending."""

    prices: Floats
    orders: Floats


def rows_of_product(recent: RecentRows, name: str) -> Ints:
    """Rows of a product in the log, since the last hole; none where the log does not have it."""
    last = recent.newest.get(name)
    if last is None:
        return np.zeros(0, dtype=np.int64)
    return np.arange(recent.log.starts[recent.log.series[last]], last + 1)


def product_trace(policy: SavedPolicy, recent: RecentRows, name: str) -> Trace | None:
    """The last periods of a product; hidden demand is that of the policy's law, given what came before.

    If the policy knows no law, it is estimated from the rows of the product itself, without a band.
    """
    rows = rows_of_product(recent, name)[-MOST_PERIODS:]
    if not len(rows):
        return None
    log, runs = recent.log, recent.runs
    hidden = ~runs.observed.is_observed
    mean, low, high = (np.full(len(log), np.nan) for _ in range(3))
    known = rows[hidden[rows] & (runs.depth[rows] >= 0)]
    if len(known):
        atoms = policy.demand_atoms(view_of_rows(log, runs, known), log.price[known])
        if atoms is None:
            mean[rows] = _by_imputation(log, rows)
        else:
            mean[known], low[known], high[known] = _above(atoms, log.censoring_level[known])
    return trace_of(log.decisions("show"), rows, hidden, mean, low, high)


def _above(atoms: Floats, level: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean and band of equally likely demands (rows, atoms) that lie above a level; at it where none does."""
    above = np.where(atoms > level[:, None], atoms, np.nan)
    above[np.isnan(above).all(axis=1)] = level[np.isnan(above).all(axis=1), None]
    low, high = np.nanquantile(above, BAND, axis=1)
    return np.nanmean(above, axis=1), low, high


def _by_imputation(log: SalesLog, rows: Ints) -> Floats:
    """Means of hidden demands; their distribution is not known, and the error of a mean is no band of demand."""
    part = series_of(log, np.array([log.series[rows[0]]]))
    try:
        filled = impute(part, replicates=0)
    except LostSalesError:
        return np.full(len(rows), np.nan)
    return np.where(filled.hidden, filled.expected_demand, np.nan)[-len(rows) :]


def product_range(
    policy: SavedPolicy, recent: RecentRows | None, view: View, price: float, order: float
) -> ProductRange:
    """Prices and orders that sliders offer: those of the grids, and the recommended ones."""
    candidates, name = policy.may_recommend, "" if view.names is None else str(view.names[0])
    rows = np.zeros(0, dtype=np.int64) if recent is None else rows_of_product(recent, name)
    log = None if recent is None else recent.log
    usual = float(np.median(log.price[rows])) if log is not None and len(rows) else price
    size = float(np.mean(log.sales[rows])) if log is not None and len(rows) else max(order, 1.0)
    prices, orders = np.array([usual]), np.array([order])
    if candidates is not None:
        prices, orders = candidates.prices_of(usual), candidates.orders_of(max(size, 1e-9))
    return ProductRange(np.unique(np.r_[prices, price]), np.unique(np.r_[0.0, orders, order]))


def product_response(
    policy: SavedPolicy, recent: RecentRows | None, view: View, prices: Floats
) -> ProductResponse | None:
    """Demand of today by price, None if the policy knows no demand."""
    if len(prices) > MOST_PRICES:
        prices = prices[np.unique(np.linspace(0, len(prices) - 1, MOST_PRICES).astype(np.int64))]
    atoms = policy.demand_atoms(view.take(np.zeros(len(prices), dtype=np.int64)), prices)
    if atoms is None:
        return None
    known = ~np.isnan(atoms).any(axis=1)  # prices at which the policy knows demand
    if not known.any():
        return None
    prices, atoms = prices[known], atoms[known]
    low, high = np.quantile(atoms, BAND, axis=1)
    rows = np.zeros(0, dtype=np.int64)
    if recent is not None and view.names is not None:
        rows = rows_of_product(recent, str(view.names[0]))
        rows = rows[recent.runs.observed.is_observed[rows]]
    seen, sales = np.zeros(0), np.zeros(0)
    if recent is not None and len(rows):
        seen, at = np.unique(recent.log.price[rows], return_inverse=True)
        sales = np.bincount(at, recent.log.sales[rows]) / np.bincount(at)
    return ProductResponse(prices, atoms.mean(axis=1), low, high, seen, sales)


def product_map(policy: SavedPolicy, recent: RecentRows | None, view: View) -> DepthMap:
    """The policy for a product by stock and last observed demand, around what it has had."""
    stocks, demands = view.stock, anchor_demand(view)
    if recent is not None and view.names is not None:
        rows = rows_of_product(recent, str(view.names[0]))
        observed = rows[recent.runs.observed.is_observed[rows]]
        stocks = np.r_[stocks, np.asarray(recent.log.stock)[rows]]
        demands = np.r_[demands, recent.runs.observed.demand[observed]]
    return map_of_view(policy, view, even_steps(stocks), even_steps(demands))


def anchor_demand(view: View) -> Floats:
    """The last observed demand of a view of one row, (1,)."""
    depth = min(int(view.depth[0]), len(view.past))
    return view.last_sales if depth == 0 else view.past[len(view.past) - depth].view.last_sales
