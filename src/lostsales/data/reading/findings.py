"""Findings against a table, each with the rows that show it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from lostsales.data.labels import spelled
from lostsales.errors import LogError
from lostsales.types import Array, Bools, Ints

EXAMPLES = 3  # rows shown per finding
SHOWN_CHARACTERS = 200  # characters of a value
MOST_NAMES = 50  # columns


@dataclass
class Findings:
    """All reasons against a table; `series_of` and `period_of` name its rows once they are read."""

    source: str
    place_of: Callable[[int], str] | None = None  # the name of a row in messages; by default its number
    reasons: list[str] = field(default_factory=list)
    series_of: tuple[Ints, Array] | None = None  # codes, texts
    period_of: Array | None = None
    bad_rows: list[tuple[str, Ints]] = field(default_factory=list)  # what was wanted, and the rows that break it

    def place(self, row: int) -> str:
        """The name of a row in messages."""
        return f"row {row}" if self.place_of is None else self.place_of(row)

    def add(self, reason: str) -> None:
        """A reason about the table as a whole."""
        self.reasons.append(reason)

    @property
    def only_rows(self) -> bool:
        """True where every reason is about rows, which can be left out."""
        return len(self.reasons) == len(self.bad_rows)

    def check(
        self,
        wrong: Bools,
        wanted: str,
        came: Array | Callable[[Ints], Array] | None = None,
        *,
        verb: str = "has",
        among: Array | None = None,
        rows: Ints | None = None,
        hint: Callable[[], str] | None = None,
    ) -> None:
        """Report what was `wanted` and which value `came`, `among` how many, in rows that are `wrong`.

        `rows` maps positions to rows of the source; `hint` says what to do.
        """
        found = np.flatnonzero(wrong)
        if not len(found):
            return
        shown = found[:EXAMPLES]
        values = None if came is None else came(shown) if callable(came) else came[shown]
        examples = []
        for index, position in enumerate(shown):
            row = int(position if rows is None else rows[position])
            value = "" if values is None else f" {_plain(values[index])}"
            limit = "" if among is None else f" of {_plain(among[position])}"
            examples.append(f"{self.place(row)}{self._who(row)} {verb}{value}{limit}")
        more = f" (and {len(found) - len(shown):,} more rows)" if len(found) > len(shown) else ""
        advice = "" if hint is None else hint()
        self.reasons.append(f"{wanted}, but {'; '.join(examples)}{more}{advice and f': {advice}'}")
        self.bad_rows.append((wanted, found if rows is None else rows[found]))

    def _who(self, row: int) -> str:
        parts = []
        if self.series_of is not None and (code := int(self.series_of[0][row])) >= 0:
            parts.append(f"series={self.series_of[1][code]}")
        if self.period_of is not None and (period := self.period_of[row]) == period:
            parts.append(f"period={_plain(period)}")
        return f" ({', '.join(parts)})" if parts else ""

    def raise_if_any(self, rows: int = 0) -> None:
        """One error with every reason; where some of `rows` are the problem, with the way to leave them out."""
        if not self.reasons:
            return
        bad = len(np.unique(np.concatenate([found for _, found in self.bad_rows]))) if self.bad_rows else 0
        can_drop = self.only_rows and bad < rows
        advice = f"{bad:,} of {rows:,} rows: repair them, or leave them out with --drop-bad-rows (drop_bad_rows=True)"
        raise LogError(self.source, tuple(self.reasons), advice if can_drop else "", self._bad_series())

    def _bad_series(self) -> dict[str, str]:
        """Reasons against each series with bad rows; none if a reason is about more than named series."""
        if self.series_of is None or not self.only_rows:
            return {}
        (codes, texts), found = self.series_of, dict[str, dict[str, None]]()
        for wanted, rows in self.bad_rows:
            if (codes[rows] < 0).any():
                return {}
            for code in np.unique(codes[rows]).tolist():
                found.setdefault(str(texts[code]), {})[wanted] = None
        return {name: "; ".join(reasons) for name, reasons in found.items()}


def listed(columns: tuple[str, ...]) -> str:
    """Names of columns for a message, not all where there are many.

    >>> listed(("sku", "week"))
    "'sku', 'week'"
    """
    shown = ", ".join(map(repr, columns[:MOST_NAMES])) or "no columns"
    return f"{shown} and {len(columns) - MOST_NAMES:,} more" if len(columns) > MOST_NAMES else shown


class PlainText(str):
    """Text that messages show without quotes."""

    __slots__ = ()


def _plain(value: object) -> str:
    if isinstance(value, PlainText):
        return str(value)
    text = repr(str.__str__(value)) if isinstance(value, str) else _spelled(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."


def _spelled(value: object) -> str:
    try:
        if isinstance(value, date) and getattr(value, "tzinfo", None) is None:
            value = np.datetime64(value, "us")
        is_fraction = isinstance(value, float | np.floating) and not float(value).is_integer()
        return f"{value:.10g}" if is_fraction else spelled(value)
    except Exception:  # noqa: BLE001, an object without a text may raise anything
        return f"a {type(value).__name__}"
