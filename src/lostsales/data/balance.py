"""Check of the stock of a log against its balance, and of other readings that it would follow."""

from dataclasses import replace
from typing import get_args

import numpy as np

from lostsales.data.economics import Balance, next_stock, units_available
from lostsales.data.ledger import FOLLOWS, LONGEST_LEAD, Ledger
from lostsales.data.log import SalesLog
from lostsales.errors import LostSalesError
from lostsales.types import Bools, Floats, exceeds

BALANCES: tuple[Balance, ...] = get_args(Balance)
TRIED_ROWS = 100_000  # on which other readings are tried: bounds time
LEAST_PAIRS = 20  # below, another reading of the balance may fit by chance


def off_balance(log: SalesLog, balance: Balance | None = None) -> tuple[int, int]:
    """Rows that have a next row, and how many of their next stocks the balance, or another one, cannot give."""
    if balance is not None:
        log = replace(log, problem=log.problem.model_copy(update={"balance": balance}))
    off = off_balance_rows(log)
    return (0, 0) if off is None else (len(log.steps), int(np.count_nonzero(off & log.has_next[:-1])))


def stock_after(log: SalesLog) -> Floats:
    """The stock that follows each row by the balance, with demand as far as it was served, (rows,)."""
    if log.ledger is None:
        raise LostSalesError("a balance needs stock and orders, and this log has none")
    return _after(log, log.ledger)


def _after(log: SalesLog, ledger: Ledger) -> Floats:
    flow = log.problem.flow
    expected = next_stock(ledger.stock, ledger.arrived, ledger.sales, flow) + ledger.moved
    # Sales beyond what was available came out of a positive correction.
    available = units_available(ledger.stock, ledger.arrived, flow)
    return np.asarray(expected - np.maximum(ledger.sales - available, 0.0))


def is_off_balance(log: SalesLog) -> Bools:
    """Rows whose next stock the balance cannot give, (rows,)."""
    off = off_balance_rows(log)
    return np.zeros(len(log), dtype=bool) if off is None else np.r_[off, False] & log.has_next


def off_balance_rows(log: SalesLog) -> Bools | None:
    """Rows but the last whose balance does not give the stock of the row below, (rows - 1,); None without stock."""
    if log.ledger is None:
        return None
    expected, following = _after(log, log.ledger)[:-1], log.ledger.stock[1:]
    off = exceeds(following, expected)
    short = exceeds(expected, following)
    # Under "netted" hidden demand takes from the order too, so that a stock-out only bounds the next stock from above.
    return np.asarray(off | (short & ~log.censored[:-1] if log.problem.flow.netted else short))


def nets_orders(log: SalesLog) -> bool:
    """True where the stock after most stock-outs lies below what arrived: hidden demand took from the order."""
    if log.ledger is None:
        return False
    decisive = np.count_nonzero(log.censored & log.has_next & (log.ledger.arrived > 0))
    lost_sales, netted = (off_balance(log, each)[1] for each in BALANCES)
    return bool(lost_sales - netted > decisive / 2)


def other_reading(log: SalesLog) -> tuple[str, float]:
    """The reading under which most next stocks follow and their share; an empty text where none gives enough.

    Tried are the netted balance, a stock at the end of the period instead of its start, and orders that arrive 0 to 30
    periods later.
    """
    if log.ledger is None:
        return "", 0.0
    rows, off = off_balance(log, "netted")
    if rows - off >= FOLLOWS * rows and log.problem.balance != "netted" and nets_orders(log):
        return 'balance = "netted"', 1 - off / rows
    ledger, room, best = log.ledger.part(slice(0, TRIED_ROWS)), log.problem.flow.capacity, ("", 0.0)
    for closing in (False, True):
        for lead in range(LONGEST_LEAD + 1):
            if not closing and lead == 1:
                continue  # the balance itself
            pairs, follow = ledger.following(lead, closing=closing, room=room)
            if pairs >= LEAST_PAIRS and follow / pairs > best[1] + 1e-9:
                best = _words(closing, lead), follow / pairs
    return best if best[1] >= FOLLOWS else ("", 0.0)


def _words(closing: bool, lead: int) -> str:
    later = f"orders arrive {lead} period{'s' if lead > 1 else ''} later, in time for the sales of that period"
    if not closing:
        held = "the stock of a row already holds the order of that row"
        return later if lead else f'{held} (arrival = "before", stock_includes_arrivals = true)'
    read = "the stock is that at the end of the period"
    return f"{read} and {later}" if lead else f"{read} and orders arrive in their own period"
