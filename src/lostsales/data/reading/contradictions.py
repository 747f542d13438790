"""Records that contradict each other or leave something out, and the safer reading of them."""

from dataclasses import replace

import numpy as np

from lostsales.data.log import AnyLog, SalesLog
from lostsales.types import Bools, exceeds

# Exact sell-outs that no row is recorded as out of stock beside may be chance where they are few.
LEAST_SELLOUTS = 20
LEAST_SELLOUT_SHARE = 0.01  # of the rows
# Zeros are missing where gaps come often, not where a product pauses for a season or years change in week numbers.
LEAST_GAPS = 0.05  # of the rows with a next one
LEAST_MISSING = 0.1  # of the periods within the lives of products
LONGEST_GAP = 7  # periods that a gap counts at most
MOST_ZEROS = 0.01  # of the rows
LEAST_ROWS = 30  # below, missing rows of zero sales are not looked for


def with_stockouts_by(log: SalesLog) -> SalesLog:
    """Log with stock-outs as the problem declares them, or by the stock if the record contradicts it.

    A flag or a time out of stock that is never set while many rows sold all there was would switch censoring off. The
    problem of the result says that the stock tells, so that a few recent rows are read as the log was.
    """
    by, recorded = log.problem.stockouts_by, log.records_stockouts
    if log.stock is None or not recorded or by == "record":
        return noted_sellouts(log)
    if by is None:
        sold_out = int(np.count_nonzero(~exceeds(log.available, log.sales)))
        if log.censored.any() or sold_out < max(LEAST_SELLOUTS, LEAST_SELLOUT_SHARE * len(log)):
            return noted_sellouts(log)
        notes = replace(log.notes, unrecorded_sellouts=sold_out, record_ignored=True)
        log = replace(log, notes=notes, problem=log.problem.model_copy(update={"stockouts_by": "stock"}))
    return replace(log, stockout=None, out_of_stock=None)


def noted_sellouts(log: AnyLog) -> AnyLog:
    """The log that notes how many rows sold all there was and are not recorded as out of stock."""
    if log.stock is None or not log.records_stockouts:
        return log
    sold_out = ~exceeds(log.available, log.sales) & ~log.censored
    return replace(log, notes=replace(log.notes, unrecorded_sellouts=int(np.count_nonzero(sold_out))))


def missing_zeros(log: SalesLog, is_hole: Bools) -> tuple[int, float]:
    """Periods within the lives of products that have no row, and their share; 0 where no zeros seem to be missing.

    `is_hole` (rows - 1,) marks rows that are followed by a gap that is no closing.
    """
    pairs, holes = log.has_next[:-1], int(np.count_nonzero(is_hole))
    zeros = int(np.count_nonzero(log.sales == 0))
    few_gaps = holes < LEAST_GAPS * np.count_nonzero(pairs)
    if len(log) < LEAST_ROWS or not holes or few_gaps or zeros > MOST_ZEROS * len(log):
        return 0, 0.0
    steps = np.diff(log.period).astype(np.int64)
    gaps = np.rint(steps[is_hole] / steps[pairs].min()) - 1
    missing = int(np.minimum(gaps, LONGEST_GAP).sum())
    share = missing / (len(log) + missing)
    return (missing, share) if share >= LEAST_MISSING else (0, 0.0)
