"""A pilot as a whole: schedule, file, monitor, and what is wrong with either's input."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lostsales.data.log import SalesLog
from lostsales.data.sublogs import without
from lostsales.errors import LostSalesError
from lostsales.evaluation.pilot.design import PilotSettings, design_pilot
from lostsales.evaluation.pilot.monitor import monitor
from lostsales.evaluation.pilot.plan import Pilot
from tests.evaluation.pilot.shops import PAST, TRIED, dated, designed, shop_log


@pytest.fixture(scope="module")
def log() -> SalesLog:
    """Both arms are the same policy."""
    return shop_log()


@pytest.fixture(scope="module")
def plan(log: SalesLog) -> Pilot:
    return designed(log)


def test_the_schedule_is_balanced_and_reproducible(log: SalesLog, plan: Pilot) -> None:
    again, other = designed(log), designed(log, seed=4)
    assert again == plan
    assert (other.new != plan.new).any()
    assert plan.new.sum() == 6
    new, old = (plan.of_series("past_profit")[own].mean() for own in (plan.new[:, 0], ~plan.new[:, 0]))
    spread = plan.of_series("past_profit").std() / np.sqrt(3)
    assert abs(new - old) < 2.5 * spread
    table = plan.schedule()
    assert table["from"].tolist() == [PAST] * 12
    assert set(table["to"].tolist()) == {PAST + 29}
    assert (table["counted_from"] == PAST + plan.wash_out).all()


def test_more_periods_find_less_and_smaller_gains_take_longer(log: SalesLog, plan: Pilot) -> None:
    longer = designed(log, periods=120)
    assert longer.findable is not None
    assert plan.findable is not None
    assert longer.findable < plan.findable
    needed = [each.periods for each in plan.needed if each.periods is not None]
    assert needed == sorted(needed, reverse=True)
    found = next(each for each in plan.needed if each.periods is not None and each.periods < 200)
    assert designed(log, periods=found.periods).findable <= found.gain * 1.001  # type: ignore[operator]


def test_a_pilot_whose_arms_are_the_same_policy_goes_on(log: SalesLog, plan: Pilot) -> None:
    found = monitor(plan, log)
    assert found.verdict == "undecided"
    assert found.profit is not None
    last = found.profit.last
    assert last.low < 0 < last.high
    assert found.missing == ()
    assert found.unknown == ()
    assert (found.new.series, found.before.series) == (6, 6)
    part = monitor(plan, without(log, log.period >= PAST + 15))
    assert part.verdict == "go on"
    assert part.periods == 15


def test_cash_and_profit_stand_apart(log: SalesLog, plan: Pilot) -> None:
    found = monitor(plan, log)
    assert found.profit is not None
    assert found.cash is not None
    assert found.profit.last.value != found.cash.last.value
    assert found.new.profit < found.new.cash  # lost sales cost something
    rows = np.repeat(plan.new, PAST + 30, axis=1).reshape(-1) & (log.period >= PAST + plan.wash_out)
    assert found.new.cash == pytest.approx(log.cash[rows].mean())


@pytest.mark.parametrize(("factor", "verdict"), [(1.3, "success"), (0.7, "harm")])
def test_large_gains_and_losses_stop_the_pilot(log: SalesLog, plan: Pilot, factor: float, verdict: str) -> None:
    rows = np.repeat(plan.new, PAST + 30, axis=1).reshape(-1) & (log.period >= PAST)
    found = monitor(plan, replace(log, price=np.where(rows, factor * log.price, log.price)))
    assert found.verdict == verdict
    assert found.decided is not None
    assert int(found.decided) < PAST + 30
    assert verdict in found.sentence


def test_periods_before_the_pilot_may_be_absent(log: SalesLog, plan: Pilot) -> None:
    only = without(log, log.period < PAST)
    found = monitor(plan, only)
    assert found.cash is not None
    whole = monitor(plan, log).cash
    assert whole is not None
    assert found.cash.last.value == pytest.approx(whole.last.value)  # cash is observed


def test_what_was_told_of_cash_stays_as_it_was_told(log: SalesLog, plan: Pilot) -> None:
    later, then = monitor(plan, log).cash, monitor(plan, without(log, log.period >= PAST + 15)).cash
    assert later is not None
    assert then is not None
    looks = len(then.periods)
    assert later.periods[:looks] == then.periods
    np.testing.assert_allclose(later.estimates.effect[:looks], then.estimates.effect)


def test_lost_sales_estimated_anew_move_the_gain_little(log: SalesLog, plan: Pilot) -> None:
    """Profit of early periods, from the log up to then and from the whole: far within the bounds."""
    later, then = monitor(plan, log).profit, monitor(plan, without(log, log.period >= PAST + 15)).profit
    assert later is not None
    assert then is not None
    looks = len(then.periods)
    moved = np.abs(later.estimates.estimate[:looks] - then.estimates.estimate).max()
    assert moved < 0.2 * then.estimates.effect[-1].std()


def test_before_anything_is_counted_the_pilot_goes_on(log: SalesLog) -> None:
    found = monitor(designed(log, wash_out=5), without(log, log.period >= PAST + 2))
    assert (found.verdict, found.profit, found.new.rows) == ("go on", None, 0)
    assert "nothing to count yet" in found.sentence
    assert found.to_json()["gain"] is None


def test_missing_rows_and_unknown_series_are_named(log: SalesLog, plan: Pilot) -> None:
    gone = (log.series == 2) & (log.period >= PAST + 25) | (log.series == 5) & (log.period == PAST + 3)
    renamed = replace(log, names=np.array([*log.names[:-1], "a new one"], dtype=object))
    found = monitor(plan, without(renamed, gone))
    by_name = {each.series: each for each in found.missing}
    assert (by_name["product 2"].periods, by_name["product 2"].first) == (5, str(PAST + 25))
    assert by_name["product 5"].periods == 1
    assert by_name["product 11"].periods == 30
    assert found.unknown == ("a new one",)


def test_a_doubling_of_demand_raises_an_alarm(log: SalesLog, plan: Pilot) -> None:
    assert any(each.name == "demand" for each in plan.detectors)
    before = monitor(plan, log).alarms
    late = log.period >= PAST + 12
    more = replace(log, sales=np.where(late, 2.0 * log.sales, log.sales), stock=np.where(late, 99.0, log.stock))  # type: ignore[arg-type]
    found = monitor(plan, more).alarms
    assert not any(each.what == "demand" for each in before)
    alarm = next(each for each in found if each.what == "demand")
    assert PAST + 12 <= int(alarm.found) <= PAST + 20
    assert alarm.size > 0.2


def test_few_series_switch_over_time() -> None:
    log = shop_log(series=3, periods=170)
    plan = designed(log, periods=None, wash_out=2)
    assert plan.design == "switchback"
    assert (plan.new[:, ::2] != plan.new[:, 1::2]).all()
    assert (np.abs(plan.new[:, 1::2].sum(axis=0) - 1.5) == 0.5).all()
    assert plan.periods == 2 * plan.block * plan.pairs
    found = monitor(plan, log)
    assert found.profit is not None
    assert found.verdict in ("go on", "undecided")
    offsets = np.arange(170)
    counted = plan.is_counted(offsets)
    assert counted[:2].tolist() == [False, False]
    assert counted.sum() == min(170, plan.periods) // plan.block * (plan.block - 2) + max(
        min(170, plan.periods) % plan.block - 2, 0
    )


def test_a_gain_in_switched_blocks_is_found() -> None:
    log = shop_log(series=3, periods=170)
    plan = designed(log, periods=168, wash_out=2)
    offset = np.tile(np.arange(-PAST, 170), 3)
    series = np.repeat(np.arange(3), PAST + 170)
    inside = (offset >= 0) & (offset < plan.periods)
    rows = np.zeros(len(log), dtype=bool)
    rows[inside] = plan.new[series[inside], offset[inside] // plan.block]
    found = monitor(plan, replace(log, price=np.where(rows, 1.5 * log.price, log.price)))
    assert found.verdict == "success"


def test_dates_are_weeks_and_whole_weeks_are_counted() -> None:
    log = dated(shop_log(series=3))
    past = without(log, log.period >= np.datetime64("2026-02-14", "us"))
    plan = design_pilot(past, TRIED, PilotSettings(wash_out=3))
    assert plan.clock.name(0) == "2026-02-14"
    assert (plan.block - plan.wash_out) % 7 == 0
    assert plan.schedule()["from"].dtype == np.dtype("datetime64[D]")
    assert all(each.weeks is None or each.weeks == each.periods / 7 for each in plan.needed if each.periods)


def test_a_file_gives_the_pilot_back_with_its_schedule(plan: Pilot, tmp_path: Path) -> None:
    plan.save(tmp_path / "pilot.json")
    assert Pilot.load(tmp_path / "pilot.json") == plan
    table = pd.read_csv(tmp_path / "pilot.schedule.csv")
    assert table["policy"].tolist().count("new") == 6
    assert table["series"].tolist() == plan.names.tolist()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda text: text.replace('"seed": 3', '"seed": 4'), "altered"),
        (lambda text: text[:200], "cannot be read"),
        (lambda _: "[]", "no JSON object"),
        (lambda _: '{"kind": "policy"}', "is no pilot"),
    ],
)
def test_a_file_that_is_no_pilot_is_refused(plan: Pilot, tmp_path: Path, change: object, expected: str) -> None:
    path = tmp_path / "pilot.json"
    plan.save(path)
    path.write_text(change(path.read_text()))  # type: ignore[operator]
    with pytest.raises(LostSalesError, match=expected):
        Pilot.load(path)


def test_a_file_with_a_good_checksum_and_bad_content_is_refused(plan: Pilot, tmp_path: Path) -> None:
    from lostsales.evaluation.pilot.plan import _checksum

    content = plan.model_dump(mode="json")
    series, demand = content["series"], content["demand"]
    for change, expected in (
        ({"format": 9}, "format 9"),
        ({"step": 0}, "step"),
        ({"series": []}, "series"),
        ({"periods": 10**9}, "periods: Input should be less than or equal to 1000000"),
        ({"series": [each | {"stratum": 10**18} for each in series]}, "more strata than series"),
        ({"series": [series[0] | {"new": [True, False]}, *series[1:]]}, "differ in their numbers of blocks"),
        ({"design": "switchback"}, "the blocks of a switchback come in pairs"),
        ({"start": 10**30}, "its periods are too far away"),
        ({"demand": demand | {"columns": demand["columns"][1:]}}, "needs a coefficient and a centre for every column"),
        ({"demand": demand | {"centre": [0.0]}}, "needs a coefficient and a centre for every column"),
    ):
        content = plan.model_dump(mode="json") | change
        path = tmp_path / "pilot.json"
        path.write_text(json.dumps({"pilot": content, "sha256": _checksum(content)}))
        with pytest.raises(LostSalesError, match=expected):
            Pilot.load(path)


def test_series_that_are_no_longer_sold_stay_out(log: SalesLog) -> None:
    plan = designed(without(log, (log.series == 0) & (log.period > 10)))
    assert "product 0" not in plan.names
    assert any("product 0" in note for note in plan.notes)
