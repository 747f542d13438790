"""Kaplan-Meier and Cox against statsmodels, the log-normal model against its likelihood, and both on their laws."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm
from statsmodels.duration.hazard_regression import PHReg
from statsmodels.duration.survfunc import SurvfuncRight

from lostsales.data.feature import Feature
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.survival.curve import kaplan_meier
from lostsales.demand.survival.imputation import impute_by_curves
from lostsales.demand.survival.regressions import Regression, fit_cox, fit_lognormal
from lostsales.demand.survival.tail import Bound
from lostsales.errors import LostSalesError
from lostsales.types import Floats


@given(st.integers(0, 2**32 - 1), st.integers(2, 300), st.booleans(), st.booleans())
def test_kaplan_meier_is_that_of_statsmodels(seed: int, rows: int, tied: bool, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    times = rng.integers(0, 12, rows).astype(float) if tied else rng.exponential(3, rows)
    events = rng.random(rows) < rng.uniform(0.2, 1)
    events[0] = True  # theirs needs one
    weights = rng.integers(1, 9, rows) / 2 if weighted else np.ones(rows)
    curve = kaplan_meier(times, events, weights)
    theirs = SurvfuncRight(times, events.astype(int), freq_weights=weights)
    ours = np.r_[1.0, curve.survival][np.searchsorted(curve.times, theirs.surv_times, side="right")]
    np.testing.assert_allclose(ours, theirs.surv_prob, rtol=0, atol=1e-12)


@pytest.mark.parametrize("tied", [False, True])
def test_cox_is_that_of_statsmodels(tied: bool) -> None:
    """Efron's ties, and rows drawn twice count as two rows."""
    rng = np.random.default_rng(1)
    columns, drawn = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    times = rng.exponential(np.exp(columns @ [0.5, -0.3, 0.0]))
    times = np.ceil(4 * times) if tied else times
    events = rng.random(300) < 0.7
    again = np.repeat(np.arange(300), drawn)
    theirs = PHReg(times[again], columns[again], events[again].astype(int), ties="efron").fit(disp=0)
    used = drawn > 0
    ours = fit_cox(columns[used], times[used], events[used], drawn[used].astype(float), 0.0)
    np.testing.assert_allclose(ours, theirs.params, atol=1e-6)


def test_the_ridge_penalty_is_a_prior_on_the_slopes() -> None:
    """At the optimum the slope of the log likelihood, by statsmodels, is the penalty times the slopes."""
    rng = np.random.default_rng(2)
    columns = rng.normal(size=(200, 2))
    times, events = rng.exponential(np.exp(columns[:, 0])), rng.random(200) < 0.6
    slopes = fit_cox(columns, times, events, np.ones(200), 0.1)
    score = PHReg(times, columns, events.astype(int), ties="efron").score(slopes)
    np.testing.assert_allclose(score, 200 * 0.1 * slopes, atol=1e-6)


def test_the_lognormal_model_is_at_the_top_of_its_likelihood() -> None:
    """Against a likelihood written with scipy's normal distribution, and a search without derivatives."""
    rng = np.random.default_rng(3)
    columns, weights = rng.normal(size=(150, 2)), rng.integers(0, 3, 150).astype(float)
    logs = 1 + columns @ [0.4, -0.2] + 0.3 * rng.normal(size=150)
    limit = 1 + 0.5 * rng.normal(size=150)
    times, events, penalty = np.exp(np.minimum(logs, limit)), logs <= limit, 0.05

    def loss(at: Floats) -> float:
        law = norm(at[0] + columns @ at[1:3], np.exp(at[3]))
        value = np.where(events, law.logpdf(np.log(times)), law.logsf(np.log(times)))
        return float(-(weights @ value) / weights.sum() + penalty / 2 * at[1:3] @ at[1:3])

    centre, slopes, sigma = fit_lognormal(columns, times, events, weights, penalty)
    found = minimize(
        loss, np.array([1.0, 0, 0, -1]), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12, "maxiter": 4000}
    )
    np.testing.assert_allclose([centre, *slopes, np.log(sigma)], found.x, atol=1e-4)


def drawn_log(
    law: str, seed: int, *, series: int = 60, whole: bool = False, flag: bool = True
) -> tuple[SalesLog, Floats]:
    """A log whose demand follows a Cox or a lognormal law in one feature, and the demand itself."""
    rng = np.random.default_rng(seed)
    heat = rng.normal(0, 1, (series, 25))
    if law == "cox":  # the hazard of a Weibull law times exp(-0.6 heat)
        demand = 8 * (rng.exponential(1, heat.shape) * np.exp(0.6 * heat)) ** (1 / 2)
    else:
        demand = np.exp(2 + 0.4 * heat + 0.3 * rng.normal(0, 1, heat.shape))
    available = rng.uniform(3, 25, heat.shape)
    if whole:
        demand, available = np.floor(demand), np.floor(available)
    frame = {
        "series": np.repeat(np.arange(series), 25),
        "period": np.tile(np.arange(25), series),
        "heat": heat.ravel(),
        "stock": available.ravel(),
        "order": 0.0,
        "price": 4.0,
        "sales": np.minimum(demand, available).ravel(),
    }
    frame |= {"stockout": (demand > available).ravel()} if flag else {}
    return read_log(pd.DataFrame(frame), Problem(features=(Feature(name="heat"),))), demand.ravel()


@pytest.mark.parametrize(("whole", "flag"), [(False, True), (True, True), (True, False)])
@pytest.mark.parametrize("estimator", ["cox", "aft"])
def test_a_model_is_unbiased_on_data_of_its_law(estimator: str, whole: bool, flag: bool) -> None:
    """Over four logs: mean error within 10 % of the mean excess, and less squared error than the marginal curve."""
    bias, excess, squared, marginal = [], [], [], []
    for seed in range(4):
        log, demand = drawn_log(estimator, seed, whole=whole, flag=flag)
        filled, other = (
            impute_by_curves(log, estimator=name, replicates=0, demand_max=60, tail="exponential")
            for name in (estimator, "marginal")
        )
        assert filled.bandwidths == {}
        rows = filled.hidden & filled.identified
        assert rows.sum() > 50
        error = (filled.expected_demand - demand)[rows]
        bias.append(error.mean())
        excess.append((demand - log.available)[rows].mean())
        squared.append((error**2).mean())
        marginal.append(((other.expected_demand - demand)[rows] ** 2).mean())
    assert abs(np.mean(bias)) < 0.1 * np.mean(excess)
    assert np.mean(squared) < np.mean(marginal)


@pytest.mark.parametrize("estimator", ["cox", "aft"])
def test_standard_errors_come_from_refitting_resamples(estimator: str) -> None:
    log, _ = drawn_log(estimator, 0, series=30)
    filled = impute_by_curves(log, estimator=estimator, replicates=5)
    rows = filled.hidden & filled.identified
    assert (filled.error[rows] > 0).all()
    assert filled.error[rows].mean() < filled.expected_lost[rows].mean()


def test_the_tail_rules_hold_for_cox() -> None:
    log, _ = drawn_log("cox", 0, series=30)
    to_max, exponential, last, refuse = (
        impute_by_curves(log, estimator="cox", replicates=0, demand_max=80, tail=tail)
        for tail in ("to_max", "exponential", "last", "refuse")
    )
    hidden = to_max.hidden
    assert (exponential.expected_lost[hidden] <= to_max.expected_lost[hidden]).all()
    assert (last.expected_lost[hidden] <= exponential.expected_lost[hidden]).all()
    assert exponential.expected_lost[hidden].mean() < 0.9 * to_max.expected_lost[hidden].mean()
    assert np.isnan(refuse.expected_lost[hidden]).any()


def test_cox_without_covariates_is_kaplan_meier() -> None:
    rng = np.random.default_rng(0)
    demand, available = rng.poisson(5, 600).astype(float), rng.integers(2, 10, 600).astype(float)
    times, is_event = np.minimum(demand, available), demand <= available
    model = Regression("cox", np.ones((600, 1)), times, is_event, Bound(15.0, "to_max", True), np.zeros((0, 600)))
    point = np.arange(9.0)
    excess, _ = model(np.ones((9, 1)), point, point)
    curve = kaplan_meier(times, is_event, demand_max=15)
    np.testing.assert_allclose(excess, [curve.mean_excess(at, at) for at in point], rtol=1e-9)


def test_without_events_the_tail_rule_answers() -> None:
    """Every observed demand follows a stock-out, so that at depth 0 none is observed."""
    frame = {"series": 1, "period": range(80), "price": 1.0, "sales": [3.0, 2.0] * 40, "stockout": [0, 1] * 40}
    filled = impute_by_curves(read_log(pd.DataFrame(frame)), estimator="cox", replicates=0)
    np.testing.assert_allclose(filled.expected_demand, 3)
    assert not filled.identified[filled.hidden].any()


def test_a_model_without_an_observed_demand_raises() -> None:
    hidden = np.zeros(30, dtype=bool)
    with pytest.raises(LostSalesError, match="the estimator 'aft' does not fit 30 rows: none shows its demand"):
        Regression("aft", np.ones((30, 1)), np.ones(30), hidden, Bound(15.0, "to_max", True), np.zeros((0, 30)))
