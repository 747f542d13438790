"""Which law a log is given: the score finds the true family, and series of any scale share a law."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.data.log import SalesLog
from lostsales.data.scale import series_scale
from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.demand_model import DemandModel, bootstrap_laws
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.family_trials import BEYOND_CHANCE, MATTERS
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.selection import fit_law
from lostsales.errors import LostSalesError, SettingError
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from tests.demand.logs import log_of_draws
from tests.learn.small import small_log

LINEAR = Family("linear", False)
SERIES, PERIODS = 20, 50


def drawn(seed: int, bends: bool, multiplies: bool, integer: bool = True) -> SalesLog:
    """Demand falls with the price, or peaks at the middle one; it remembers; a good part of the rows is hidden."""
    rng = np.random.default_rng(seed)
    price = rng.choice([2.0, 3.0, 4.0, 5.0, 6.0], (SERIES, PERIODS))
    level = 12 - 2 * (price - 4) ** 2 if bends else 18 - 2 * price
    demand, last = np.empty(price.shape), np.full(SERIES, 10.0)
    for period in range(PERIODS):
        noise = rng.normal(size=SERIES)
        if multiplies:
            last = np.exp(0.3 * np.log(last + 1) + level[:, period] / 8 + 0.4 * noise)
        else:
            last = np.maximum(0.3 * last + level[:, period] + 2 * noise, 0.0)
        last = demand[:, period] = np.rint(last) if integer else last
    available = rng.uniform(0.3, 2.5, demand.shape) * demand.mean()
    return log_of_draws(demand, np.rint(available) if integer else available, price=price)


def behind(model: DemandModel, family: Family) -> float:
    """Standard errors by which a family is behind the best; 0 where it is the best."""
    found = {each.family: each for each in model.candidates}
    if family not in found:  # hopeless before it was tried
        return np.inf
    return found[family].behind / max(found[family].error, 1e-12)


@pytest.mark.parametrize(
    ("bends", "multiplies"),
    [
        (False, True),
        (True, False),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((False, False), (True, True))),
    ],
)
def test_the_score_prefers_the_true_family(bends: bool, multiplies: bool) -> None:
    """Over seeds the true noise wins, a line is kept where demand is one and given up where it bends."""
    true = Family("kernel" if bends else "linear", multiplies)
    for seed in (60, 61):
        model = fit_law(drawn(seed, bends, multiplies))
        assert 0.15 < model.evidence.is_censored.mean() < 0.6
        assert model.family == true
        assert behind(model, Family(true.mean, not multiplies)) > BEYOND_CHANCE
        if bends:
            assert behind(model, Family("linear", multiplies)) > BEYOND_CHANCE


def test_the_family_of_a_preset_is_chosen() -> None:
    assert fit_law(small_log("paper", 12, 70)).family == LINEAR
    assert fit_law(small_log("nonlinear", 12, 70)).family.multiplicative


def test_the_simplest_mean_within_the_margin_is_chosen() -> None:
    model = fit_law(small_log("nonlinear", 12))
    near = [each for each in model.candidates if each.behind <= max(BEYOND_CHANCE * each.error, MATTERS)]
    assert min(each.behind for each in model.candidates) == 0.0
    assert model.family in {each.family for each in near}
    if any(each.family.mean == "linear" for each in near):
        assert model.family.mean == "linear"


def test_the_shape_of_noise_is_chosen_by_the_score_too() -> None:
    """Residuals of `released` are half-normal, so the learned shape wins in either order."""
    log, shapes = small_log("released", 12), (Family("linear", False, "normal"), Family("linear", False))
    assert {fit_law(log, order).family.noise for order in (shapes, shapes[::-1])} == {"smooth"}


def test_noise_of_the_wrong_kind_is_not_chosen_for_a_large_standard_error() -> None:
    """There the true noise is behind by little with a small error, the wrong noise by much with a large one."""
    model = fit_law(small_log("paper", 2, 809))
    assert not model.family.multiplicative


@pytest.mark.parametrize("multiplies", [False, True])
def test_continuous_demand_gives_the_same_law_as_integer_demand(multiplies: bool) -> None:
    """Of the same draws, one rounded; the difference is below the standard error of either."""
    whole, parts = (
        fit_law(drawn(65, bends=False, multiplies=multiplies, integer=integer), (Family("linear", multiplies),))
        for integer in (True, False)
    )
    assert whole.law.integer
    assert not parts.law.integer
    assert isinstance(whole.law.mean, LinearMean)
    assert isinstance(parts.law.mean, LinearMean)
    resampled = bootstrap_laws(drawn(65, False, multiplies, integer=False), parts, 12, fresh=True)
    errors = np.std([law.mean.slopes for law in resampled], axis=0, ddof=1)  # type: ignore[attr-defined]
    truth = [-2.0, 0.3] if not multiplies else [-0.25, 0.3]
    assert (np.abs(parts.law.mean.slopes - truth) < 4 * errors).all()
    assert (np.abs(whole.law.mean.slopes - parts.law.mean.slopes) < 2 * errors).all()
    noise = 0.4 if multiplies else 2.0
    assert parts.law.residuals.spread == pytest.approx(noise, rel=0.1)
    drawn_demand = parts.law.demand(np.array([1.23]), 1.0)
    assert drawn_demand[0] != np.rint(drawn_demand[0])
    assert whole.law.demand(np.array([1.23]), 1.0)[0] % 1 == 0


def of_all_sizes(seed: int, products: int = 20) -> SalesLog:
    """60 rows a product, sizes from 1 to 30: D = size (10 + 0.3 D / size - price + noise)."""
    rng = np.random.default_rng(seed)
    size = np.geomspace(1, 30, products)[:, None]
    price = rng.choice([2.0, 3.0, 4.0], (products, 60))
    demand, last = np.empty(price.shape), np.full(products, 10.0)
    for period in range(60):
        last = demand[:, period] = np.maximum(10 + 0.3 * last - price[:, period] + rng.normal(0, 1.5, products), 0)
    return log_of_draws(np.rint(demand * size), np.rint(size * rng.uniform(4, 18, demand.shape)), price=price)


def test_products_of_30_fold_scale_share_one_law() -> None:
    """Its slopes are those in units of scale, and it predicts better than one without scales and than one a product."""
    log, fresh = of_all_sizes(80), gather_evidence(of_all_sizes(81))
    scale = series_scale(log)
    assert scale.max() / scale.min() == pytest.approx(30, rel=0.15)
    model = fit_law(log, (LINEAR,))
    np.testing.assert_array_equal(model.law.scale, scale)
    assert isinstance(model.law.mean, LinearMean)
    unit = float(np.mean(scale / np.geomspace(1, 30, 20)))  # usual sales of a product of size 1
    errors = np.std([law.mean.slopes for law in bootstrap_laws(log, model, 12, fresh=True)], axis=0, ddof=1)  # type: ignore[attr-defined]
    assert (np.abs(model.law.mean.slopes - [-1 / unit, 0.3]) < 4 * errors).all()
    assert (errors < [0.02, 0.06]).all()

    evidence = model.evidence
    naive = fit_family(evidence, LINEAR, np.ones(20))
    pooled, without = (complete_latents(fresh, law).score for law in (model.law, naive))
    alone = np.empty(len(fresh))
    for product in range(20):
        law = fit_family(evidence, LINEAR, scale, weights=np.where(evidence.series == product, 1.0, 0.0))
        own = fresh.series == product
        alone[own] = complete_latents(fresh, law).score[own]
    for other in (without, alone):
        gain = pooled - other
        assert gain.mean() > 2 * gain.std() / np.sqrt(len(gain))


def test_the_same_seed_gives_the_same_model() -> None:
    log = small_log("paper", 4)
    first, second = (fit_law(log, (LINEAR,), seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.law.residuals.cdf, second.law.residuals.cdf)
    assert first.candidates == second.candidates
    assert first.held_out == "blocks in time"


def test_a_price_that_never_varied_and_what_cannot_be_fitted() -> None:
    log = small_log("paper", 4)
    model = fit_law(replace(log, price=np.full(len(log), 4.0)), (LINEAR,))
    assert "the price was always 4: nothing can be said about any other" in model.warnings
    with pytest.raises(LostSalesError, match="at least 10 rows"):
        fit_law(log_of_draws(np.full((1, 9), 5.0), np.full((1, 9), 9.0)))
    with pytest.raises(SettingError, match="at least one family"):
        fit_law(log, ())


@pytest.mark.parametrize("seed", [0, 1])
def test_few_long_series_are_compared_across_folds(seed: int) -> None:
    """Ten series of three years: the rows to score would all come from one series, and no other fold would be left."""
    log, _ = simulate(Scenario.load("steady", ("horizon=1095",)), episodes=10, seed=seed)
    model = fit_law(log, (LINEAR, replace(LINEAR, multiplicative=True)), seed=seed)
    assert model.held_out == "series"
    assert model.family == LINEAR
    assert all(np.isfinite(each.score) for each in model.candidates)
