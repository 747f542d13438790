"""Features that are collinear with the price or with other features: their effects are not identified separately."""

from dataclasses import replace

import numpy as np

from lostsales.data.encoding import feature_columns
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.evidence import Evidence
from lostsales.types import Floats, Ints

SAME = 0.999  # share of the variance within series that the price, or other features, explain in a copy


def without_copies(log: SalesLog, evidence: Evidence) -> tuple[Evidence, tuple[str, ...]]:
    """The evidence in which copies do not vary, as instruments do not, and their names.

    A copy is a numeric feature that follows within every series from its price (a cost that is 70 % of it), or from the
    price and the features before it. Its effect is that of what it copies.
    """
    series, price = evidence.series, log.price[evidence.rows]
    kept = [_centred(price, series)]
    market, copies, column = evidence.market.copy(), [], 0
    for feature in log.problem.features:
        width = len(feature_columns([feature], [np.zeros(1)]))
        values = _centred(evidence.market[:, column], series)
        if feature.kind == "numeric" and feature.calendar is None and _spread(values) > 0:
            if max(_explained_by_price(values, kept[0], series), _explained(values, np.column_stack(kept))) >= SAME:
                market[:, column] = 0.0
                copies.append(feature.name)
            else:
                kept.append(values)
        column += width
    return (replace(evidence, market=market), tuple(copies)) if copies else (evidence, ())


def _centred(values: Floats, series: Ints) -> Floats:
    """Values less the mean of their series."""
    count = np.maximum(np.bincount(series), 1)
    return np.asarray(values - (np.bincount(series, values) / count)[series])


def _spread(values: Floats) -> float:
    """The sum of squares, 0 where only rounding errors are left."""
    total = float(values @ values)
    return total if total > 1e-12 * len(values) else 0.0


def _explained_by_price(values: Floats, price: Floats, series: Ints) -> float:
    """Share of the variance that the price explains with a slope of each series."""
    moved, both = np.bincount(series, price**2), np.bincount(series, price * values)
    slope = np.divide(both, moved, out=np.zeros_like(both), where=moved > 1e-12)
    left = values - slope[series] * price
    return 1 - float(left @ left) / float(values @ values)


def _explained(values: Floats, columns: Floats) -> float:
    """Share of the variance that least squares on other columns explains."""
    left = values - columns @ np.linalg.lstsq(columns, values, rcond=1e-10)[0]
    return 1 - float(left @ left) / float(values @ values)
