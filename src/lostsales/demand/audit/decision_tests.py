"""Falsification tests: whether prices and orders followed something that moves demand and is not in the log.

None needs an experiment. Each asks whether demand, beyond what features, price and last demand explain, is linked to a
decision that cannot have caused it:

- the order of the same period, given all that a manager could see when it was placed;
- yesterday's price, given today's, and tomorrow's price, given today's. A hidden cause that lasts links both. A
  manager who reacts to sales links only tomorrow's, and a lasting shock of demand that the manager does not see only
  yesterday's, so both must be linked, in the same direction;
- the prices of two other series in the same period (of few series: a third of their length away, either way), a
  placebo: a common hidden cause links both.

The false-alarm rate of all together is held by the procedure of Holm.
"""

from dataclasses import dataclass

import numpy as np

from lostsales.demand.audit.decision_panel import DecisionPanel
from lostsales.demand.audit.robust_regression import Coefficient, coefficient
from lostsales.types import Floats

ORDERS = "orders"
LEVEL = 0.05  # significance level of all tests together
SEEN_RESIDUALS = 3  # periods back whose unexplained demand a manager could have seen
LEAST_SERIES = 3  # below, the placebo is a price of the same series


@dataclass(frozen=True)
class DecisionTest:
    """One test of the decisions of a log."""

    name: str
    what: str  # in words, the link that a rejection shows
    t: float  # NaN where it cannot be made
    p_value: float
    rejected: bool = False  # by the procedure of Holm over all tests
    why_not: str = ""


@dataclass(frozen=True)
class PriceLink:
    """Possible bias of the price response by a hidden cause, from the links of demand to prices a period away."""

    value: float  # demand a unit of price, the weaker of the two links
    error: float  # its standard error


def decision_tests(panel: DecisionPanel) -> tuple[tuple[DecisionTest, ...], PriceLink | None]:
    """All tests with their joint verdicts, and the link of prices to demand that timing shows."""
    yesterday, tomorrow = _yesterdays_price(panel), _tomorrows_price(panel)
    tests = [
        _test(ORDERS, "orders follow demand of the same period that the log cannot predict", _orders(panel)),
        _both(
            "prices of yesterday and tomorrow",
            "yesterday's and tomorrow's prices are linked to today's demand beyond today's price",
            yesterday,
            tomorrow,
        ),
        _both(
            "placebo prices", "prices that cannot matter are linked to demand", _placebo(panel, 1), _placebo(panel, 2)
        ),
    ]
    found = [each for each in (yesterday, tomorrow) if each is not None]
    weaker = min(found, key=lambda each: abs(each.value), default=None)
    link = None if weaker is None else PriceLink(weaker.value, max(each.error for each in found))
    return holm(tests), link


def holm(tests: list[DecisionTest], level: float = LEVEL) -> tuple[DecisionTest, ...]:
    """Reject from the smallest p-value on while it is below `level` over the number of those left.

    >>> tests = [DecisionTest("a", "", 1.0, 0.3), DecisionTest("b", "", 3.0, 0.01), DecisionTest("c", "", 2.0, 0.03)]
    >>> [each.rejected for each in holm(tests)]
    [False, True, False]
    """
    made = sorted((each.p_value, at) for at, each in enumerate(tests) if not np.isnan(each.p_value))
    rejected: set[int] = set()
    for place, (p_value, at) in enumerate(made):
        if p_value > level / (len(made) - place):
            break
        rejected.add(at)
    return tuple(
        DecisionTest(each.name, each.what, each.t, each.p_value, at in rejected, each.why_not)
        for at, each in enumerate(tests)
    )


def _orders(panel: DecisionPanel) -> Coefficient | None:
    """Orders against the residual of the same period, beside all that was known when they were placed."""
    if panel.order is None or panel.stock is None:
        return None
    past = [panel.residual_at(-back) for back in range(1, SEEN_RESIDUALS + 1)]
    known = np.column_stack(
        [_law_inputs(panel), panel.stock, panel.calendar, panel.instruments, panel.sales_at(-1), panel.sales_at(-2),
         panel.price_at(-1), panel.price_at(-2), *past]
    )  # fmt: skip
    return coefficient(panel.residual, panel.order, known, panel.unit)


def _yesterdays_price(panel: DecisionPanel) -> Coefficient | None:
    """Mask of rows whose last two demands are observed: a law with a second lag would link yesterday's price too."""
    controls = [_law_inputs(panel), panel.demand_at(-1), panel.demand_at(-2), panel.calendar]
    return coefficient(panel.residual, panel.price_at(-1), np.column_stack(controls), panel.unit)


def _tomorrows_price(panel: DecisionPanel) -> Coefficient | None:
    controls = np.column_stack([_law_inputs(panel), panel.demand_at(-1), panel.calendar])
    return coefficient(panel.residual, panel.price_at(1), controls, panel.unit)


def _placebo(panel: DecisionPanel, number: int) -> Coefficient | None:
    controls = np.column_stack([_law_inputs(panel), panel.calendar])
    return coefficient(panel.residual, _placebo_price(panel, number), controls, panel.unit)


def _placebo_price(panel: DecisionPanel, number: int) -> Floats:
    """The price of the first or second next series in the same place, or of the same series far away."""
    log, series = panel.log, panel.evidence.series
    length = np.diff(np.r_[log.starts, len(log)])
    place = panel.rows - log.starts[series]
    if len(log.names) >= LEAST_SERIES:
        other = (series + number) % len(log.names)
    else:
        other, place = series, (place + number * length[series] // 3) % length[series]
    has_row = place < length[other]
    at = np.where(has_row, log.starts[other] + place, 0)
    return np.where(has_row, log.price[at] / panel.usual_price[other], np.nan)


def _law_inputs(panel: DecisionPanel) -> Floats:
    """Features, price and last sales with their squares: a mean that is not linear must not pass for a link."""
    price, sales = panel.price, panel.sales_at(-1)
    return np.column_stack([panel.features, price, price**2, sales, sales**2, price * sales])


def _test(name: str, what: str, found: Coefficient | None) -> DecisionTest:
    if found is None:
        return DecisionTest(name, what, np.nan, np.nan, why_not="too few rows, or it never varied freely")
    return DecisionTest(name, what, found.t, found.p_value)


def _both(name: str, what: str, one: Coefficient | None, other: Coefficient | None) -> DecisionTest:
    """An intersection-union test: it rejects where both are linked, in the same direction."""
    if one is None or other is None:
        return _test(name, what, None)
    weaker = min(one, other, key=lambda each: abs(each.t))
    same_way = one.value * other.value > 0
    return DecisionTest(name, what, weaker.t, max(one.p_value, other.p_value) if same_way else 1.0)
