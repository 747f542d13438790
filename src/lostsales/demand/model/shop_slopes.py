"""Mean elasticity of a shop as a predictor and as a cause: by all of the price, or by what nothing explains of it."""

import numpy as np

from lostsales.data.calendar.clock import weekday_of
from lostsales.data.log import SalesLog
from lostsales.demand.law.slopes import (
    SlopeData,
    SlopeEstimate,
    instrument_innovations,
    least_squares,
    orthogonalised,
    two_stage,
)
from lostsales.demand.model.columns import MOST_LOG_PRICE
from lostsales.demand.model.effects_loops import local_means
from lostsales.demand.model.exposure import DemandExposure
from lostsales.demand.model.own_past import lagged
from lostsales.demand.model.response import HALF_LIFE
from lostsales.types import Bools, Floats, Ints

MOST_UNITS = 100  # blocks of periods, which share shocks
FOLDS = 5  # blocks in time
BOUND = 2.0  # of a relative residual: few rows must not decide


def shop_slopes(
    log: SalesLog, residual: Floats, noise: Floats, market: DemandExposure, seen: Bools
) -> tuple[SlopeEstimate, ...]:
    """Slopes of the logarithm of demand on that of the relative price around its level; none where prices stand.

    `residual` (rows,) are relative residuals of the model and `noise` (rows,) their variances. The causal slope rests
    on the part of a price that features, weekday, the last price and the last residuals do not explain in other
    blocks of time; with instruments, on their innovations. Errors are clustered by period.
    """
    product = log.products.of_row
    price = market.relative(product, log.price[:, None])[:, 0]
    features = market.inputs(log.problem.features, list(log.features.T), len(log))
    past = [np.nan_to_num(lagged(log, residual, lag).clip(-1.0, BOUND)) for lag in (1, 2)]
    days = weekday_of(log.period) if log.period.dtype.kind == "M" else np.zeros(len(log), dtype=np.int64)
    weekdays = (days[:, None] == np.arange(1, 7)).astype(np.float64)
    before = np.nan_to_num(lagged(log, price, 1))
    columns = np.column_stack([price, before, *past, features, weekdays])
    period, place = np.unique(log.period, return_inverse=True)
    around = _around(columns, product, place.reshape(-1), seen)
    kept = seen & (np.abs(price) < MOST_LOG_PRICE)
    if not np.any(np.abs(around[kept, 0]) > 0):
        return ()
    innovations = instrument_innovations(log, np.arange(len(log)))
    kept &= np.isfinite(innovations).all(axis=1)
    root = 1.0 / np.sqrt(noise[kept])
    slope = market.coefficients[product, 0]
    demand = np.clip(residual, -1.0, BOUND) + slope * around[:, 0]
    beside = around[:, 1:][:, around[:, 1:].std(axis=0) > 0]
    unit = place.reshape(-1) * MOST_UNITS // max(len(period), MOST_UNITS)
    fold = (place.reshape(-1) * FOLDS // max(len(period), FOLDS))[kept]

    def data(controls: Floats) -> SlopeData:
        return SlopeData(
            demand=demand[kept] * root,
            regressor=around[kept, 0] * root,
            controls=controls[kept] * root[:, None],
            instruments=innovations[kept] * root[:, None],
            unit=unit[kept],
            folds=[(fold == each, fold != each) for each in np.unique(fold)],
        )

    whole = data(beside)
    shown = data(beside[:, 3:])  # features and weekdays, which the model has
    found = [least_squares(shown), orthogonalised(whole)]
    return tuple(found) if not innovations.shape[1] else (*found, two_stage(whole))


def _around(values: Floats, product: Ints, place: Ints, seen: Bools) -> Floats:
    """Values less their kernel averages in time, as the level of a product follows them, (rows, columns)."""
    cells = np.zeros((int(product.max()) + 1, int(place.max()) + 1, values.shape[1]))
    weight = np.zeros(cells.shape[:2])
    cells[product, place], weight[product, place] = values, seen
    return np.asarray(values - local_means(cells, weight, 0.5 ** (1.0 / HALF_LIFE))[product, place])
