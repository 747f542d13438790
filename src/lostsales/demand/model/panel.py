"""A log as a panel: demand by product and period, with censoring."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.calendar.dates import calendar_values
from lostsales.data.encoding import feature_columns
from lostsales.data.feature import Feature
from lostsales.data.labels import SERIES_SEPARATOR
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.products import Products
from lostsales.demand.censoring.observed import observe
from lostsales.demand.model.columns import MarketPanel, filled_forward, rival_sets, usual_values
from lostsales.demand.model.periods import Cycle, PeriodColumns
from lostsales.types import Array, Bools, Floats, Ints

MOST_COLUMNS = 1_500  # most periods of history
SEASONS = ("weekday", "week", "month")  # words of a calendar that the seasonal indices cover
COUNTS_A_PERIOD = 10.0  # mean to which demand that is not counted is scaled
FEW_SALES = 3  # with fewer demands above 0 a product is taken to sell in single units


@dataclass(frozen=True, eq=False)
class Panel:
    """Demand of products (rows) in periods (columns); the last column is the last period of any product."""

    names: Array  # (products,) text
    demand: Floats  # (products, columns) demand or its lower bound, in multiples of `unit`; 0 where unknown
    exposure: Floats  # (products, columns) share of the period on sale, 0 where demand is unknown
    censored: Bools  # (products, columns) demand is a lower bound
    silent: Bools  # (products, columns) an uninformative stock-out without sales
    last: Ints  # (products,) column of the last row of each
    group: Ints  # (products,) group within which effects are pooled
    market: MarketPanel
    response: Floats  # (products, all columns) factor of prices and features; 1 until it is estimated
    filled: Floats  # (products, columns) demand, expected demand where it is censored
    coming: Ints  # (products, horizon) columns of the periods to forecast
    coming_period: Array  # (products, horizon)
    cycles: tuple[Cycle, ...]
    integer: bool  # demand is modelled as a count: whole, and not too large
    unit: (
        Floats  # (products, 1) unit in which demand is counted or measured: of counts, the lot that a product sells in
    )
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
    seen = observed.bound
    unit = np.full((len(products), 1), max(float(seen.mean()) / COUNTS_A_PERIOD, 1e-12))
    if integer:
        unit[:, 0] = lots(observed.demand[observed.is_observed], products.of_row[observed.is_observed], len(products))
    whole = bool((log.sales == np.rint(log.sales)).all())
    place = products.of_row[kept], column[kept]
    demand, exposure = np.zeros((len(products), width)), np.zeros((len(products), width))
    censored = np.zeros((len(products), width), dtype=bool)
    share = np.where(log.is_share, 1.0 - (0.0 if log.out_share is None else log.out_share), 1.0)
    seen = np.where(log.is_share, log.sales, seen)
    exact = observed.is_observed | log.is_share
    tells = exact | (seen > 0)
    demand[place] = np.where(tells, seen / unit[products.of_row, 0], 0.0)[kept]
    exposure[place] = (share * tells)[kept]
    censored[place] = (tells & ~exact)[kept]
    silent = np.zeros_like(censored)
    silent[place] = ~tells[kept]
    first = int(at.column.max()) + 1 - width
    cycles = PeriodColumns(at.column, at.grid, at.is_monthly, at.first + first).cycles(int(coming.max()) + 1, season)
    group, rivals = _groups(log, products)
    price, features, names = _market(log, place, kept, last, coming, period)
    return Panel(
        names=products.names,
        demand=demand,
        exposure=exposure,
        censored=censored,
        silent=silent,
        last=last,
        group=group,
        market=MarketPanel(price, features, names, rivals, width),
        response=np.ones((len(products), int(coming.max()) + 1)),
        filled=demand,
        coming=coming,
        coming_period=period,
        cycles=cycles,
        integer=integer,
        unit=unit,
        whole=whole,
    )


def lots(demand: Floats, product: Ints, products: int) -> Floats:
    """Lot that each product sells in, (products,): the greatest common divisor of its observed demands (rows,).

    A part that is bought five at a time has demands of 0, 5 and 10: counted in lots it is as regular as others.
    """
    sold = np.flatnonzero(demand > 0)
    sold = sold[np.argsort(product[sold], kind="stable")]
    rows, found = np.bincount(product[sold], minlength=products), np.ones(products)
    if len(sold):
        starts = (np.cumsum(rows) - rows)[rows > 0]
        found[rows > 0] = np.gcd.reduceat(np.rint(demand[sold]).astype(np.int64), starts)
    return np.where(rows >= FEW_SALES, found, 1.0)


def _groups(log: SalesLog, products: Products) -> tuple[Ints, Ints]:
    """Groups within which effects are pooled, and sets of competing products, each (products,).

    With several key columns, such as store and product, the last one is the group, and products of one store compete.
    Otherwise both are the attribute `group`, or the first one.
    """
    parts = len(log.problem.columns.series_parts)
    attribute = np.full(len(products), "", dtype=object)
    if log.attributes:
        name = "group" if "group" in log.attributes else next(iter(log.attributes))
        attribute[products.of_segment] = log.attributes[name].astype(str)
    if parts == 1:
        keys = np.unique(attribute.astype(str), return_inverse=True)[1]
        return keys, rival_sets(keys) if log.attributes else np.full(len(products), -1)
    split = [str(name).rsplit(SERIES_SEPARATOR, 1) for name in products.names]
    place = np.unique(
        [f"{each[0]}{SERIES_SEPARATOR}{kind}" for each, kind in zip(split, attribute, strict=True)], return_inverse=True
    )[1]
    return np.unique([each[1] for each in split], return_inverse=True)[1], rival_sets(place)


def response_features(problem: Problem) -> list[tuple[int, Feature]]:
    """Features that demand responds to, and their indices: neither instruments nor those that seasons cover."""
    return [
        (at, each)
        for at, each in enumerate(problem.features)
        if each.calendar not in SEASONS and each.name not in problem.instruments
    ]


def indicator_names(feature: Feature) -> list[str]:
    """Names of the columns of a feature: one a level of a category."""
    return [f"{feature.name}={level}" for level in feature.levels or ()] or [feature.name]


def _market(
    log: SalesLog, place: tuple[Ints, Ints], kept: Bools, last: Ints, coming: Ints, period: Array
) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Prices and features of all columns and the names of features; those of coming periods are the usual ones."""
    n, columns = len(last), int(coming.max()) + 1
    used = response_features(log.problem)
    names = [name for _, each in used for name in indicator_names(each)]
    values = feature_columns([each for _, each in used], [log.features[:, at] for at, _ in used])
    price = np.full((n, columns), np.nan)
    price[place] = np.where(log.price > 0, log.price, np.nan)[kept]
    features = np.full((n, columns, len(values)), np.nan)
    for k, column in enumerate(values):
        features[*place, k] = column[kept]
    price, features = filled_forward(price), filled_forward(features)
    price = np.where(price > 0, price, 1.0)
    rows = np.arange(n)
    later = np.arange(columns) > last[:, None]
    price = np.where(later, usual_values(price, last)[:, None], price)
    shares = np.array([bool(each.levels) for _, each in used for _ in indicator_names(each)], dtype=bool)
    features = np.where(later[..., None], usual_values(features, last, shares)[:, None], features)
    clock = log.problem.clock.calendars
    for k, name in enumerate(names):
        word = next((each.calendar for _, each in used if each.name == name), None)
        if word is not None:
            found = calendar_values(name, word, period.reshape(-1), clock.step if clock.is_dated else 0)
            features[rows[:, None], coming, k] = found.reshape(coming.shape)
    return price, features, tuple(names)
