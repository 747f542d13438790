"""Scales, axes and marks of the figures of a report, as SVG text.

Colours and fonts are in the style sheet of the page. Every text that comes from data is escaped here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from lostsales.apps.figures_shown import number
from lostsales.types import Floats

Tick = tuple[float, str]
GROWS = 1.13  # times its width, up to which a figure fills a wider place
LETTER = 6.2  # width of an average letter of an axis, in pixels


def ticks(low: float, high: float, most: int = 6) -> list[Tick]:
    """Round values that span a range.

    >>> [text for _, text in ticks(0, 23)]
    ['0', '5', '10', '15', '20']
    """
    step = max(high - low, 1e-9) / most
    power = 10.0 ** np.floor(np.log10(step))
    step = power * next(each for each in (1, 2, 2.5, 5, 10) if each * power >= step * (1 - 1e-9))
    values = step * np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1)
    return [(float(value), number(float(value), 6)) for value in values]


@dataclass(frozen=True)
class Frame:
    """The area of a figure in pixels, and the values at its edges."""

    width: float
    height: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    left: float = 50
    right: float = 12
    top: float = 12
    bottom: float = 44

    def x(self, value: float) -> float:
        """Pixels from the left."""
        low, high = self.x_range
        return self.left + (value - low) / (high - low or 1) * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        low, high = self.y_range
        return self.height - self.bottom - (value - low) / (high - low or 1) * (self.height - self.top - self.bottom)

    def line(self, xs: Sequence[float] | Floats, ys: Sequence[float] | Floats, kind: str) -> Markup:
        """Draw a line through points."""
        points = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, ys, strict=True))
        return Markup('<polyline class="{}" points="{}"/>').format(kind, points)

    def band(self, xs: Sequence[float] | Floats, low: Floats, high: Floats, kind: str) -> Markup:
        """The area between two lines."""
        there = [(x, y) for x, y in zip(xs, high, strict=True)]
        back = [(x, y) for x, y in zip(xs, low, strict=True)][::-1]
        points = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in there + back)
        return Markup('<polygon class="{}" points="{}"/>').format(kind, points)

    def box(self, x0: float, x1: float, y0: float, y1: float, kind: str, tip: str = "") -> Markup:
        """A rectangle between values; one of no height is left out."""
        left, right = sorted((self.x(x0), self.x(x1)))
        top, bottom = sorted((self.y(y0), self.y(y1)))
        return rect(left, top, right - left, bottom - top, kind, tip)

    def dot(self, x: float, y: float, kind: str, radius: float = 3, tip: str = "") -> Markup:
        """A round mark."""
        return Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:g}"{}/>').format(
            kind, self.x(x), self.y(y), radius, _tip(tip)
        )

    def axes(self, x_ticks: list[Tick], y_ticks: list[Tick], x_label: str, y_label: str) -> Markup:
        """Grid lines, tick labels, and what the axes mean; labels that would touch are left out."""
        base, parts = self.height - self.bottom, []
        for value, text in y_ticks:
            at = self.y(value)
            parts.append(path(f"M{self.left:.1f} {at:.1f}H{self.width - self.right:.1f}", "grid"))
            parts.append(label(self.left - 6, at + 3.5, text, "tick end"))
        free = -np.inf
        for value, text in x_ticks:
            at, half = self.x(value), LETTER * len(text) / 2
            if at - half > free:
                parts.append(label(min(at, self.width - half), base + 15, text, "tick mid"))
                free = at + half + 4
        parts.append(path(f"M{self.left:.1f} {base:.1f}H{self.width - self.right:.1f}", "axis"))
        parts.append(label((self.left + self.width - self.right) / 2, self.height - 8, x_label, "name mid"))
        parts.append(label(-(self.top + base) / 2, 11, y_label, "name mid", turned=True))
        return joined(parts)

    def svg(self, title: str, parts: Iterable[Markup]) -> Markup:
        """The figure."""
        return svg(self.width, self.height, title, parts)


def path(drawn: str, kind: str) -> Markup:
    """Lines in pixels."""
    return Markup('<path class="{}" d="{}"/>').format(kind, drawn)


def rect(x: float, y: float, width: float, height: float, kind: str, tip: str = "") -> Markup:
    """A rectangle in pixels."""
    if width <= 0 or height <= 0:
        return Markup("")
    return Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"{}/>').format(
        kind, x, y, width, height, _tip(tip)
    )


def label(x: float, y: float, text: str, kind: str, turned: bool = False) -> Markup:
    """A text; `turned` reads upwards, its coordinates turned too."""
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}"{}>{}</text>').format(
        kind, x, y, Markup(' transform="rotate(-90)"') if turned else "", text
    )


def joined(parts: Iterable[Markup]) -> Markup:
    """One after the other."""
    return Markup("").join(parts)


def svg(width: float, height: float, title: str, parts: Iterable[Markup]) -> Markup:
    """A figure that fits its place and grows but a little; `title` is read to those who cannot see it."""
    return Markup('<svg viewBox="0 0 {0:g} {1:g}" width="{2:.0f}" role="img" aria-label="{3}">{4}</svg>').format(
        width, height, GROWS * width, title, joined(parts)
    )


def _tip(text: str) -> Markup:
    return Markup(' data-tip="{}"').format(escape(text)) if text else Markup("")
