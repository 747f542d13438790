"""A thousand pilots of many makes, looked at after every period: false stops, and the power that was promised."""

from dataclasses import dataclass

import numpy as np
import pytest

from lostsales.evaluation.pilot.assignment import assignments_of, draw_series, draw_switches, strata_of, switches_of
from lostsales.evaluation.pilot.estimators import by_series, by_switches, centred
from lostsales.evaluation.pilot.layouts import needed_drift
from lostsales.evaluation.pilot.precision import ProfitModel
from lostsales.evaluation.pilot.sequential_test import ERROR, Randomised, first_crossing
from lostsales.types import Floats

DRAWS = 1_000
PILOTS = 1_000


@dataclass(frozen=True)
class Shop:
    """Profits with levels, weekdays, autocorrelation, shocks that all series share, and tails."""

    series: int
    past: int = 60
    planned: int = 30
    autocorrelation: float = 0.0
    tails: float = np.inf  # degrees of freedom
    spread: float = 0.0  # of the logarithm of sizes
    week: float = 0.0
    wander: float = 0.0  # of the level of each series, a period

    def profits(self, rng: np.random.Generator) -> Floats:
        """(series, past and planned periods)."""
        shape = self.series, self.past + self.planned
        drawn = rng.standard_normal(shape) if np.isinf(self.tails) else rng.standard_t(self.tails, shape)
        noise = drawn.copy()
        for at in range(1, shape[1]):
            noise[:, at] = self.autocorrelation * noise[:, at - 1] + np.sqrt(1 - self.autocorrelation**2) * drawn[:, at]
        wander = self.wander * np.cumsum(rng.standard_normal(shape), axis=1)
        shared = rng.normal(0, 1, shape[1]) + self.week * np.sin(2 * np.pi * np.arange(shape[1]) / 7)
        size = np.exp(self.spread * rng.standard_normal(self.series))[:, None]
        return np.asarray(size * (10 + 2 * rng.standard_normal((self.series, 1)) + noise + wander + shared))


SHOPS = {
    "plain": Shop(20),
    "autocorrelation": Shop(20, autocorrelation=0.8),
    "heavy tails, many sizes": Shop(20, autocorrelation=0.5, tails=3, spread=0.7, week=2.0),
    "ten series": Shop(10, autocorrelation=0.3),
    "levels that wander": Shop(16, wander=0.3),
}


def split(shop: Shop, rng: np.random.Generator, finds: bool) -> Randomised:
    """A pilot without effect, or with the gain that its design promises to find."""
    profit = shop.profits(rng)
    model = ProfitModel.of(profit[:, : shop.past])
    window = model.past_window(0, shop.planned)
    before = profit[:, shop.past - window : shop.past].mean(axis=1)
    strata = strata_of(before)
    draws = draw_series(strata, DRAWS, rng)
    error = model.error_by_series(0, shop.planned)
    gain = error * needed_drift(shop.planned, shop.series - 3, assignments_of(strata)) if finds else 0.0
    pilot = profit[:, shop.past :] + gain * draws[0][:, None]
    return by_series(pilot, before, draws, np.arange(1, shop.planned + 1) / shop.planned)


def switchback(shop: Shop, rng: np.random.Generator, finds: bool) -> Randomised:
    """The same over pairs of blocks of seven periods, two of them not counted."""
    profit = shop.profits(rng)
    pairs = shop.planned // 14
    model = ProfitModel.of(profit[:, : shop.past], by_series=False)
    draws = draw_switches(shop.series, pairs, DRAWS, rng)
    degrees = max(shop.series - 1, 1) * pairs - 1
    error = model.error_by_switches(2, 7, pairs)
    gain = error * needed_drift(pairs, degrees, switches_of(shop.series, pairs)) if finds else 0.0
    second = draws[0].astype(np.float64)
    new = np.stack([1 - second, second], axis=2).reshape(shop.series, 2 * pairs)
    pilot = profit[:, shop.past : shop.past + 14 * pairs] + gain * np.repeat(new, 7, axis=1)
    blocks = centred(pilot).reshape(shop.series, 2 * pairs, 7)[:, :, 2:].mean(axis=2)
    return by_switches(blocks[:, 1::2] - blocks[:, ::2], draws, pairs)


def shares(shop: Shop, finds: bool, pilots: int, seed: int, over_time: bool = False) -> dict[str, float]:
    """Share of pilots that ever say harm, and success."""
    rng, play = np.random.default_rng(seed), switchback if over_time else split
    said = {"harm": 0, "success": 0}
    for _ in range(pilots):
        found = play(shop, rng, finds)
        said["harm"] += first_crossing(found, "harm") is not None
        said["success"] += first_crossing(found, "success") is not None
    return {side: count / pilots for side, count in said.items()}


def at_most(share: float, pilots: int) -> float:
    """What a share can be by chance, with three standard errors."""
    return float(share + 3 * np.sqrt(share * (1 - share) / pilots))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOPS)
def test_a_pilot_without_effect_is_stopped_at_most_as_often_as_said(name: str) -> None:
    found = shares(SHOPS[name], finds=False, pilots=PILOTS, seed=1)
    assert found["harm"] + found["success"] <= at_most(ERROR, PILOTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SHOPS if name != "levels that wander"])
def test_the_gain_of_the_design_is_found_as_often_as_promised(name: str) -> None:
    found = shares(SHOPS[name], finds=True, pilots=PILOTS, seed=2)
    assert found["success"] == pytest.approx(0.8, abs=0.05 + 2 * np.sqrt(0.16 / PILOTS))
    assert found["harm"] < 0.005


@pytest.mark.slow
@pytest.mark.parametrize("series", [1, 4])
def test_switches_err_and_find_as_said(series: int) -> None:
    shop = Shop(series, past=100, planned=14 * 10, autocorrelation=0.3)
    none, gain = (shares(shop, finds, PILOTS, 3, over_time=True) for finds in (False, True))
    assert none["harm"] + none["success"] <= at_most(ERROR, PILOTS)
    assert gain["success"] == pytest.approx(0.8, abs=0.05 + 2 * np.sqrt(0.16 / PILOTS))
