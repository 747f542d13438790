"""Warnings about a log before decisions are learned from it: timing not declared, balance broken."""

from lostsales.data.log import SalesLog
from lostsales.data.order_moment import order_moment


def doubts(log: SalesLog) -> tuple[str, ...]:
    """Warnings that decisions from a log may be wrong though computable: timing undeclared, balance broken."""
    timing = (
        f'the problem does not say when orders arrive, and arrival = "{log.problem.arrival}" is taken: set arrival = '
        '"before" if an order can be sold in its own period, "after" if not'
    )
    is_unknown = not log.demand_only and "arrival" not in log.problem.model_fields_set
    moment = order_moment(log)
    evening = "" if moment is None or not moment.is_close else moment.sentence
    return tuple(filter(None, (timing if is_unknown else "", *log.notes.warnings, evening)))
