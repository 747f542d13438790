"""Concerns about a gain, and what to do: deploy, prove it in a pilot first, or keep the current practice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lostsales.evaluation.interval import Interval

Level = Literal["amber", "red"]
Advice = Literal["deploy", "pilot", "keep"]
KEEP_CURRENT = "keep the current practice"
PILOT_FIRST = "run a pilot first"
LIKELY = 0.5  # an unproven gain is worth a pilot if it exceeds this share of the distance to its lower bound


@dataclass(frozen=True)
class Concern:
    """Reason to doubt a gain: a red one withholds it, an amber one keeps it from being called proven."""

    level: Level
    text: str
    by_pilot: bool = True  # a pilot would settle it; else the log must be corrected first


def advice(gain: Interval | None, concerns: Sequence[Concern]) -> Advice:
    """Recommendation: deploy if the gain is proven and there is no concern, a pilot if it is likely but not proven.

    >>> advice(Interval(2.0, 1.0, 3.0), ()), advice(Interval(4.64, -0.23, 9.51), ())
    ('deploy', 'pilot')
    >>> advice(Interval(0.1, -2.0, 2.2), ())
    'keep'
    >>> advice(Interval(2.0, 1.0, 3.0), (Concern("red", "the demand model does not fit"),))
    'pilot'
    """
    if gain is None or gain.value <= 0 or not all(each.by_pilot for each in concerns):
        return "keep"
    if gain.proven and not concerns:
        return "deploy"
    return "pilot" if gain.value > LIKELY * (gain.value - gain.low) else "keep"


def texts(concerns: Sequence[Concern], level: Level) -> str:
    """Concerns of a level in one line, empty if there are none."""
    return "; ".join(each.text for each in concerns if each.level == level)
