"""Gain of a pilot under every drawn assignment, as the coefficient of the assignment in a least-squares fit.

Both designs share one formula. With outcomes y of units, assignments a and a projection M that removes covariates (in
a split by series the past profit of each series, as CUPED and ANCOVA do; in a switchback the mean of each pair of
blocks), the estimate is a'My / a'Ma (Frisch and Waugh).
"""

import numpy as np

from lostsales.evaluation.pilot.sequential_test import Randomised
from lostsales.types import Bools, Floats

LEAST_UNITS = 4  # series with rows below which nothing is estimated


def centred(values: Floats) -> Floats:
    """Values (series, periods) less the mean of their period, if there are several series; NaN stays.

    >>> centred(np.array([[1.0, np.nan], [3.0, 5.0]])).tolist()
    [[-1.0, nan], [1.0, 0.0]]
    """
    if len(values) < 2:
        return values
    counts = np.isfinite(values).sum(axis=0)
    return np.asarray(values - np.nansum(values, axis=0) / np.maximum(counts, 1))


def mean_so_far(values: Floats) -> Floats:
    """Mean of each series over the periods up to each, (periods, series); NaN before its first row.

    >>> mean_so_far(np.array([[1.0, 3.0], [np.nan, 2.0]])).tolist()
    [[1.0, nan], [2.0, 2.0]]
    """
    total = np.nancumsum(values, axis=1)
    count = np.cumsum(np.isfinite(values), axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).T


def by_series(profit: Floats, past: Floats, draws: Bools, progress: Floats) -> Randomised:
    """Estimates of a split by series at every period of `profit` (series, periods).

    `past` (series,) is the covariate; `draws` (draws, series) are assignments, the observed one first; `progress`
    (periods,) is the share of the planned periods. There is no look before enough series have rows.
    """
    periods = profit.shape[1]
    assigned = np.where(np.isfinite(profit), draws[0].astype(np.float64)[:, None], np.nan)
    outcomes, indicators = mean_so_far(centred(profit)), mean_so_far(centred(assigned))
    present = np.isfinite(outcomes)
    enough = present.sum(axis=1) >= LEAST_UNITS
    effect = np.full((periods, len(draws)), np.nan)
    overlap = np.full((periods, len(draws)), np.nan)
    for mask in np.unique(present[enough], axis=0):
        looks = np.flatnonzero((present == mask).all(axis=1) & enough)
        basis = _basis(past[mask])
        own = draws[:, mask].astype(np.float64)
        values = np.concatenate([outcomes[looks], indicators[looks]])[:, mask]
        values = values - (values @ basis) @ basis.T
        size = own.sum(axis=1) - ((own @ basis) ** 2).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(size > 1e-9, (values @ own.T) / size, 0.0)
        effect[looks], overlap[looks] = np.split(found, 2)
    # Missing rows make the observed assignment's own coefficient differ slightly from 1.
    scale = overlap[:, :1]
    kept = enough & (np.abs(np.nan_to_num(scale[:, 0])) > 1e-9)
    return Randomised(effect[kept] / scale[kept], overlap[kept] / scale[kept], progress[kept])


def _basis(past: Floats) -> Floats:
    """Orthonormal basis of the constant and the past, (series, 1 or 2)."""
    spread = past - past.mean()
    columns = [np.ones(len(past))] + ([spread] if np.ptp(past) > 1e-12 * (1 + np.abs(past).max()) else [])
    return np.linalg.qr(np.column_stack(columns))[0]


def by_switches(contrast: Floats, draws: Bools, planned: int) -> Randomised:
    """Estimates of a switchback after every pair of blocks.

    `contrast` (series, pairs) is the mean of the second block less that of the first, NaN where a block has no row;
    `draws` (draws, series, pairs) are True if the second is the new one, the observed assignment first.
    """
    present = np.isfinite(contrast)
    signs = np.where(draws, 1.0, -1.0) * present
    counts = np.maximum(present.sum(axis=0), 1)

    def less_pair_mean(values: Floats) -> Floats:
        """Remove the mean of each pair, unless only one series is left in it."""
        mean = values.sum(axis=-2, keepdims=True) / counts
        return np.asarray(np.where(counts > 1, values - mean, values) * present)

    outcome, observed = less_pair_mean(np.nan_to_num(contrast)), less_pair_mean(signs[0])
    size = np.cumsum((signs * less_pair_mean(signs)).sum(axis=1), axis=1)  # (draws, pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.cumsum((signs * outcome).sum(axis=1), axis=1) / size
        overlap = np.cumsum((signs * observed).sum(axis=1), axis=1) / size
    effect, overlap = (np.where(size > 1e-9, each, 0.0).T for each in (effect, overlap))
    kept = present.any(axis=0) & (size[0] > 1e-9)
    progress = np.arange(1, contrast.shape[1] + 1) / planned
    return Randomised(effect[kept], overlap[kept], progress[kept])
