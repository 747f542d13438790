"""Result of monitoring a pilot: gains with their bounds, the verdict, alarms, and missing rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from lostsales.evaluation.interval import Interval
from lostsales.evaluation.pilot.plan import Pilot
from lostsales.evaluation.pilot.sequential_test import ConfidenceSequence, Randomised, confidence_sequence
from lostsales.evaluation.results import plain

Verdict = Literal["go on", "success", "harm", "undecided"]


@dataclass(frozen=True)
class ArmFigures:
    """Profit and stock-outs of one arm in the counted periods."""

    series: int
    rows: int
    profit: float  # per period and series; NaN without rows
    cash: float
    stockouts: float  # share of the rows


@dataclass(frozen=True)
class MissingRows:
    """A series without rows in periods of the pilot in which others have them."""

    series: str
    policy: str  # of its first missing period
    periods: int  # number of missing periods
    first: str  # first missing period


@dataclass(frozen=True)
class MarketAlarm:
    """A lasting change of the market."""

    what: str
    found: str  # the period
    since: str  # the period from which it seems to last
    size: float

    @property
    def extent(self) -> str:
        """Size of the change in words."""
        return {
            "demand": f"{self.size:+.0%} of the usual demand",
            "stock-outs": f"{self.size:+.0%} of the rows",
        }.get(self.what, f"{'weaker' if self.size > 0 else 'stronger'} than before")

    @property
    def sentence(self) -> str:
        """Alarm in words."""
        return f"{self.what}: {self.extent} since {self.since}, found in {self.found}"


def changes(alarms: Sequence[MarketAlarm]) -> tuple[str, ...]:
    """Changes of the market in words, each once, though a lasting change raises its alarm repeatedly.

    >>> first, again = MarketAlarm("demand", "5", "3", 0.3), MarketAlarm("demand", "9", "6", 0.4)
    >>> changes((first, again))
    ('demand: +30% of the usual demand since 3, found in 5; found again in 9 (+40% of the usual demand)',)
    """
    found: dict[tuple[str, bool], list[MarketAlarm]] = {}
    for each in alarms:
        found.setdefault((each.what, each.size > 0), []).append(each)
    return tuple(
        first.sentence + (f"; found again in {later[-1].found} ({later[-1].extent})" if later else "")
        for first, *later in found.values()
    )


@dataclass(frozen=True, eq=False)
class GainSequence:
    """Gain per period and series after every look, with bounds that hold at all looks simultaneously."""

    periods: tuple[str, ...]  # (looks,) last period of each look
    estimates: Randomised

    @cached_property
    def sequence(self) -> ConfidenceSequence:
        """Value and bounds at every look."""
        return confidence_sequence(self.estimates)

    @property
    def last(self) -> Interval:
        """Interval at the last look; infinite bounds if no gain is rejected yet."""
        return Interval(*(float(each[-1]) for each in (self.sequence.value, self.sequence.low, self.sequence.high)))


@dataclass(frozen=True, eq=False)
class Monitoring:
    """State of a pilot: the gain with its bounds, the verdict, and alarms.

    Attributes
    ----------
    pilot : Pilot
        The design.
    last_period : str
        The last period of the log.
    periods : int
        Periods since the start.
    verdict : str
        "go on", "success", "harm", or "undecided" after the planned end.
    decided : str or None
        The period in which a stop was first due.
    profit, cash : GainSequence or None
        Gains with lost sales at their expected cost, and without it; None before the first counted period.
    new, before : ArmFigures
        Figures of both arms.
    alarms : tuple of MarketAlarm
        Lasting changes of the market.
    missing : tuple of MissingRows
        Series without rows in periods in which others have them.
    unknown : tuple of str
        Series of the log that are not in the pilot.
    notes : tuple of str
        Remarks for the reader.

    Examples
    --------
    >>> import lostsales
    >>> from lostsales.data.sublogs import without
    >>> shop = lostsales.Scenario.load("newsvendor", ("horizon=40",))
    >>> log, _ = lostsales.simulate(shop, "base-stock:12", episodes=12, seed=1)
    >>> past = without(log, log.period >= 20)
    >>> plan = lostsales.pilot(past, lostsales.fit(past, "newsvendor"), seed=1)
    >>> found = lostsales.monitor(plan, log)
    >>> found.verdict, found.last_period
    ('go on', '39')

    """

    pilot: Pilot
    last_period: str
    periods: int
    verdict: Verdict
    decided: str | None
    profit: GainSequence | None
    cash: GainSequence | None
    new: ArmFigures
    before: ArmFigures
    alarms: tuple[MarketAlarm, ...]
    missing: tuple[MissingRows, ...]
    unknown: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def gain_share(self) -> Interval | None:
        """Gain in profit as a share of the past profit; None if that is not positive."""
        if self.profit is None or self.pilot.profit <= 0:
            return None
        last = self.profit.last
        return Interval(*(each / self.pilot.profit for each in (last.value, last.low, last.high)))

    @property
    def sentence(self) -> str:
        """Verdict in words."""
        if self.profit is None:
            return f"go on: nothing to count yet, {self.periods} of {self.pilot.periods} periods"
        last = self.profit.last
        bounds = f"{_bound(last.low)} to {_bound(last.high)}"
        figures = f"the gain so far is {last.value:+.2f} per period and series (95 % interval {bounds})"
        return {
            "success": f"stop for success since {self.decided}: {figures}",
            "harm": f"stop for harm since {self.decided}: {figures}",
            "undecided": f"the planned end is past without a verdict: {figures}",
            "go on": f"go on: {figures}; {self.periods} of {self.pilot.periods} periods",
        }[self.verdict]

    def to_json(self) -> dict[str, Any]:
        """Content for JSON."""
        gains = {name: None if each is None else _gain_json(each) for name, each in self._gains.items()}
        return {
            "verdict": self.verdict,
            "decided": self.decided,
            "sentence": self.sentence,
            "last_period": self.last_period,
            "periods": self.periods,
            "planned_periods": self.pilot.periods,
            "gain": gains["profit"],
            "cash_gain": gains["cash"],
            "gain_share": plain(self.gain_share),
            "new": plain(self.new),
            "before": plain(self.before),
            "alarms": [plain(each) | {"sentence": each.sentence} for each in self.alarms],
            "missing": plain(self.missing),
            "unknown_series": list(self.unknown),
            "notes": list(self.notes),
        }

    @property
    def _gains(self) -> dict[str, GainSequence | None]:
        return {"profit": self.profit, "cash": self.cash}


def _gain_json(gain: GainSequence) -> dict[str, Any]:
    found = gain.sequence
    columns = zip(gain.periods, found.value.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    looks = [dict(zip(("period", "value", "low", "high"), each, strict=True)) for each in columns]
    last: dict[str, Any] = plain(gain.last)
    return last | {"looks": looks}


def _bound(value: float) -> str:
    return "not bounded yet" if not np.isfinite(value) else f"{value:+.2f}"
