"""The function `monitor`: the gain of a pilot so far, whether to stop, and whether the market has changed."""

from pathlib import Path

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.errors import LostSalesError
from lostsales.evaluation.pilot.clock import check_periods
from lostsales.evaluation.pilot.drift import MarketFigures, alarms
from lostsales.evaluation.pilot.estimators import by_series, by_switches, centred
from lostsales.evaluation.pilot.monitoring import (
    ArmFigures,
    GainSequence,
    MarketAlarm,
    MissingRows,
    Monitoring,
    Verdict,
)
from lostsales.evaluation.pilot.panel import Outcomes, PilotPanel
from lostsales.evaluation.pilot.plan import Pilot
from lostsales.evaluation.pilot.sequential_test import Randomised, first_crossing
from lostsales.types import Array, Bools, Floats, Ints

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
    gains = _sequence(plan, found)
    cash_gains = _sequence(plan, randomised(plan, panel, cash, draws, "past_cash"))
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
        profit=gains,
        cash=cash_gains,
        new=arms[0],
        before=arms[1],
        alarms=_alarms(plan, panel, outcomes, np.broadcast_to(counted, is_new.shape), ~is_new & counted),
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
    plan: Pilot, panel: PilotPanel, outcomes: Outcomes, counted: Bools, before: Bools
) -> tuple[MarketAlarm, ...]:
    demand, price = plan.of_series("usual_demand"), plan.of_series("usual_price")
    residuals = plan.demand.residuals(panel, plan.clock, outcomes.demand, demand, price)
    prices = panel.table(panel.log.price) / np.where(price > 0, price, 1.0)[:, None] - 1
    stockouts = panel.table(panel.log.censored * 1.0)
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
