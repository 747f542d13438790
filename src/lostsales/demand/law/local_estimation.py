"""Estimation of local residual laws from censored rows, with bandwidths chosen on held-out rows.

A row whose demand is hidden counts by its law above what was available, which follows from the laws around it and is
estimated with them in turns (with one coordinate and one point: the self-consistent form of the Kaplan-Meier
estimator). Bandwidths are chosen one coordinate after the other by the logarithmic score of held-out rows, which is
proper under censoring. Infinite ones are candidates: where rows are few, the law of all residuals remains.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d

from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.calibration import Calibration, calibrate
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.latents import complete_latents
from lostsales.demand.law.local_residuals import CACHED, CHUNK, LocalResiduals, Points
from lostsales.demand.law.residuals import Residuals
from lostsales.types import Floats, Ints

BANDWIDTHS = (1.0, 0.5, 0.25, 0.12)  # in standard deviations of a coordinate
# Coordinates of `Points` that may be local together: the mean, or price, last demand and market.
COORDINATES = ((3,), (1, 2, 0))
BINS = 96  # of a residual distribution
LAG_DRAWS = 2  # of a hidden last demand
MOST_ROWS = 4_000  # with draws behind local distributions
LEAST_SCORED, MOST_SCORED = 50, 800  # held-out rows that choose bandwidths
BEYOND_CHANCE, MATTERS = 1.0, 0.002  # standard errors, and mean log probability, by which a choice must do better
MOST_ROUNDS = 3  # over the coordinates
LEAST_WIDTH = 0.05  # of smoothing, in bins, below which there is none
TURNS = 4  # of laws of rows and laws at points
TINY = 1e-12  # against division by 0


@dataclass(frozen=True, eq=False)
class LocalFit:
    """Local residual laws and how well they predict held-out rows."""

    residuals: LocalResiduals
    score: Floats  # (scored,) log probability of what each row shows, by laws of the rows of other folds
    calibrate: Callable[[LocalResiduals], Calibration]

    @cached_property
    def calibration(self) -> Calibration:
        """Calibration of the rows behind the local distributions, by the rows of other folds."""
        return self.calibrate(self.residuals)

    def is_better_than(self, other: "LocalFit") -> bool:
        """True if the score of the same rows is significantly higher."""
        gain = self.score - other.score
        return bool(gain.mean() > max(MATTERS, BEYOND_CHANCE * gain.std() / np.sqrt(len(gain))))


class _Rows(NamedTuple):
    """Informative rows with draws of their hidden last demands, every array (draws,)."""

    at: Ints  # row of the evidence
    points: Points
    low: Floats  # the residual lies above this ...
    high: Floats  # ... and up to this
    weight: Floats


class _Design(NamedTuple):
    """Precomputed arrays that all bandwidths share."""

    overlap: Floats  # (draws, bins) share of each bin that lies in the interval of a row
    wide: Ints  # draws whose interval has no end: their laws depend on those around them
    smoothing: Floats  # (bins, bins) by which laws of rows are smoothed
    scored: Ints  # draws that are scored
    fold: Ints  # (draws,)


def fit_local_residuals(
    evidence: Evidence,
    law: DemandLaw,
    z: Floats,
    fold: Ints,
    bandwidths: tuple[float, ...] = BANDWIDTHS,
    seed: int = 0,
) -> LocalFit:
    """Local laws of the residuals around the mean of a law of demand.

    `z` is what the market of each row adds to that mean, `fold` the number of its fold, both (rows,).
    """
    rows = _draw_rows(evidence, law, z, seed)
    edges = _edges(rows, law.residuals)
    base = np.diff(law.residuals.below(edges))
    base /= base.sum()
    columns = rows.points.columns()
    scale = columns.std(axis=0)
    scale = np.where(scale > 1e-9 * (1 + np.abs(columns.mean(axis=0))), scale, np.inf)
    overlap = _overlap(rows, edges)
    scored = np.flatnonzero(evidence.depth[rows.at] == 0)  # of the others the last demand is known by draws only
    if len(scored) > MOST_SCORED:
        scored = np.sort(np.random.default_rng(seed).choice(scored, MOST_SCORED, replace=False))
    wide = np.flatnonzero(np.isinf(rows.high) | np.isinf(rows.low))
    design = _Design(overlap, wide, _smoothing(_width(rows, edges, base)), scored, fold[rows.at])
    start = LocalResiduals(edges, columns / scale, scale, overlap, rows.weight, base, np.full(4, np.inf))

    def calibrate_found(found: LocalResiduals) -> Calibration:
        return _calibration(found, evidence, rows, design)

    first = _fitted(start, design)
    simplest = best = LocalFit(first, _scores(first, [first.bandwidth], design)[0], calibrate_found)
    for coordinates in COORDINATES if len(scored) >= LEAST_SCORED else ():
        varying = [each for each in coordinates if np.isfinite(scale[each])]
        found = _chosen(simplest, varying, bandwidths, design)
        best = found if found.is_better_than(best) else best
    return best


def _chosen(start: LocalFit, coordinates: list[int], bandwidths: tuple[float, ...], design: _Design) -> LocalFit:
    """Bandwidths by the score, one coordinate after the other, until none does better."""
    best, in_vain = start, 0
    for coordinate in MOST_ROUNDS * coordinates:
        own = best.residuals.bandwidth
        widths = {*bandwidths, np.inf} - {own[coordinate]}
        if not widths or in_vain == len(coordinates):  # all have been tried since the last change
            break
        tried = [np.where(np.arange(len(own)) == coordinate, width, own) for width in widths]
        scores = _scores(best.residuals, tried, design)
        likely = max(range(len(tried)), key=lambda each: float(scores[each].mean()))
        trial = replace(best.residuals, bandwidth=tried[likely])
        if replace(best, residuals=trial, score=scores[likely]).is_better_than(best):
            found, in_vain = _fitted(trial, design), 0
            best = replace(best, residuals=found, score=_scores(found, [found.bandwidth], design)[0])
        else:
            in_vain += 1
    return best


def _fitted(start: LocalResiduals, design: _Design) -> LocalResiduals:
    """The laws of rows given their intervals and the laws around them, in turns."""
    mass = design.overlap * start.base
    mass /= np.maximum(mass.sum(axis=1, keepdims=True), TINY)
    smooth = mass @ design.smoothing
    wide, closed = design.wide, np.delete(np.arange(len(mass)), design.wide)
    if len(wide):
        # If no coordinate matters, laws are the same around all rows.
        points = start.coordinates[wide if np.isfinite(start.bandwidth).any() else wide[:1]]
        known, weights = (start.of_rows(rows).weights(points) for rows in (closed, wide))
        total = sum(each.sum(axis=1, dtype=np.float64) for each in (known, weights))[:, None] + start.prior
        fixed = known @ smooth[closed].astype(np.float32) + start.prior * start.base
        for _ in range(TURNS):
            around = (fixed + weights @ smooth[wide].astype(np.float32)) / total * design.overlap[wide]
            smooth[wide] = (around / np.maximum(around.sum(axis=1, keepdims=True), TINY)) @ design.smoothing
    return replace(start, mass=smooth)


def _scores(found: LocalResiduals, bandwidths: list[Floats], design: _Design) -> list[Floats]:
    """Log probability of the interval of each scored row by the laws of rows of other folds, (scored,) by bandwidths.

    Of a law only what it says of the interval of a row is needed: a mean over rows of what theirs say.
    """
    local = np.flatnonzero(np.isfinite(bandwidths).any(axis=0))
    at, steep = found.coordinates[:, local], (-0.5 / np.array(bandwidths)[:, local] ** 2).astype(np.float32)
    mass = (found.mass * found.weight[:, None]).astype(np.float32)
    weight, base = found.weight.astype(np.float32), found.prior * design.overlap[design.scored] @ found.base
    within = np.empty((len(bandwidths), len(design.scored)))
    for fold in np.unique(design.fold[design.scored]):
        own, others = np.flatnonzero(design.fold[design.scored] == fold), np.flatnonzero(design.fold != fold)
        shares, rows, weights = mass[others].T, at[others].T, weight[others]
        for part in np.array_split(own, -(-len(own) // CACHED)):
            draws = design.scored[part]
            said = design.overlap[draws].astype(np.float32) @ shares
            apart = [np.subtract.outer(at[draws, c], rows[c]) for c in range(len(local))]
            squares = [np.multiply(each, each, dtype=np.float32, casting="same_kind") for each in apart]
            for trial, own_steep in enumerate(steep):
                power = np.zeros_like(said)
                for square, each in zip(squares, own_steep, strict=True):
                    if each:
                        power += square * each
                near = np.exp(power, out=power)
                total = near @ weights + found.prior
                within[trial, part] = (np.einsum("ij,ij->i", near, said) + base[part]) / total
    return list(np.log(np.maximum(within, TINY)))


def _held_out(found: LocalResiduals, design: _Design, draws: Ints) -> Floats:
    """The laws of some draws by the rows of other folds, (draws, bins)."""
    weights = found.weights(found.coordinates[draws])
    weights *= design.fold[draws][:, None] != design.fold
    return found.average(weights, found.mass)


def _calibration(found: LocalResiduals, evidence: Evidence, rows: _Rows, design: _Design) -> Calibration:
    """Calibration of the rows behind the local distributions; draws of a row are averaged."""
    share_below = np.clip((rows.low[:, None] - found.edges[:-1]) / (found.edges[1] - found.edges[0]), 0.0, 1.0)
    below, within = np.zeros((2, len(evidence)))
    for start in range(0, len(rows.at), CHUNK):
        draws = np.arange(start, min(start + CHUNK, len(rows.at)))
        law, weight = _held_out(found, design, draws), rows.weight[draws]
        np.add.at(below, rows.at[draws], weight * (law * share_below[draws]).sum(axis=1))
        np.add.at(within, rows.at[draws], weight * (law * design.overlap[draws]).sum(axis=1))
    used = np.zeros(len(evidence), dtype=bool)
    used[rows.at] = True
    return calibrate(replace(evidence, is_informative=used), (below, within))


def _draw_rows(evidence: Evidence, law: DemandLaw, z: Floats, seed: int) -> _Rows:
    """The informative rows, or some of them, with their hidden last demands drawn from the law."""
    done = complete_latents(evidence, law, seed, with_below=False)
    informative = np.flatnonzero(evidence.is_informative)
    most = int(MOST_ROWS / (1 + (LAG_DRAWS - 1) * np.mean(evidence.depth[informative] > 0)))
    if len(informative) > most:
        informative = np.sort(np.random.default_rng(seed).choice(informative, most, replace=False))
    draws = np.where(evidence.depth[informative] > 0, LAG_DRAWS, 1)
    at = np.repeat(informative, draws)
    draw = np.arange(len(at)) - np.repeat(np.cumsum(draws) - draws, draws)
    lag = done.lag[at, draw * (done.lag.shape[1] // LAG_DRAWS)]
    series, scale = evidence.series[at], law.scale[evidence.series[at]]
    mean = law.mean_of(law.inputs(evidence.market[at], evidence.price[at], lag), series)
    spread = law.spread_of(mean, scale)
    low, high = ((law.latent(each[at] / scale) - mean) / spread for each in (evidence.low, evidence.high))
    return _Rows(at, Points(z[at], evidence.price[at], lag, mean), low, high, 1 / np.repeat(draws, draws))


def _edges(rows: _Rows, residuals: Residuals) -> Floats:
    """Edges of even bins over the residuals of the rows and of the law, with a margin."""
    known = np.concatenate([each[np.isfinite(each)] for each in (rows.low, rows.high)])
    ends = np.quantile(known, [0.001, 0.999])
    reach = residuals.quantile(np.array([0.001, 0.999]))
    low, high = min(ends[0], reach[0]), max(ends[1], reach[1])
    margin = 0.1 * (high - low)
    return np.linspace(low - margin, high + margin, BINS + 1)


def _overlap(rows: _Rows, edges: Floats) -> Floats:
    """The share of each bin that lies in the interval of each row, (draws, bins); the end bins have no outer end."""
    upper, lower = np.minimum(rows.high[:, None], edges[1:]), np.maximum(rows.low[:, None], edges[:-1])
    overlap = np.maximum(upper - lower, 0.0) / (edges[1] - edges[0])
    overlap[rows.high <= edges[1], 0] = 1.0
    overlap[rows.low >= edges[-2], -1] = 1.0
    return np.asarray(overlap)


def _smoothing(width: float) -> Floats:
    """Matrix that smooths distributions by a normal kernel with a width in bins, (bins, bins)."""
    same = np.eye(BINS)
    return same if width < LEAST_WIDTH else np.asarray(gaussian_filter1d(same, width, axis=1, mode="nearest"))


def _width(rows: _Rows, edges: Floats, base: Floats) -> float:
    """Half of Silverman's width, less what the intervals of whole demands smooth already, in bins."""
    middle = (edges[1:] + edges[:-1]) / 2
    spread = float(np.sqrt(base @ (middle - base @ middle) ** 2))
    low, high = np.interp([0.25, 0.75], np.cumsum(base), middle)
    width = 0.45 * min(spread, (high - low) / 1.34 or spread) * max(float(rows.weight.sum()), 2.0) ** -0.2
    interval = rows.high - rows.low
    closed = interval[np.isfinite(interval)]
    shown = float(np.median(closed)) / np.sqrt(12) if len(closed) else 0.0  # standard deviation of an even law
    return float(np.sqrt(max(width**2 - shown**2, 0.0)) / (edges[1] - edges[0]))
