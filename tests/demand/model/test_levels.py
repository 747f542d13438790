"""The filter of levels: identities, a case by hand, and an exact filter on a grid."""

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

from lostsales.demand.model.level_loops import filter_levels, shared_growth
from lostsales.types import Bools, Floats

POISSON = (1e-6, 0.0)


def levels_of(
    demand: Floats,
    censored: Bools | None = None,
    *,
    decay: float = 1.0,
    prior: float = 1.0,
    usual: float = 4.0,
    index: Floats | None = None,
    exposure: Floats | None = None,
    spread: tuple[float, float] = POISSON,
) -> float:
    """The level of one series after its last period, with one rate."""
    periods = len(demand)
    found, _ = filter_levels(
        demand[None],
        np.ones((1, periods)) if exposure is None else exposure[None],
        np.zeros((1, periods), dtype=bool) if censored is None else censored[None],
        np.ones((1, periods)) if index is None else index[None],
        np.zeros(1, dtype=np.int64),
        np.array([periods - 1]),
        np.array([decay]),
        prior,
        np.array([usual]),
        spread,
        True,
    )
    return float(found[0, 0])


def test_without_forgetting_the_level_is_the_mean_with_its_prior() -> None:
    demand = np.array([3.0, 0.0, 8.0, 5.0])
    assert levels_of(demand) == pytest.approx((16 + 4) / (4 + 1))


def test_forgetting_by_hand() -> None:
    # Weights 1/4, 1/2, 1 of the three demands, and a prior of one period at 4.
    assert levels_of(np.array([8.0, 0.0, 2.0]), decay=0.5) == pytest.approx((2 + 0 + 2 + 4) / (1.75 + 1))


def test_a_season_and_a_share_of_the_period_are_exposures() -> None:
    whole = levels_of(np.array([6.0, 2.0]), index=np.array([1.5, 0.5]))
    assert whole == pytest.approx((8 + 4) / (2 + 1))
    half = levels_of(np.array([6.0, 2.0]), exposure=np.array([1.0, 0.5]))
    assert half == pytest.approx((8 + 4) / (1.5 + 1))


def test_a_period_that_says_nothing_leaves_the_level() -> None:
    demand = np.array([6.0, 0.0, 6.0])
    silent = levels_of(demand, exposure=np.array([1.0, 0.0, 1.0]))
    assert silent == pytest.approx((12 + 4) / 3)
    bound_of_zero = levels_of(demand, np.array([False, True, False]))
    assert bound_of_zero == pytest.approx(silent)


@pytest.mark.parametrize("decay", [1.0, 0.9])
@pytest.mark.parametrize("size", [None, 5.0])
def test_against_an_exact_filter_on_a_grid(decay: float, size: float | None) -> None:
    """Posterior over the rate on a grid, discounted as a power; demands and bounds by their likelihood.

    With negative binomial demand a gamma posterior is no longer exact, but its mean is that of the discounted demands.
    """
    rng, periods, usual, prior = np.random.default_rng(5), 60, 5.0, 2.0
    differences, ignored = [], []
    for _ in range(20):
        true = rng.uniform(3, 8)
        mean = np.full(periods, true)
        demand = rng.poisson(mean if size is None else rng.gamma(size, mean / size)).astype(float)
        supply = rng.poisson(true + 1, periods).astype(float)
        censored = demand > supply
        seen = np.where(censored, supply + 1, demand)  # above the supply: at least one more
        rates = np.linspace(0.01, 25, 1500)
        log_prior = (prior * usual - 1) * np.log(rates) - prior * rates
        log_data = np.zeros(len(rates))
        law = poisson(rates) if size is None else nbinom(size, size / (size + rates))
        for value, hidden in zip(seen, censored, strict=True):
            log_data = decay * log_data + (law.logsf(value - 1) if hidden else law.logpmf(value))
        posterior = np.exp(log_prior + log_data - (log_prior + log_data).max())
        exact = float((posterior @ rates) / posterior.sum())
        spread = POISSON if size is None else (1e-6, 1 / size)
        found = levels_of(seen, censored, decay=decay, prior=prior, usual=usual, spread=spread)
        differences.append(found / exact - 1)
        ignored.append(levels_of(seen, decay=decay, prior=prior, usual=usual) / exact - 1)
    assert abs(np.mean(differences)) < 0.02
    assert np.abs(differences).max() < 0.1
    assert np.mean(ignored) < -0.08  # bounds taken for demands


def test_the_level_follows_a_jump_through_stock_outs() -> None:
    """Demand rises by half and every period is sold out: bounds alone move the level."""
    rng = np.random.default_rng(2)
    demand = rng.poisson(np.repeat([10.0, 15.0], [60, 10])).astype(float)
    supply = np.full(70, 12.0)
    censored = demand > supply
    seen = np.where(censored, supply + 1, demand)
    before = levels_of(seen[:60], censored[:60], decay=0.85, prior=0.3, usual=10)
    after = levels_of(seen, censored, decay=0.85, prior=0.3, usual=10)
    assert before == pytest.approx(10, rel=0.12)
    assert after == pytest.approx(15, rel=0.15)


def test_the_shared_growth_is_that_of_a_poisson_regression_with_a_mean_of_each_series() -> None:
    import statsmodels.api as sm

    rng, series, periods = np.random.default_rng(3), 8, 30
    place = np.arange(periods)
    exposure = rng.uniform(0.5, 1.0, (series, periods)) * (rng.random((series, periods)) < 0.9)
    index = 1.0 + 0.3 * np.sin(place)[None]
    mean = rng.uniform(0.5, 9.0, (series, 1)) * exposure * index * np.exp(0.02 * place)
    demand = rng.poisson(mean).astype(float)
    own = np.zeros(series, dtype=np.int64)
    found = shared_growth(demand, exposure, index, own, 1.0, (0.0, 0.0), True)
    seen = exposure > 0
    columns = np.column_stack([np.eye(series).repeat(periods, axis=0), np.tile(place, series)])[seen.reshape(-1)]
    fitted = sm.GLM(demand[seen], columns, sm.families.Poisson(), offset=np.log((exposure * index)[seen])).fit()
    assert found == pytest.approx(fitted.params[-1], abs=1e-6)
