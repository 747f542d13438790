"""The function `monitor`: the gain of a pilot so far, whether to stop, and whether the market has changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.pilot.drift import MarketFigures, alarms
from lostsales.evaluation.pilot.estimators import by_series, by_switches, centred
from lostsales.evaluation.pilot.market import relative_price
from lostsales.evaluation.pilot.panel import Outcomes, PilotPanel, check_periods
from lostsales.evaluation.pilot.plan import Pilot
from lostsales.evaluation.pilot.sequential_test import (
    ConfidenceSequence,
    Randomised,
    confidence_sequence,
    first_crossing,
)
from lostsales.evaluation.results import plain
from lostsales.types import Array, Bools, Floats, Ints

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

    def to_json(self) -> dict[str, Any]:
        """Content for JSON: the last look, and all of them."""
        found = self.sequence
        columns = zip(self.periods, found.value.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
        looks = [dict(zip(("period", "value", "low", "high"), each, strict=True)) for each in columns]
        return {**plain(self.last), "looks": looks}


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
        return {
            "verdict": self.verdict,
            "decided": self.decided,
            "sentence": self.sentence,
            "last_period": self.last_period,
            "periods": self.periods,
            "planned_periods": self.pilot.periods,
            "gain": None if self.profit is None else self.profit.to_json(),
            "cash_gain": None if self.cash is None else self.cash.to_json(),
            "gain_share": plain(self.gain_share),
            "new": plain(self.new),
            "before": plain(self.before),
            "alarms": [plain(each) | {"sentence": each.sentence} for each in self.alarms],
            "missing": plain(self.missing),
            "unknown_series": list(self.unknown),
            "notes": list(self.notes),
        }


def _bound(value: float) -> str:
    return "not bounded yet" if not np.isfinite(value) else f"{value:+.2f}"


MOST_NAMED = 5  # series named in a message


def monitor(pilot: Pilot | str | Path, log: SalesLog, *, seed: int = 0, progress: Progress | None = None) -> Monitoring:
    """Monitor a pilot, as often as you like: the gain so far, whether to stop, and alarms on the market.

    Parameters
    ----------
    pilot : Pilot, str or Path
        What `lostsales.pilot` designed, or its file.
    log : SalesLog
        The log since the start of the pilot; rows from before are used to estimate lost sales only.
    seed : int
        Seed of the estimation of lost sales.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    Monitoring
        Gain, verdict, alarms, and missing rows.

    Raises
    ------
    LostSalesError
        The file is no pilot, or the log has no row of it.

    Examples
    --------
    >>> import lostsales
    >>> shop = lostsales.Scenario.load("newsvendor", ("horizon=30",))
    >>> log, _ = lostsales.simulate(shop, "base-stock:12", episodes=12, seed=1)
    >>> plan = lostsales.pilot(log, lostsales.fit(log, "newsvendor"), seed=1)
    >>> monitor(plan, log)
    Traceback (most recent call last):
    lostsales.errors.LostSalesError: the pilot starts in 30, but the log ends in 29: give the log since its start

    """
    plan = Pilot.load(pilot) if isinstance(pilot, str | Path) else pilot
    log.decisions("monitor")
    check_periods(plan.clock, log)
    panel = PilotPanel.of(log, plan.clock, plan.names, first=0)
    _check_started(plan, panel, log)
    outcomes = Outcomes.of(log, seed, progress)
    profit, cash = (panel.table(each) for each in (outcomes.profit, outcomes.cash))
    draws = plan.draws()
    found = randomised(plan, panel, profit, draws, "past_profit")
    verdict, decided = _verdict(plan, panel, found)
    is_new, counted = is_treated(plan, panel), plan.is_counted(panel.offsets)[None, :]
    stockouts = panel.table(log.censored * 1.0)
    arms = [_arm(profit, cash, stockouts, own & counted) for own in (is_new, ~is_new)]
    return Monitoring(
        pilot=plan,
        last_period=plan.clock.name(int(panel.offsets[-1])),
        periods=int(panel.offsets[-1]) + 1,
        verdict=verdict,
        decided=decided,
        profit=_sequence(plan, found),
        cash=_sequence(plan, randomised(plan, panel, cash, draws, "past_cash")),
        new=arms[0],
        before=arms[1],
        alarms=_alarms(plan, panel, outcomes, stockouts, np.broadcast_to(counted, is_new.shape), ~is_new & counted),
        missing=_missing(plan, panel, is_new),
        unknown=_unknown(plan, log),
        notes=_notes(plan, panel),
    )


def randomised(plan: Pilot, panel: PilotPanel, values: Floats, draws: Bools, past: str) -> tuple[Randomised, Ints]:
    """Estimates under all assignments at every look, and the offset of the last period of each look."""
    if plan.design == "series":
        counted = plan.is_counted(panel.offsets)
        offsets = panel.offsets[counted]
        progress = (offsets - plan.wash_out + 1) / (plan.periods - plan.wash_out)
        found = by_series(values[:, counted], plan.of_series(past), draws, progress)
        ends = offsets[np.searchsorted(progress, found.progress)]
        return found, ends
    pairs = min((int(panel.offsets[-1]) + 1) // (2 * plan.block), plan.pairs)
    found = by_switches(_contrasts(plan, panel, values, pairs), draws[:, :, :pairs], plan.pairs)
    return found, np.rint(found.progress * plan.pairs).astype(np.int64) * 2 * plan.block - 1


def _contrasts(plan: Pilot, panel: PilotPanel, values: Floats, pairs: int) -> Floats:
    """Mean of the second block of each pair less that of the first, over counted periods, (series, pairs)."""
    own, counted, block = centred(values), plan.is_counted(panel.offsets), plan.block_of(panel.offsets)
    means = np.full((len(values), 2 * pairs), np.nan)
    for number in range(2 * pairs):
        inside = own[:, counted & (block == number)]
        has = np.isfinite(inside).any(axis=1)
        means[has, number] = np.nanmean(inside[has], axis=1)
    return np.asarray(means[:, 1::2] - means[:, ::2])


def is_treated(plan: Pilot, panel: PilotPanel) -> Bools:
    """Mask of rows that the schedule assigns to the new policy, (series, periods)."""
    block = np.clip(plan.block_of(panel.offsets), 0, plan.new.shape[1] - 1)
    return np.asarray(plan.new[:, block])


def _sequence(plan: Pilot, found: tuple[Randomised, Ints]) -> GainSequence | None:
    estimates, ends = found
    if not len(ends):
        return None
    return GainSequence(tuple(plan.clock.name(int(each)) for each in ends), estimates)


def _verdict(plan: Pilot, panel: PilotPanel, found: tuple[Randomised, Ints]) -> tuple[Verdict, str | None]:
    """First stop that was due, harm if both were due in one period; and its period."""
    estimates, ends = found
    crossed: dict[Verdict, int | None] = {
        "harm": first_crossing(estimates, "harm"),
        "success": first_crossing(estimates, "success"),
    }
    due = {name: look for name, look in crossed.items() if look is not None}
    if due:
        first = min(due, key=due.__getitem__)
        return first, plan.clock.name(int(ends[due[first]]))
    return ("undecided" if panel.offsets[-1] + 1 >= plan.periods else "go on"), None


def _arm(profit: Floats, cash: Floats, stockouts: Floats, own: Bools) -> ArmFigures:
    rows = own & np.isfinite(profit)
    means = [float(each[rows].mean()) if rows.any() else np.nan for each in (profit, cash, stockouts)]
    return ArmFigures(int(rows.any(axis=1).sum()), int(rows.sum()), *means)


def _alarms(
    plan: Pilot, panel: PilotPanel, outcomes: Outcomes, stockouts: Floats, counted: Bools, before: Bools
) -> tuple[MarketAlarm, ...]:
    demand, price = plan.of_series("usual_demand"), plan.of_series("usual_price")
    residuals = plan.demand.residuals(panel, plan.clock, outcomes.demand, demand, price)
    prices = relative_price(panel.table(panel.log.price), price[:, None])
    figures = MarketFigures.of(residuals, prices, stockouts, plan.of_series("weight"), counted, before)
    tables = {"demand": figures.demand, "price response": figures.price_response, "stock-outs": figures.stockouts}
    name = [plan.clock.name(int(offset)) for offset in panel.offsets]
    found = [each for detector in plan.detectors for each in alarms(detector, tables[detector.name])]
    found = [each for each in found if each.what != "demand" or figures.confirms(each)]
    found.sort(key=lambda each: each.at)
    return tuple(MarketAlarm(each.what, name[each.at], name[each.since], each.size) for each in found)


def _missing(plan: Pilot, panel: PilotPanel, is_new: Bools) -> tuple[MissingRows, ...]:
    lacks = panel.row < 0
    found = []
    for at in np.flatnonzero(lacks.any(axis=1)):
        first = int(np.flatnonzero(lacks[at])[0])
        policy = "new" if is_new[at, first] else "as before"
        period = plan.clock.name(int(panel.offsets[first]))
        found.append(MissingRows(str(panel.names[at]), policy, int(lacks[at].sum()), period))
    return tuple(found)


def _unknown(plan: Pilot, log: SalesLog) -> tuple[str, ...]:
    """Series with rows since the start that are not in the pilot."""
    since = log.series[plan.clock.position(log.period) >= 0]
    known = set(plan.names.tolist())
    names: Array = log.names[np.unique(since)]
    return tuple(dict.fromkeys(str(name) for name in names if str(name) not in known))


def _notes(plan: Pilot, panel: PilotPanel) -> tuple[str, ...]:
    notes = []
    gaps = int(panel.offsets[-1]) + 1 - len(panel.offsets)
    if gaps and not plan.clock.is_dated:
        notes.append(f"{gaps} periods since the start have no row of any series")
    if plan.design == "switchback" and panel.offsets[-1] >= plan.periods:
        notes.append("rows after the planned end are not counted: the schedule does not cover them")
    return tuple(notes)


def _check_started(plan: Pilot, panel: PilotPanel, log: SalesLog) -> None:
    if len(panel.offsets):
        return
    last = int(plan.clock.position(log.period).max())
    start, end = plan.clock.name(0), plan.clock.name(last)
    if last < 0:
        raise LostSalesError(f"the pilot starts in {start}, but the log ends in {end}: give the log since its start")
    shown = ", ".join(plan.names[:MOST_NAMED].tolist())
    raise LostSalesError(f"the log has no row of the pilot's series ({shown}, ...) since its start in {start}")
