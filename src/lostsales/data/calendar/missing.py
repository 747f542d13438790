"""The periods that are missing between the rows of a series."""

from dataclasses import dataclass

import numpy as np

from lostsales.types import Bools, Ints

MOST_GIVEN = 366  # periods in a row that may be given as closed
MOST_A_ROW = 50  # missing periods


@dataclass(frozen=True, eq=False)
class Missing:
    """Every missing period of the gaps that are not too long, gap by gap."""

    row: Ints  # (gaps,) the row before each gap
    length: Ints  # (gaps,) missing periods
    gap: Ints  # (missing,)
    series: Ints  # (missing,)
    position: Ints  # (missing,)

    @classmethod
    def between(cls, codes: Ints, position: Ints, most: int) -> "Missing":
        """Of rows in order of series and period; gaps of `most` and more missing periods are left out.

        Of moments that lie far apart (receipts by the minute) there would be too many: then no gap is looked at.
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
        """Those of some gaps."""
        kept = gaps[self.gap]
        renumbered = (np.cumsum(gaps) - 1)[self.gap[kept]]
        return Missing(self.row[gaps], self.length[gaps], renumbered, self.series[kept], self.position[kept])

    def all_of_gap(self, holds: Bools) -> Bools:
        """Gaps for all of whose missing periods something holds, (gaps,)."""
        return np.asarray(np.bincount(self.gap, ~holds, minlength=len(self.row)) == 0)
