"""The data behind a law of demand: for every row an interval, and a last demand that is observed or hidden."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from lostsales.data.calendar.dates import MONTH, WEEK
from lostsales.data.encoding import attributes, feature_columns
from lostsales.data.feature import Feature
from lostsales.data.log import SalesLog
from lostsales.data.scale import series_scale, usual_price
from lostsales.demand.censoring.runs import find_runs
from lostsales.types import Bools, Floats, Ints, exceeds

# Continuous demand is taken as observed to this share of its standard deviation.
RESOLUTION = 0.02
# Rows after more stock-outs in a row are left out: errors of imputed demands add up from period to period.
MOST_HIDDEN = 100


@dataclass(frozen=True, eq=False)
class Evidence:
    """Interval-censored demands of the rows that have an anchor, in the order of the log."""

    rows: Ints  # (rows,) of the log
    series: Ints  # (rows,) of the log
    market: Floats  # (rows, columns) features, categories as indicators, and attributes
    price: Floats  # (rows,) relative to the usual price of the series
    lag: Floats  # (rows,) the last demand where it is observed, else NaN
    parent: Ints  # (rows,) the row here whose hidden demand is the lag, -1 where the lag is observed
    depth: Ints
    low: Floats  # demand lies above this ...
    high: Floats  # ... and up to this
    is_informative: Bools  # a law can be learned from the interval: it is not the whole line, nor set by demand itself
    is_censored: Bools  # a stock-out: demand lies between `low` and `high`, and drives the next period unobserved
    integer: bool
    usual_price: Floats  # (series of the log,) 1 where series do not differ in price
    product: Ints  # (series of the log,) the product that a series is a part of
    is_season: Bools | None = None  # (columns of the market,) position in the year, None where there is none

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, kept: Bools) -> "Evidence":
        """Some of the rows; whole series, as a row may need those before it."""
        own: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        by_series = {"usual_price", "product", "is_season"}
        own |= {
            name: each[kept] for name, each in own.items() if isinstance(each, np.ndarray) and name not in by_series
        }
        own["parent"] = np.where(own["parent"] >= 0, (np.cumsum(kept) - 1)[own["parent"]], -1)
        return Evidence(**own)


def _resolution(log: SalesLog, rows: Ints, demand: Floats, hidden: Bools) -> Floats:
    """The width of the interval in which an observed continuous demand lies, in proportion to its series, (rows,)."""
    scale = series_scale(log)[log.series[rows]]
    return RESOLUTION * max(float(np.std((demand / scale)[~hidden])), 1e-9) * scale


def _teaches(is_learnable: Bools, rows: Ints, depth: Ints) -> Bools:
    """Rows that can be learned from and whose hidden lags, back to the anchor, can be too."""
    unlearnable = np.r_[0, np.cumsum(~is_learnable)]
    return np.asarray(unlearnable[rows + 1] == unlearnable[rows - depth])


def gather_evidence(log: SalesLog, usual: Floats | None = None) -> Evidence:
    """The evidence of a log.

    Rows before the first observed demand of a series have no lag and are left out, and so are those deep in a long run.
    `usual` are the usual prices of its series, (series,), by default those of the log.
    """
    runs = find_runs(log)
    observed = runs.observed
    rows = np.flatnonzero((runs.depth >= 0) & (runs.depth <= MOST_HIDDEN))
    depth = runs.depth[rows]
    position = np.full(len(log), -1)
    position[rows] = np.arange(len(rows))
    lag_observed = depth == 0
    parent = np.where(lag_observed, -1, position[rows - 1])
    demand, hidden = observed.demand[rows], ~observed.is_observed[rows]
    width = 1.0 if observed.integer else _resolution(log, rows, demand, hidden)
    low = np.where(hidden, observed.censored_above[rows] + (0.5 if observed.integer else 0.0), demand - width / 2)
    low = np.where(low < 0, -np.inf, low)
    most = observed.at_most[rows] + (0.5 if observed.integer else 0.0)
    high = np.where(hidden, most, demand + width / 2)
    if log.problem.longest_run is not None:
        # All sold at that depth: demand was this or more before truncation. To leave such rows out, but not those that
        # sold less, would be a selection on the outcome.
        high[(depth >= log.problem.longest_run) & ~exceeds(log.available[rows], demand)] = np.inf
    features = log.features[rows]
    for at, feature in enumerate(log.problem.features):
        if feature.name in log.problem.instruments:  # it moves the price, not demand: a column without variation
            features[:, at] = 0.0
    columns = feature_columns(log.problem.features, features.T)
    market = np.column_stack([*columns, *attributes(log, rows), np.zeros((len(rows), 0))])
    usual = usual_price(log) if usual is None else usual
    return Evidence(
        rows=rows,
        series=log.series[rows],
        market=market,
        price=log.price[rows] / usual[log.series[rows]],
        lag=np.where(lag_observed, runs.anchor_demand[rows], np.nan),
        parent=parent,
        depth=depth,
        low=low,
        high=high,
        is_informative=(np.isfinite(low) | np.isfinite(high)) & _teaches(observed.is_learnable, rows, depth),
        is_censored=hidden,
        integer=observed.integer,
        usual_price=usual,
        product=np.unique(log.names.astype(str), return_inverse=True)[1],
        is_season=_season_columns(log.problem.features, market.shape[1]),
    )


def _season_columns(features: tuple[Feature, ...], columns: int) -> Bools | None:
    """Columns of the market that are the position in the year, None where there are none."""
    found = np.zeros(columns, dtype=bool)
    at = 0
    for feature in features:
        width = len(feature.levels or ()) if feature.kind == "categorical" else 1
        found[at : at + width] = feature.calendar in (WEEK, MONTH)
        at += width
    return found if found.any() else None
