"""Against lifelines, in an environment of its own (`make test` runs it): curves to 1e-12, Cox and AFT on their laws."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lostsales.data.feature import Feature
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.gate import read_log
from lostsales.demand.survival.curve import kaplan_meier
from lostsales.demand.survival.imputation import impute
from lostsales.demand.survival.lifelines_models import Regression
from lostsales.demand.survival.tail import Bound
from lostsales.errors import LostSalesError
from lostsales.types import Floats

lifelines = pytest.importorskip("lifelines")


@given(st.integers(0, 2**32 - 1), st.integers(2, 300), st.booleans(), st.booleans())
def test_kaplan_meier_is_that_of_the_library(seed: int, rows: int, tied: bool, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    times = rng.integers(0, 12, rows).astype(float) if tied else rng.exponential(3, rows)
    events = rng.random(rows) < rng.uniform(0.2, 1)
    weights = rng.integers(1, 9, rows) / 2 if weighted else np.ones(rows)
    curve = kaplan_meier(times, events, weights)
    with pytest.warns() if weighted and (weights % 1).any() else _nothing():
        theirs = lifelines.KaplanMeierFitter().fit(times, events, weights=weights)
    levels = np.unique(times)
    ours = np.r_[1.0, curve.survival][np.searchsorted(curve.times, levels, side="right")]
    np.testing.assert_allclose(ours, theirs.survival_function_at_times(levels), rtol=0, atol=1e-12)


class _nothing:  # noqa: N801, stands where pytest.warns does
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


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
            impute(log, estimator=name, replicates=0, demand_max=60, tail="exponential")
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
    filled = impute(log, estimator=estimator, replicates=5)
    rows = filled.hidden & filled.identified
    assert (filled.error[rows] > 0).all()
    assert filled.error[rows].mean() < filled.expected_lost[rows].mean()


def test_the_tail_rules_hold_for_cox() -> None:
    log, _ = drawn_log("cox", 0, series=30)
    to_max, exponential, last, refuse = (
        impute(log, estimator="cox", replicates=0, demand_max=80, tail=tail)
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
    filled = impute(read_log(pd.DataFrame(frame)), estimator="cox", replicates=0)
    np.testing.assert_allclose(filled.expected_demand, 3)
    assert not filled.identified[filled.hidden].any()


def test_a_model_that_cannot_be_fitted_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(*_: object, **__: object) -> None:
        raise lifelines.exceptions.ConvergenceError("Convergence halted.\nTry this and that.")

    log, _ = drawn_log("cox", 0, series=30)
    monkeypatch.setattr(lifelines.CoxPHFitter, "fit", fit)
    with pytest.raises(LostSalesError, match=r"the estimator 'cox' does not fit \d+ rows: Convergence halted.$"):
        impute(log, estimator="cox", replicates=0)
