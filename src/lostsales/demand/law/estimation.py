"""Estimation of a law of demand from interval-censored rows.

Every row shows that a latent demand lay in an interval: an observed whole demand of 7 in (6.5, 7.5], a demand of 0
below 0.5, a stock-out at 9 above 9.5. A Monte Carlo expectation-maximisation draws the latents given the last law,
hidden last demands included (particles that later rows re-weight), then fits mean and residual law to them again. The
draws use the same random numbers in every iteration, so that these converge. Without censoring and with continuous
demand the mean is least squares.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.dispersion import FIRST_DISPERSION, fit_dispersion
from lostsales.demand.law.latents import CompletedLatents, DrawOrder, complete_latents
from lostsales.demand.law.means import MEANS, BoostedMean, FitMean, KernelMean, LinearMean, Mean, fit_linear
from lostsales.demand.law.memory import new_weights, observed_lag
from lostsales.demand.law.noise import fit_noise
from lostsales.demand.law.residuals import Residuals
from lostsales.demand.law.series_levels import fit_levels
from lostsales.types import Floats, Ints

ITERATIONS = 30  # at most, of a linear mean
LATER_ITERATIONS = 6  # of any other, which starts where the linear one has converged
TOLERANCE = 5e-3  # standard deviations of the residuals by which the mean may still be off
USUAL_RATE = 0.8  # at which steps shrink, before two are observed
HALF_STEP = 1.3  # factor by which the half-saturation point of the lag effect moves in an iteration
LARGEST_RATE = 0.95  # that an extrapolated step uses
# The largest demand that can be drawn is twice the largest that was seen. Where supply is short of most demands that
# truncates them, and doubles as long as this share of the draws reaches it, up to so many times the largest seen.
TRUNCATED, MOST_TIMES_SEEN = 0.01, 64.0
# Standard deviation, before the data, by which a month or a wave of the year moves demand, as a share of it. A log of
# less than a year does not identify them, and without a prior they would be extrapolated at will.
SEASON = 0.3


class _Frame(NamedTuple):
    """Rows to fit a law to, and what all iterations share; draws are those of the informative rows that count."""

    evidence: Evidence
    weights: Floats  # (rows,) that count the rows
    order: DrawOrder
    rows: Ints  # informative rows that count
    known: Floats  # (draws, inputs but the last) of the mean, which no draw changes
    series: Ints  # (draws,)
    counted: Floats  # (draws,) weights

    @classmethod
    def of(cls, evidence: Evidence, law: DemandLaw, weights: Floats, seed: int) -> "_Frame":
        """Prepare fits of models with the lags and the price input of this one."""
        order = DrawOrder.of(evidence, len(law.lag_weights), seed)
        counts = np.bincount(evidence.series, weights) > 0
        order = order if counts.all() else order.only(counts[evidence.series])
        rows = np.flatnonzero(evidence.is_informative & (weights > 0))
        draws = order.random.uniform.shape[1]
        known = np.column_stack([evidence.market[rows], law.price_input(evidence.price[rows])])
        return cls(
            evidence=evidence,
            weights=weights,
            order=order,
            rows=rows,
            known=np.repeat(known, draws, axis=0),
            series=np.repeat(evidence.series[rows], draws),
            counted=np.repeat(weights[rows] / draws, draws),
        )

    def completed(self, law: DemandLaw) -> CompletedLatents:
        """Draws of all rows."""
        return complete_latents(self.evidence, law, with_below=False, order=self.order)

    def inputs(self, law: DemandLaw, lag: Floats) -> Floats:
        """The inputs of the mean of every draw."""
        return np.column_stack([self.known, law.memory_input(lag)])

    def means_after_observed(self, law: DemandLaw) -> tuple[Ints, Floats]:
        """The rows whose last demands are observed, and the mean of each."""
        lag = observed_lag(self.evidence, law.lag_weights, self.order.lags)
        rows = np.flatnonzero(~np.isnan(lag))
        series = self.evidence.series[rows]
        inputs = law.inputs(self.evidence.market[rows], self.evidence.price[rows], lag[rows] / law.scale[series])
        return rows, law.mean_of(inputs, series)


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
    frame = _Frame.of(evidence, law, weights, seed)
    if isinstance(law.mean, LinearMean):
        law = replace(_iterate_to_convergence(frame, law), family=family)
        if family.mean == "linear":
            return law
        prior = law.mean.prior if isinstance(law.mean, LinearMean) else None
        rows, done = frame.rows, frame.completed(law)
        # Hyperparameters are chosen on rows, not on draws, which are not independent.
        inputs = law.inputs(evidence.market[rows], evidence.price[rows], done.lag[rows].mean(axis=1))
        series = evidence.series[rows]
        work = _working(law, inputs, series, bounded_below(law, done.latent[rows]).mean(axis=1))
        counted = _by_precision(work, weights[rows])
        response = work.response - law.level[series]
        law = replace(law, mean=_with_prior(MEANS.get(family.mean), prior, inputs, response, counted))
    return _iterate_to_convergence(frame, law)


def _with_prior(fit: FitMean, prior: Floats | None, inputs: Floats, response: Floats, counted: Floats) -> Mean:
    """A mean, the slopes of its linear part with a prior where it has such a part."""
    mean = fit(inputs, response, counted)
    if prior is None or not isinstance(mean, KernelMean | BoostedMean):
        return mean
    return replace(mean, linear=replace(mean.linear, prior=prior)).refit(inputs, response, counted)


def _iterate_to_convergence(frame: _Frame, law: DemandLaw) -> DemandLaw:
    """Iterate until the mean has converged; every third step is extrapolated (Aitken's acceleration).

    If memory is long, steps are small and go the same way: each is the last one times a rate, and without
    extrapolation the lag would count too little. If steps are noise of the draws their rate is 0: it has converged.
    An extrapolated step that makes the log less likely is taken back.
    """
    last: Floats | None = None  # the step before, on rows whose lag is observed
    plain, likely = law, -np.inf  # the law without the last extrapolation, and the score of the one before it
    rows, here = frame.means_after_observed(law)
    scale, is_count = law.scale[frame.evidence.series[rows]], law.family.is_count
    most = ITERATIONS if isinstance(law.mean, LinearMean) else LATER_ITERATIONS
    for number in range(1, most + 1):
        before, there = law, here
        law, score = _iterate(frame, law)
        if last is None and score < likely:
            law, likely = plain, -np.inf
            here = frame.means_after_observed(law)[1]
            continue
        likely = score
        here = frame.means_after_observed(law)[1]
        step = here - there
        rate = USUAL_RATE
        if last is not None and last @ last > 0:
            rate = float(np.clip(step @ last / (last @ last), 0.0, LARGEST_RATE))
        moved = (
            _root_mean_square(step / law.spread_of(here, scale))
            if is_count
            else (_root_mean_square(step) / max(law.residuals.spread, 1e-9))
        )
        if moved * rate / (1 - rate) < TOLERANCE:
            break
        # An extrapolated step needs iterations after it.
        extrapolates = last is not None and number % 3 == 0 and number < most - 2
        if extrapolates:
            plain, far = law, 1 / (1 - rate)
            level = before.level + far * (law.level - before.level)
            law = replace(law, mean=before.mean.extrapolate(law.mean, far), level=level)
            here = frame.means_after_observed(law)[1]
        last = None if extrapolates else step
    return law


def _root_mean_square(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _first_law(evidence: Evidence, family: Family, scale: Floats, weights: Floats) -> DemandLaw:
    """The law of constant mean from which iterations start."""
    shown = _shown(evidence, scale)
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
        level=np.zeros(len(scale)),
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


def _iterate(frame: _Frame, law: DemandLaw) -> tuple[DemandLaw, float]:
    """One iteration: draw the latents, then fit mean, levels of series and residual law; and the old law's score."""
    if len(law.lag_weights) > 1 and isinstance(law.mean, LinearMean):
        law = _with_weights(frame, law)
    if law.family.saturates and isinstance(law.mean, LinearMean):
        law = _with_half(frame, law)
    done = frame.completed(law)
    score = float(frame.weights @ done.score)
    inputs, latent = _drawn(frame, law, done)
    law = _with_room(frame, law, latent)
    series, counted = frame.series, frame.counted
    work = _working(law, inputs, series, latent)
    mean = law.mean.refit(inputs, work.response - law.level[series], _by_precision(work, counted))
    shared = mean(inputs)
    law = replace(law, mean=mean)
    law = _with_levels(frame, law, work.response - shared, work.factor)
    if law.family.is_count:
        return replace(law, dispersion=_dispersion(frame, law)) if law.is_dispersed else law, score
    centre = law.linked(shared + law.level[series])
    left = latent - centre
    noise = fit_noise(left, centre, counted) if law.family.log_link else law.noise
    left /= noise.factor(centre)
    residuals = (Residuals.of if law.family.noise == "smooth" else Residuals.of_normal)(left, counted)
    return replace(law, residuals=residuals, noise=noise), score


def _with_weights(frame: _Frame, law: DemandLaw) -> DemandLaw:
    """The law with the weights of the last demands fitted to draws, by a Gauss-Newton step."""
    done, series = frame.completed(law), frame.series
    inputs, latent = _drawn(frame, law, done)
    lag = done.lag[frame.rows].reshape(-1)
    first, *later = (done.last[own[frame.rows]].reshape(-1) for own in frame.order.lags.rows)
    work = _working(law, inputs, series, latent)
    counted = _by_precision(work, frame.counted)
    beyond = [(each - first) * law.memory_slope(lag) for each in later]
    prior = law.mean.prior if isinstance(law.mean, LinearMean) else None
    prior = None if prior is None else np.r_[prior, np.full(len(beyond), np.inf)]
    response = work.response - law.level[series]
    fitted = fit_linear(np.column_stack([inputs, *beyond]), response, counted, prior)
    slope, moves = fitted.slopes[inputs.shape[1] - 1], fitted.slopes[inputs.shape[1] :]
    return replace(law, lag_weights=new_weights(law.lag_weights, float(slope), moves))


def _with_half(frame: _Frame, law: DemandLaw) -> DemandLaw:
    """Model with the half-saturation point of the lag effect moved to the better neighbour, by the fit to draws."""
    done, series = frame.completed(law), frame.series
    inputs, latent = _drawn(frame, law, done)
    lag = done.lag[frame.rows].reshape(-1)
    work = _working(law, inputs, series, latent)
    counted = _by_precision(work, frame.counted)
    response = work.response - law.level[series]
    found = []
    for step in (1 / HALF_STEP, 1.0, HALF_STEP):
        moved = replace(law, near_zero=law.near_zero * step)
        inputs = frame.inputs(moved, lag)
        mean = law.mean.refit(inputs, response, counted)
        found.append((float(counted @ (response - mean(inputs)) ** 2), moved.near_zero, mean))
    _, half, mean = min(found, key=lambda each: each[0])
    return replace(law, near_zero=half, mean=mean)


def _with_room(frame: _Frame, law: DemandLaw, latent: Floats) -> DemandLaw:
    """The law with room for demands above the largest it could draw, where many draws reach that."""
    if np.mean(law.expected(latent, 1.0) >= law.demand_max) < TRUNCATED:
        return law
    most = MOST_TIMES_SEEN * float(_shown(frame.evidence, law.scale).max())
    return replace(law, demand_max=min(2 * law.demand_max, max(most, law.demand_max)))


def _shown(evidence: Evidence, scale: Floats) -> Floats:
    """The demand of each row as far as it was seen, in units of scale, (rows,)."""
    least = np.maximum(evidence.low, 0.0)
    shown = np.where(np.isinf(evidence.high), least, (least + evidence.high) / 2)
    return np.asarray(shown / scale[evidence.series])


def _dispersion(frame: _Frame, law: DemandLaw) -> float:
    """The dispersion of counts, from the rows whose last demand is observed."""
    evidence = frame.evidence
    rows, mean = frame.means_after_observed(law)
    used = (evidence.is_informative & (frame.weights > 0))[rows]
    rows, mean = rows[used], mean[used]
    in_units = mean * law.scale[evidence.series[rows]]
    return fit_dispersion(evidence.low[rows], evidence.high[rows], in_units, frame.weights[rows])


def with_levels(evidence: Evidence, law: DemandLaw, seed: int = 0, weights: Floats | None = None) -> DemandLaw:
    """The law with levels of series fitted to these rows, counted by `weights`; all else stays."""
    if not law.level.any():
        return law
    frame = _Frame.of(evidence, law, np.ones(len(evidence)) if weights is None else weights, seed)
    for _ in range(2):
        inputs, latent = _drawn(frame, law, frame.completed(law))
        work = _working(law, inputs, frame.series, latent)
        law = _with_levels(frame, law, work.response - law.mean(inputs), work.factor)
    return law


def _with_levels(frame: _Frame, law: DemandLaw, left: Floats, factor: Floats) -> DemandLaw:
    """The law with levels fitted to what its mean leaves of every draw."""
    product = frame.evidence.product
    found = fit_levels(left, factor, frame.counted, frame.series, product, law.level, law.level_variance)
    return replace(law, level=found[0], level_variance=found[1])


class _Working(NamedTuple):
    """Working response of mean and levels, and the factor of its spread."""

    response: Floats  # (rows,)
    factor: Floats  # (rows,)


def _working(law: DemandLaw, inputs: Floats, series: Ints, latent: Floats) -> _Working:
    """The latents themselves, or under a log link the working response of a generalised linear model."""
    if not law.family.log_link:
        return _Working(latent, np.ones_like(latent))
    predictor = law.mean(inputs) + law.level[series]
    centre = law.linked(predictor)
    factor = law.spread_of(centre, law.scale[series])
    return _Working(predictor + (latent - centre) / centre, factor / centre)


def _by_precision(work: _Working, weights: Floats) -> Floats:
    """Weights of rows by their precision, with the same sum."""
    own = weights / work.factor**2
    return np.asarray(own * (weights.sum() / own.sum()))


def _drawn(frame: _Frame, law: DemandLaw, done: CompletedLatents) -> tuple[Floats, Floats]:
    """Inputs and latent of every draw."""
    latent = bounded_below(law, done.latent[frame.rows]).reshape(-1)
    return frame.inputs(law, done.lag[frame.rows].reshape(-1)), latent


def bounded_below(law: DemandLaw, latent: Floats) -> Floats:
    """Latents with a bound near the smallest observed: under multiplicative noise that of demand 0 has none."""
    return np.maximum(latent, np.log(law.near_zero / 2)) if law.family.multiplicative else latent
