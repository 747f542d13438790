"""What is held out and resampled together: whole series, or blocks in time where there are too few."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.types import Bools, Floats, Ints

FOLDS = 5
# With fewer series than this, folds and resamples are contiguous blocks in time.
FEW_SERIES = 10
BLOCK_PERIODS = 10


@dataclass(frozen=True, eq=False)
class Holdout:
    """For a row held out, rows with a clock in [lower, upper) of its own must not be used."""

    clock: Ints  # (rows,)
    lower: Ints  # (rows,)
    upper: Ints  # (rows,)
    unit: Ints  # (rows,) what a bootstrap draws together
    units: int
    by: str  # "series" or "blocks in time"


def hold_out(log: SalesLog, gap: int) -> Holdout:
    """Five folds of whole series; below ten series five blocks in time, with a `gap` of periods around each."""
    series = len(log.names)
    if series >= FEW_SERIES:
        fold = log.series % FOLDS
        return Holdout(fold, fold, fold + 1, log.series, series, "series")
    place = np.arange(len(log)) - log.starts[log.series]
    length = int(place.max()) + 1
    edges = np.linspace(0, length, FOLDS + 1).astype(np.int64)
    block = np.searchsorted(edges[1:], place, side="right")
    blocks = -(-length // BLOCK_PERIODS)
    unit = log.series * blocks + place // BLOCK_PERIODS
    return Holdout(place, edges[block] - gap, edges[block + 1] + gap, unit, series * blocks, "blocks in time")


def resample_counts(units: int, replicates: int, seed: int) -> Floats:
    """How often each unit is drawn in each bootstrap sample, (replicates, units)."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(units, np.full(units, 1 / units), size=replicates).astype(np.float64)


def folds_of(holdout: Holdout, rows: Ints) -> list[tuple[Bools, Bools]]:
    """(test, train) masks over some rows."""
    lower, upper, clock = holdout.lower[rows], holdout.upper[rows], holdout.clock[rows]
    spans = np.unique(np.column_stack([lower, upper]), axis=0)
    return [((lower == a) & (upper == b), ~((clock >= a) & (clock < b))) for a, b in spans]
