"""Trade-off between profit, stock and service."""

import lostsales
from lostsales.apps.report.figures import draw_trade_off
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.trade_off import trade_off
from tests.evaluation.shop import Assortment

LOG = Assortment.drawn(4, seed=1).log(90, seed=2)


def test_dearer_lost_sales_bring_service_and_stock_and_the_own_costs_the_most() -> None:
    prepared = PreparedLog.of(LOG)
    policy = lostsales.fit(LOG, "planner", paths=32, pricing="given")
    found = trade_off(policy, prepared, 0, 90)
    assert found is not None
    services = [each.service for each in found.points]
    assert [each.fill_rate for each in services] == sorted(each.fill_rate for each in services)
    assert [each.stock_value for each in services] == sorted(each.stock_value for each in services)
    (own,) = [each for each in found.points if each.is_own]
    assert own.profit >= max(each.profit for each in found.points) - 0.02 * abs(own.profit)
    drawn = str(draw_trade_off(found, "money", "day", 460.0))
    assert all(f">{each.fill_rate:.0%}<" in drawn for each in services)


def test_a_rule_without_other_costs_has_no_trade_off() -> None:
    assert trade_off(lostsales.fit(LOG, "base-stock"), PreparedLog.of(LOG), 0, 90) is None
