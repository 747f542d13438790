"""Products of a log: the segments of one name, since a gap in the periods splits a series into segments."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lostsales.types import Array, Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Products:
    """The products of a log, in the order in which they appear."""

    names: Array  # (products,) text
    of_segment: Ints  # (segments,)
    of_row: Ints  # (rows,)

    @classmethod
    def of_segments(cls, segment_names: Array, segment_of_row: Ints) -> "Products":
        """Group segments by their product's name, in the order of appearance."""
        names, first, code = np.unique(segment_names.astype(str), return_index=True, return_inverse=True)
        place = np.argsort(np.argsort(first))
        of_segment = np.asarray(place[code.reshape(-1)])
        return cls(names[np.argsort(first)].astype(object), of_segment, of_segment[segment_of_row])

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def first_segment(self) -> Ints:
        """First segment of each product, (products,)."""
        return np.unique(self.of_segment, return_index=True)[1]

    def counts(self, kept: Bools | None = None) -> Floats:
        """Rows of each product, or those that are kept, (products,)."""
        return np.bincount(self.of_row, kept, len(self)).astype(np.float64)

    def means(self, values: Floats, kept: Bools | None = None) -> Floats:
        """The mean over the rows of each product, or over those kept where it has any, (products,)."""
        return means_by_group(values, self.of_row, len(self), kept)


def means_by_group(values: Floats, group: Ints, groups: int, kept: Bools | None = None) -> Floats:
    """Means of values over groups, over all of a group where none of it is kept, (groups,).

    >>> means_by_group(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1]), 2, np.array([False, True, False]))
    array([3., 5.])
    """
    count, total = np.bincount(group, minlength=groups), np.bincount(group, values, groups)
    mean = total / np.maximum(count, 1)
    if kept is None:
        return np.asarray(mean)
    some, part = np.bincount(group, kept, groups), np.bincount(group, values * kept, groups)
    return np.where(some > 0, part / np.maximum(some, 1), mean)


def medians_by_group(values: Floats, group: Ints, groups: int) -> Floats:
    """Lower median of the values of each group, 0 where it has none, (groups,).

    >>> medians_by_group(np.array([1.0, 3.0, 5.0, 2.0]), np.array([0, 0, 0, 2]), 3)
    array([3., 0., 2.])
    """
    order, rows = np.lexsort((values, group)), np.bincount(group, minlength=groups)
    middle = np.cumsum(rows) - rows + (rows - 1) // 2
    return np.where(rows > 0, np.r_[values[order], 0.0][np.clip(middle, 0, len(order))], 0.0)
