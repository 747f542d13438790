"""Back-tests in time: claims against outcomes."""

import json
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lostsales
from lostsales.data.log import SalesLog
from lostsales.data.sublogs import without
from lostsales.evaluation.back_test import BackTest, BackTestWindow, back_test
from lostsales.evaluation.evaluate import evaluate
from lostsales.evaluation.interval import Interval
from lostsales.policy.simple import BaseStockRule, EpsilonGreedy
from tests.learn.small import frame_of


def newsvendor_log(horizon: int = 40) -> SalesLog:
    scenario = lostsales.Scenario.load("newsvendor", (f"horizon={horizon}",))
    return lostsales.simulate(scenario, episodes=12, seed=1)[0]


@pytest.mark.slow
def test_windows_are_the_last_half_and_the_past_is_all_that_went_before() -> None:
    log = newsvendor_log()
    found = back_test(log, "newsvendor", windows=2, seed=3, quick=True)
    assert [(each.first, each.last, each.rows) for each in found.windows] == [("20", "29", 120), ("30", "39", 120)]
    past, window = without(log, log.period >= 30), without(log, log.period < 30)
    policy = lostsales.fit(past, "newsvendor", seed=3)
    claim, outcome = (
        evaluate(policy, each, estimators=("model",), horizon=10, seed=3, quick=True) for each in (past, window)
    )
    assert claim.best is not None
    assert outcome.best is not None
    assert (found.windows[1].claimed, found.windows[1].outcome) == (claim.best.gain, outcome.best.gain)
    assert found.windows[1].earned == outcome.earned.profit.value


@pytest.mark.slow
def test_what_comes_later_never_reaches_a_claim() -> None:
    log = newsvendor_log()
    later = log.period >= 30
    changed = replace(log, price=np.where(later, log.price * 2, log.price))
    before, after = (back_test(each, "newsvendor", windows=2, quick=True) for each in (log, changed))
    assert [each.claimed for each in after.windows] == [each.claimed for each in before.windows]
    assert after.windows[0] == before.windows[0]
    assert after.windows[1].outcome != before.windows[1].outcome


def windows_of(claimed: float, outcome: float, reach: float) -> BackTest:
    claim, came = (Interval(each, each - reach, each + reach) for each in (claimed, outcome))
    return BackTest("m", (BackTestWindow("1", "2", 9, claim, came, 1.0, 1.0),) * 4)


def test_the_verdict_allows_for_the_errors_of_both() -> None:
    """Of four windows outcomes are twice as sure as one, claims no surer: 2 and 1, together 2.24."""
    assert windows_of(5.0, 2.8, 2.0).verdict == "borne out"
    assert windows_of(5.0, 2.7, 2.0).verdict == "fell short"
    assert windows_of(5.0, 9.0, 2.0).verdict == "borne out"
    assert windows_of(3.0, 0.9, 2.0).verdict == "open"
    outcome = windows_of(5.0, 2.7, 2.0).outcome
    assert outcome is not None
    assert astuple(outcome) == pytest.approx((2.7, 1.7, 3.7))
    assert "significantly less than predicted" in windows_of(5.0, 2.7, 2.0).sentence


@pytest.mark.slow
def test_a_gain_that_the_market_took_away_falls_short() -> None:
    """Demand falls and the manager orders less: what was learned before orders far too much."""
    falls, stays = (joined(*later) for later in ((16.0, 4), (26.0, 8)))
    assert back_test(falls, "newsvendor", windows=1, quick=True).verdict == "fell short"
    assert back_test(stays, "newsvendor", windows=1, quick=True).verdict == "borne out"


def joined(intercept: float, level: int) -> SalesLog:
    """A shop whose demand and whose manager's base-stock level are others from the 20th period on."""
    parts = []
    for start, own, up_to in ((0, 26.0, 8), (20, intercept, level)):
        scenario = lostsales.Scenario.load("newsvendor", ("horizon=20", f"demand.intercept={own}"))
        manager = EpsilonGreedy(BaseStockRule(scenario.problem, up_to, 6.0), 0.5)
        table = frame_of(lostsales.simulate(scenario, manager, episodes=12, seed=start)[0])
        parts.append(
            table.assign(series=table["series"].astype(str) + f" from {start}", period=table["period"] + start)
        )
    return lostsales.read_log(pd.concat(parts), scenario.problem)


@pytest.mark.parametrize(("periods", "horizons"), [(100, {50}), (220, {100})])
def test_long_windows_are_evaluated_in_episodes_of_a_hundred_periods(
    periods: int, horizons: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One series of 100,000 periods was replayed over a sixth of them at once, and did not end."""
    log, _ = lostsales.simulate(lostsales.Scenario.load("newsvendor", (f"horizon={periods}",)), episodes=12, seed=1)
    seen = set()

    def watched(*given: Any, **options: Any) -> lostsales.Evaluation:
        found = evaluate(*given, **options)
        seen.add(found.estimand.horizon)
        return found

    monkeypatch.setattr("lostsales.evaluation.back_test.evaluate", watched)
    back_test(log, "newsvendor", windows=1, quick=True)
    assert seen == horizons


def test_a_window_that_cannot_be_judged_has_a_reason() -> None:
    log = newsvendor_log()
    found = back_test(
        replace(log, stockout=np.where(log.period >= 30, True, log.censored)), "newsvendor", windows=2, quick=True
    )
    assert found.windows[0].reason is None
    assert found.windows[1].outcome is None
    assert found.windows[1].reason
    assert json.loads(json.dumps(found.to_json()))["windows"][1]["reason"] == found.windows[1].reason
