"""The function `pilot`: design a pilot from a log: which series try the new policy, when and how long."""

from dataclasses import dataclass
from hashlib import sha256
from math import inf
from pathlib import Path

import numpy as np

from lostsales.data.calendar.periods import PeriodGrid
from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.data.splits import FEW_SERIES
from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluation.pilot.assignment import strata_of
from lostsales.evaluation.pilot.layouts import POWER, Layout, SplitBySeries, Switchback
from lostsales.evaluation.pilot.market import PastMarket
from lostsales.evaluation.pilot.panel import Outcomes, PilotPanel, clock_after, past_mean
from lostsales.evaluation.pilot.plan import Design, NeededPeriods, Pilot, PilotSeries, TriedPolicy
from lostsales.evaluation.pilot.precision import ProfitModel, settling_periods
from lostsales.evaluation.policy_on_log import check_policy
from lostsales.policy.file_format import load
from lostsales.policy.policy import POLICIES, SavedPolicy
from lostsales.types import Array, Bools, Floats, Ints

GAIN = 0.05  # gain to detect by default, as a share of the past profit
SHARES = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2)  # gains in the table of needed periods
LEAST_PAST = 10  # past periods that a design needs
LEAST_POWER, MOST_POWER = 0.5, 0.99  # that may be asked for
MOST_NUMBER = (1 << 63) - 1  # largest int64
MOST_NAMED = 5  # series named in a note
RECENT_SHARE, RECENT_PERIODS = 0.1, 7  # a series is still sold if it has a row in this last part of the past


@dataclass(frozen=True)
class PilotSettings:
    """Settings of a pilot, as in `pilot`."""

    gain: float = GAIN
    periods: int | None = None
    design: Design | None = None
    wash_out: int | None = None
    power: float = POWER
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.gain < inf:
            raise SettingError(f"gain must be a share above 0, such as 0.05, but {self.gain:g} came")
        if not LEAST_POWER <= self.power <= MOST_POWER:
            raise SettingError(f"power must lie between {LEAST_POWER:g} and {MOST_POWER:g}, but {self.power:g} came")
        numbers = ("periods", self.periods, 1), ("wash-out", self.wash_out, 0), ("seed", self.seed, 0)
        for name, number, least in numbers:
            if number is not None and not least <= number <= MOST_NUMBER:
                raise SettingError(f"{name} must lie between {least} and {MOST_NUMBER:,}, but {number} came")


def pilot(
    log: SalesLog,
    policy: SavedPolicy | str | Path,
    *,
    gain: float = GAIN,
    periods: int | None = None,
    design: Design | None = None,
    wash_out: int | None = None,
    power: float = POWER,
    seed: int = 0,
    progress: Progress | None = None,
) -> Pilot:
    """Design a pilot: which series or periods try a new policy, and how long it takes to detect a gain.

    Parameters
    ----------
    log : SalesLog
        The past, up to the period before the pilot; it needs stock, orders and unit costs.
    policy : SavedPolicy, str or Path
        The new policy or its file.
    gain : float
        The gain to detect, as a share of the past profit.
    periods : int, optional
        Length of the pilot; by default as long as the gain needs.
    design : {"series", "switchback"}, optional
        Split by series, or switches over time; by default the split, with fewer than ten series the switchback.
    wash_out : int, optional
        Periods after a change of policy that are not counted; by default from lead time, stock cover and
        autocorrelation of demand.
    power : float
        Probability of detecting the gain.
    seed : int
        Seed of the randomisation; the same seed gives the same pilot.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    Pilot
        The design, with its schedule and the periods that gains need.

    Raises
    ------
    SettingError
        A number is out of range, or the policy was made for another problem.
    LostSalesError
        The log cannot carry a pilot.

    Examples
    --------
    >>> import lostsales
    >>> shop = lostsales.Scenario.load("newsvendor", ("horizon=30",))
    >>> log, _ = lostsales.simulate(shop, "base-stock:12", episodes=12, seed=1)
    >>> found = pilot(log, lostsales.fit(log, "newsvendor"), seed=1)
    >>> found.clock.name(0), found.periods > 0
    ('30', True)

    """
    settings = PilotSettings(gain, periods, design, wash_out, power, seed)
    log.decisions("pilot")
    decides = load(policy) if isinstance(policy, str | Path) else policy
    check_policy(decides, log, None)
    return design_pilot(log, _tried(policy, decides), settings, progress)


def design_pilot(log: SalesLog, tried: TriedPolicy, settings: PilotSettings, progress: Progress | None = None) -> Pilot:
    """Design a pilot, as `pilot` does; what it can detect does not depend on the policy."""
    clock = clock_after(log)
    names, notes = _still_sold(log, clock)
    panel, outcomes = PilotPanel.of(log, clock, names), Outcomes.of(log, settings.seed, progress)
    profit = panel.table(outcomes.profit)
    if profit.shape[1] < LEAST_PAST:
        raise LostSalesError(
            f"a pilot is designed from at least {LEAST_PAST} past periods, but this log has {profit.shape[1]}"
        )
    design = settings.design or ("series" if len(names) >= FEW_SERIES else "switchback")
    washed = settling_periods(panel, outcomes) if settings.wash_out is None else settings.wash_out
    plan = _layout(design, profit, clock, washed, settings.power)
    usual = float(np.nanmean(profit))
    if settings.periods is None:
        planned = plan.units_for(settings.gain * abs(usual))
    else:
        planned = plan.units_within(settings.periods)
    if planned is None:
        planned = plan.most_usual
        notes += (
            f"no pilot with these series is long enough to detect a gain of {settings.gain:.1%}: use more series",
        )
    if usual <= 0:
        notes += ("past profit is not positive, so gains are shares of its size",)
    market = PastMarket.of(panel, clock, outcomes)
    new = plan.draw(planned, np.random.default_rng([settings.seed, 0]))
    return Pilot(
        design=design,
        seed=settings.seed,
        start=clock.anchor,
        step=clock.step,
        dated=clock.is_dated,
        periods=plan.periods(planned),
        wash_out=washed,
        block=plan.block(planned),
        policy=tried,
        series=_series(panel, outcomes, market, plan, planned, new),
        profit=usual,
        cash=float(np.nanmean(panel.table(outcomes.cash))),
        power=settings.power,
        findable=None if (least := plan.findable(planned)) == inf else least,
        needed=_needed(plan, clock, usual, sorted({*SHARES, settings.gain})),
        demand=market.baseline,
        detectors=market.detectors(*_past_rows(new, plan, planned, panel.offsets)),
        notes=notes,
    )


def _layout(design: Design, profit: Floats, clock: PeriodGrid, wash_out: int, power: float) -> Layout:
    """Layout of a design, with the precision estimated from past profits (series, periods)."""
    model = ProfitModel.of(profit, by_series=design == "series")
    if design == "series":
        return SplitBySeries(model, clock, wash_out, power, strata_of(np.nanmean(profit, axis=1)))
    return Switchback(model, clock, wash_out, power)


def _needed(plan: Layout, clock: PeriodGrid, usual: float, shares: list[float]) -> tuple[NeededPeriods, ...]:
    found = []
    for share in shares:
        units = plan.units_for(share * abs(usual))
        periods = None if units is None else plan.periods(units)
        weeks = None if periods is None or clock.periods_a_week is None else periods / clock.periods_a_week
        found.append(NeededPeriods(share=share, gain=share * abs(usual), periods=periods, weeks=weeks))
    return tuple(found)


def _series(
    panel: PilotPanel, outcomes: Outcomes, market: PastMarket, plan: Layout, planned: int, new: Bools
) -> tuple[PilotSeries, ...]:
    window = plan.model.past_window(plan.wash_out, planned) if isinstance(plan, SplitBySeries) else panel.row.shape[1]
    profit, cash = (past_mean(panel.table(each), window) for each in (outcomes.profit, outcomes.cash))
    return tuple(
        PilotSeries(
            name=str(name),
            stratum=int(plan.strata[at]),
            new=tuple(new[at].tolist()),
            past_profit=float(profit[at]),
            past_cash=float(cash[at]),
            usual_demand=float(market.usual_demand[at]),
            usual_price=float(market.usual_price[at]),
            weight=float(market.weight[at]),
        )
        for at, name in enumerate(panel.names)
    )


def _past_rows(new: Bools, plan: Layout, planned: int, offsets: Ints) -> tuple[Bools, Bools]:
    """Masks (series, periods) of past rows that would count, and be controls, had the schedule been followed then."""
    if isinstance(plan, SplitBySeries):
        is_new = np.repeat(new, len(offsets), axis=1)
        return np.ones_like(is_new), ~is_new
    length = plan.block(planned)
    place = (offsets - offsets[0]) % (length * new.shape[1])
    counted = np.repeat((place % length >= plan.wash_out)[None], len(new), axis=0)
    return counted, counted & ~new[:, place // length]


def _still_sold(log: SalesLog, clock: PeriodGrid) -> tuple[Array, tuple[str, ...]]:
    """Names of series with a row in the last part of the log, and a note on the others."""
    products, offset = log.products, clock.position(log.period)
    last = np.full(len(products), np.iinfo(np.int64).min)
    np.maximum.at(last, products.of_row, offset)
    recent = max(int(RECENT_SHARE * (offset.max() - offset.min() + 1)), RECENT_PERIODS)
    sold = last >= offset.max() - recent
    if sold.all():
        return products.names, ()
    gone = products.names[~sold]
    shown = ", ".join(map(str, gone[:MOST_NAMED])) + (" and more" if len(gone) > MOST_NAMED else "")
    return products.names[sold], (f"{len(gone):,} series without a row in the last {recent} periods stay out: {shown}",)


def _tried(policy: SavedPolicy | str | Path, decides: SavedPolicy) -> TriedPolicy:
    file = Path(policy) if isinstance(policy, str | Path) else None
    method: str = decides.summary().get("method") or POLICIES.name_of(type(decides))
    return TriedPolicy(
        file=None if file is None else file.name,
        method=method,
        sha256=None if file is None else sha256(file.read_bytes()).hexdigest(),
    )
