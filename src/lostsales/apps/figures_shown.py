"""Figures as people read them: on pages, in tables and on charts."""

import math
from dataclasses import dataclass

import numpy as np

from lostsales.types import Floats

MOST_DECIMALS = 6  # beyond which a figure is rounding errors
NO_NUMBER = "-"
NOT_KNOWN = "not known"
ESTIMATORS = {"model": "the demand model", "fqe": "fitted Q-evaluation", "dr": "the doubly robust estimator"}


def number(value: float, digits: int = 3) -> str:
    """A figure for people: thousands apart, no digits beyond what matters.

    >>> number(1234.5), number(0.12345), number(-16.0), number(31.25)
    ('1,234', '0.123', '-16', '31.2')
    """
    if not np.isfinite(value):
        return "-"
    size = abs(value)
    decimals = min(int(digits - 1 - np.floor(np.log10(size))), 6) if 0 < size < 10 ** (digits - 1) else 0
    text = f"{round(value, decimals) + 0.0:,.{decimals}f}"  # adding zero takes the sign off it
    return text.rstrip("0").rstrip(".") if "." in text else text


def numbers(*values: float) -> list[str]:
    """Figures that stand together, all to the same digit.

    >>> numbers(46.02, 43.8, 48.24), numbers(0.5, 0.0)
    (['46.0', '43.8', '48.2'], ['0.500', '0.000'])
    """
    size = max((abs(value) for value in values if np.isfinite(value)), default=0.0)
    decimals = min(max(2 - int(np.floor(np.log10(size))), 0), 6) if size > 0 else 0
    return [f"{round(value, decimals) + 0.0:,.{decimals}f}" if np.isfinite(value) else "-" for value in values]


def exact(values: Floats, like: Floats | None = None) -> list[str]:
    """Numbers with all their decimals, as many for each; with at least as many as numbers that they are `like`.

    >>> exact(np.array([3.5, 4.0])), exact(np.array([3.5, 4.0]), like=np.array([3.49]))
    (['3.5', '4.0'], ['3.50', '4.00'])
    """
    return _texts(values, decimals(values if like is None else np.r_[values, like]))


def rounded(values: Floats) -> list[str]:
    """Computed numbers with two decimals, with fewer where they are large and with more where all are small.

    >>> rounded(np.array([5162.531, 12.0])), rounded(np.array([0.01234, np.nan])), rounded(np.array([136.76, 0.1]))
    (['5163', '12'], ['0.0123', '-'], ['136.8', '0.1'])
    """
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    before = int(np.floor(np.log10(largest))) + 1 if largest > 0 else 1  # digits before the decimal point
    if largest > 0 and before < 0:
        return _texts(values, min(3 - before, MOST_DECIMALS))
    return _texts(values, min(max(4 - before, 0), 2))


def tenths(values: Floats) -> list[str]:
    """Numbers with one decimal.

    >>> tenths(np.array([3.14, np.inf]))
    ['3.1', 'inf']
    """
    return _texts(values, 1)


def percentages(shares: Floats) -> list[str]:
    """Shares as percentages.

    >>> percentages(np.array([0.125, np.nan]))
    ['12.5%', '-']
    """
    return [NO_NUMBER if each != each else f"{each:.1%}" for each in shares.tolist()]


def decimals(values: Floats) -> int:
    """Decimals that numbers have, at most `MOST_DECIMALS`.

    >>> decimals(np.array([0.1 + 0.2, 2.25])), decimals(np.array([1.0])), decimals(np.array([1 / 3]))
    (2, 0, 6)
    """
    known = values[np.isfinite(values)]
    for count in range(MOST_DECIMALS):
        if (np.abs(known - np.round(known, count)) <= 1e-9 * (1 + np.abs(known))).all():
            return count
    return MOST_DECIMALS


@dataclass(frozen=True)
class Shown:
    """Number formats of one shop."""

    currency: str  # empty if the problem does not name one

    @property
    def money_name(self) -> str:
        """Name of money in a heading."""
        return self.currency or "money"

    def units(self, value: float | None) -> str:
        """A quantity.

        >>> Shown("").units(1234.0), Shown("").units(2.345), Shown("").units(None)
        ('1,234', '2.3', 'not known')
        """
        if value is None or not math.isfinite(value):
            return NOT_KNOWN
        return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 100 else f"{value:,.1f}"

    def price(self, value: float | None) -> str:
        """A price of one unit.

        >>> Shown("€").price(4.5), Shown("").price(4.0)
        ('4.50 €', '4')
        """
        if value is None or not math.isfinite(value):
            return NOT_KNOWN
        whole = float(value).is_integer() and not self.currency
        text = f"{value:,.0f}" if whole else f"{value:,.2f}" if round(value, 2) == round(value, 4) else f"{value:,.4f}"
        return f"{text} {self.currency}".strip()

    def money(self, value: float | None, signed: bool = False) -> str:
        """An amount of money.

        >>> Shown("€").money(1234.6), Shown("€").money(18.9), Shown("").money(-0.04), Shown("").money(3.27, signed=True)
        ('1,235 €', '18.90 €', '0.0', '+3.3')
        """
        if value is None or not math.isfinite(value):
            return NOT_KNOWN
        decimals = 0 if abs(value) >= 1000 else 2 if self.currency else 1
        text = f"{value:{'+' if signed else ''},.{decimals}f}"
        text = text.lstrip("+-") if not any(digit in text for digit in "123456789") else text
        return f"{text} {self.currency}".strip()

    def percent(self, value: float | None) -> str:
        """A chance.

        >>> Shown("").percent(0.256), Shown("").percent(0.0004)
        ('26 %', '< 1 %')
        """
        if value is None or not math.isfinite(value):
            return NOT_KNOWN
        return "< 1 %" if 0 < value < 0.01 else f"{value:.0%}".replace("%", " %")

    def field(self, value: float) -> str:
        """Number for an input field.

        >>> Shown("").field(4.0), Shown("").field(1 / 3)
        ('4', '0.3333333333')
        """
        return f"{value:.10g}"


def _texts(values: Floats, count: int) -> list[str]:
    # Adding 0 turns -0.0 into 0.0.
    return [NO_NUMBER if each != each else f"{round(each, count) + 0.0:.{count}f}" for each in values.tolist()]
