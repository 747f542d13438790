"""Contents of each column of a sample: numbers, flags, dates or text, and their format."""

import re
from dataclasses import dataclass
from typing import Literal

from lostsales.data.proposal.formats import (
    CURRENCY,
    MISSING,
    NumberFormat,
    date_formats,
    is_iso,
    is_number,
    number_format,
)
from lostsales.data.proposal.sample import Sample
from lostsales.data.reading.files import NUMBERS

MOST_VALUES = 2_000  # different texts of a column that are looked at
FLAGS = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"}, {"0", "1"})
COMPACT_DATES = {"%Y%m%d": (1900_01_01, 2100_12_31), "%Y%m": (1900_01, 2100_12)}

Kind = Literal["number", "flag", "date", "text", "list", "empty"]


@dataclass(frozen=True)
class Column:
    """A column of a sample."""

    name: str
    kind: Kind
    sql: str  # its values as DOUBLE, BOOLEAN, TIMESTAMP or VARCHAR
    present: int  # rows with a value
    unread: int  # of these, rows whose value is not of the kind
    distinct: int
    lowest: float | None  # of numbers
    highest: float | None
    is_whole: bool  # all numbers are whole
    examples: tuple[str, ...]
    dates: tuple[str, ...] = ()  # formats that its dates can have, the likeliest first; none where they are ISO
    compact_dates: str | None = None  # the format that whole numbers such as 20260301 have as dates

    @property
    def is_flag(self) -> bool:
        """True if the column has the two values of a flag, as words or as 0 and 1."""
        two = self.kind == "number" and self.is_whole and self.lowest == 0 and self.highest == 1
        return (self.kind == "flag" or two) and self.unread == 0

    @property
    def may_be_flag(self) -> bool:
        """True if the column can be a flag: it is one, or has only one of the two values."""
        return self.is_flag or (self.kind == "number" and self.lowest == self.highest and self.lowest in (0, 1))

    @property
    def is_amount(self) -> bool:
        """True if the column holds numbers that are not all negative."""
        return self.kind == "number" and self.highest is not None and self.highest >= 0

    @property
    def shown(self) -> str:
        """A few values."""
        return ", ".join(map(repr, self.examples[:3]))

    @property
    def range(self) -> str:
        """Number of different values, with the lowest and the highest."""
        if self.lowest is None or self.highest is None or self.distinct == 1:
            return f"always {self.shown}"
        return f"{self.distinct:,} different values, {self.lowest:g} to {self.highest:g}"


@dataclass(frozen=True)
class Profile:
    """The columns of a sample by name, and the format of its numbers."""

    columns: dict[str, Column]
    numbers: NumberFormat


def profile(sample: Sample) -> Profile:
    """Look at every column."""
    texts = {
        name: _texts(sample, sql)
        for name, (sql, kind) in sample.kinds.items()
        if kind in ("text", "VARCHAR") or kind.startswith("ENUM")
    }
    dated = {name: _date_formats(found) for name, found in texts.items()}
    european = any(form.startswith("%d.%m") for forms in dated.values() for form in forms or ())
    numbers = number_format((found for name, found in texts.items() if found and dated[name] is None), european)
    columns = {}
    for name, (sql, kind) in sample.kinds.items():
        if name in texts:
            columns[name] = _text_column(sample, name, sql, texts[name], dated[name], numbers)
        else:
            columns[name] = _typed_column(sample, name, sql, kind)
    return Profile(columns, numbers)


def _texts(sample: Sample, sql: str) -> list[str]:
    text = f"trim(CAST({sql} AS VARCHAR))"
    distinct = f"SELECT DISTINCT {text} AS value FROM log WHERE {sql} IS NOT NULL AND {text} <> '' LIMIT {MOST_VALUES}"
    return [value for (value,) in sample.query(distinct) if value.lower() not in MISSING]


def _date_formats(texts: list[str]) -> tuple[str, ...] | None:
    """None where the texts are no dates, none at all where they are ISO dates."""
    if is_iso(texts):
        return ()
    return tuple(date_formats(texts)) or None


def _text_column(
    sample: Sample, name: str, sql: str, texts: list[str], dates: tuple[str, ...] | None, numbers: NumberFormat
) -> Column:
    bare = f"nullif(trim(CAST({sql} AS VARCHAR)), '')"
    if not texts:
        return Column(name, "empty", bare, 0, 0, 0, None, None, is_whole=False, examples=())
    if dates is not None:
        return _counted(sample, name, "date", bare, as_moment(bare, dates[0] if dates else None), dates)
    words = {text.lower() for text in texts}
    if words in FLAGS[:-1] or (len(words) == 1 and words <= FLAGS[0] | FLAGS[1]):
        return _counted(sample, name, "flag", bare, f"TRY_CAST({bare} AS BOOLEAN)")
    if is_number(texts, numbers):
        return _counted(sample, name, "number", bare, as_number(bare, numbers))
    return _counted(sample, name, "text", bare, bare)


def _typed_column(sample: Sample, name: str, sql: str, kind: str) -> Column:
    if kind in NUMBERS or kind.startswith("DECIMAL("):
        return _counted(sample, name, "number", sql, f"CAST({sql} AS DOUBLE)")
    if kind == "BOOLEAN":
        return _counted(sample, name, "flag", sql, sql)
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return _counted(sample, name, "date", sql, f"CAST({sql} AS TIMESTAMP)")
    text = f"CAST({sql} AS VARCHAR)"
    return _counted(sample, name, "list" if kind.endswith("]") or "(" in kind else "text", text, text)


def _counted(sample: Sample, name: str, kind: Kind, raw: str, sql: str, dates: tuple[str, ...] = ()) -> Column:
    limits = f"min({sql}), max({sql}), bool_and({sql} = floor({sql}))" if kind == "number" else "NULL, NULL, false"
    ((present, read, distinct, lowest, highest, whole),) = sample.query(
        f"SELECT count({raw}), count({sql}), count(DISTINCT {sql}), {limits} FROM log"
    )
    head = f"SELECT CAST({raw} AS VARCHAR) AS value FROM log LIMIT 1000"
    shown = sample.query(f"SELECT DISTINCT value FROM ({head}) WHERE value IS NOT NULL ORDER BY value LIMIT 5")
    compact = None
    if kind == "number" and whole and distinct > 1:
        compact = next((form for form in COMPACT_DATES if _is_compact(sample, sql, form, lowest, highest, read)), None)
    return Column(
        name, kind, sql, present, present - read, distinct, lowest, highest, bool(whole),
        tuple(value[:40] for (value,) in shown), dates, compact,
    )  # fmt: skip


def _is_compact(sample: Sample, sql: str, form: str, lowest: float, highest: float, read: int) -> bool:
    """True if whole numbers are dates without separators."""
    first, last = COMPACT_DATES[form]
    if lowest < first or highest > last:
        return False
    text = f"CAST(TRY_CAST({sql} AS BIGINT) AS VARCHAR)"
    return bool(sample.query(f"SELECT count(try_strptime({text}, '{form}')) FROM log")[0][0] == read)


def as_number(text: str, found: NumberFormat) -> str:
    """SQL of the number in a text; NULL where there is none."""
    if found.currency is not None:
        text = f"trim(regexp_replace({text}, '{CURRENCY.replace('(?:', '(')}', '', 'i'))"
    if found.style.thousands is not None:
        text = f"replace({text}, {_quoted(found.style.thousands)}, '')"
    return f"TRY_CAST(replace({text}, {_quoted(found.style.decimal)}, '.') AS DOUBLE)"


def as_moment(text: str, form: str | None) -> str:
    """SQL of the moment in a text, by a format or as ISO writes it; NULL where there is none."""
    if form is not None:
        return f"try_strptime({text}, {_quoted(form)})"
    month = f"regexp_full_match({text}, '\\d{{4}}-\\d{{2}}')"
    return f"TRY_CAST(CASE WHEN {month} THEN {text} || '-01' ELSE {text} END AS TIMESTAMP)"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def is_wide(names: list[str]) -> bool:
    """True if most columns are periods, such as d_1, d_2, ... or 2024-01-01, 2024-01-08, ...

    >>> is_wide(["id", *(f"d_{day}" for day in range(30))]), is_wide(["id", "date", "sales"])
    (True, False)
    """
    periods = [name for name in names if re.fullmatch(r"[A-Za-z]{0,6}[_ -]?\d{1,4}|\d{4}[-/.]\d{2}([-/.]\d{2})?", name)]
    return len(periods) >= 10 and len(periods) > len(names) / 2
