"""Traces of typical series: sales, available units, and censored demand with its band."""

from dataclasses import dataclass, fields

import numpy as np

from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.sublogs import series_of
from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.imputing import impute
from lostsales.demand.law.latents import complete_latents
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.types import Array, Bools, Floats, Ints

MOST_SERIES = 5  # series that are drawn
MOST_PERIODS = 100  # last periods of each
DRAWS = 200  # of each censored demand
BAND = (0.05, 0.95)  # quantiles of hidden demand


@dataclass(frozen=True, eq=False)
class Trace:
    """The last periods of one series; every array has one entry a period."""

    name: str
    period: Array
    stock: Floats
    price: Floats
    order: Floats
    available: Floats
    sales: Floats
    hidden: Bools  # demand is censored
    expected: Floats  # mean of a censored demand, NaN where it is observed or cannot be estimated
    low: Floats  # its 5 % ...
    high: Floats  # ... and 95 % quantile, NaN where only the mean is known
    on_order: Floats | None = None  # units on the way when the period opens, None where orders take a period at most

    def last(self, periods: int) -> "Trace":
        """The last periods of the trace."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        whole = ("name",) if self.on_order is not None else ("name", "on_order")
        return Trace(**{name: each if name in whole else each[-periods:] for name, each in columns.items()})

    @property
    def stockout_share(self) -> float:
        """Share of stock-outs in the periods shown."""
        return float(self.hidden.mean())


def typical_traces(prepared: PreparedLog) -> tuple[Trace, ...]:
    """Traces of typical series in order of their share of stock-outs, the middle one first."""
    chosen = typical_series(prepared.log, ~prepared.runs.observed.is_observed)
    part = series_of(prepared.log, chosen)
    hidden = ~prepared.runs.observed.is_observed[np.isin(prepared.log.series, chosen)]
    expected, low, high = hidden_demand(prepared, chosen, part)
    traces = [
        trace_of(part, rows[-MOST_PERIODS:], hidden, expected, low, high)
        for rows in np.split(np.arange(len(part)), part.starts[1:])
    ]
    traces.sort(key=lambda trace: trace.stockout_share)
    middle = (len(traces) - 1) // 2
    return (traces[middle], *traces[:middle], *traces[middle + 1 :])


def typical_series(log: SalesLog, hidden: Bools) -> Ints:
    """Up to five series of at least the median length, evenly spaced by their share of stock-outs, (series,) rising."""
    rows = np.bincount(log.series, minlength=len(log.names))
    share = np.bincount(log.series, weights=hidden, minlength=len(log.names)) / rows
    long = np.flatnonzero(rows >= np.median(rows))
    by_share = long[np.argsort(share[long], kind="stable")]
    places = (np.arange(MOST_SERIES) + 0.5) / MOST_SERIES * len(by_share)
    return np.unique(by_share[places.astype(np.int64)])


def hidden_demand(prepared: PreparedLog, chosen: Ints, part: DecisionLog) -> tuple[Floats, Floats, Floats]:
    """Mean and 90 % band of every censored demand of some series, given its series; NaN where demand is observed.

    By draws from the demand model. If none can be learned, Beran's estimate of the mean, without a band.
    """
    mean, low, high = (np.full(len(part), np.nan) for _ in range(3))
    if prepared.realised is not None:
        shop = prepared.realised.shop
        of_part = np.isin(prepared.log.series, chosen)
        at = ~shop.observed.is_observed[of_part]
        drawn = shop.realised(DRAWS, prepared.seed).demand[:, of_part][:, at]
        mean[at], (low[at], high[at]) = drawn.mean(axis=0), np.quantile(drawn, BAND, axis=0)
        return mean, low, high
    if prepared.laws is None:
        filled = impute(prepared.log, runs=prepared.runs, seed=prepared.seed)
        of_part = np.isin(prepared.log.series, chosen)
        at = filled.hidden[of_part]
        mean[at] = filled.expected_demand[of_part][at]
        return mean, low, high
    law = prepared.laws.law.of_series(chosen)
    evidence = gather_evidence(part, law.usual_price)
    latent = complete_latents(evidence, law, prepared.seed, DRAWS).latent
    drawn = law.demand(latent, law.scale[evidence.series][:, None])
    rows, of_hidden = evidence.rows[evidence.is_censored], drawn[evidence.is_censored]
    # A latent at the edge of its interval may round to the edge.
    of_hidden = np.maximum(of_hidden, part.censoring_level[rows, None])
    mean[rows] = of_hidden.mean(axis=1)
    low[rows], high[rows] = np.quantile(of_hidden, BAND, axis=1)
    return mean, low, high


def trace_of(log: DecisionLog, rows: Ints, hidden: Bools, expected: Floats, low: Floats, high: Floats) -> Trace:
    """Rows of one series, with censored demands of the whole log, each (all rows,)."""
    return Trace(
        name=str(log.names[log.series[rows[0]]]),
        period=log.period[rows],
        stock=log.stock[rows],
        price=log.price[rows],
        order=log.order[rows],
        available=log.available[rows],
        sales=log.sales[rows],
        hidden=hidden[rows],
        expected=expected[rows],
        low=low[rows],
        high=high[rows],
        on_order=None if log.pipeline is None else log.pipeline[rows].sum(axis=1),
    )
