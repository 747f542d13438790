"""Local residual laws against empirical distributions, Kaplan-Meier by price, and the hidden truth of drawn demands."""

from dataclasses import replace

import numpy as np
import pytest

from lostsales.data.splits import folds_of, hold_out
from lostsales.demand.censoring.evidence import Evidence, gather_evidence
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.local_estimation import (
    BANDWIDTHS,
    LocalFit,
    _Design,
    _held_out,
    _scores,
    fit_local_residuals,
)
from lostsales.demand.law.local_residuals import LocalResiduals, Points, share_means
from lostsales.demand.survival.curve import kaplan_meier
from lostsales.types import Floats
from tests.demand.logs import log_of_draws

PRICES = np.array([3.0, 5.0])


def of_rows(residual: Floats, price: Floats, bandwidth: float) -> LocalResiduals:
    """Rows whose residual is known to a bin, and that differ in price alone."""
    edges = np.arange(-0.5, 10.0)
    mass = (residual[:, None] == np.arange(10.0)).astype(np.float64)
    at = np.zeros((len(price), 4))
    at[:, 1] = price
    widths = np.array([np.inf, bandwidth, np.inf, np.inf])
    return LocalResiduals(edges, at, np.ones(4), mass, np.ones(len(price)), np.full(10, 0.1), widths, prior=0.0)


def at_price(*price: float) -> Points:
    zero = np.zeros(len(price))
    return Points(zero, np.array(price), zero, zero)


def test_without_a_bandwidth_it_is_the_empirical_distribution() -> None:
    residual = np.array([1.0, 1.0, 4.0, 9.0])
    law = of_rows(residual, np.array([1.0, 2.0, 3.0, 4.0]), np.inf).at(at_price(-5.0, 2.0))
    assert np.allclose(law, np.bincount(residual.astype(int), minlength=10) / 4)


def test_with_a_small_bandwidth_it_is_the_empirical_distribution_of_the_rows_there() -> None:
    price, residual = np.repeat([0.0, 1.0], 2), np.array([1.0, 3.0, 8.0, 8.0])
    near = of_rows(residual, price, 0.1).at(at_price(0.0, 1.0))
    assert np.allclose(near[0], [0, 0.5, 0, 0.5, 0, 0, 0, 0, 0, 0], atol=1e-6)
    assert np.allclose(near[1], np.eye(10)[8], atol=1e-6)
    # Halfway both count alike, by the symmetry of the kernel.
    assert np.allclose(of_rows(residual, price, 1.0).at(at_price(0.5)), (near[0] + near[1]) / 2, atol=1e-6)


def test_atoms_are_means_of_equal_shares() -> None:
    rng = np.random.default_rng(0)
    edges, mass = np.linspace(-2, 3, 41), rng.dirichlet(np.full(40, 0.3), 7)
    cdf = np.concatenate([np.zeros((7, 1)), np.cumsum(mass, axis=1)], axis=1)
    fine = (np.arange(200_000) + 0.5) / 200_000
    expected = [np.interp(fine, own, edges).reshape(8, -1).mean(axis=1) for own in cdf]
    assert np.allclose(share_means(edges, mass, 8), expected, atol=1e-3)


@pytest.mark.parametrize("bandwidth", [0.5, np.inf])
def test_quantiles_are_those_of_laws_even_within_bins(bandwidth: float) -> None:
    rng = np.random.default_rng(1)
    found = of_rows(rng.integers(0, 10, 40).astype(float), rng.uniform(0, 3, 40), bandwidth)
    share, points = rng.random(200), at_price(*np.linspace(0, 3, 200))
    cdf = np.cumsum(found.at(points), axis=1)
    expected = [np.interp(each, np.r_[0.0, own], found.edges) for each, own in zip(share, cdf, strict=True)]
    assert np.allclose(found.quantile(points, share), expected, atol=1e-4)


def fitted(evidence: Evidence, law: DemandLaw, fold: Floats, bandwidths: tuple[float, ...] = BANDWIDTHS) -> LocalFit:
    return fit_local_residuals(evidence, law, np.zeros(len(evidence)), fold.astype(np.int64), bandwidths)


def drawn(rows: int, seed: int, most: float = 30.0) -> tuple[Evidence, DemandLaw, Floats, Floats]:
    """Second demands after a known first: at the low price 4 or 20, at the high one 12; some are hidden."""
    rng = np.random.default_rng(seed)
    price = rng.choice(PRICES, (rows, 2))
    crowd = rng.random(rows) < 0.5
    middle = np.where(price[:, 1] > 4, 12.0, np.where(crowd, 20.0, 4.0))
    second = np.clip(np.rint(middle + rng.standard_normal(rows)), 0, None)
    demand = np.column_stack([np.full(rows, 9.0), second])
    available = np.column_stack([np.full(rows, 1e3), rng.uniform(0, most, rows).round()])
    log = log_of_draws(demand, available, price=price)
    evidence = gather_evidence(log)
    law = fit_family(evidence, Family("linear", False), np.ones(rows))
    fold = np.argmax([out for out, _ in folds_of(hold_out(log, 0), evidence.rows)], axis=0).astype(np.float64)
    return evidence, law, fold, demand[:, 1]


def chance_up_to(found: LocalResiduals, law: DemandLaw, price: float, demand: Floats) -> Floats:
    """P(D <= demand) at a price after a demand of 9."""
    nine = np.full(1, 9.0)
    mean = law.mean(law.inputs(np.zeros((1, 0)), np.full(1, price), nine))
    mass = found.at(Points(np.zeros(1), np.full(1, price), nine, mean))[0]
    return np.asarray(np.interp(demand + 0.5 - mean[0], found.edges, np.r_[0.0, np.cumsum(mass)]))


def test_hidden_demands_count_as_in_kaplan_meier_of_the_rows_of_a_price() -> None:
    """With a bandwidth far below the step of the price: 35 % hidden; the rest of the difference is smoothing."""
    evidence, law, fold, _ = drawn(3_000, seed=1)
    assert evidence.is_censored.mean() > 0.3
    found = fitted(evidence, law, fold).residuals
    assert min(found.bandwidth[[1, 3]]) < 0.5  # the price, or the mean, which moves with it alone
    for price in PRICES:
        rows = evidence.price == price
        shown = np.where(evidence.is_censored, evidence.low - 0.5, (evidence.low + evidence.high) / 2)[rows]
        curve = kaplan_meier(shown, ~evidence.is_censored[rows], integer=True)
        between_modes = np.array([8.0, 15.0])
        ours = chance_up_to(found, law, float(price), between_modes)
        assert np.abs(ours - (1 - curve(between_modes))).max() < 0.03


@pytest.mark.parametrize("seed", [2, 3])
def test_it_finds_two_modes_at_one_price_and_one_at_the_other(seed: int) -> None:
    """The law of all residuals puts a sixth of the demands at the high price, where none are, below 8."""
    evidence, law, fold, _ = drawn(600, seed)
    found, alike = (fitted(evidence, law, fold, each).residuals for each in (BANDWIDTHS, ()))
    below = np.array([8.0])
    assert chance_up_to(found, law, 3.0, below)[0] == pytest.approx(0.5, abs=0.08)
    assert chance_up_to(found, law, 5.0, below)[0] < 0.03
    assert chance_up_to(alike, law, 5.0, below)[0] > 0.15


def test_residuals_of_one_law_everywhere_get_no_bandwidth() -> None:
    chosen = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        price, first = rng.choice(PRICES, (400, 2)), rng.uniform(5, 15, 400).round()
        second = np.rint(8 + 0.5 * first - price[:, 1] + 2 * rng.standard_normal(400))
        log = log_of_draws(np.column_stack([first, second]), np.full((400, 2), 40.0), price=price)
        evidence = gather_evidence(log)
        law = fit_family(evidence, Family("linear", False), np.ones(400))
        fold = (log.series[evidence.rows] % 5).astype(np.float64)
        chosen.append(fitted(evidence, law, fold).residuals.bandwidth)
    assert np.isinf(chosen).all(axis=1).sum() >= 5


def test_scores_are_what_held_out_laws_say_of_the_intervals() -> None:
    rng = np.random.default_rng(0)
    rows, bins = 300, 20
    mass, overlap = rng.dirichlet(np.full(bins, 0.5), rows), rng.random((rows, bins))
    at, weight, base = rng.normal(50.0, 1.0, (rows, 4)), rng.choice([0.5, 1.0], rows), np.full(bins, 1 / bins)
    widths = [np.array([np.inf, 0.3, np.inf, np.inf]), np.array([1.0, 0.3, 0.12, np.inf]), np.full(4, np.inf)]
    found = LocalResiduals(np.linspace(0, 1, bins + 1), at, np.ones(4), mass, weight, base, widths[0])
    scored = np.sort(rng.choice(rows, 90, replace=False))
    design = _Design(overlap, np.arange(0), np.eye(bins), scored, rng.integers(0, 5, rows))
    for width, score in zip(widths, _scores(found, widths, design), strict=True):
        laws = _held_out(replace(found, bandwidth=width), design, scored)
        np.testing.assert_allclose(score, np.log((laws * overlap[scored]).sum(axis=1)), atol=1e-5)
