"""Whether a log can be decided on, said before any work: stock, orders, unit costs, timing and balance."""

from lostsales.data.log import SalesLog
from lostsales.data.order_moment import order_moment
from lostsales.errors import LostSalesError

COSTS = ("lost", "order", "holding")


def check_decidable(log: SalesLog, verb: str) -> None:
    """Raise where a log has no stock, orders or unit costs, with everything that is missing."""
    missing = []
    if log.demand_only:
        missing.append(f"{verb} needs stock and orders, and this log has none; audit, impute and demand can use it")
    if log.costs is None:
        keys = [f"{name} = ..." for name in log.notes.missing_costs or COSTS]
        missing.append(
            f"{verb} needs unit costs: set [costs] {', '.join(keys)} in the problem, each a number or a column"
        )
    if missing:
        raise LostSalesError("\n".join(missing))


def doubts(log: SalesLog) -> tuple[str, ...]:
    """What may make decisions from a log wrong, though they can be computed: timing not declared, balance broken."""
    timing = (
        f'the problem does not say when orders arrive, and arrival = "{log.problem.arrival}" is taken: set arrival = '
        '"before" if an order can be sold in its own period, "after" if not'
    )
    is_unknown = not log.demand_only and "arrival" not in log.problem.model_fields_set
    moment = order_moment(log)
    evening = "" if moment is None or not moment.is_close else moment.sentence
    return tuple(filter(None, (timing if is_unknown else "", *log.notes.warnings, evening)))
