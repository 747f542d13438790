"""Missing periods between the rows of a series."""

from dataclasses import dataclass

import numpy as np

from lostsales.types import Bools, Ints

MOST_GIVEN = 366  # consecutive periods that may be given as closed
MOST_A_ROW = 50  # missing periods per row of the log, beyond which no gap is examined: bounds memory


@dataclass(frozen=True, eq=False)
class Missing:
    """Missing periods of all gaps that are not too long, gap by gap."""

    row: Ints  # (gaps,) the row before each gap
    length: Ints  # (gaps,) missing periods
    gap: Ints  # (missing,)
    series: Ints  # (missing,)
    position: Ints  # (missing,)

    @classmethod
    def between(cls, codes: Ints, position: Ints, most: int) -> "Missing":
        """Find the missing periods of rows sorted by series and period; gaps of `most` or more periods are left out.

        If timestamps are far apart (receipts by the minute) there would be too many: then no gap is examined.
        """
        skipped = np.diff(position) - 1
        row = np.flatnonzero((codes[1:] == codes[:-1]) & (skipped > 0) & (skipped < most))
        row = row if skipped[row].sum() <= MOST_A_ROW * len(codes) + MOST_GIVEN else row[:0]
        length = skipped[row]
        gap = np.repeat(np.arange(len(row)), length)
        within = np.arange(len(gap)) - np.repeat(np.cumsum(length) - length, length)
        before = row[gap]
        return cls(row, length, gap, codes[before], position[before] + 1 + within)

    def some(self, gaps: Bools) -> "Missing":
        """Select gaps."""
        kept = gaps[self.gap]
        renumbered = (np.cumsum(gaps) - 1)[self.gap[kept]]
        return Missing(self.row[gaps], self.length[gaps], renumbered, self.series[kept], self.position[kept])

    def all_of_gap(self, holds: Bools) -> Bools:
        """Gaps in which `holds` is true for every missing period, (gaps,)."""
        return np.asarray(np.bincount(self.gap, ~holds, minlength=len(self.row)) == 0)
