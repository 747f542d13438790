"""The slope of demand on the price by three estimators: least squares, orthogonalised, and two-stage with instruments.

Orthogonalised: what the controls explain of prices and of demand in other folds is taken out of both first
(Chernozhukov et al., 2018, Double/debiased machine learning). Two-stage: only the part of the price counts that moves
with the innovations of the instruments, which their own past does not predict. These are independent of a hidden
market, however long it lasts, and so of the last demand.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lostsales.data.confidence import margin
from lostsales.data.log import SalesLog
from lostsales.data.splits import FoldMasks
from lostsales.demand.law.means import fit_linear
from lostsales.types import Floats, Ints

By = Literal["least squares", "orthogonalised", "two-stage"]


@dataclass(frozen=True)
class SlopeEstimate:
    """A slope of the latent demand on the price, as the law takes both."""

    by: By
    value: float
    error: float  # standard error, a jackknife over series or blocks in time
    units: int  # that were left out in turn
    first_stage: float | None = None  # F of the instruments

    @property
    def low(self) -> float:
        """Lower end of the 95 % band."""
        return self.value - self._reach

    @property
    def high(self) -> float:
        """Upper end of the 95 % band."""
        return self.value + self._reach

    @property
    def _reach(self) -> float:
        return margin(self.error, max(self.units - 1, 1))


@dataclass(frozen=True, eq=False)
class SlopeData:
    """Completed rows for the slope on one regressor; rows without a value anywhere are left out."""

    demand: Floats  # (rows,) latent
    regressor: Floats  # (rows,) the price or the last demand, as the law takes it
    controls: Floats  # (rows, columns)
    instruments: Floats  # (rows, instruments) their innovations
    unit: Ints  # (rows,)
    folds: FoldMasks


def instrument_innovations(log: SalesLog, rows: Ints) -> Floats:
    """Residuals of each instrument on its own last value, NaN in first rows, (rows, instruments)."""
    names = log.problem.instruments
    found = np.empty((len(rows), len(names)))
    for column, name in enumerate(names):
        values = log.features_by_name(np.arange(len(log)))[name]
        last = np.where(np.r_[False, log.series[1:] == log.series[:-1]], np.r_[np.nan, values[:-1]], np.nan)
        has_last = np.isfinite(last)
        line = fit_linear(last[has_last, None], values[has_last], np.ones(int(has_last.sum())))
        found[:, column] = (values - line(last[:, None]))[rows]
    return found


def least_squares(data: SlopeData) -> SlopeEstimate:
    """Beside the controls."""
    return _jackknifed("least squares", data, 0)


def two_stage(data: SlopeData) -> SlopeEstimate:
    """Two-stage least squares with the instruments and the controls."""
    return _jackknifed("two-stage", data, data.instruments.shape[1])


def orthogonalised(data: SlopeData, folds: FoldMasks | None = None) -> SlopeEstimate:
    """Residuals of demand on residuals of prices, both of regressions on the controls in other folds."""
    folds = data.folds if folds is None else folds
    price, demand = (_left_out_of_fold(column, data.controls, folds) for column in (data.regressor, data.demand))
    total = float(price @ price)
    value = float(price @ demand) / total if total > 0 else np.nan
    units, at = np.unique(data.unit, return_inverse=True)
    of_unit = [np.bincount(at.reshape(-1), each) for each in (price * demand, price**2)]
    with np.errstate(invalid="ignore", divide="ignore"):
        without = (of_unit[0].sum() - of_unit[0]) / (of_unit[1].sum() - of_unit[1])
    return SlopeEstimate("orthogonalised", value, _jackknife_error(without, value, len(units)), len(units))


def _left_out_of_fold(column: Floats, controls: Floats, folds: FoldMasks) -> Floats:
    left = np.zeros(len(column))
    for out, used in folds:
        line = fit_linear(controls[used], column[used], np.ones(int(used.sum())))
        left[out] = column[out] - line(controls[out])
    return left


def _jackknifed(by: By, data: SlopeData, instruments: int) -> SlopeEstimate:
    """A slope from cross-products, which add up over units."""
    instrument = data.instruments[:, :instruments]
    whole = np.column_stack([data.demand, data.regressor, instrument, data.controls, np.ones(len(data.demand))])
    scale = np.maximum(np.sqrt((whole**2).mean(axis=0)), 1e-12)
    units, at = np.unique(data.unit, return_inverse=True)
    at = at.reshape(-1)
    standard = whole / scale
    gram = np.array([standard[at == unit].T @ standard[at == unit] for unit in range(len(units))])
    total = gram.sum(axis=0)
    value = _slope(total, instruments)
    error = _jackknife_error(np.array([_slope(total - own, instruments) for own in gram]), value, len(units))
    factor = scale[0] / scale[1]
    strength = _first_stage(total, instruments, len(whole)) if instruments else None
    return SlopeEstimate(by, value * factor, error * factor, len(units), strength)


def _slope(gram: Floats, instruments: int) -> float:
    """The coefficient of the price; columns are demand, price, instruments, controls."""
    controls = np.arange(2 + instruments, len(gram))
    regressors = np.r_[1, controls]
    known = regressors if instruments == 0 else np.r_[2 : 2 + instruments, controls]
    weights = np.linalg.lstsq(gram[np.ix_(known, known)], gram[np.ix_(known, regressors)], rcond=1e-10)[0]
    left = weights.T @ gram[np.ix_(known, regressors)]
    return float(np.linalg.lstsq(left, weights.T @ gram[known, 0], rcond=1e-10)[0][0])


def _first_stage(gram: Floats, instruments: int, rows: int) -> float:
    """F statistic of the instruments on the price beside the controls."""

    def left_over(columns: Ints) -> float:
        inner = gram[np.ix_(columns, columns)]
        return float(gram[1, 1] - gram[1, columns] @ np.linalg.lstsq(inner, gram[columns, 1], rcond=1e-10)[0])

    controls = np.arange(2 + instruments, len(gram))
    without, with_them = left_over(controls), left_over(np.arange(2, len(gram)))
    return (without - with_them) / instruments / max(with_them / max(rows - len(gram) + 1, 1), 1e-300)


def _jackknife_error(without: Floats, value: float, units: int) -> float:
    return float(np.sqrt((units - 1) / units * np.nansum((without - value) ** 2))) if units > 1 else np.inf
