"""Estimation of a law of demand from interval-censored rows.

Every row shows that a latent demand lay in an interval: an observed whole demand of 7 in (6.5, 7.5], a demand of 0
below 0.5, a stock-out at 9 above 9.5. A Monte Carlo expectation-maximisation draws the latents given the last law,
hidden last demands included (particles that later rows re-weight), then fits mean and residual law to them again. The
draws use the same random numbers in every iteration, so that these converge. Without censoring and with continuous
demand the mean is least squares.
"""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.means import MEANS, LinearMean
from lostsales.demand.law.particle_loops import TINY, Intervals, NoiseGrid, Particles, RandomNumbers, draw_latents
from lostsales.demand.law.residuals import Residuals
from lostsales.types import Floats, Ints

DRAWS = 5, 40  # of each row, at least and at most: with fewer rows more draws, or iterations do not converge
PARTICLES = 10_000  # of all rows together, in between
ITERATIONS = 30  # at most, of a linear mean
LATER_ITERATIONS = 6  # of any other, which starts where the linear one has converged
TOLERANCE = 5e-3  # standard deviations of the residuals by which the mean may still be off
USUAL_RATE = 0.8  # at which steps shrink, before two are observed
LARGEST_RATE = 0.95  # that an extrapolated step uses


@dataclass(frozen=True, eq=False)
class CompletedLatents:
    """Draws of the latents and hidden lags of all rows, given a law."""

    latent: Floats  # (rows, draws)
    lag: Floats  # (rows, draws) in units of scale
    score: Floats  # (rows,) log probability of the row's interval, given all rows before it; 0 where uninformative
    below: Floats  # (rows,) P(D at or below the interval's low end), for calibration
    within: Floats  # (rows,) P(D in the interval)


def complete_latents(evidence: Evidence, law: DemandLaw, seed: int = 0, draws: int | None = None) -> CompletedLatents:
    """Draw the latents of all rows from their posterior under a law (particles, re-weighted by later rows)."""
    rng = np.random.default_rng(seed)
    rows = len(evidence)
    draws = int(np.clip(PARTICLES // max(rows, 1), *DRAWS)) if draws is None else draws
    # Stratified, so that few draws suffice.
    uniform = (rng.permuted(np.tile(np.arange(draws), (rows, 1)), axis=1) + rng.random((rows, draws))) / draws
    pick = (np.arange(draws) + rng.random((rows, 1))) / draws
    scale, effect = law.scale[evidence.series], law.effect[evidence.series]
    low, high = law.latent(evidence.low / scale), law.latent(evidence.high / scale)
    latent, lag = np.empty((rows, draws)), np.repeat((evidence.lag / scale)[:, None], draws, axis=1)
    particles = Particles(latent, lag, np.empty(rows), np.empty(rows))
    intervals, random = Intervals(low, high, evidence.is_informative), RandomNumbers(uniform, pick)
    noise = NoiseGrid(law.residuals.grid, law.residuals.cdf)
    by_depth = np.argsort(evidence.depth, kind="stable")
    for depth, at in enumerate(np.split(by_depth, np.cumsum(np.bincount(evidence.depth))[:-1])):
        parent = evidence.parent[at]
        if depth:
            lag[at] = law.demand(latent[parent], scale[at, None]) / scale[at, None]
        mean = _mean(law, evidence, at, lag, is_observed=depth == 0) + effect[at, None]
        draw_latents(at, depth, mean, intervals, random, noise, particles)
    if not evidence.integer:  # an observed continuous demand is not drawn
        is_observed = np.isfinite(evidence.low) & np.isfinite(evidence.high) & ~evidence.is_censored
        middle = (evidence.low[is_observed] + evidence.high[is_observed]) / 2
        latent[is_observed] = law.latent(middle / scale[is_observed])[:, None]
    score = np.where(evidence.is_informative, np.log(np.maximum(particles.within, TINY)), 0.0)
    return CompletedLatents(latent, lag, score, particles.below, particles.within)


def _mean(law: DemandLaw, evidence: Evidence, at: Ints, lag: Floats, is_observed: bool) -> Floats:
    """The mean of rows by draws of their lag, (rows, 1 or draws)."""
    draws = 1 if is_observed else lag.shape[1]
    market, price = (np.repeat(each[at], draws, axis=0) for each in (evidence.market, evidence.price))
    return law.mean(law.inputs(market, price, lag[at, :draws].reshape(-1))).reshape(len(at), draws)


def fit_family(
    evidence: Evidence,
    family: Family,
    scale: Floats,
    weights: Floats | None = None,
    start: DemandLaw | None = None,
    seed: int = 0,
) -> DemandLaw:
    """Fit mean and residual law; `weights` count the rows, `start` is a law to start from.

    A start with a linear mean serves any family of its noise.
    """
    weights = np.ones(len(evidence)) if weights is None else weights
    law = _first_law(evidence, family, scale, weights) if start is None else start
    if isinstance(law.mean, LinearMean):
        law = replace(_iterate_to_convergence(evidence, law, weights, seed), family=family)
        if family.mean == "linear":
            return law
        rows = np.flatnonzero(evidence.is_informative & (weights > 0))
        done = complete_latents(evidence, law, seed)
        # Hyperparameters are chosen on rows, not on draws, which are not independent.
        inputs = law.inputs(evidence.market[rows], evidence.price[rows], done.lag[rows].mean(axis=1))
        latent = _bounded_below(law, done.latent[rows]).mean(axis=1) - law.effect[evidence.series[rows]]
        law = replace(law, mean=MEANS.get(family.mean)(inputs, latent, weights[rows]))
    return _iterate_to_convergence(evidence, law, weights, seed)


def _iterate_to_convergence(evidence: Evidence, law: DemandLaw, weights: Floats, seed: int) -> DemandLaw:
    """Iterate until the mean has converged; every third step is extrapolated (Aitken's acceleration).

    Where memory is long, steps are small and go the same way: each is the last one times a rate, and without
    extrapolation the lag would count too little. Where steps are noise of the draws their rate is 0: it has converged.
    """
    rows = np.flatnonzero(evidence.depth == 0)
    lag = evidence.lag[rows] / law.scale[evidence.series[rows]]
    inputs = law.inputs(evidence.market[rows], evidence.price[rows], lag)
    last: Floats | None = None  # the step before, on rows whose lag is observed
    most = ITERATIONS if isinstance(law.mean, LinearMean) else LATER_ITERATIONS
    for number in range(1, most + 1):
        before = law.mean
        law = _iterate(evidence, law, weights, seed)
        step = law.mean(inputs) - before(inputs)
        rate = USUAL_RATE
        if last is not None and last @ last > 0:
            rate = float(np.clip(step @ last / (last @ last), 0.0, LARGEST_RATE))
        moved = float(np.sqrt(np.mean(step**2))) / max(law.residuals.spread, 1e-9)
        if moved * rate / (1 - rate) < TOLERANCE:
            break
        # An extrapolated step needs iterations after it.
        extrapolates = last is not None and number % 3 == 0 and number < most - 2
        if extrapolates:
            law = replace(law, mean=before.extrapolate(law.mean, 1 / (1 - rate)))
        last = None if extrapolates else step
    return law


def _first_law(evidence: Evidence, family: Family, scale: Floats, weights: Floats) -> DemandLaw:
    """The law of constant mean from which iterations start."""
    own = scale[evidence.series]
    least = np.maximum(evidence.low, 0.0)
    shown = np.where(np.isinf(evidence.high), least, (least + evidence.high) / 2) / own
    near_zero = 0.1 * max(float(np.median(shown)), 1e-9)
    latent = np.log(shown + near_zero) if family.multiplicative else shown
    counted = weights * evidence.is_informative
    middle = float(counted @ latent / counted.sum())
    spread = max(float(np.sqrt(counted @ (latent - middle) ** 2 / counted.sum())), 1e-3)
    return DemandLaw(
        family=family,
        mean=LinearMean(middle, np.zeros(evidence.market.shape[1] + 2)),
        residuals=Residuals.normal(spread),
        integer=evidence.integer,
        near_zero=near_zero,
        scale=scale,
        effect=np.zeros(len(scale)),
        demand_max=2 * float(shown.max()),
        usual_price=evidence.usual_price,
    )


def _iterate(evidence: Evidence, law: DemandLaw, weights: Floats, seed: int) -> DemandLaw:
    """One iteration: draw the latents, then fit mean, series effects and residual law."""
    inputs, latent, series, counted = _drawn(evidence, law, weights, seed)
    mean = law.mean.refit(inputs, latent - law.effect[series], counted)
    left = latent - mean(inputs)
    effect = _series_effects(left, series, counted, len(law.scale))
    left -= effect[series]
    residuals = (Residuals.of if law.family.noise == "smooth" else Residuals.of_normal)(left, counted)
    return replace(law, mean=mean, residuals=residuals, effect=effect)


def with_effects(evidence: Evidence, law: DemandLaw, seed: int = 0, weights: Floats | None = None) -> DemandLaw:
    """The law with series effects fitted to these rows, counted by `weights`; all else stays."""
    weights = np.ones(len(evidence)) if weights is None else weights
    for _ in range(2 if law.effect.any() else 0):
        inputs, latent, series, counted = _drawn(evidence, law, weights, seed)
        law = replace(law, effect=_series_effects(latent - law.mean(inputs), series, counted, len(law.scale)))
    return law


def _drawn(evidence: Evidence, law: DemandLaw, weights: Floats, seed: int) -> tuple[Floats, Floats, Ints, Floats]:
    """Inputs, latent, series and weight of every draw of the informative rows."""
    rows = np.flatnonzero(evidence.is_informative & (weights > 0))
    done = complete_latents(evidence, law, seed)
    draws = done.latent.shape[1]
    market, price = (np.repeat(each[rows], draws, axis=0) for each in (evidence.market, evidence.price))
    inputs = law.inputs(market, price, done.lag[rows].reshape(-1))
    latent = _bounded_below(law, done.latent[rows]).reshape(-1)
    return inputs, latent, np.repeat(evidence.series[rows], draws), np.repeat(weights[rows] / draws, draws)


def _bounded_below(law: DemandLaw, latent: Floats) -> Floats:
    """Under multiplicative noise the latent of demand 0 is unbounded: it is kept near the smallest observed."""
    return np.maximum(latent, np.log(law.near_zero / 2)) if law.family.multiplicative else latent


def _series_effects(left: Floats, series: Ints, weights: Floats, count: int) -> Floats:
    """Series effects by empirical Bayes; 0 where series do not differ beyond chance."""
    rows = np.bincount(series, weights=weights, minlength=count)
    present = rows > 0
    mean = np.bincount(series, weights=weights * left, minlength=count)[present] / rows[present]
    within = float(weights @ left**2 / weights.sum())
    if present.sum() < 2 or within <= 0:
        return np.zeros(count)
    rows = rows[present]
    # Under equal series sum of rows * mean^2 / within is chi-squared; three standard deviations above reject that.
    excess = float((rows * mean**2).sum() / within) - present.sum()
    if excess < 3 * np.sqrt(2 * present.sum()):
        return np.zeros(count)
    between = within * excess / float(rows.sum() - (rows**2).sum() / rows.sum())
    effect = np.zeros(count)
    effect[present] = mean * rows / (rows + within / max(between, 1e-12))
    return effect
