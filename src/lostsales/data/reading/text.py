"""SQL that reads text as numbers, truth values and moments; NULL where a text is none."""

import re

from lostsales.data.format import Format
from lostsales.data.sql_names import quoted

# What is between digits and signs in tables that people write: spaces, those that do not break among them.
_SPACES = " \\t\u00a0\u202f"
_SPACE = f"[{_SPACES}]"
_OFFSET = "(?:Z|[+-](?:0\\d|1[0-4])(?::?[0-5]\\d)?)"  # of the zones that there are
_DAY = "\\d{4}-\\d{2}-\\d{2}"
_MOMENT = f"{_DAY}(?:[ T]\\d{{2}}:\\d{{2}}(?::\\d{{2}}(?:[.]\\d{{1,9}})?)?)?"
# Below this year a format's %Y has read a year of two digits as one of four.
FIRST_YEAR = 1000
# Words for true and false, in pairs.
FLAGS = [
    pair.split()
    for pair in (
        "true false", "yes no", "t f", "y n", "ja nein", "j n", "wahr falsch", "oui non", "vrai faux", "si no",
        "sí no", "sì no", "vero falso", "verdadero falso", "sim não", "sim nao", "verdadeiro falso", "ja nee",
        "waar onwaar",
    )
]  # fmt: skip
_TRUE, _FALSE = (", ".join(sorted({quoted(word) for word in words})) for words in zip(*FLAGS, strict=True))
# Marks that people take for the same.
_ALIKE = {" ": " \u00a0\u202f", "'": "'\u2019"}


def stripped(text: str) -> str:
    """The text without spaces around it; NULL where nothing remains."""
    return f"nullif(trim({text}, E'{_SPACES}'), '')"


def as_number(text: str, written: Format) -> str:
    """The number, also inf; NULL where the text is none, and for nan."""
    bare = stripped(text)
    clean, pattern = bare, number_pattern(written)
    marks = _ALIKE.get(written.thousands or "", written.thousands or "")
    if written.currency is not None:
        clean = f"trim(replace({clean}, {quoted(written.currency)}, ''), E'{_SPACES}')"
        clean = f"regexp_replace({clean}, '^([+-]){_SPACE}+', '\\1')"
    for mark in marks:
        clean = f"replace({clean}, {quoted(mark)}, '')"
    if written.decimal != ".":
        clean = f"replace({clean}, {quoted(written.decimal)}, '.')"
    return f"CASE WHEN regexp_full_match({bare}, {quoted(pattern)}) THEN TRY_CAST({clean} AS DOUBLE) END"


def is_missing(text: str) -> str:
    """True where there is no text, or the text is what libraries write for a missing number."""
    return f"(coalesce(lower({stripped(text)}), 'nan') = 'nan')"


def as_flag(text: str) -> str:
    """1 or 0, as a number or in words; other numbers as they are."""
    bare = f"lower({stripped(text)})"
    words = f"CASE WHEN {bare} IN ({_TRUE}) THEN 1.0 WHEN {bare} IN ({_FALSE}) THEN 0.0 END"
    return f"coalesce({words}, {as_number(text, Format())})"


def as_moment(text: str, written: Format) -> str:
    """The moment in UTC, by the declared formats, else from an ISO date, month or time."""
    bare = stripped(text)
    if written.date_formats:
        return f"coalesce({', '.join(by_date_format(bare, each) for each in written.date_formats)})"
    full = f"regexp_full_match({bare}, "
    return (
        f"CASE WHEN {full}'\\d{{4}}-\\d{{2}}') THEN TRY_CAST({bare} || '-01' AS TIMESTAMP) "
        f"WHEN {full}'{_MOMENT}') THEN TRY_CAST({bare} AS TIMESTAMP) "
        f"WHEN {full}'{_MOMENT}{_OFFSET}') THEN make_timestamp(epoch_us(TRY_CAST({bare} AS TIMESTAMPTZ))) END"
    )


def by_date_format(text: str, date_format: str) -> str:
    """The moment by one format; words such as "infinity", which DuckDB knows as dates, are none."""
    moment = f"make_timestamp(epoch_us(try_strptime({text}, {quoted(date_format)})))"
    return f"CASE WHEN regexp_matches({text}, '\\d') AND year({moment}) >= {FIRST_YEAR} THEN {moment} END"


def number_pattern(written: Format) -> str:
    """Pattern of the numbers in a format, for DuckDB and for Python."""
    decimal = f"[{written.decimal}]"
    digits = "\\d+"
    if written.thousands is not None:
        mark = f"[{re.escape(_ALIKE.get(written.thousands, written.thousands))}]"
        digits = f"(?:\\d+|\\d{{1,3}}(?:{mark}\\d{{3}})+|\\d{{1,2}}(?:{mark}\\d{{2}})+{mark}\\d{{3}})"
    number = f"(?:(?:{digits}(?:{decimal}\\d*)?|{decimal}\\d+)(?:[eE][+-]?\\d+)?|(?i:inf|infinity))"
    if written.currency is None:
        return f"[+-]?{number}"
    sign = re.escape(written.currency)
    before = f"{sign}{_SPACE}*"
    return f"(?:[+-]?{_SPACE}*(?:{before})?{number}|{before}[+-]{number}|[+-]?{number}{_SPACE}*{sign})"
