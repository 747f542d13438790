"""Folds, held-out rows and resampling units: whole series, or blocks in time where there are fewer than ten series.

Products of an assortment are no sample of other products: their policies are cross-fitted, and their gains resampled,
in blocks in time that all products share, so that a common shock falls into one block.

Cross-validation of a regression and its bootstrap use `hold_out`; cross-fitting of policies uses `cross_fit_folds`; the
intervals of an evaluation (jackknife) use `units_of`.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from lostsales.data.assortment import is_assortment, is_shop
from lostsales.data.labels import spelled
from lostsales.data.log import SalesLog
from lostsales.types import Array, Bools, Floats, Ints

FOLDS = 5  # of cross-validation
# With fewer series, folds and resampling units are blocks in time.
FEW_SERIES = 10
BLOCK_PERIODS = 10  # shortest block in time that is resampled as a unit
LEAST_BLOCKS = 5  # of an assortment, however short it is
BY_SERIES, BY_GROUPS, BY_BLOCKS = "series", "groups of series", "blocks in time"

FoldMasks = list[tuple[Bools, Bools]]  # (test, train) masks, one pair a fold


@dataclass(frozen=True, eq=False)
class Holdout:
    """Held-out rows: for each, rows with a clock in [lower, upper) of its own must not be used."""

    clock: Ints  # (rows,)
    lower: Ints  # (rows,)
    upper: Ints  # (rows,)
    unit: Ints  # (rows,) what a bootstrap draws together
    units: int
    by: str  # "series" or "blocks in time"


def hold_out(log: SalesLog, gap: int, by_blocks: bool = False) -> Holdout:
    """Five folds of whole series; below ten series five blocks in time, with a `gap` of periods around each.

    If each series has a law of its own, whose rows no other series replaces, blocks are asked for (`by_blocks`).
    """
    series = len(log.names)
    if series >= FEW_SERIES and not by_blocks:
        fold = log.series % FOLDS
        return Holdout(fold, fold, fold + 1, log.series, series, BY_SERIES)
    place = _place(log)
    length = int(place.max()) + 1
    edges = np.linspace(0, length, FOLDS + 1).astype(np.int64)
    block = np.searchsorted(edges[1:], place, side="right")
    blocks = -(-length // BLOCK_PERIODS)
    unit = log.series * blocks + place // BLOCK_PERIODS
    return Holdout(place, edges[block] - gap, edges[block + 1] + gap, unit, series * blocks, BY_BLOCKS)


def folds_of(holdout: Holdout, rows: Ints) -> FoldMasks:
    """(test, train) masks of some rows of the log, one pair a fold."""
    lower, upper, clock = holdout.lower[rows], holdout.upper[rows], holdout.clock[rows]
    spans = np.unique(np.column_stack([lower, upper]), axis=0)
    return [((lower == a) & (upper == b), ~((clock >= a) & (clock < b))) for a, b in spans]


def resample_counts(units: int, replicates: int, seed: int) -> Floats:
    """Number of times each unit is drawn in each bootstrap sample, (replicates, units)."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(units, np.full(units, 1 / units), size=replicates).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows that one cross-fitted policy is not fitted to."""

    held_out: Bools  # (rows,) of the log, the gap around a block included
    names: tuple[str, ...]  # the series that the policy decides for; none where folds are blocks in time
    ends: Any = None  # first period after the block, where all series share the calendar


def cross_fit_folds(log: SalesLog, seed: int, gap: int, count: int = FOLDS) -> tuple[list[Fold], str]:
    """Folds for cross-fitting: whole series drawn at random, or blocks in time with a `gap` around.

    Blocks are taken below ten series, and of an assortment: a product is decided by what was learned from it.
    """
    names = np.unique(log.names.astype(str))
    if len(names) >= FEW_SERIES and not is_assortment(log):
        drawn = np.random.default_rng(seed).permutation(names)
        own = log.names.astype(str)[log.series]
        folds = [tuple(drawn[number::count].tolist()) for number in range(count)]
        return [Fold(np.isin(own, fold), fold) for fold in folds], BY_SERIES
    if is_shop(log):
        periods, at = np.unique(log.period, return_inverse=True)
        bounds = [len(periods) * number // count for number in range(count + 1)]
        ends = [*(periods[each] for each in bounds[1:-1]), None]
        blocks = [(at.reshape(-1) >= low - gap) & (at.reshape(-1) < high + gap) for low, high in pairwise(bounds)]
        return [Fold(near, (), end) for near, end in zip(blocks, ends, strict=True)], BY_BLOCKS
    lengths = np.diff(np.r_[log.starts, len(log)])[log.series]
    place = _place(log)
    edges = [lengths * number // count for number in range(count + 1)]
    near = [(place >= low - gap) & (place < high + gap) for low, high in pairwise(edges)]
    return [Fold(each, ()) for each in near], BY_BLOCKS


@dataclass(frozen=True, eq=False)
class ResamplingUnits:
    """Units of resampling: series, groups of them if they are many, blocks in time if they are few."""

    of_row: Ints  # (rows,)
    names: Array  # (units,)
    by: str

    def __len__(self) -> int:
        return len(self.names)

    def mean(self, values: Floats, weight: Floats | None = None) -> Floats:
        """Contributions to the weighted mean over rows, one a unit: the mean plus the unit's linearised influence.

        For units of one length these are their own means; for others they are those of the linearised ratio.
        """
        weight = np.ones(len(values)) if weight is None else weight
        count = np.bincount(self.of_row, weight, len(self))
        total = np.bincount(self.of_row, weight * values, len(self))
        mean = total.sum() / count.sum()
        return np.asarray(mean + len(self) * (total - count * mean) / count.sum())

    def left_out(self, value: float, without: Floats) -> Floats:
        """Contributions to a value that is `without[u]` where unit u is left out (a grouped jackknife)."""
        share = np.bincount(self.of_row, minlength=len(self)) / len(self.of_row)
        moved = len(self) * (1 - share) * (value - without)
        return np.asarray(value + moved - moved.mean())


def units_of(log: SalesLog, most: int) -> ResamplingUnits:
    """Resampling units of about equal size, at most `most`."""
    if is_assortment(log):
        return _blocks_of_calendar(log, most)
    series = len(log.names)
    if series >= FEW_SERIES:
        if series <= most:
            return ResamplingUnits(log.series, log.names, BY_SERIES)
        names = np.array([f"group {number + 1}" for number in range(most)], dtype=object)
        return ResamplingUnits(log.series % most, names, BY_GROUPS)
    place = _place(log)
    longest = int(place.max()) + 1
    periods = max(BLOCK_PERIODS, -(-longest * series // most))
    key, unit = np.unique(log.series * longest + place // periods, return_inverse=True)
    blocks = [f"{log.names[each // longest]}, block {each % longest + 1}" for each in key]
    return ResamplingUnits(unit.reshape(-1), np.array(blocks, dtype=object), BY_BLOCKS)


def _blocks_of_calendar(log: SalesLog, most: int) -> ResamplingUnits:
    """Blocks of successive periods with about as many rows each, whatever their series."""
    periods, at = np.unique(log.period, return_inverse=True)
    blocks = min(max(len(periods) // BLOCK_PERIODS, min(LEAST_BLOCKS, len(periods))), most)
    rows = np.bincount(at.reshape(-1))
    middle = np.cumsum(rows) - rows / 2
    block = np.minimum((middle * blocks / len(log)).astype(np.int64), blocks - 1)
    kept, block = np.unique(block, return_inverse=True)
    ends = np.searchsorted(block, np.arange(len(kept)), side="right") - 1
    starts = np.r_[0, ends[:-1] + 1]
    names = [f"{spelled(periods[start])} to {spelled(periods[end])}" for start, end in zip(starts, ends, strict=True)]
    return ResamplingUnits(block[at.reshape(-1)], np.array(names, dtype=object), BY_BLOCKS)


def _place(log: SalesLog) -> Ints:
    """Periods since the start of each row's series, (rows,)."""
    return np.arange(len(log)) - log.starts[log.series]
