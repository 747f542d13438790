"""Check of the stock of a log against its balance, and readings under which it would follow."""

import numpy as np
import pandas as pd
import pytest

from lostsales.data.balance import other_reading
from lostsales.data.reading.gate import read_log
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.data.ledgers import LEDGER, ledger
from tests.demand.logs import late_orders
from tests.learn.small import frame_of
from tests.tables import log_of


def test_a_stock_in_balance_has_no_finding() -> None:
    notes = log_of().notes
    assert (notes.balance_broken, notes.balance_finding, notes.balance_warning) == (False, "", "")


def test_one_row_in_twenty_may_be_off() -> None:
    """A correction now and then is no reason to distrust a log."""
    table = late_orders(1)
    table.loc[5::50, "stock"] += 1  # each puts two next stocks off
    notes = read_log(table).notes
    assert 0 < notes.off_balance_share < 0.05
    assert not notes.balance_broken


@pytest.mark.parametrize("lead", [2, 7, 14, 30])
def test_a_lead_time_is_recognised(lead: int) -> None:
    notes = read_log(late_orders(lead)).notes
    assert notes.balance_broken
    assert notes.follows_if == f"orders arrive {lead} periods later, in time for the sales of that period"
    assert notes.follows_if_share == 1
    assert notes.follows_if in notes.balance_finding
    assert notes.follows_if in notes.balance_warning


def test_orders_in_time_are_no_lead_time() -> None:
    assert not read_log(late_orders(1)).notes.balance_broken


def test_a_stock_at_the_end_of_the_period_is_recognised() -> None:
    table = late_orders(1)
    table["stock"] += 100 - table["sales"]  # ample, so that it could be an opening stock
    follows_if, share = other_reading(read_log(table))
    assert follows_if.startswith("the stock is that at the end of the period and orders arrive 1 period later")
    assert share == 1


def test_the_other_balance_is_recognised() -> None:
    log, _ = simulate(Scenario.load("steady", ('balance="netted"',)), episodes=10, seed=1)
    declared = log.problem.model_copy(update={"balance": "lost-sales"})
    notes = read_log(frame_of(log), declared).notes
    assert notes.balance_broken
    assert notes.follows_if == 'balance = "netted"'


def test_a_stock_of_no_law_has_the_usual_reasons_and_the_keys_that_help() -> None:
    rng = np.random.default_rng(0)
    table = late_orders(1).assign(stock=rng.integers(50, 99, 480))
    notes = read_log(table).notes
    assert notes.off_balance_share > 0.9
    assert notes.follows_if == ""
    for words in ("lead time", "received", "adjustment", "arrival", "another hour", "no gain can be determined"):
        assert words in notes.balance_warning


def test_a_ledger_with_receipts_and_corrections_is_in_balance() -> None:
    table, _ = ledger()
    notes = read_log(table, LEDGER).notes
    assert notes.balance_rows > 100
    assert notes.off_balance_rows == 0
    assert (table["adjustments"] != 0).any()


def test_units_that_a_correction_added_can_be_sold() -> None:
    """Found 3 on the shelf of 2 and sold 4: one is left."""
    table = pd.DataFrame({"series": ["a"] * 2, "period": [1, 2], "stock": [2, 1], "order": 0, "sales": [4, 0]})
    log = read_log(table.assign(price=1.0, adjustment=[3, 0]))
    assert log.notes.off_balance_rows == 0
    assert log.available.tolist() == [4, 1]
