"""The law of demand given the market, the price and the last demand, and how it is learned from censored rows.

Every row says that a latent demand lay in an interval: a known whole demand of 7 in (6.5, 7.5], a demand of 0 below
0.5, a stock-out at 9 above 9.5. An expectation-maximisation by draws completes the latents given the last law, hidden
last demands included (particles that the rows after them re-weigh), then fits mean and residual law to them again. The
draws use the same random numbers in every round, so that the rounds converge. Without censoring and with continuous
demand the mean is least squares.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.belief import TINY, advance
from lostsales.demand.law.means import LinearMean, Mean, fit_boosted, fit_kernel, fit_linear, fit_loose
from lostsales.demand.law.residuals import Residuals
from lostsales.types import Floats, Ints

DRAWS = 5, 40  # of each row, at least and at most: the fewer rows the more, or rounds do not converge
PARTICLES = 10_000  # of all rows together, in between
ROUNDS = 30  # at most, of a linear mean
LATER_ROUNDS = 6  # of any other, which starts where the linear one has settled
SETTLED = 5e-3  # standard deviations of the residuals by which the mean may still be off
USUAL_RATE = 0.8  # at which steps shrink, where no two are known yet
FASTEST = 0.95  # rate that a leap is willing to believe

FitMean = Callable[[Floats, Floats, Floats], Mean]
MEANS: dict[str, FitMean] = {
    "linear": fit_linear,
    "kernel": fit_kernel,
    "loose": fit_loose,
    "boosted": fit_boosted,
}


@dataclass(frozen=True)
class Family:
    """Which laws are sought: the kind of mean, whether noise multiplies, and whether its shape is learned or normal."""

    mean: str
    multiplicative: bool
    noise: Literal["smooth", "normal"] = "smooth"

    @property
    def name(self) -> str:
        """As people read it.

        >>> Family("kernel", True).name, Family("linear", False, "normal").name
        ('kernel mean, multiplicative noise', 'linear mean, additive normal noise')
        """
        shape = "normal noise" if self.noise == "normal" else "noise"
        return f"{self.mean} mean, {'multiplicative' if self.multiplicative else 'additive'} {shape}"


@dataclass(frozen=True, eq=False)
class DemandLaw:
    """D = scale * (mean + effect + e), or scale * exp(mean + effect + e); whole where demand is."""

    family: Family
    mean: Mean
    residuals: Residuals
    integer: bool
    near_zero: float  # added to the last demand, in units of scale, before its logarithm is taken
    scale: Floats  # (series,) of the log
    effect: Floats  # (series,) what a series adds to the mean, shrunk towards 0
    demand_max: float  # no demand is drawn above this multiple of scale

    def inputs(self, market: Floats, price: Floats, lag: Floats) -> Floats:
        """What the mean sees; the lag in units of scale."""
        remembered = np.log(np.maximum(lag, 0) + self.near_zero) if self.family.multiplicative else lag
        return np.column_stack([market, price, remembered])

    def latent(self, demand: Floats) -> Floats:
        """The latent of a demand in units of scale."""
        if not self.family.multiplicative:
            return demand
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(demand > 0, np.log(demand), -np.inf)

    def demand(self, latent: Floats, scale: Floats | float) -> Floats:
        """The demand of a latent, in units of the shop."""
        relative = np.exp(np.minimum(latent, 50.0)) if self.family.multiplicative else latent
        demand = np.clip(relative, 0.0, self.demand_max) * scale
        return np.rint(demand) if self.integer else demand


@dataclass(frozen=True, eq=False)
class CompletedLatents:
    """Draws of what the rows hide, given a law."""

    latent: Floats  # (rows, draws)
    lag: Floats  # (rows, draws) in units of scale
    score: Floats  # (rows,) log chance of what the row shows, given all rows before it
    below: Floats  # (rows,) P(D at or below the interval's low end), for calibration
    within: Floats  # (rows,) P(D in the interval)


def complete(evidence: Evidence, law: DemandLaw, seed: int = 0, draws: int | None = None) -> CompletedLatents:
    """Draw the latents of all rows from a law, each from what is known up to the rows after it."""
    rng = np.random.default_rng(seed)
    rows = len(evidence)
    draws = int(np.clip(PARTICLES // max(rows, 1), *DRAWS)) if draws is None else draws
    # Stratified, so that few draws serve.
    uniform = (rng.permuted(np.tile(np.arange(draws), (rows, 1)), axis=1) + rng.random((rows, draws))) / draws
    pick = (np.arange(draws) + rng.random((rows, 1))) / draws
    scale, effect = law.scale[evidence.series], law.effect[evidence.series]
    low, high = law.latent(evidence.low / scale), law.latent(evidence.high / scale)
    latent, lag = np.empty((rows, draws)), np.repeat((evidence.lag / scale)[:, None], draws, axis=1)
    below, within = np.empty(rows), np.empty(rows)
    for depth in range(int(evidence.depth.max(initial=0)) + 1):
        at = np.flatnonzero(evidence.depth == depth)
        parent = evidence.parent[at]
        if depth:
            lag[at] = law.demand(latent[parent], scale[at, None]) / scale[at, None]
        mean = _mean(law, evidence, at, lag, known=depth == 0) + effect[at, None]
        shown = low, high, evidence.is_informative, uniform, pick, law.residuals.grid, law.residuals.cdf
        advance(at, depth, mean, *shown, latent, lag, below, within)
    if not evidence.integer:  # what is known is known: draws are of what is not
        known = np.isfinite(evidence.low) & np.isfinite(evidence.high)
        middle = (evidence.low[known] + evidence.high[known]) / 2
        latent[known] = law.latent(middle / scale[known])[:, None]
    score = np.log(np.maximum(within, TINY))
    return CompletedLatents(latent, lag, score, below, within)


def _mean(law: DemandLaw, evidence: Evidence, at: Ints, lag: Floats, known: bool) -> Floats:
    """The mean of rows by draws of their lag, (rows, 1 or draws)."""
    draws = 1 if known else lag.shape[1]
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
    """Fit mean and residual law; `weights` count the rows, `start` is a law from which to go on.

    A start with a linear mean serves any family of its noise.
    """
    weights = np.ones(len(evidence)) if weights is None else weights
    law = _first_law(evidence, family, scale, weights) if start is None else start
    if isinstance(law.mean, LinearMean):
        law = replace(_settle(evidence, law, weights, seed), family=family)
        if family.mean == "linear":
            return law
        told = np.flatnonzero(evidence.is_informative & (weights > 0))
        done = complete(evidence, law, seed)
        # Settings are chosen on rows, not on draws, which would vouch for each other.
        inputs = law.inputs(evidence.market[told], evidence.price[told], done.lag[told].mean(axis=1))
        latent = _held(law, done.latent[told]).mean(axis=1) - law.effect[evidence.series[told]]
        law = replace(law, mean=MEANS[family.mean](inputs, latent, weights[told]))
    return _settle(evidence, law, weights, seed)


def _settle(evidence: Evidence, law: DemandLaw, weights: Floats, seed: int) -> DemandLaw:
    """Rounds until the mean is as good as where they lead; every third leaps there.

    Where memory is long, steps are small and go the same way: each is the last one times a rate, and without leaps the
    lag would count too little. Where steps only tremble with the draws their rate is 0, and the rounds are over.
    """
    known = np.flatnonzero(evidence.depth == 0)
    lag = evidence.lag[known] / law.scale[evidence.series[known]]
    inputs = law.inputs(evidence.market[known], evidence.price[known], lag)
    last: Floats | None = None  # the step before, on rows whose lag is known
    most = ROUNDS if isinstance(law.mean, LinearMean) else LATER_ROUNDS
    for number in range(1, most + 1):
        before = law.mean
        law = _round(evidence, law, weights, seed)
        step = law.mean(inputs) - before(inputs)
        rate = USUAL_RATE
        if last is not None and last @ last > 0:
            rate = float(np.clip(step @ last / (last @ last), 0.0, FASTEST))
        moved = float(np.sqrt(np.mean(step**2))) / max(law.residuals.spread, 1e-9)
        if moved * rate / (1 - rate) < SETTLED:
            break
        leaps = last is not None and number % 3 == 0 and number < most - 2  # a leap wants rounds after it
        if leaps:
            law = replace(law, mean=before.beyond(law.mean, 1 / (1 - rate)))
        last = None if leaps else step
    return law


def _first_law(evidence: Evidence, family: Family, scale: Floats, weights: Floats) -> DemandLaw:
    """A law that knows nothing but the level of demand."""
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
    )


def _round(evidence: Evidence, law: DemandLaw, weights: Floats, seed: int) -> DemandLaw:
    """Complete the rows, then fit again."""
    inputs, latent, series, counted = _drawn(evidence, law, weights, seed)
    mean = law.mean.refit(inputs, latent - law.effect[series], counted)
    left = latent - mean(inputs)
    effect = _series_effects(left, series, counted, len(law.scale))
    left -= effect[series]
    residuals = (Residuals.of if law.family.noise == "smooth" else Residuals.bell)(left, counted)
    return replace(law, mean=mean, residuals=residuals, effect=effect)


def with_effects(evidence: Evidence, law: DemandLaw, seed: int = 0) -> DemandLaw:
    """The law with what every series here adds to it, for series that it was not fitted to; all else stays."""
    for _ in range(2 if law.effect.any() else 0):
        inputs, latent, series, counted = _drawn(evidence, law, np.ones(len(evidence)), seed)
        law = replace(law, effect=_series_effects(latent - law.mean(inputs), series, counted, len(law.scale)))
    return law


def _drawn(evidence: Evidence, law: DemandLaw, weights: Floats, seed: int) -> tuple[Floats, Floats, Ints, Floats]:
    """Inputs, latent, series and weight of every draw of the rows that count."""
    told = np.flatnonzero(evidence.is_informative & (weights > 0))
    done = complete(evidence, law, seed)
    draws = done.latent.shape[1]
    market, price = (np.repeat(each[told], draws, axis=0) for each in (evidence.market, evidence.price))
    inputs = law.inputs(market, price, done.lag[told].reshape(-1))
    latent = _held(law, done.latent[told]).reshape(-1)
    return inputs, latent, np.repeat(evidence.series[told], draws), np.repeat(weights[told] / draws, draws)


def _held(law: DemandLaw, latent: Floats) -> Floats:
    """The latent of no demand at all has no bottom where noise multiplies: it is held near the smallest seen."""
    return np.maximum(latent, np.log(law.near_zero / 2)) if law.family.multiplicative else latent


def _series_effects(left: Floats, series: Ints, weights: Floats, count: int) -> Floats:
    """What each series adds, shrunk by how much series differ beyond chance (empirical Bayes); 0 where they do not."""
    rows = np.bincount(series, weights=weights, minlength=count)
    present = rows > 0
    mean = np.bincount(series, weights=weights * left, minlength=count)[present] / rows[present]
    within = float(weights @ left**2 / weights.sum())
    if present.sum() < 2 or within <= 0:
        return np.zeros(count)
    rows = rows[present]
    # Under equal series sum of rows * mean^2 / within is chi-squared; three standard deviations above say they differ.
    excess = float((rows * mean**2).sum() / within) - present.sum()
    if excess < 3 * np.sqrt(2 * present.sum()):
        return np.zeros(count)
    between = within * excess / float(rows.sum() - (rows**2).sum() / rows.sum())
    effect = np.zeros(count)
    effect[present] = mean * rows / (rows + within / max(between, 1e-12))
    return effect
