"""Noise and feature processes draw from the laws that they state."""

import numpy as np
import pytest

from lostsales.simulation.processes import (
    Autoregressive,
    CalendarCycle,
    DemandNoise,
    MarkovChain,
    ReferencePrice,
    levels_of,
)

COUNT = 100_000


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("noise", "mean", "deviation"),
    [
        (DemandNoise(kind="normal", loc=2, scale=3), 2, 3),
        (DemandNoise(kind="half-normal", loc=3.5, scale=1), 3.5 + np.sqrt(2 / np.pi), np.sqrt(1 - 2 / np.pi)),
        (DemandNoise(kind="lognormal", loc=-0.045, scale=0.3), 1, np.sqrt(np.exp(0.09) - 1)),
        (DemandNoise(kind="discrete", values=(0, 10), probabilities=(0.75, 0.25)), 2.5, np.sqrt(18.75)),
        (DemandNoise(kind="normal", loc=7, scale=0), 7, 0),
    ],
)
def test_noise_has_the_moments_of_its_law(noise: DemandNoise, mean: float, deviation: float) -> None:
    drawn = noise.draw(COUNT, rng())
    assert drawn.mean() == pytest.approx(mean, abs=4 * deviation / np.sqrt(COUNT))
    assert drawn.std() == pytest.approx(deviation, rel=0.02)


@pytest.mark.parametrize(
    "transition", [((0.7, 0.3), (0.2, 0.8)), ((0.5, 0.25, 0.25), (0.0, 0.0, 1.0), (0.1, 0.9, 0.0))]
)
def test_chain_frequencies_match_its_transition_matrix(transition: tuple[tuple[float, ...], ...]) -> None:
    states = len(transition)
    chain = MarkovChain(kind="markov", transition=transition, start=(1.0, *[0.0] * (states - 1)))
    assert set(chain.open(100, rng())) == {0}
    for state, chances in enumerate(transition):
        moved = chain.advance(np.full(COUNT, float(state)), np.zeros(COUNT), rng())
        shares = np.bincount(moved.astype(np.int64), minlength=states) / COUNT
        np.testing.assert_allclose(shares, chances, atol=0.007)
    assert levels_of(chain) == (None if states == 2 else (0, 1, 2))


def test_an_autoregression_stays_in_its_stationary_law() -> None:
    process = Autoregressive(kind="ar1", mean=3, persistence=0.8, shock=0.6)
    value = process.open(COUNT, rng())
    for drawn in (value, process.advance(value, value, np.random.default_rng(1))):
        assert drawn.mean() == pytest.approx(3, abs=0.02)
        assert drawn.std() == pytest.approx(1, abs=0.01)
    still = Autoregressive(kind="ar1", mean=3, persistence=0.5, shock=0, start_mean=5, start_sd=0)
    first = still.open(2, rng())
    assert first.tolist() == [5, 5]
    assert still.advance(first, first, rng()).tolist() == [4, 4]  # half way to the mean


def test_calendar_is_cyclic() -> None:
    week = CalendarCycle(kind="cycle", length=3, start=4)
    day = week.open(2, rng())
    assert day.tolist() == [1, 1]
    assert week.advance(week.advance(day, day, rng()), day, rng()).tolist() == [0, 0]
    assert levels_of(week) == (0, 1, 2)


def test_reference_price_recursion() -> None:
    reference = ReferencePrice(kind="reference-price", memory=0.7, start=6)
    first = reference.open(2, rng())
    assert reference.advance(first, np.array([6.0, 8.0]), rng()).tolist() == pytest.approx([6, 6.6])
