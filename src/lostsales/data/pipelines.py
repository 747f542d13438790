"""Orders on the way when each row of a log opens, their expected arrivals, and the supply in words."""

from dataclasses import replace

import numpy as np

from lostsales.data.ledger import Ledger
from lostsales.data.log import AnyLog, SalesLog
from lostsales.data.problem import Problem
from lostsales.data.receipts import likeliest_on_way
from lostsales.data.shop import Shop
from lostsales.types import Array, Bools, Floats, exceeds


def with_pipeline(log: AnyLog, given: Floats | None = None) -> AnyLog:
    """The log with its pipeline: as given, (rows, columns), or as orders and receipts tell.

    With one lead time, the orders that are not due yet; of those before the first row, what was received later. With
    lead times that vary, the orders that are likeliest not to have arrived, given the receipts so far.
    """
    ledger, length = log.ledger, log.problem.pipeline_length
    if ledger is None or not length:
        return log
    if given is not None:
        return replace(log, pipeline=given)
    ordered, known = _ordered(ledger, length)
    if not log.problem.lead_times.is_fixed:
        on_way = likeliest_on_way(ledger, log.problem)
        return replace(log, pipeline=ordered * (on_way[:, None] >> np.arange(length) & 1))
    if log.received is None:
        return replace(log, pipeline=ordered)
    # Ordered before the log began: with one lead time it arrives in a row that the log may have.
    due = np.arange(len(log))[:, None] + np.arange(length)
    ends = np.r_[log.starts[1:], len(log)][log.series]
    seen = ~known & (due < ends[:, None])
    return replace(log, pipeline=np.where(seen, log.received[np.minimum(due, len(log) - 1)], ordered))


def contradicts_orders(log: SalesLog, ledger: Ledger, given: Floats) -> Bools:
    """Rows whose given pipeline differs from the orders of the periods before, (rows,).

    With one lead time it is that order; else that order, or nothing where it arrived.
    """
    ordered, known = _ordered(ledger, given.shape[1])
    off = exceeds(given, ordered)
    short = exceeds(ordered, given)
    wrong = off | (short if log.problem.lead_times.is_fixed else short & exceeds(given, 0.0))
    return np.asarray((known & wrong).any(axis=1))


def off_lead_time(log: SalesLog) -> tuple[Bools, Floats]:
    """Rows whose receipt is not the order that was due by the one lead time of all orders, (rows,), and what was due.

    Rows whose due order lies before the log are not, nor any where lead times vary or are below 2, or a share is lost.
    """
    lead = log.problem.lead_times
    varies = not lead.is_fixed or lead.longest < 2 or log.problem.supply.share < 1
    if log.received is None or log.ledger is None or varies:
        return np.zeros(len(log), dtype=bool), np.zeros(len(log))
    due, known = log.ledger.before(lead.longest - 1)
    return known & (exceeds(log.received, due) | exceeds(due, log.received)), due


def _ordered(ledger: Ledger, length: int) -> tuple[Floats, Bools]:
    """Orders of the periods before each row, one per pipeline column, and a mask of those that the log shows."""
    columns, known = zip(*(ledger.before(length - column) for column in range(length)), strict=True)
    return np.column_stack(columns), np.column_stack(known)


def expected_arrivals(shop: Shop, pipeline: Floats) -> Floats:
    """Units expected to arrive in 1, 2, ... periods, (series, pipeline length), of what is on the way."""
    law, length = shop.lead_times, pipeline.shape[1]
    arrives = np.zeros_like(pipeline)
    for column in range(length):
        waited = length - column
        left = law.lost + sum(law.chances[waited + 1 :])
        for later in range(column + 1):
            arrives[:, later] += pipeline[:, column] * law.chances[waited + 1 + later] / max(left, 1e-12)
    return shop.supply.share * arrives


def supply_words(problem: Problem) -> str:
    """Arrival of orders and order days in words.

    >>> supply_words(Problem(supply={"lead_time": {"1": 0.75, "3": 0.25}, "order_days": ["Mon"]}))
    'an order can be sold after 1 (75.0%) or 3 (25.0%) periods; orders on Monday'
    """
    law, supply = problem.lead_times, problem.supply
    words = f"an order arrives {problem.arrival} sales"
    if not law.is_fixed or law.longest > 1:
        errors = supply.lead_time_errors or {}

        def chance(key: str, value: float) -> str:
            error = f" ± {errors[key]:.1%}" if errors.get(key) else ""
            return f"({value:.1%}{error})"

        times = [f"{at} {chance(str(at), each)}" for at, each in enumerate(law.chances) if each]
        after = str(law.longest) if law.is_fixed else " or ".join([", ".join(times[:-1]), times[-1]][len(times) < 2 :])
        words = f"an order can be sold after {after} periods"
        words += f", or is lost {chance('lost', law.lost)}" if law.lost else ""
        words += "" if supply.crossing or law.is_fixed else ", orders do not cross"
    if problem.order_placed == "close":
        words = f"orders are placed at closing time and read as those of the next period; from then on {words}"
    words += "" if supply.share == 1 else f"; {supply.share:.1%} of an order arrives"
    days = supply.order_days
    if isinstance(days, tuple):
        words += f"; orders on {', '.join(days)}"
    elif supply.order_cycle is not None:
        words += f"; orders every {len(supply.order_cycle)} periods"
    elif isinstance(days, str):
        words += f"; orders where {days} is not 0"
    return words + (f"; at most {supply.capacity:g} on the way" if supply.capacity is not None else "")


def arrival_texts(shop: Shop, pipeline: Floats) -> Array:
    """Expected arrivals of each series as text, (series,).

    >>> arrival_texts(Shop(supply={"lead_time": 3}), np.array([[4.0, 6.0], [0.0, 2.0], [0.0, 0.0]])).tolist()
    ['4 in 1 period, 6 in 2 periods', '2 in 2 periods', 'nothing is on the way']
    """
    expected = np.round(expected_arrivals(shop, pipeline), 2)
    texts = np.empty(len(pipeline), dtype=object)
    for row, units in enumerate(expected):
        parts = [f"{each:g} in {at} period{'s' if at > 1 else ''}" for at, each in enumerate(units, start=1) if each]
        texts[row] = ", ".join(parts) or "nothing is on the way"
    return texts
