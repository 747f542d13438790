"""Runs of censored periods: how deep each row lies in one."""

import numpy as np

from lostsales.arrays import Bools, Ints


def depth_of_rows(censored: Bools, starts: Ints) -> Ints:
    """Censored periods in a row just before each row, counted from the start of its series.

    >>> depth_of_rows(np.array([True, True, False, True, False]), np.array([0, 3]))
    array([0, 1, 2, 0, 1])
    """
    rows = np.arange(len(censored))
    known = np.where(censored, -1, rows)
    known[starts[1:] - 1] = starts[1:] - 1  # nothing crosses from one series into the next
    last_known = np.maximum.accumulate(known)
    return rows - 1 - np.r_[-1, last_known[:-1]] if len(rows) else rows
