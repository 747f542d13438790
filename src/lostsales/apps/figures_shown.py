"""Figures as people read them: on pages, in tables and on charts."""

import numpy as np


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
