"""Dependence of demand on its own past, up to three periods, beyond what the moving level explains."""

from typing import NamedTuple

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.observed import Observed
from lostsales.demand.model.counts import log_scores
from lostsales.types import Bools, Floats, Ints

MOST_LAGS = 3  # as in the law of episodes
LARGEST = 2.0  # bound of a past residual, relative to the mean
GAIN = 0.002  # log likelihood per held-out row that a lag must add
LEAST_ROWS = 60  # below which none is tried


class OwnPast(NamedTuple):
    """Effects of the relative residuals of the last periods on the logarithm of demand."""

    lags: tuple[float, ...]  # the newest first; empty where held-out rows do not support any
    explained: float  # share of the unexplained variance


def own_past(
    log: SalesLog, residual: Floats, mean: Floats, dispersion: Floats, observed: Observed, seen: Bools
) -> OwnPast:
    """Estimate the effects on the first half of the periods; their number is the one that the second half supports."""
    past = np.clip(np.column_stack([lagged(log, residual, lag) for lag in range(1, MOST_LAGS + 1)]), -1.0, LARGEST)
    usable = np.flatnonzero(seen & np.isfinite(past).all(axis=1))
    if len(usable) < LEAST_ROWS:
        return OwnPast((), 0.0)
    weight = 1.0 / (dispersion + (1.0 / mean if observed.integer else 0.0))
    early = usable[log.period[usable] < np.sort(log.period[usable])[len(usable) // 2]]
    late = np.setdiff1d(usable, early)
    best, chosen = _score(late, mean, 1.0, dispersion, observed), 0
    for lags in range(1, MOST_LAGS + 1):
        effect = _effects(early, past[:, :lags], residual, weight)
        score = _score(late, mean, np.exp(past[late, :lags] @ effect), dispersion, observed)
        if score > best + GAIN:
            best, chosen = score, lags
    if not chosen:
        return OwnPast((), 0.0)
    effect = _effects(usable, past[:, :chosen], residual, weight)
    rows, told = residual[usable], past[usable, :chosen] @ effect
    explained = float(np.var(told)) / max(float(np.var(rows)), 1e-12)
    return OwnPast(tuple(effect.tolist()), min(explained, 1.0))


def lagged(log: SalesLog, values: Floats, lag: int) -> Floats:
    """Values some periods before in the same series, NaN where there are none, (rows,)."""
    at = np.arange(len(values)) - lag
    return np.where(at >= log.starts[log.series], values[np.maximum(at, 0)], np.nan)


def _effects(rows: Ints, past: Floats, residual: Floats, weight: Floats) -> Floats:
    if not len(rows):
        return np.zeros(past.shape[1])
    columns, own = past[rows] * np.sqrt(weight[rows])[:, None], residual[rows] * np.sqrt(weight[rows])
    return np.asarray(np.linalg.lstsq(columns, own, rcond=1e-8)[0])


def _score(rows: Ints, mean: Floats, factor: Floats | float, dispersion: Floats, observed: Observed) -> float:
    """Mean censored log likelihood of rows."""
    centre = mean[rows] * factor
    variance = dispersion[rows] * centre**2 + (centre if observed.integer else 0.0)
    known, hidden = np.ones(len(rows), dtype=bool), ~observed.is_observed[rows]
    return float(log_scores(observed.bound[rows], centre, variance, known, hidden, observed.integer).mean())
