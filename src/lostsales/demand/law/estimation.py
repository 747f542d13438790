"""Estimation of a law of demand from interval-censored rows.

Every row shows that a latent demand lay in an interval: an observed whole demand of 7 in (6.5, 7.5], a demand of 0
below 0.5, a stock-out at 9 above 9.5. A Monte Carlo expectation-maximisation draws the latents given the last law,
hidden last demands included (particles that later rows re-weight), then fits mean and residual law to them again. The
draws use the same random numbers in every iteration, so that these converge. Without censoring and with continuous
demand the mean is least squares.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.count_loops import draw_counts
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.dispersion import FIRST_DISPERSION, fit_dispersion
from lostsales.demand.law.means import MEANS, BoostedMean, FitMean, KernelMean, LinearMean, Mean, fit_linear
from lostsales.demand.law.memory import Lags, lags_of, new_weights, observed_lag
from lostsales.demand.law.noise import fit_noise
from lostsales.demand.law.particle_loops import TINY, Intervals, NoiseGrid, Particles, RandomNumbers, draw_latents
from lostsales.demand.law.residuals import Residuals
from lostsales.demand.law.series_effects import SeriesEffects, Units, fit_effects
from lostsales.types import Floats, Ints

DRAWS = 5, 40  # of each row, at least and at most: with fewer rows more draws, or iterations do not converge
PARTICLES = 10_000  # of all rows together, in between
ITERATIONS = 30  # at most, of a linear mean
LATER_ITERATIONS = 6  # of any other, which starts where the linear one has converged
TOLERANCE = 5e-3  # standard deviations of the residuals by which the mean may still be off
USUAL_RATE = 0.8  # at which steps shrink, before two are observed
HALF_STEP = 1.3  # factor by which the half of saturating memory moves in an iteration
LARGEST_RATE = 0.95  # that an extrapolated step uses
# Standard deviation, before the data, by which a month or a wave of the year moves demand, as a share of it. A log of
# less than a year does not tell how they go on, and without a prior what it shows would be extrapolated at will.
SEASON = 0.3


@dataclass(frozen=True, eq=False)
class CompletedLatents:
    """Draws of the latents and hidden lags of all rows, given a law."""

    latent: Floats  # (rows, draws)
    lag: Floats  # (rows, draws) weighted mean of the last demands, in units of scale
    last: Floats  # (rows, draws) the last demand itself
    score: Floats  # (rows,) log probability of the row's interval, given all rows before it; 0 where uninformative
    below: Floats  # (rows,) P(D at or below the interval's low end), for calibration
    within: Floats  # (rows,) P(D in the interval)


def complete_latents(
    evidence: Evidence, law: DemandLaw, seed: int = 0, draws: int | None = None, with_below: bool = True
) -> CompletedLatents:
    """Draw the latents of all rows from their posterior under a law (particles, re-weighted by later rows).

    Without `below`, which takes time to sum, counts are drawn faster.
    """
    rng = np.random.default_rng(seed)
    rows = len(evidence)
    draws = int(np.clip(PARTICLES // max(rows, 1), *DRAWS)) if draws is None else draws
    # Stratified, so that few draws suffice.
    uniform = (rng.permuted(np.tile(np.arange(draws), (rows, 1)), axis=1) + rng.random((rows, draws))) / draws
    pick = (np.arange(draws) + rng.random((rows, 1))) / draws
    scale, own_spread = law.scale[evidence.series], law.effects.spread[evidence.series]
    latent, lag = np.empty((rows, draws)), np.repeat((evidence.lag / scale)[:, None], draws, axis=1)
    particles = Particles(latent, lag, np.empty(rows), np.empty(rows))
    low, high, is_count = evidence.low, evidence.high, law.family.is_count
    if not is_count:
        low, high = law.latent(low / scale), law.latent(high / scale)
    intervals, random = Intervals(low, high, evidence.is_informative), RandomNumbers(uniform, pick)
    noise = NoiseGrid(law.residuals.grid, law.residuals.cdf)
    lags = lags_of(evidence, len(law.lag_weights))
    by_level = np.argsort(lags.level, kind="stable")
    for level, at in enumerate(np.split(by_level, np.cumsum(np.bincount(lags.level))[:-1])):
        hidden = at[evidence.depth[at] > 0]
        lag[hidden] = law.demand(latent[evidence.parent[hidden]], scale[hidden, None]) / scale[hidden, None]
        mean = _mean(law, evidence, at, _weighted(lag[:, :1] if level == 0 else lag, law, lags, at))
        if is_count:
            in_units = mean * scale[at, None]
            draw_counts(at, lags.span, in_units, law.dispersion, scale, intervals, random, particles, with_below)
            continue
        spread = law.spread_of(mean, own_spread[at, None], scale[at, None])
        draw_latents(at, lags.span, mean, spread, intervals, random, noise, particles)
    if not evidence.integer:  # an observed continuous demand is not drawn
        is_observed = np.isfinite(evidence.low) & np.isfinite(evidence.high) & ~evidence.is_censored
        middle = (evidence.low[is_observed] + evidence.high[is_observed]) / 2
        latent[is_observed] = law.latent(middle / scale[is_observed])[:, None]
    score = np.where(evidence.is_informative, np.log(np.maximum(particles.within, TINY)), 0.0)
    return CompletedLatents(
        latent, _weighted(lag, law, lags, slice(None)), lag, score, particles.below, particles.within
    )


def _weighted(last: Floats, law: DemandLaw, lags: Lags, at: Ints | slice) -> Floats:
    """The weighted mean of the last demands of rows, (rows, draws), from the last one of each, (all rows, draws)."""
    if len(law.lag_weights) == 1:
        return np.asarray(last[at])
    return sum((weight * last[rows[at]] for weight, rows in zip(law.lag_weights, lags.rows, strict=True)), np.zeros(1))


def _mean(law: DemandLaw, evidence: Evidence, at: Ints, lag: Floats) -> Floats:
    """The mean of rows by draws of their lag, (rows, 1 or draws)."""
    draws = lag.shape[1]
    market, price = (np.repeat(each[at], draws, axis=0) for each in (evidence.market, evidence.price))
    inputs = law.inputs(market, price, lag.reshape(-1))
    return law.mean_of(inputs, np.repeat(evidence.series[at], draws)).reshape(len(at), draws)


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
        prior = law.mean.prior if isinstance(law.mean, LinearMean) else None
        rows = np.flatnonzero(evidence.is_informative & (weights > 0))
        done = complete_latents(evidence, law, seed)
        # Hyperparameters are chosen on rows, not on draws, which are not independent.
        inputs = law.inputs(evidence.market[rows], evidence.price[rows], done.lag[rows].mean(axis=1))
        series = evidence.series[rows]
        work = _working(law, inputs, series, _bounded_below(law, done.latent[rows]).mean(axis=1))
        counted = _by_precision(law, work, series, weights[rows])
        response = work.response - law.effects.of(inputs, series)
        law = replace(law, mean=_with_prior(MEANS.get(family.mean), prior, inputs, response, counted))
    return _iterate_to_convergence(evidence, law, weights, seed)


def _with_prior(fit: FitMean, prior: Floats | None, inputs: Floats, response: Floats, counted: Floats) -> Mean:
    """A mean, the slopes of its linear part with a prior where it has such a part."""
    mean = fit(inputs, response, counted)
    if prior is None or not isinstance(mean, KernelMean | BoostedMean):
        return mean
    return replace(mean, linear=replace(mean.linear, prior=prior)).refit(inputs, response, counted)


def _iterate_to_convergence(evidence: Evidence, law: DemandLaw, weights: Floats, seed: int) -> DemandLaw:
    """Iterate until the mean has converged; every third step is extrapolated (Aitken's acceleration).

    Where memory is long, steps are small and go the same way: each is the last one times a rate, and without
    extrapolation the lag would count too little. Where steps are noise of the draws their rate is 0: it has converged.
    """
    rows = np.flatnonzero(~np.isnan(observed_lag(evidence, law.lag_weights)))
    series = evidence.series[rows]
    scale, is_count = law.scale[series], law.family.is_count

    def mean_of(law: DemandLaw) -> Floats:
        lag = observed_lag(evidence, law.lag_weights)[rows] / scale
        return law.mean_of(law.inputs(evidence.market[rows], evidence.price[rows], lag), series)

    last: Floats | None = None  # the step before, on rows whose lag is observed
    most = ITERATIONS if isinstance(law.mean, LinearMean) else LATER_ITERATIONS
    for number in range(1, most + 1):
        before = law
        law = _iterate(evidence, law, weights, seed)
        here = mean_of(law)
        step = here - mean_of(before)
        rate = USUAL_RATE
        if last is not None and last @ last > 0:
            rate = float(np.clip(step @ last / (last @ last), 0.0, LARGEST_RATE))
        moved = (
            _root_mean_square(step / law.factor_of(here, scale))
            if is_count
            else (_root_mean_square(step) / max(law.residuals.spread, 1e-9))
        )
        if moved * rate / (1 - rate) < TOLERANCE:
            break
        # An extrapolated step needs iterations after it.
        extrapolates = last is not None and number % 3 == 0 and number < most - 2
        if extrapolates:
            far = 1 / (1 - rate)
            effects = before.effects.extrapolate(law.effects, far)
            law = replace(law, mean=before.mean.extrapolate(law.mean, far), effects=effects)
        last = None if extrapolates else step
    return law


def _root_mean_square(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _first_law(evidence: Evidence, family: Family, scale: Floats, weights: Floats) -> DemandLaw:
    """The law of constant mean from which iterations start."""
    own = scale[evidence.series]
    least = np.maximum(evidence.low, 0.0)
    shown = np.where(np.isinf(evidence.high), least, (least + evidence.high) / 2) / own
    # Of counts, whose median may be 0, at least one unit.
    near_zero = max(0.1 * float(np.median(shown)), 1 / float(np.median(scale)) if family.is_count else 1e-10)
    near_zero = max(near_zero, 0.5 * float(np.median(shown))) if family.saturates else near_zero
    latent = np.log(shown + near_zero) if family.multiplicative else shown
    counted = weights * evidence.is_informative
    middle = float(counted @ latent / counted.sum())
    spread = max(float(np.sqrt(counted @ (latent - middle) ** 2 / counted.sum())), 1e-3)
    return DemandLaw(
        family=family,
        mean=LinearMean(
            np.log(max(middle, 1e-9)) if family.log_link else middle,
            np.zeros(evidence.market.shape[1] + 2),
            _season_prior(evidence, SEASON * (1.0 if family.log_link or family.multiplicative else abs(middle))),
        ),
        residuals=Residuals.normal(1.0 if family.is_count else spread),
        integer=evidence.integer,
        near_zero=near_zero,
        scale=scale,
        effects=SeriesEffects.none(len(scale), evidence.market.shape[1] + 2),
        demand_max=max(2 * float(shown.max()), 1e-9),
        usual_price=evidence.usual_price,
        dispersion=FIRST_DISPERSION if family.noise == "negative-binomial" else 0.0,
        lag_weights=(1.0, *[0.0] * (family.lags - 1)),
    )


def _season_prior(evidence: Evidence, spread: float) -> Floats | None:
    """The prior of the slopes of a mean: those of the season have this standard deviation, the others are free."""
    if evidence.is_season is None:
        return None
    return np.where(np.r_[evidence.is_season, False, False], spread, np.inf)


def _iterate(evidence: Evidence, law: DemandLaw, weights: Floats, seed: int) -> DemandLaw:
    """One iteration: draw the latents, then fit mean, series effects and residual law."""
    if len(law.lag_weights) > 1 and isinstance(law.mean, LinearMean):
        law = _with_weights(evidence, law, weights, seed)
    if law.family.saturates and isinstance(law.mean, LinearMean):
        law = _with_half(evidence, law, weights, seed)
    inputs, latent, series, counted = _drawn(evidence, law, weights, seed)
    work = _working(law, inputs, series, latent)
    own = law.effects.of(inputs, series)
    mean = law.mean.refit(inputs, work.response - own, _by_precision(law, work, series, counted))
    shared = mean(inputs)
    effects = fit_effects(
        _units(evidence, law), work.response - shared, inputs, series, counted, work.factor, law.effects
    )
    if law.family.is_count:
        law = replace(law, mean=mean, effects=effects)
        return replace(law, dispersion=_dispersion(evidence, law, weights)) if law.is_dispersed else law
    centre = law.linked(shared + effects.of(inputs, series))
    left = (latent - centre) / effects.spread[series]
    noise = fit_noise(left, centre, counted) if law.family.log_link else law.noise
    left /= noise.factor(centre)
    residuals = (Residuals.of if law.family.noise == "smooth" else Residuals.of_normal)(left, counted)
    return replace(law, mean=mean, residuals=residuals, effects=effects, noise=noise)


def _with_weights(evidence: Evidence, law: DemandLaw, weights: Floats, seed: int) -> DemandLaw:
    """The law with the weights of the last demands fitted to draws, by a Gauss-Newton step."""
    rows = np.flatnonzero(evidence.is_informative & (weights > 0))
    done = complete_latents(evidence, law, seed, with_below=False)
    draws, lags = done.latent.shape[1], lags_of(evidence, len(law.lag_weights))
    market, price = (np.repeat(each[rows], draws, axis=0) for each in (evidence.market, evidence.price))
    lag = done.lag[rows].reshape(-1)
    first, *later = (done.last[own[rows]].reshape(-1) for own in lags.rows)
    inputs, series = law.inputs(market, price, lag), np.repeat(evidence.series[rows], draws)
    work = _working(law, inputs, series, _bounded_below(law, done.latent[rows]).reshape(-1))
    counted = _by_precision(law, work, series, np.repeat(weights[rows] / draws, draws))
    beyond = [(each - first) * law.memory_slope(lag) for each in later]
    prior = law.mean.prior if isinstance(law.mean, LinearMean) else None
    prior = None if prior is None else np.r_[prior, np.full(len(beyond), np.inf)]
    response = work.response - law.effects.of(inputs, series)
    fitted = fit_linear(np.column_stack([inputs, *beyond]), response, counted, prior)
    slope, moves = fitted.slopes[inputs.shape[1] - 1], fitted.slopes[inputs.shape[1] :]
    return replace(law, lag_weights=new_weights(law.lag_weights, float(slope), moves))


def _with_half(evidence: Evidence, law: DemandLaw, weights: Floats, seed: int) -> DemandLaw:
    """The law of saturating memory with its half moved to the better of its neighbours, by the fit to draws."""
    rows = np.flatnonzero(evidence.is_informative & (weights > 0))
    done = complete_latents(evidence, law, seed, with_below=False)
    draws = done.latent.shape[1]
    market, price = (np.repeat(each[rows], draws, axis=0) for each in (evidence.market, evidence.price))
    lag, series = done.lag[rows].reshape(-1), np.repeat(evidence.series[rows], draws)
    inputs = law.inputs(market, price, lag)
    work = _working(law, inputs, series, _bounded_below(law, done.latent[rows]).reshape(-1))
    counted = _by_precision(law, work, series, np.repeat(weights[rows] / draws, draws))
    response = work.response - law.effects.of(inputs, series)
    found = []
    for step in (1 / HALF_STEP, 1.0, HALF_STEP):
        moved = replace(law, near_zero=law.near_zero * step)
        inputs = moved.inputs(market, price, lag)
        mean = law.mean.refit(inputs, response, counted)
        found.append((float(counted @ (response - mean(inputs)) ** 2), moved.near_zero, mean))
    _, half, mean = min(found, key=lambda each: each[0])
    return replace(law, near_zero=half, mean=mean)


def _dispersion(evidence: Evidence, law: DemandLaw, weights: Floats) -> float:
    """The dispersion of counts, from the rows whose last demand is observed."""
    lag = observed_lag(evidence, law.lag_weights)
    rows = np.flatnonzero(~np.isnan(lag) & evidence.is_informative & (weights > 0))
    series = evidence.series[rows]
    scale = law.scale[series]
    mean = law.mean_of(law.inputs(evidence.market[rows], evidence.price[rows], lag[rows] / scale), series)
    return fit_dispersion(evidence.low[rows], evidence.high[rows], mean * scale, weights[rows])


def with_effects(evidence: Evidence, law: DemandLaw, seed: int = 0, weights: Floats | None = None) -> DemandLaw:
    """The law with series effects fitted to these rows, counted by `weights`; all else stays."""
    weights = np.ones(len(evidence)) if weights is None else weights
    for _ in range(2 if law.effects.any else 0):
        inputs, latent, series, counted = _drawn(evidence, law, weights, seed)
        work = _working(law, inputs, series, latent)
        left = work.response - law.mean(inputs)
        law = replace(
            law, effects=fit_effects(_units(evidence, law), left, inputs, series, counted, work.factor, law.effects)
        )
    return law


class _Working(NamedTuple):
    """What mean and effects are regressed on, and by what its spread is multiplied besides that of the series."""

    response: Floats  # (rows,)
    factor: Floats  # (rows,)


def _working(law: DemandLaw, inputs: Floats, series: Ints, latent: Floats) -> _Working:
    """The latents themselves, or under a log link the working response of a generalised linear model."""
    predictor = law.mean(inputs) + law.effects.of(inputs, series)
    centre = law.linked(predictor)
    factor = law.factor_of(centre, law.scale[series])
    if not law.family.log_link:
        return _Working(latent, factor)
    return _Working(predictor + (latent - centre) / centre, factor / centre)


class WorkingDraws(NamedTuple):
    """Draws of rows as a mixed model takes them, (rows, draws) unless said."""

    series: Ints  # (rows,)
    price: Floats  # as the law takes it
    response: Floats
    left: Floats  # of the response, by the shared mean
    precision: Floats


def working_draws(evidence: Evidence, law: DemandLaw, done: CompletedLatents) -> WorkingDraws:
    """The draws of the informative rows, each a completed data set of its own."""
    rows = np.flatnonzero(evidence.is_informative)
    draws = done.latent.shape[1]
    series = np.repeat(evidence.series[rows], draws)
    market, price = (np.repeat(each[rows], draws, axis=0) for each in (evidence.market, evidence.price))
    inputs = law.inputs(market, price, done.lag[rows].reshape(-1))
    work = _working(law, inputs, series, _bounded_below(law, done.latent[rows]).reshape(-1))
    precision = 1 / (law.residuals.spread * law.effects.spread[series] * work.factor) ** 2
    columns = inputs[:, -2], work.response, work.response - law.mean(inputs), precision
    return WorkingDraws(evidence.series[rows], *(each.reshape(len(rows), draws) for each in columns))


def _units(evidence: Evidence, law: DemandLaw) -> Units:
    scale = np.ones(len(evidence.attributes))
    scale[evidence.product] = law.scale
    own_spread, held = not law.family.is_count, getattr(law.mean, "held", ())
    return Units(evidence.product, evidence.attributes, np.log(scale), law.are_products, own_spread, held)


def _by_precision(law: DemandLaw, work: _Working, series: Ints, weights: Floats) -> Floats:
    """Weights of rows by their precision, with the same sum."""
    own = weights / (law.effects.spread[series] * work.factor) ** 2
    return np.asarray(own * (weights.sum() / own.sum()))


def _drawn(evidence: Evidence, law: DemandLaw, weights: Floats, seed: int) -> tuple[Floats, Floats, Ints, Floats]:
    """Inputs, latent, series and weight of every draw of the informative rows."""
    rows = np.flatnonzero(evidence.is_informative & (weights > 0))
    done = complete_latents(evidence, law, seed, with_below=False)
    draws = done.latent.shape[1]
    market, price = (np.repeat(each[rows], draws, axis=0) for each in (evidence.market, evidence.price))
    inputs = law.inputs(market, price, done.lag[rows].reshape(-1))
    latent = _bounded_below(law, done.latent[rows]).reshape(-1)
    return inputs, latent, np.repeat(evidence.series[rows], draws), np.repeat(weights[rows] / draws, draws)


def _bounded_below(law: DemandLaw, latent: Floats) -> Floats:
    """Under multiplicative noise the latent of demand 0 is unbounded: it is kept near the smallest observed."""
    return np.maximum(latent, np.log(law.near_zero / 2)) if law.family.multiplicative else latent
