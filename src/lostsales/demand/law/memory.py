"""Autocorrelation beyond one lag: the last demands enter a model as one weighted mean, hidden ones by their draws."""

from typing import NamedTuple

import numpy as np

from lostsales._jit import compiled
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.evidence_sample import segment_starts
from lostsales.types import Floats, Ints

WEIGHT_RANGE = -1.0, 1.5  # of a later lag relative to the first, against divergence
LEAST_MEMORY = 1e-3  # of the slope on the last demands, below which their weights are not identified


class Lags(NamedTuple):
    """Rows of the last demands, and the order in which rows with hidden ones are drawn."""

    rows: Ints  # (lags, rows) the row whose last demand is the first, second, ... last of each row
    level: Ints  # (rows,) 0 where all are observed; else rows on which it depends have lower levels
    span: Ints  # (rows,) how far back the oldest hidden demand lies on which it depends


def lags_of(evidence: Evidence, lags: int) -> Lags:
    """The last demands of each row; those before the first row of a series are taken to be the oldest that is known."""
    first, at = segment_starts(evidence), np.arange(len(evidence))
    level, span = np.zeros(len(at), dtype=np.int64), np.zeros(len(at), dtype=np.int64)
    _order(evidence.depth, first, lags, level, span)
    return Lags(np.stack([np.maximum(at - back, first) for back in range(lags)]), level, span)


@compiled
def _order(depth: Ints, first: Ints, lags: int, level: Ints, span: Ints) -> None:
    for row in range(len(depth)):
        oldest = row
        for back in range(lags):
            if row - back >= first[row] and depth[row - back] > 0:
                oldest = row - back - 1  # its demand is hidden
        for other in range(oldest, row):
            level[row] = max(level[row], level[other] + 1)
            span[row] = max(span[row], row - oldest + (span[oldest] if other == oldest else 0))


def observed_lag(evidence: Evidence, weights: tuple[float, ...], lags: Lags | None = None) -> Floats:
    """The weighted mean of the last demands where all of them are observed, else NaN, (rows,); `lags` may be given."""
    if len(weights) == 1:
        return evidence.lag
    rows = lags_of(evidence, len(weights)).rows if lags is None else lags.rows
    return np.asarray(np.array(weights) @ evidence.lag[rows])


def new_weights(weights: tuple[float, ...], slope: float, moves: Floats) -> tuple[float, ...]:
    """The weights after a Gauss-Newton step: `moves` are the slopes on what each further lag has beyond the first.

    >>> new_weights((1.0, 0.0), 0.8, np.array([0.2]))
    (0.75, 0.25)
    """
    if abs(slope) < LEAST_MEMORY:
        return weights
    later = np.clip(np.array(weights[1:]) + moves / slope, *WEIGHT_RANGE)
    return (float(1 - later.sum()), *map(float, later))
