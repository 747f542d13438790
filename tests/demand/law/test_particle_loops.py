"""The compiled inner loop against plain numpy, and what it must lead to."""

import numpy as np
import pytest

from lostsales.demand.censoring.evidence import gather_evidence
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.particle_loops import TINY, Intervals, NoiseGrid, Particles, RandomNumbers, draw_latents
from lostsales.demand.law.residuals import Residuals
from tests.learn.small import small_log


def test_one_depth_against_numpy() -> None:
    rng = np.random.default_rng(0)
    rows, draws = 40, 7
    law = Residuals.of(rng.gamma(2.0, size=500), np.ones(500))
    at = np.arange(3, rows, 2)  # every other row, all at depth 3
    mean = rng.normal(5.0, 2.0, (len(at), draws))
    low = np.where(rng.random(rows) < 0.3, -np.inf, rng.normal(5.0, 2.0, rows))
    high = np.where(rng.random(rows) < 0.5, np.inf, np.maximum(low, 0) + 1.0)
    is_informative = rng.random(rows) < 0.8
    uniform, pick = rng.random((rows, draws)), (np.arange(draws) + rng.random((rows, 1))) / draws
    latent, lag = rng.normal(size=(rows, draws)), rng.normal(size=(rows, draws))
    before, lag_before = latent.copy(), lag.copy()
    below, within = np.zeros(rows), np.zeros(rows)
    one = at[4:5]
    intervals, random = Intervals(low, high, is_informative), RandomNumbers(uniform, pick)
    noise, particles = NoiseGrid.of(law.grid, law.cdf), Particles(latent, lag, below, within)
    draw_latents(one, np.full(rows, 3), mean[4:5], np.ones((1, draws)), intervals, random, noise, particles)

    row, centre = int(one[0]), mean[4]
    under, over = law.below(low[row] - centre), law.below(high[row] - centre)
    chance = np.maximum(over - under, 0.0)
    assert below[row] == pytest.approx(under.mean())
    assert within[row] == pytest.approx(chance.mean())
    reached = np.cumsum((chance if is_informative[row] else np.ones(draws)) + TINY)
    chosen = np.minimum((pick[row][:, None] > reached / reached[-1]).sum(axis=1), draws - 1)
    drawn = centre[chosen] + law.quantile(under[chosen] + uniform[row] * chance[chosen])
    drawn = np.where(chance[chosen] > TINY, drawn, centre[chosen])
    np.testing.assert_allclose(latent[row], np.clip(drawn, low[row], high[row]))
    for back in (1, 2, 3):
        np.testing.assert_array_equal(latent[row - back], before[row - back][chosen])
    for back in (0, 1, 2):
        np.testing.assert_array_equal(lag[row - back], lag_before[row - back][chosen])
    np.testing.assert_array_equal(lag[row - 3], lag_before[row - 3])  # the anchor's own lag is known


def test_iterations_converge_where_memory_is_long() -> None:
    """In `released` demand is 1.2 times the last; iterations that stop early give 1.185."""
    slopes = []
    for seed in range(4):
        log = small_log("released", 20, seed)
        law = fit_family(gather_evidence(log), Family("linear", False), np.ones(20))
        slopes.append(law.mean.slopes[-1])  # type: ignore[attr-defined]
    assert np.mean(slopes) == pytest.approx(1.2, abs=0.01)
