"""Formats of numbers and dates in text: decimal sign, thousands, currency, order of day and month."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import NamedTuple

import numpy as np

ENOUGH = 0.95  # share of the values that must fit a format
MISSING = frozenset(("na", "n/a", "#n/a", "nan", "null", "none", "-", "--", "?", ".", "nil"))
CURRENCY = r"(?:R\$|US\$|[€$£¥₹₽₺₩]|kr\.?|zł|Kč|Ft|EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|JPY|INR|BRL)"
_AMOUNT = re.compile(rf"(?P<sign>[+-]?)(?:(?P<before>{CURRENCY})\s*)?(?P<digits>.*?)(?:\s*(?P<after>{CURRENCY}))?")
_ISO = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?)?")
_DAYS = (
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%y", "%d/%m/%y",
    "%m/%d/%y", "%d-%m-%y", "%m-%d-%y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y",
    "%b %d %Y", "%Y-%m-%d",
)  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_MONTHS = ("%m/%Y", "%m.%Y", "%m-%Y", "%b %Y", "%B %Y", "%b-%Y", "%b-%y", "%b %y", "%Y/%m", "%Y.%m")
ISO_WEEK = "%G-W%V"  # its Monday; Python needs the day
DATE_FORMATS = (*(day + time for time, day in product(_TIMES, _DAYS)), *_MONTHS, ISO_WEEK)


class NumberStyle(NamedTuple):
    """A decimal sign and a sign between groups of three digits."""

    decimal: str
    thousands: str | None

    def reads(self, digits: str) -> bool:
        """True if a text is a number in this style."""
        point, group = re.escape(self.decimal), re.escape(self.thousands or "")
        whole = rf"(?:\d+|\d{{1,3}}(?:{group}\d{{3}})+)" if self.thousands else r"\d+"
        return re.fullmatch(rf"(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?", digits) is not None


PLAIN = NumberStyle(".", None)
STYLES = (
    PLAIN, NumberStyle(",", None), NumberStyle(",", "."), NumberStyle(".", ","), NumberStyle(",", " "),
    NumberStyle(",", "\u00a0"), NumberStyle(",", "\u202f"), NumberStyle(".", "'"), NumberStyle(".", "\u2019"),
    NumberStyle(".", " "),
)  # fmt: skip


@dataclass(frozen=True)
class NumberFormat:
    """The style of all numbers of a table."""

    style: NumberStyle
    currency: str | None
    other: NumberStyle | None  # fits as well but reads other numbers

    @property
    def is_plain(self) -> bool:
        """True if nothing has to be declared."""
        return self.style == PLAIN and self.currency is None


def number_format(columns: Iterable[list[str]], european: bool) -> NumberFormat:
    """The simplest style that reads the most columns of text as numbers.

    Where "1.234" could be a thousand or a little more than one, a table that looks `european` in other ways decides.

    >>> found = number_format([["1.234,50 €", "7,00 €"], ["12", "3"]], european=True)
    >>> found.style.decimal, found.style.thousands, found.currency
    (',', '.', '€')
    """
    texts = [[_amount(text) for text in column] for column in columns]
    readable = [sum(_share(style, column) >= ENOUGH for column in texts) for style in STYLES]
    tied = [style for style, count in zip(STYLES, readable, strict=True) if count == max(readable)]
    best, other = tied[0], None
    signs = {sign for column in texts if _share(best, column) >= ENOUGH for digits, _ in column for sign in digits}
    rival = NumberStyle("," if best.decimal == "." else ".", best.decimal)
    if best.thousands is None and best.decimal in signs and rival in tied:
        # Every fraction has three digits: rare in prices, usual between thousands and hundreds.
        best, other = (rival, best) if european or best.decimal == "," else (best, rival)
    numeric = [column for column in texts if _share(best, column) >= ENOUGH]
    currencies = Counter(currency for column in numeric for _, currency in column if currency)
    return NumberFormat(best, currencies.most_common(1)[0][0] if currencies else None, other)


def is_number(texts: list[str], found: NumberFormat) -> bool:
    """True if nearly all texts are numbers in a format."""
    return bool(texts) and _share(found.style, [_amount(text) for text in texts]) >= ENOUGH


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
            found[each] = regularity(moments)
    return sorted(found, key=lambda each: -found[each])


def regularity(moments: list[datetime]) -> float:
    """Share of the steps between different moments that have the usual length; months and quarters count as equal."""
    days = np.unique(np.array(moments, dtype="datetime64[D]"))
    if len(days) < 3:
        return 0.0
    steps = np.diff(days).astype(int)
    steps = np.where((steps >= 28) & (steps <= 31), 30, steps)
    return float(np.unique(steps, return_counts=True)[1].max() / len(steps))


def _moment(text: str, form: str) -> datetime | None:
    if form == ISO_WEEK:
        text, form = f"{text}-1", f"{form}-%u"
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None


def _amount(text: str) -> tuple[str, str | None]:
    """The digits of an amount and its currency."""
    found = _AMOUNT.fullmatch(text.strip())
    return (text, None) if found is None else (found["digits"], found["before"] or found["after"])


def _share(style: NumberStyle, column: list[tuple[str, str | None]]) -> float:
    return sum(style.reads(digits) for digits, _ in column) / len(column) if column else 0.0
