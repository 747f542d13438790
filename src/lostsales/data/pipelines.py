"""Orders on the way when each row of a log opens, and their expected arrivals."""

from dataclasses import replace

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.receipts import likeliest_on_way
from lostsales.data.shop import Shop
from lostsales.types import Bools, Floats, exceeds


def with_pipeline(log: SalesLog, given: Floats | None = None) -> SalesLog:
    """The log with its pipeline: as given, (rows, columns), or as orders and receipts tell."""
    if log.order is None or not log.problem.pipeline_length:
        return log
    return replace(log, pipeline=pipeline_of_rows(log) if given is None else given)


def pipeline_of_rows(log: SalesLog) -> Floats:
    """Units that are on the way when each row opens, (rows, pipeline length).

    With one lead time, the orders that are not due yet; of those before the first row, what was received later. With
    lead times that vary, the orders that are likeliest not to have arrived, given the receipts so far.
    """
    length, rows = log.problem.pipeline_length, np.arange(len(log))
    ordered, known = _ordered(log)
    if not log.problem.lead_times.is_fixed:
        on_way = likeliest_on_way(log)
        return ordered * (on_way[:, None] >> np.arange(length) & 1)
    # Ordered before the log began: with one lead time it arrives in a row that the log may have.
    due = rows[:, None] + np.arange(length)
    ends = np.r_[log.starts[1:], len(log)][log.series]
    seen = ~known & (due < ends[:, None]) & (log.received is not None)
    received = np.zeros(len(log)) if log.received is None else log.received
    return np.where(seen, received[np.minimum(due, len(log) - 1)], ordered)


def contradicts_orders(log: SalesLog, given: Floats) -> Bools:
    """Rows whose given pipeline differs from the orders of the periods before, (rows,).

    With one lead time it is that order; else that order, or nothing where it arrived.
    """
    ordered, known = _ordered(log)
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
    if log.received is None or log.order is None or varies:
        return np.zeros(len(log), dtype=bool), np.zeros(len(log))
    at = np.arange(len(log)) - lead.longest + 1
    known = at >= log.starts[log.series]
    due = np.where(known, log.order[np.maximum(at, 0)], 0.0)
    return known & (exceeds(log.received, due) | exceeds(due, log.received)), due


def _ordered(log: SalesLog) -> tuple[Floats, Bools]:
    """Orders of the periods before each row, one per pipeline column, and a mask of those that the log shows."""
    length, order = log.problem.pipeline_length, np.asarray(log.order)
    at = np.arange(len(log))[:, None] - length + np.arange(length)
    known = at >= log.starts[log.series][:, None]
    return np.where(known, order[np.maximum(at, 0)], 0.0), known


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
