"""Formatting of numbers for people, with unit and currency."""

import math
from dataclasses import dataclass

NOT_KNOWN = "not known"


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

        >>> Shown("€").money(1234.6), Shown("").money(-0.04), Shown("").money(3.27, signed=True)
        ('1,235 €', '0.0', '+3.3')
        """
        if value is None or not math.isfinite(value):
            return NOT_KNOWN
        text = f"{value:{'+' if signed else ''},.0f}" if abs(value) >= 1000 else f"{value:{'+' if signed else ''},.1f}"
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
