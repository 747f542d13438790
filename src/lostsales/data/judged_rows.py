"""The part of a large log that policies are judged from: some of its series, and of long ones the last periods."""

import numpy as np

from lostsales.data.assortment import is_assortment
from lostsales.data.log import SalesLog
from lostsales.data.sublogs import series_of, without
from lostsales.errors import SettingError
from lostsales.types import Ints

# Part of a larger log is precise enough: intervals are over at most twenty units, and every further row
# takes its time in each of them, and in each fit of a comparison.
EVALUATED_ROWS = 40_000  # default of `evaluate`
COMPARED_ROWS = 20_000  # default of `compare`
QUICK_ROWS = 5_000  # default of quick runs
LEAST_SERIES = 20  # are kept where there are more; long ones are shortened instead
# Of an assortment all products are kept, as each is judged, while this many periods of each can be.
LEAST_PERIODS = 60


def judged_rows(log: SalesLog, most: int, seed: int) -> tuple[SalesLog, tuple[str, ...]]:
    """The log, or a part of at most about `most` rows, and a note that says which."""
    if len(log) <= most:
        return log, ()
    notes = []
    names = np.unique(log.names)  # the parts of a series that a hole splits share a name
    wanted = most // LEAST_PERIODS if is_assortment(log) else most * len(names) // len(log)
    kept = int(np.clip(wanted, min(LEAST_SERIES, len(names)), len(names)))
    if kept < len(names):
        chosen = np.random.default_rng(seed).permutation(names)[:kept]
        log = series_of(log, np.flatnonzero(np.isin(log.names, chosen)))
        notes.append(f"evaluated on {kept:,} of {len(names):,} series, drawn at random")
    if len(log) > most:
        periods = most // kept
        if not periods:
            raise SettingError(f"rows must be at least {kept}, one per series, but {most} came")
        left = _end_of_name(log) - np.arange(len(log))
        log = without(log, left > periods)
        notes.append(f"evaluated on the last {periods:,} periods of each series")
    return log, tuple(notes)


def _end_of_name(log: SalesLog) -> Ints:
    """End of the rows of each row's series, all its parts included, (rows,)."""
    rows = np.arange(len(log))
    name = log.names[log.series]
    last = np.r_[name[1:] != name[:-1], True]
    return np.asarray(np.minimum.accumulate(np.where(last, rows + 1, len(log))[::-1])[::-1])
