"""Probability mass functions of demand, rounding and bounds included."""

import numpy as np
from scipy.special import ndtr

from lostsales.simulation.demand_laws import IndependentDemand, Linear, Saturating, ScenarioLaw
from lostsales.simulation.processes import DemandNoise
from lostsales.simulation.scenario import NormalStart, Scenario, UniformStart
from lostsales.types import Floats


def demand_pmf(law: ScenarioLaw, lag_term: Floats, price: Floats, effect: Floats, maximum: int) -> Floats:
    """P(D_t = D), D = 0, ..., `maximum`, for every combination of lag, price and effect (Equation 1).

    D_t = min(max(rint(response), minimum), maximum): the probability of the interval that rounds to D, the end points
    taking the tails. The shapes of the first arguments broadcast, and the result has one axis more.
    """
    if isinstance(law, IndependentDemand):
        return _of_counts(law, np.broadcast_shapes(lag_term.shape, price.shape, effect.shape), maximum)
    if law.noise.kind == "discrete" or law.noise.scale == 0:
        return _of_atoms(law, lag_term, price, effect, maximum)
    halves: Floats = np.arange(maximum, dtype=np.float64) + 0.5
    if law.noise.is_count:
        at_most = law.noise.counts_at_most(halves, law.mean(lag_term, price, effect)[..., None])
        return _between_bounds(at_most, int(law.minimum))
    if isinstance(law, Linear):
        shock = halves - law.respond(np.zeros(1), lag_term, price, effect)[..., None]
    else:
        with np.errstate(divide="ignore"):
            shock = halves / law.respond(np.ones(1), lag_term, price, effect)[..., None]
    return _between_bounds(shock_cdf(law.noise, shock), int(law.minimum))


def _between_bounds(at_most: Floats, minimum: int) -> Floats:
    """Probabilities of 0, 1, ... from P(D <= 0), P(D <= 1), ..., (..., demands), with the tail at the last."""
    at_most[..., :minimum] = 0.0
    ends = np.zeros((*at_most.shape[:-1], 1))
    return np.diff(at_most, axis=-1, prepend=ends, append=ends + 1)


def _of_counts(law: IndependentDemand, shape: tuple[int, ...], maximum: int) -> Floats:
    """Probability mass of counts that depend on nothing."""
    at_most = law.at_most(np.arange(maximum, dtype=np.float64))
    at_most[: int(law.minimum)] = 0.0
    return np.broadcast_to(np.diff(at_most, prepend=0.0, append=1.0), (*shape, maximum + 1))


def _of_atoms(law: Linear | Saturating, lag_term: Floats, price: Floats, effect: Floats, maximum: int) -> Floats:
    """Probability mass for finitely many shocks, by the arithmetic of the simulator, so that ties round alike."""
    noise = law.noise
    if noise.kind == "discrete":
        atoms = list(zip(noise.values, noise.probabilities, strict=True))
    else:
        atoms = [(float(np.exp(noise.loc)) if noise.kind == "lognormal" else noise.loc, 1.0)]
    pmf = np.zeros((*np.broadcast_shapes(lag_term.shape, price.shape, effect.shape), maximum + 1))
    for shock, chance in atoms:
        demand = np.rint(law.respond(np.full(1, shock), lag_term, price, effect))
        pmf += chance * (np.clip(demand, law.minimum, maximum)[..., None] == np.arange(maximum + 1))
    return pmf


def shock_cdf(noise: DemandNoise, shock: Floats) -> Floats:
    """P(e <= shock) of a noise with a density.

    >>> shock_cdf(DemandNoise(kind="half-normal", loc=3.5), np.array([3.5, 4.5, np.inf])).round(4)
    array([0.    , 0.6827, 1.    ])
    """
    if noise.kind == "lognormal":
        with np.errstate(divide="ignore"):
            shock = np.log(np.maximum(shock, 0.0))
    at_most = ndtr((shock - noise.loc) / noise.scale)
    return np.maximum(2 * at_most - 1, 0.0) if noise.kind == "half-normal" else np.asarray(at_most)


def opening_pmf(start: float | NormalStart, maximum: int) -> Floats:
    """P(D_{-1} = D) of the demand before the first period: a rounded normal draw, not below 0, or a number."""
    if isinstance(start, NormalStart) and start.sd:
        at_most = ndtr((np.arange(maximum) + 0.5 - start.mean) / start.sd)
        return np.diff(at_most, prepend=0.0, append=1.0)
    value = start.mean if isinstance(start, NormalStart) else start
    return np.asarray(np.arange(maximum + 1) == np.clip(np.rint(value), 0, maximum), dtype=np.float64)


def scenario_laws(scenario: Scenario, effect: Floats, maximum: int) -> tuple[Floats, Floats]:
    """P(D_t = D | X_t, P_t, D_{t-1}), (f, p, d, D), and the same in the first period, for effects (f,) of features."""
    law, price = scenario.demand_law, np.array(scenario.prices)
    lags = law.lag_term(np.arange(maximum + 1.0))
    pmf = demand_pmf(law, lags, price[:, None], effect[:, None, None], maximum)
    if scenario.start.lag_term is None:
        return pmf, pmf
    first = np.full(maximum + 1, scenario.start.lag_term)
    return pmf, demand_pmf(law, first, price[:, None], effect[:, None, None], maximum)


def opening_stocks(scenario: Scenario, stocks: int) -> Floats:
    """P(Y_0 = y) of the opening stock, (stocks,)."""
    stock, position = scenario.start.stock, np.arange(stocks)
    low, high = stock if isinstance(stock, UniformStart) else (int(stock), int(stock))
    return np.asarray(((position >= low) & (position <= high)) / (high - low + 1))
