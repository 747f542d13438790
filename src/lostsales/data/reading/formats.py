"""Formats that text seems to have: those of a whole table, and the keys of a problem that would read a column."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from itertools import product
from typing import NamedTuple

import numpy as np

from lostsales.data.format import Format
from lostsales.data.reading.cells import Texts
from lostsales.data.reading.text import as_moment, as_number, is_missing, number_pattern

ENOUGH = 0.95  # share of the texts that must fit a format: a few cells of any table are damaged
# Decimal sign and mark between thousands, the simplest first.
_MARKS = ((".", None), (",", None), (",", "."), (".", ","), (",", " "), (".", "'"), (".", " "), (",", "'"))
_ORDERS = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d", "%d{0}%m{0}%y", "%m{0}%d{0}%y")
_DAYS = tuple(order.format(mark) for order, mark in product(_ORDERS, ("/", ".", "-", " ")))
_NAMED = ("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%d %B %Y", "%b %d %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M:%S %p", " %I:%M %p")
_MONTHS = (
    *(order.format(mark) for order, mark in product(("%m{0}%Y", "%Y{0}%m"), ("/", ".", "-", " "))),
    *("%b %Y", "%B %Y", "%b-%Y", "%b-%y", "%b %y"),
)
ISO_WEEK = "%G-W%V"  # its Monday; Python needs the day
DATE_FORMATS = (*(day + time for time in _TIMES for day in (*_DAYS, *_NAMED)), *_MONTHS, f"{ISO_WEEK}-%u", ISO_WEEK)
_ISO = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?)?")
_AROUND = re.compile(r"^[+-]?\s*([^\d\s,'+-]+?)\s*[+-]?\.?\d|\d\s*([^\d\s,'+-]+)$")
_CURRENCIES = re.compile(
    "EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|HUF|JPY|CNY|INR|AUD|CAD|NZD|BRL|MXN|ZAR|TRY|KRW|kr[.]?|Fr[.]?|Rs[.]?|zł|Kč|Ft|лв|RM"
)
_LOOKED_AT = 1_000  # different texts in which a currency is looked for: bounds time
_SAMPLE = 20  # different texts on which formats of dates are tried first: bounds time


class NumberFormat(NamedTuple):
    """The format of all numbers of a table."""

    written: Format
    other: Format | None  # fits as well but reads other numbers

    def reads(self, texts: list[str]) -> bool:
        """True if nearly all texts are numbers in this format."""
        return _share(self.written, texts) >= ENOUGH


def number_format(columns: Iterable[list[str]], european: bool) -> NumberFormat:
    """The simplest format that reads the most columns of text as numbers.

    If "1.234" could be a thousand or a little more than one, a table that looks `european` in other ways decides.

    >>> number_format([["1.234,50 €", "7,00 €"], ["12", "3"]], european=True).written.model_dump(exclude={"dates"})
    {'decimal': ',', 'thousands': '.', 'currency': '€'}
    """
    amounts = [[(_currency(text) or "", text) for text in column] for column in columns]
    bare = [[text.replace(sign, "").strip() if sign else text for sign, text in column] for column in amounts]
    formats = [Format(decimal=decimal, thousands=mark) for decimal, mark in _MARKS]
    readable = [sum(_share(each, column) >= ENOUGH for column in bare) for each in formats]
    tied = [each for each, count in zip(formats, readable, strict=True) if count == max(readable)]
    best, other = tied[0], None
    numeric = [at for at, column in enumerate(bare) if _share(best, column) >= ENOUGH]
    rival = Format(decimal="," if best.decimal == "." else ".", thousands=best.decimal)
    signs = {sign for at in numeric for text in bare[at] for sign in text}
    if best.thousands is None and best.decimal in signs and rival in tied:
        # Every fraction has three digits: rare in prices, usual between thousands and hundreds.
        best, other = (rival, best) if european or best.decimal == "," else (best, rival)
    numeric = [at for at, column in enumerate(bare) if _share(best, column) >= ENOUGH]
    currencies = Counter(sign for at in numeric for sign, _ in amounts[at] if sign)
    currency = currencies.most_common(1)[0][0] if currencies else None
    return NumberFormat(best.model_copy(update={"currency": currency}), other)


def is_iso(texts: list[str]) -> bool:
    """True if nearly all texts are ISO dates, which need no declaration."""
    return bool(texts) and sum(_ISO.fullmatch(text) is not None for text in texts) >= ENOUGH * len(texts)


def date_formats(texts: list[str]) -> list[str]:
    """The formats that nearly all texts have, the one with the most regular steps first.

    >>> date_formats(["01/02/2024", "01/09/2024", "01/16/2024"]), date_formats(["31.12.2024"])
    (['%m/%d/%Y'], ['%d.%m.%Y'])
    """
    found = {}
    for each in DATE_FORMATS if texts and re.search(r"\d", texts[0]) else ():
        if not any(_moment(text, each) for text in texts[:3]):
            continue
        moments = [moment for text in texts if (moment := _moment(text, each))]
        if len(moments) >= ENOUGH * len(texts):
            found[each] = _regularity(moments)
    return sorted(found, key=lambda each: -found[each])


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
    formats = [
        each for each in DATE_FORMATS if sum(_moment(date, each) is not None for date in unread) * 2 >= len(unread) > 0
    ]
    best = _best(texts, [as_moment(text, Format(dates=each)) for each in formats], as_moment(text, written))
    return _advice([Format(dates=formats[each]) for each in best[:2]])


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


def _currency(text: str) -> str | None:
    """Currency before or after the digits of a text, if there is one."""
    found = _AROUND.search(text.strip())
    sign = (found[1] or found[2]) if found else ""
    is_sign = len(sign) <= 4 and any(unicodedata.category(each) == "Sc" for each in sign)
    return sign if is_sign or _CURRENCIES.fullmatch(sign) else None


def _share(written: Format, texts: list[str]) -> float:
    pattern = re.compile(number_pattern(written))
    return sum(pattern.fullmatch(text) is not None for text in texts) / len(texts) if texts else 0.0


def _moment(text: str, form: str) -> datetime | None:
    text = text.strip()
    if form == ISO_WEEK:
        text, form = f"{text}-1", f"{form}-%u"
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None


def _regularity(moments: list[datetime]) -> float:
    """Share of the steps between different moments that have the usual length; months and quarters count as equal."""
    days = np.unique(np.array(moments, dtype="datetime64[D]"))
    if len(days) < 3:
        return 0.0
    steps = np.diff(days).astype(int)
    steps = np.where((steps >= 28) & (steps <= 31), 30, steps)
    return float(np.unique(steps, return_counts=True)[1].max() / len(steps))
