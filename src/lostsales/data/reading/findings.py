"""Findings against a table, each with the rows that show it."""

from dataclasses import dataclass, field

import numpy as np

from lostsales.data.labels import spelled
from lostsales.errors import LogError
from lostsales.types import Array, Bools, Ints

EXAMPLES = 3


@dataclass
class Findings:
    """All reasons against a table; `series_of` and `period_of` name its rows once they are read."""

    source: str
    reasons: list[str] = field(default_factory=list)
    series_of: tuple[Ints, Array] | None = None  # codes, texts
    period_of: Array | None = None

    def add(self, reason: str) -> None:
        """A reason about the table as a whole."""
        self.reasons.append(reason)

    def check(
        self,
        wrong: Bools,
        wanted: str,
        came: Array | None = None,
        *,
        verb: str = "has",
        among: Array | None = None,
        rows: Ints | None = None,
    ) -> None:
        """Where `wrong`, report what was `wanted` and which value `came`, `among` how many.

        `rows` maps positions to rows of the source.
        """
        count = int(np.count_nonzero(wrong))
        if not count:
            return
        shown = np.flatnonzero(wrong)[:EXAMPLES]
        examples = []
        for position in shown:
            row = int(position if rows is None else rows[position])
            value = "" if came is None else f" {_plain(came[position])}"
            limit = "" if among is None else f" of {_plain(among[position])}"
            examples.append(f"row {row}{self._who(row)} {verb}{value}{limit}")
        more = f" (and {count - len(shown):,} more rows)" if count > len(shown) else ""
        self.reasons.append(f"{wanted}, but {'; '.join(examples)}{more}")

    def _who(self, row: int) -> str:
        parts = []
        if self.series_of is not None and (code := int(self.series_of[0][row])) >= 0:
            parts.append(f"series={self.series_of[1][code]}")
        if self.period_of is not None and (period := self.period_of[row]) == period:
            parts.append(f"period={_plain(period)}")
        return f" ({', '.join(parts)})" if parts else ""

    def raise_if_any(self) -> None:
        """One error with every reason."""
        if self.reasons:
            raise LogError(self.source, tuple(self.reasons))


def _plain(value: object) -> str:
    if isinstance(value, str):
        return repr(value)
    is_fraction = isinstance(value, float | np.floating) and not float(value).is_integer()
    return f"{value:.10g}" if is_fraction else spelled(value)
