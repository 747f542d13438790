"""Where prices followed something hidden, no learner takes what it saw for the effect of a price."""

import warnings

import numpy as np
import pytest

from lostsales import CFQI, SSP, BaseStock, FQIObserved, Newsvendor, fit, simulate
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import find_runs
from lostsales.evaluation.policy_on_log import decisions
from lostsales.learn.learner import Learner
from lostsales.policy.policy import SavedPolicy
from lostsales.types import Floats

LEARNERS = (BaseStock(), SSP(), Newsvendor(), CFQI(iterations=2), FQIObserved(iterations=2))


@pytest.fixture(scope="module")
def hidden() -> SalesLog:
    return simulate("confounded", "manager", 14, 1)[0]


def decided(policy: SavedPolicy, log: SalesLog) -> Floats:
    """Price and order in every row of known depth, (rows, 2)."""
    runs = find_runs(log)
    found = decisions(policy, log, runs, np.flatnonzero(runs.depth >= 0), np.random.default_rng(0))
    return np.asarray(found[0])


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda each: each.method)
def test_the_usual_price_is_kept_and_said(learner: Learner, hidden: SalesLog) -> None:
    with pytest.warns(UserWarning, match="keeps the usual price"):
        policy = fit(hidden, learner)
    usual = np.median(hidden.price)
    (kept,) = np.unique(decided(policy, hidden)[:, 0])
    assert abs(kept - usual) == np.abs(np.unique(hidden.price) - usual).min()


def test_free_pricing_prices_all_the_same(hidden: SalesLog) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy = fit(hidden, BaseStock(pricing="free"))
    assert len(policy.problem.prices or ()) > 1


def test_where_prices_varied_freely_nothing_changes() -> None:
    log, _ = simulate("released", episodes=10, seed=1)
    tested, free = (fit(log, CFQI(iterations=2, pricing=each)) for each in ("tested", "free"))
    np.testing.assert_array_equal(decided(tested, log), decided(free, log))


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda each: each.method)
def test_the_warning_names_the_line_that_called_fit(learner: Learner, hidden: SalesLog) -> None:
    with pytest.warns(UserWarning, match="keeps the usual price") as warned:
        fit(hidden, learner)
    (kept,) = (each for each in warned if "keeps the usual price" in str(each.message))
    assert kept.filename == __file__


def test_an_imitator_of_the_log_keeps_its_prices(hidden: SalesLog) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy = fit(hidden, "behaviour")
    assert len(np.unique(decided(policy, hidden)[:, 0])) > 1
