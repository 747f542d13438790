"""Concerns about a gain, and what to do: deploy, prove it in a pilot first, or keep what is done."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lostsales.evaluation.interval import Interval

Level = Literal["amber", "red"]
Advice = Literal["deploy", "pilot", "keep"]
KEEP_CURRENT = "keep the current practice"
PILOT_FIRST = "run a pilot first"
LIKELY = 0.5  # of the reach of its interval by which a gain that is not proven must exceed zero to be worth a pilot


@dataclass(frozen=True)
class Concern:
    """A reason to doubt a gain: a red one withholds it, an amber one keeps it from being called proven."""

    level: Level
    text: str
    by_pilot: bool = True  # a pilot would settle it; else the log must be put right first


def advice(gain: Interval | None, concerns: Sequence[Concern]) -> Advice:
    """Deploy what has a proven gain and no concern; a pilot where a gain is likely but not proven.

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
    """The concerns of a level in one line, empty where there are none."""
    return "; ".join(each.text for each in concerns if each.level == level)
