"""Check of the stock of a log against its balance, and of other readings that it would follow."""

from dataclasses import replace

import numpy as np

from lostsales.data.economics import next_stock, units_available
from lostsales.data.log import SalesLog
from lostsales.errors import LostSalesError
from lostsales.types import Bools, Floats, exceeds

BALANCES = ("lost-sales", "netted")
LONGEST_LEAD = 30  # periods after which an order is looked for
MOST_ROWS = 100_000  # on which other readings are tried
LEAST_ROWS = 20  # below, another reading of the balance is not considered
EXPLAINS = 0.9  # share of the next stocks that another reading has to give


def off_balance(log: SalesLog) -> tuple[int, int]:
    """Rows that have a next row, and how many of their next stocks the balance cannot give."""
    if log.stock is None or log.order is None:
        return 0, 0
    return int(np.count_nonzero(log.has_next)), int(np.count_nonzero(is_off_balance(log)))


def stock_after(log: SalesLog) -> Floats:
    """The stock that follows each row by the balance, with demand as far as it was served, (rows,)."""
    if log.stock is None or log.order is None:
        raise LostSalesError("a balance needs stock and orders, and this log has none")
    problem = log.problem
    arrived = log.order if log.received is None else log.received
    moved = 0.0 if log.adjustment is None else log.adjustment
    expected = next_stock(log.stock, arrived, log.sales, problem.flow) + moved
    # Sales beyond what was available came out of a positive correction.
    available = units_available(log.stock, arrived, problem.flow)
    return np.asarray(expected - np.maximum(log.sales - available, 0.0))


def is_off_balance(log: SalesLog) -> Bools:
    """Rows whose next stock the balance cannot give, (rows,)."""
    off = off_balance_rows(log)
    return np.zeros(len(log), dtype=bool) if off is None else np.r_[off, False] & log.has_next


def off_balance_rows(log: SalesLog) -> Bools | None:
    """Rows but the last whose balance does not give the stock of the row below, (rows - 1,); None without stock."""
    if log.stock is None or log.order is None:
        return None
    problem, expected, following = log.problem, stock_after(log)[:-1], log.stock[1:]
    off = exceeds(following, expected)
    short = exceeds(expected, following)
    # Under "netted" hidden demand takes from the order too, so that a stock-out only bounds the next stock from above.
    nets = problem.balance == "netted" and problem.arrival == "after"
    return np.asarray(off | (short & ~log.censored[:-1] if nets else short))


def nets_orders(log: SalesLog) -> bool:
    """True where the stock after most stock-outs lies below what arrived: hidden demand took from the order."""
    if log.order is None:
        return False
    arrived = log.order if log.received is None else log.received
    decisive = np.count_nonzero(log.censored & log.has_next & (arrived > 0))
    lost_sales, netted = (
        off_balance(replace(log, problem=log.problem.model_copy(update={"balance": balance})))[1]
        for balance in BALANCES
    )
    return bool(lost_sales - netted > decisive / 2)


def other_reading(log: SalesLog) -> tuple[str, float]:
    """The reading under which most next stocks follow and their share; an empty text where none gives enough.

    Tried are the netted balance, a stock at the end of the period instead of its start, and orders that arrive 0 to 30
    periods later.
    """
    if log.stock is None or log.order is None:
        return "", 0.0
    netted = replace(log, problem=log.problem.model_copy(update={"balance": "netted"}))
    rows, off = off_balance(netted)
    if rows - off >= EXPLAINS * rows and log.problem.balance != "netted" and nets_orders(log):
        return 'balance = "netted"', 1 - off / rows
    part = slice(0, MOST_ROWS)
    stock, sales, series = log.stock[part], log.sales[part], log.series[part]
    arrived = (log.order if log.received is None else log.received)[part]
    moved = np.zeros(len(stock)) if log.adjustment is None else log.adjustment[part]
    room = np.inf if log.problem.capacity is None else log.problem.capacity
    best = "", 0.0
    for closing in (False, True):
        # Opening stocks lose the sales of their own row, closing ones those of the next row.
        sold, corrected = (sales[1:], moved[1:]) if closing else (sales[:-1], moved[:-1])
        for lead in range(min(LONGEST_LEAD, len(stock) - 1) + 1):
            if not closing and lead == 1:
                continue  # the balance itself
            first = max(lead - 1, 0)
            came = arrived[1:] if lead == 0 else arrived[: len(stock) - lead]
            expected = np.minimum(stock[first:-1] - sold[first:] + came, room) + corrected[first:]
            told = series[1 + first :] == series[: len(series) - 1 - first] if lead else series[1:] == series[:-1]
            share = _share(stock[1 + first :], expected, told)
            if share > best[1] + 1e-9:
                best = _words(closing, lead), share
    return best if best[1] >= EXPLAINS else ("", 0.0)


def _share(stock: Floats, expected: Floats, told: Bools) -> float:
    rows = int(np.count_nonzero(told))
    off = exceeds(stock, expected) | exceeds(expected, stock)
    return 1 - int(np.count_nonzero(off & told)) / rows if rows >= LEAST_ROWS else 0.0


def _words(closing: bool, lead: int) -> str:
    later = f"orders arrive {lead} period{'s' if lead > 1 else ''} later, in time for the sales of that period"
    if not closing:
        held = "the stock of a row already holds the order of that row"
        return later if lead else f'{held} (arrival = "before", stock_includes_arrivals = true)'
    read = "the stock is that at the end of the period"
    return f"{read} and {later}" if lead else f"{read} and orders arrive in their own period"
