"""Draws of the latent demands of rows from their posterior under a law (particles, re-weighted by later rows)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.count_loops import draw_counts
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.linear_law_loops import LinearLaw, draw_by_level
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.memory import Lags, lags_of
from lostsales.demand.law.particle_loops import TINY, Intervals, NoiseGrid, Particles, RandomNumbers, draw_latents
from lostsales.types import Bools, Floats, Ints

DRAWS = 5, 40  # of each row, at least and at most: with fewer rows more draws, or iterations do not converge
PARTICLES = 10_000  # of all rows together, in between


@dataclass(frozen=True, eq=False)
class CompletedLatents:
    """Draws of the latents and hidden lags of all rows, given a law."""

    latent: Floats  # (rows, draws)
    lag: Floats  # (rows, draws) weighted mean of the last demands, in units of scale
    last: Floats  # (rows, draws) the last demand itself
    score: Floats  # (rows,) log probability of the row's interval, given all rows before it; 0 where uninformative
    below: Floats  # (rows,) P(D at or below the interval's low end), for calibration
    within: Floats  # (rows,) P(D in the interval)


class DrawOrder(NamedTuple):
    """Random numbers, lags and order of rows that draws from all models with equal lags share."""

    random: RandomNumbers
    lags: Lags
    rows: Ints  # that are drawn: those whose last demands are observed, then those that depend on these, and so on ...
    ends: Ints  # ... up to this place of each level

    @classmethod
    def of(cls, evidence: Evidence, lags: int, seed: int = 0, draws: int | None = None) -> "DrawOrder":
        """Build the order in which the rows of a log are drawn."""
        rng = np.random.default_rng(seed)
        rows = len(evidence)
        draws = int(np.clip(PARTICLES // max(rows, 1), *DRAWS)) if draws is None else draws
        # Stratified, so that few draws suffice.
        uniform = (rng.permuted(np.tile(np.arange(draws), (rows, 1)), axis=1) + rng.random((rows, draws))) / draws
        pick = (np.arange(draws) + rng.random((rows, 1))) / draws
        own = lags_of(evidence, lags)
        ends = np.cumsum(np.bincount(own.level))
        return cls(RandomNumbers(uniform, pick), own, np.argsort(own.level, kind="stable"), ends)

    def only(self, is_drawn: Bools) -> "DrawOrder":
        """Restrict to some rows, (rows,), of whole series: rows that depend on each other must be drawn together."""
        drawn = is_drawn[self.rows]
        ends = np.unique(np.r_[0, np.cumsum(drawn)][self.ends])  # the highest levels may have no rows left
        return self._replace(rows=self.rows[drawn], ends=ends)


def complete_latents(
    evidence: Evidence,
    law: DemandLaw,
    seed: int = 0,
    draws: int | None = None,
    with_below: bool = True,
    order: DrawOrder | None = None,
) -> CompletedLatents:
    """Draw the latents of rows from their posterior under a law, in an order that may be given; all unless it is.

    Without `below`, which takes time to sum, counts are drawn faster.
    """
    order = DrawOrder.of(evidence, len(law.lag_weights), seed, draws) if order is None else order
    random, lags = order.random, order.lags
    scale = law.scale[evidence.series]
    latent = np.zeros_like(random.uniform)
    lag = np.repeat((evidence.lag / scale)[:, None], random.uniform.shape[1], axis=1)
    particles = Particles(latent, lag, *np.zeros((2, len(evidence))))
    low, high, is_count = evidence.low, evidence.high, law.family.is_count
    if not is_count:
        low, high = law.latent(low / scale), law.latent(high / scale)
    intervals = Intervals(low, high, evidence.is_informative)
    noise = NoiseGrid.of(law.residuals.grid, law.residuals.cdf)
    if isinstance(law.mean, LinearMean):
        own, links = _linear_law(evidence, law, scale), (evidence.depth, evidence.parent)
        draw_by_level(order.rows, order.ends, lags, *links, own, intervals, random, noise, particles, with_below)
    for level, at in enumerate(() if isinstance(law.mean, LinearMean) else np.split(order.rows, order.ends[:-1])):
        hidden = at[evidence.depth[at] > 0]
        lag[hidden] = law.demand(latent[evidence.parent[hidden]], scale[hidden, None]) / scale[hidden, None]
        mean = _mean(law, evidence, at, _weighted(lag[:, :1] if level == 0 else lag, law, lags, at))
        if is_count:
            in_units = mean * scale[at, None]
            draw_counts(at, lags.span, in_units, law.dispersion, scale, intervals, random, particles, with_below)
            continue
        spread = law.spread_of(mean, scale[at, None])
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


def _linear_law(evidence: Evidence, law: DemandLaw, scale: Floats) -> LinearLaw:
    """The law by row; the lag is the last input of a mean."""
    assert isinstance(law.mean, LinearMean)
    inputs = np.column_stack([evidence.market, law.price_input(evidence.price), np.zeros(len(evidence))])
    family = law.family
    return LinearLaw(
        without_lag=law.mean(inputs) + law.level[evidence.series],
        slope=float(law.mean.slopes[-1]),
        weights=np.array(law.lag_weights),
        scale=scale,
        is_count=family.is_count,
        integer=law.integer,
        multiplicative=family.multiplicative,
        log_link=family.log_link,
        is_log=family.is_log,
        saturates=family.saturates,
        near_zero=law.near_zero,
        demand_max=law.demand_max,
        power=law.noise.power,
        reference=law.noise.reference,
        dispersion=law.dispersion,
    )
