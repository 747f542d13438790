"""Hints on text that cannot be read: what it looks like, and which keys of the problem would read it."""

import json
import re
import unicodedata
from datetime import datetime
from itertools import product

from lostsales.data.format import Format
from lostsales.data.reading.cells import Texts
from lostsales.data.reading.text import as_moment, as_number, is_missing

_MARKS = ((".", None), (",", None), (".", ","), (",", "."), (".", "'"), (",", " "), (".", " "), (",", "'"))
_ORDERS = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d", "%d{0}%m{0}%y", "%m{0}%d{0}%y", "%m{0}%Y", "%Y{0}%m")
_DATES = tuple(order.format(mark) for order, mark in product(_ORDERS, ("/", ".", "-", " ")))
_NAMED = ("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%d %B %Y", "%b %Y", "%B %Y", "%b-%y", "%b-%Y")
_WEEKS = ("%G-W%V-%u",)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M:%S %p", " %I:%M %p")
_AROUND = re.compile(r"^[+-]?\s*([^\d\s,'+-]+?)\s*[+-]?\.?\d|\d\s*([^\d\s,'+-]+)$")
_CURRENCIES = re.compile(
    "EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|HUF|JPY|CNY|INR|AUD|CAD|NZD|BRL|MXN|ZAR|TRY|KRW|kr[.]?|Fr[.]?|Rs[.]?|zł|Kč|Ft|лв|RM"
)
_LOOKED_AT = 1_000  # different texts in which a currency is looked for
_SAMPLE = 20  # different texts on which formats of dates are tried first


def number_hint(texts: Texts, written: Format) -> str:
    """The declaration that reads the numbers of a column, or both where two would; empty where none does."""
    text = texts.expression
    if declared := _declaration(written.model_copy(update={"dates": ()})):
        return f"it is not as declared, [format] {declared}"
    unread = texts.some(f"NOT {is_missing(text)} AND {as_number(text, written)} IS NULL", _LOOKED_AT)
    currency = next(filter(None, map(_currency, unread)), None)
    candidates = [Format(decimal=decimal, thousands=mark, currency=currency) for decimal, mark in _MARKS]
    best = _best(texts, [as_number(text, each) for each in candidates], as_number(text, written))
    chosen = [candidates[each] for each in best]
    # Of those that read equally many, one with fewer marks; a comma alone may be a decimal or between thousands.
    plain = [each for each in chosen if each.thousands is None][:1]
    if plain and plain[0].decimal == ",":
        plain += [each for each in chosen if each.thousands == "," and each.decimal == "."]
    return _advice(plain or chosen[:1])


def date_hint(texts: Texts, written: Format) -> str:
    """The declaration that reads the dates of a column, or both where day and month could be either."""
    text = texts.expression
    unread = texts.some(f"NOT {is_missing(text)} AND {as_moment(text, written)} IS NULL", _SAMPLE)
    formats = [f"{day}{time}" for time in _TIMES for day in (*_DATES, *_NAMED)] + list(_WEEKS)
    formats = [each for each in formats if sum(_fits(date, each) for date in unread) * 2 >= len(unread) > 0]
    best = _best(texts, [as_moment(text, Format(dates=each)) for each in formats], as_moment(text, written))
    return _advice([Format(dates=formats[each]) for each in best[:2]])


def _fits(text: str, date_format: str) -> bool:
    try:
        datetime.strptime(text.strip(), date_format)
    except ValueError:
        return False
    return True


def _currency(text: str) -> str | None:
    """Currency before or after the digits of a text, if there is one."""
    found = _AROUND.search(text.strip())
    sign = (found[1] or found[2]) if found else ""
    is_sign = len(sign) <= 4 and any(unicodedata.category(each) == "Sc" for each in sign)
    return sign if is_sign or _CURRENCIES.fullmatch(sign) else None


def _best(texts: Texts, readings: list[str], now: str) -> list[int]:
    """Readings that read the most texts, if those are most of what cannot be read now."""
    present, read_now, *counts = texts.counts(
        f"CASE WHEN NOT {is_missing(texts.expression)} THEN 1 END", now, *readings
    )
    most = max(counts, default=0)
    if most <= read_now or (present - most) * 2 > present - read_now:
        return []
    return [index for index, count in enumerate(counts) if count == most]


def _advice(choices: list[Format]) -> str:
    declared = list(map(_declaration, choices))
    if not declared:
        return ""
    advice = f"declare [format] {declared[0]}"
    return advice if len(declared) == 1 else f"{advice}, or [format] {declared[1]}: it can be read both ways"


def _declaration(written: Format) -> str:
    """The keys of the table [format] that are not at their defaults."""
    keys = written.model_dump(exclude_defaults=True, exclude_none=True)
    return ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items())
