"""Results of recommendations and decisions in the periods since: forecast, adherence, stock-outs, waste and changes."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.labels import spelled
from lostsales.data.log import SalesLog
from lostsales.data.sublogs import evaluated_part, without
from lostsales.demand.imputing import impute
from lostsales.demand.stockout_loss import MOST_ROWS, StockoutLoss, stockout_loss
from lostsales.errors import LostSalesError
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.pilot.drift import LEAST_PERIODS, SHIFT, Detector, alarms
from lostsales.types import Array, Bools, Floats, Ints, exceeds

ACCEPTED, CHANGED = "accepted", "changed"
PROJECTIONS = 200  # at most
LEAST_CLUSTERS = 5  # products, or periods, below which a mean has no interval


@dataclass(frozen=True, eq=False)
class ShownRecommendations:
    """Recommendations that were shown and the decisions on them; every array is (recommendations,)."""

    name: Array  # text
    period: Array  # text
    price: Floats
    order: Floats
    demand: Floats  # expected at that price, NaN if the policy does not say
    status: Array  # text: accepted, changed or declined, empty if nothing was decided
    decided_price: Floats  # NaN where nothing was decided, or it was declined
    decided_order: Floats


@dataclass(frozen=True)
class DecisionResults:
    """Figures of the periods that have closed since recommendations were shown; None where there is no figure.

    Bias and error are those of forecasts at the price that was charged, relative to demand; demand that stock-outs hid
    is estimated. The gain of accepting compares accepted with changed decisions on the same products, net of what all
    products earned in a period. It is no experiment: people change what they know more about.
    """

    rows: int  # of the log that had a recommendation
    periods: tuple[str, ...]
    bias: Interval | None
    error: float | None  # mean absolute error as a share of mean demand
    stockouts: float | None  # share of the rows
    loss: StockoutLoss | None  # in these periods
    wasted: float | None  # units thrown away; None where they are not recorded
    waste_cost: float | None  # money
    followed: float | None  # share of the rows with the recommended price and order
    kept: float | None  # share of the decided rows with the decided price and order
    accepted: int
    changed: int
    accepting: Interval | None  # gain of an accepted over a changed decision, money a period
    alarms: tuple[str, ...]  # lasting changes of demand against its forecast
    notes: tuple[str, ...] = ()


def decision_results(log: SalesLog, shown: ShownRecommendations, seed: int = 0) -> DecisionResults | None:
    """Results of recommendations in the rows of a log; None where none of its periods had any."""
    row, at = _matched(log, shown)
    if not len(row):
        return None
    part, notes = evaluated_part(_since(log, row), MOST_ROWS, seed)
    row, at = _matched(part, shown)
    demand, lost, some = _demand(part)
    decided = shown.status[at]
    charged = ~_differs(part.price[row], shown.price[at])
    ordered = charged & ~_differs(_orders(part, row), shown.order[at])
    chosen = np.isfinite(shown.decided_price[at])
    as_decided = ~_differs(part.price[row], shown.decided_price[at])
    as_decided &= ~_differs(_orders(part, row), shown.decided_order[at])
    known = charged & np.isfinite(shown.demand[at]) & np.isfinite(demand[row])
    moments, of_row = np.unique(part.period[row], return_inverse=True)
    expected, actual = (_sums(values, of_row, known, len(moments)) for values in (shown.demand[at], demand[row]))
    total = float(actual.sum())
    off = np.abs(shown.demand[at] - demand[row])[known].sum()
    try:
        loss = stockout_loss(part, seed=seed)
    except LostSalesError:
        loss = None
    accepting = None
    if part.costs is not None:
        accepting = accepting_gain(_margin(part, lost)[row], part.names[part.series[row]], of_row, decided)
    wasted, waste_cost = part.wasted, part.waste_cost
    has_waste = wasted is not None and waste_cost is not None and part.costs is not None
    return DecisionResults(
        rows=len(row),
        periods=tuple(spelled(each) for each in moments),
        bias=_mean((expected - actual) / (total / len(moments))) if total > 0 else None,
        error=float(off) / total if total > 0 else None,
        stockouts=float(part.censored[row].mean()),
        loss=loss,
        wasted=float(wasted.sum()) if wasted is not None else None,
        waste_cost=float((wasted * (waste_cost + part.costs.order)).sum()) if has_waste else None,  # type: ignore[union-attr]
        followed=float(ordered.mean()),
        kept=float(as_decided[chosen].mean()) if chosen.any() else None,
        accepted=int(np.count_nonzero(decided == ACCEPTED)),
        changed=int(np.count_nonzero(decided == CHANGED)),
        accepting=accepting,
        alarms=_alarms(expected, actual, [spelled(each) for each in moments]),
        notes=(*notes, *some),
    )


def accepting_gain(profit: Floats, product: Array, period: Ints, status: Array) -> Interval | None:
    """Gain of accepted over changed decisions in a regression with an effect of each product and of each period.

    The interval counts products as independent.
    """
    compared = np.isin(status, (ACCEPTED, CHANGED))
    names, of_product = np.unique(product[compared], return_inverse=True)
    within = [of_product, np.unique(period[compared], return_inverse=True)[1]]
    is_accepted = _within((status[compared] == ACCEPTED).astype(np.float64), within)
    own, spread = _within(profit[compared], within), float((is_accepted**2).sum())
    tells = np.bincount(of_product, is_accepted**2, len(names)) > 1e-9
    if np.count_nonzero(tells) < LEAST_CLUSTERS:
        return None
    gain = float((is_accepted * own).sum()) / spread
    scores = np.bincount(of_product, is_accepted * (own - gain * is_accepted), len(names))[tells]
    return Interval.of(gain + scores * np.count_nonzero(tells) / spread)


def _within(values: Floats, groups: list[Ints]) -> Floats:
    """Residuals of values after an effect of every group, by alternating projections."""
    for _ in range(PROJECTIONS):
        before = values
        for each in groups:
            values = values - (np.bincount(each, values) / np.bincount(each))[each]
        if np.allclose(values, before, rtol=0, atol=1e-9 * (1 + float(np.abs(values).max(initial=0.0)))):
            break
    return values


def _matched(log: SalesLog, shown: ShownRecommendations) -> tuple[Ints, Ints]:
    """Rows of the log and their recommendations, each (matches,); of several for a row the last."""
    place = {pair: at for at, pair in enumerate(zip(shown.name.tolist(), shown.period.tolist(), strict=True))}
    kinds, of_row = np.unique(log.period, return_inverse=True)
    texts = [spelled(each) for each in kinds]
    listed = set(shown.period.tolist())
    some = np.flatnonzero(np.array([text in listed for text in texts], dtype=bool)[of_row])
    names = log.names.astype(str).tolist()
    found = [place.get((names[log.series[row]], texts[of_row[row]]), -1) for row in some.tolist()]
    at = np.array(found, dtype=np.int64)
    return some[at >= 0], at[at >= 0]


def _since(log: SalesLog, row: Ints) -> SalesLog:
    """Part of a log from the first of some rows on."""
    return without(log, log.period < log.period[row].min())


def _demand(log: SalesLog) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Demand of every row, lost sales of every row, and notes; NaN and 0 where stock-outs cannot be filled."""
    hidden = log.censored
    demand = np.where(hidden, np.nan, log.sales)
    if not hidden.any():
        return demand, np.zeros(len(log)), ()
    try:
        filled = impute(log, replicates=0)
    except LostSalesError as error:
        return demand, np.zeros(len(log)), (f"stock-outs are left out of the forecast error: {error}",)
    return filled.expected_demand, np.nan_to_num(filled.expected_lost), ()


def _margin(log: SalesLog, lost: Floats) -> Floats:
    """Profit of every row with its order valued at cost, as units earn their margin when they are sold."""
    assert log.costs is not None
    return np.asarray(log.profit(lost) + log.costs.order * (_orders(log, np.arange(len(log))) - log.sales))


def _orders(log: SalesLog, row: Ints) -> Floats:
    return np.full(len(row), np.nan) if log.order is None else log.order[row]


def _differs(one: Floats, other: Floats) -> Bools:
    return np.asarray(exceeds(one, other) | exceeds(other, one) | np.isnan(one) | np.isnan(other))


def _sums(values: Floats, of_row: Ints, used: Bools, count: int) -> Floats:
    return np.asarray(np.bincount(of_row[used], values[used], count), dtype=np.float64)


def _mean(values: Floats) -> Interval | None:
    """Mean with its interval over clusters; None for too few of them."""
    return Interval.of(values) if len(values) >= LEAST_CLUSTERS else None


def _alarms(expected: Floats, actual: Floats, periods: list[str]) -> tuple[str, ...]:
    """Lasting changes of demand against its forecast in the later half of the periods, found by the earlier half."""
    with np.errstate(divide="ignore", invalid="ignore"):
        figures = np.where(expected > 0, actual / expected - 1, np.nan)
    past = len(figures) // 2
    detector = Detector.of("demand", figures[:past], SHIFT) if past >= LEAST_PERIODS else None
    if detector is None:
        return ()
    return tuple(
        f"demand is {each.size:+.0%} against its forecast since {periods[past + each.since]}, "
        f"found in {periods[past + each.at]}"
        for each in alarms(detector, figures[past:])[:1]
    )
