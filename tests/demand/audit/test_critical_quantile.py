"""The censored newsvendor of Hssaine and Sinclair: what a log that never shows demand above MOST identifies."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import poisson

import lostsales
from lostsales.data.economics import UnitCosts
from lostsales.data.log import DecisionLog
from lostsales.demand.audit.critical_quantile import critical_quantiles
from lostsales.demand.censoring.observed import observe

MOST, MEAN, LOGS = 22, 20.0, 100
REACHED = float(poisson.cdf(MOST, MEAN))


def newsvendor(seed: int, fractile: float, *, rows: int = 2_000, flag: bool = True) -> DecisionLog:
    """A shop with demand of a Poisson law and at most MOST units a day; `fractile` follows from the costs."""
    rng = np.random.default_rng(seed)
    log, _ = lostsales.simulate("newsvendor", episodes=rows // 50, seed=seed)
    available, demand = rng.integers(MOST - 8, MOST + 1, rows).astype(float), rng.poisson(MEAN, rows).astype(float)
    # (p + lost - c) / (p + lost + h - discount c) with p = 4, c = 3, h = 1 and discount 0.9.
    costs = UnitCosts(lost=(2.3 * fractile - 1) / (1 - fractile), order=3.0, holding=1.0)
    return replace(
        log,
        price=np.full(rows, 4.0),
        stock=available,
        order=np.zeros(rows),
        sales=np.minimum(available, demand),
        stockout=demand > available if flag else None,
        costs=costs,
    )


@pytest.mark.parametrize(
    ("fractile", "verdict", "least"),
    [(REACHED - 0.1, "identifiable", 0.8), (REACHED, "knife-edge", 0.9), (REACHED + 0.1, "unidentifiable", 0.8)],
)
def test_the_verdict_is_that_of_the_law(fractile: float, verdict: str, least: float) -> None:
    """At the edge each of two limits errs in 2.5 %; beside it 2,000 rows are over four standard errors away."""
    found = [critical_quantiles(log, observe(log))[0] for log in (newsvendor(seed, fractile) for seed in range(LOGS))]
    assert sum(each.verdict == verdict for each in found) >= least * LOGS
    assert {each.boundary for each in found} == {MOST}
    assert np.allclose([each.fractile for each in found], fractile)
    opposite = {"identifiable": "unidentifiable", "unidentifiable": "identifiable"}.get(verdict)
    assert not any(each.verdict == opposite for each in found)


def test_the_reach_is_unbiased_and_its_standard_error_right() -> None:
    found = [critical_quantiles(log, observe(log))[0] for log in (newsvendor(seed, 0.8) for seed in range(LOGS))]
    reached, errors = (np.array([getattr(each, name) for each in found]) for name in ("reached", "std_error"))
    assert abs(reached.mean() - REACHED) < 3 * reached.std() / LOGS**0.5
    assert reached.std() == pytest.approx(errors.mean(), rel=0.25)


def test_without_a_flag_a_demand_of_just_the_largest_stock_is_not_seen() -> None:
    """Sales of MOST may be a demand of MOST or above: only P(D < MOST) is identified."""
    found = [
        critical_quantiles(log, observe(log))[0].reached
        for log in (newsvendor(seed, 0.8, flag=False) for seed in range(LOGS))
    ]
    assert abs(np.mean(found) - poisson.cdf(MOST - 1, MEAN)) < 3 * np.std(found) / LOGS**0.5


def test_ample_stock_identifies_any_order() -> None:
    log = newsvendor(1, 0.97)
    ample = replace(log, stock=log.stock + 100, stockout=np.zeros(len(log), dtype=bool), sales=log.sales)
    assert critical_quantiles(ample, observe(ample))[0].verdict == "identifiable"


def test_a_few_days_of_more_stock_promise_nothing() -> None:
    """Six rows reach beyond 5 and show their demand: no proof that 90 % of demands are that low."""
    log = newsvendor(2, 0.9)
    rng = np.random.default_rng(2)
    demand = rng.poisson(10, len(log)).astype(float)
    available = np.where(np.arange(len(log)) < 6, 14.0, 5.0)
    demand[:6] = [8, 9, 10, 11, 7, 9]
    short = replace(log, stock=available, sales=np.minimum(available, demand), stockout=demand > available)
    assert critical_quantiles(short, observe(short))[0].verdict == "knife-edge"


def test_the_audit_says_it() -> None:
    found = lostsales.audit(newsvendor(3, REACHED + 0.1))
    assert found.critical_quantiles[0].sentence.startswith("unidentifiable: the best order lies above 22")
    assert found.as_json()["critical_quantiles"][0]["verdict"] == "unidentifiable"
