"""Families of laws compared on held-out rows.

They are compared by the logarithmic score of each held-out row: the log probability of the observed demand, or of
demand above what was available, given all earlier rows of its series. Stock and price follow from those rows, so these
probabilities multiply to the likelihood of the log up to a factor that no family changes: the score is proper under
censoring (a squared error of imputed demands is not).
"""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.parallel import in_parallel
from lostsales.data.progress import Progress
from lostsales.data.splits import FoldMasks
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.estimation import fit_family, with_levels
from lostsales.demand.law.latents import CompletedLatents, complete_latents
from lostsales.demand.law.means import MEANS
from lostsales.types import Floats

BEYOND_CHANCE = 2.0  # standard errors ...
MATTERS = 0.005  # ... and mean log probability by which a family must beat a simpler one
ADDITIVE_MARGIN = 1.5  # standard errors by which another kind of noise must beat additive, which misleads less
RULED_OUT = 4.0  # standard errors behind at which a kind of noise is not tried with richer means


@dataclass(frozen=True)
class FamilyScore:
    """A family and its score on held-out rows."""

    family: Family
    score: float  # mean log probability of a held-out row, higher is better
    behind: float  # how far its score lies below that of the best
    error: float  # standard error of that difference


@dataclass(frozen=True, eq=False)
class FamilyTrial:
    """The cross-validation of a family."""

    score: Floats  # (rows,) log probability of each held-out interval
    probabilities: tuple[Floats, Floats]  # (rows,) below and within each interval
    laws: tuple[DemandLaw, ...]  # by fold


def cross_validate(
    family: Family,
    trials: dict[Family, FamilyTrial],
    evidence: Evidence,
    folds: FoldMasks,
    scale: Floats,
    seed: int,
    progress: Progress,
) -> FamilyTrial:
    """Fit without each fold in turn.

    A richer mean or a longer memory starts from the simpler one of the same fold, never from a law fitted to what is
    held out: iterations depend on their start.
    """
    linear = replace(family, mean="linear")
    simpler = trials.get(linear) or trials.get(replace(linear, lags=max(family.lags - 1, 1)))

    def fit_without(at: int) -> tuple[DemandLaw, CompletedLatents]:
        start = None if simpler is None else simpler.laws[at].with_lags(family.lags)
        used = folds[at][1].astype(np.float64)
        law = fit_family(evidence, family, scale, weights=used, start=start, seed=seed)
        # Levels of series are fitted to the held-out rows too, as in use they are known; all else is held out.
        return law, complete_latents(evidence, with_levels(evidence, law, seed), seed)

    score, below, within = (np.full(len(evidence), np.nan) for _ in range(3))
    laws = []
    for (out, _), (law, done) in zip(folds, in_parallel(fit_without, range(len(folds)), progress), strict=True):
        score[out], below[out], within[out] = done.score[out], done.below[out], done.within[out]
        laws.append(law)
    return FamilyTrial(score, (below, within), tuple(laws))


def shortest_memory(chosen: Family, trials: dict[Family, FamilyTrial]) -> Family:
    """The chosen family with as few lags as are not behind beyond chance."""
    same = [family for family in trials if replace(family, lags=1) == chosen]
    best = max(same, key=lambda family: float(trials[family].score.mean()))
    return next(
        each
        for each in sorted(same, key=lambda family: family.lags)
        if not _is_behind(trials[each], trials[best], BEYOND_CHANCE)
    )


def is_ruled_out(family: Family, trials: dict[Family, FamilyTrial]) -> bool:
    """True where a linear mean with this kind of noise and link is far behind one with another.

    A negative binomial law without a lead over Poisson's is nearly the same, and tried with no richer mean or memory.
    """
    own = replace(family, mean="linear", saturates=False)
    others = [other for other in trials if other.mean == "linear" and other != own]
    if family == own or own not in trials:
        return False
    simpler = Family.counts("linear", "poisson")
    if own.noise == "negative-binomial" and simpler in trials:
        return not _is_behind(trials[simpler], trials[own], BEYOND_CHANCE)
    compared = [_behind(trials[own].score, trials[other].score) for other in others]
    return any(behind > RULED_OUT * error for behind, error in compared)


def _behind(score: Floats, best: Floats) -> tuple[float, float]:
    """The mean by which a score lies below another, and its standard error."""
    behind = best - score
    return float(behind.mean()), float(behind.std() / np.sqrt(len(behind)))


def scores(trials: dict[Family, FamilyTrial]) -> tuple[FamilyScore, ...]:
    """The score of every family that was tried, and how far it is behind the best."""
    best = max((each.score for each in trials.values()), key=np.mean)
    return tuple(
        FamilyScore(family, float(each.score.mean()), *_behind(each.score, best)) for family, each in trials.items()
    )


def choose(trials: dict[Family, FamilyTrial], additive_first: bool = True) -> Family:
    """The simplest mean that is not behind the best of all beyond chance, with additive noise unless it is behind.

    Products of different prices share elasticities rather than slopes: there the better score decides.
    """

    def score(family: Family) -> float:
        return float(trials[family].score.mean())

    best = max(trials, key=score)
    for mean in sorted(dict.fromkeys(family.mean for family in trials), key=complexity):
        own = [family for family in trials if family.mean == mean]
        adds = max(
            (family for family in own if not (family.multiplicative or family.is_count)), key=score, default=None
        )
        chosen = max(own, key=score)
        if adds and additive_first and not _is_behind(trials[adds], trials[chosen], ADDITIVE_MARGIN):
            chosen = adds
        if not _is_behind(trials[chosen], trials[best], BEYOND_CHANCE):
            return chosen
    return best


def complexity(mean: str) -> int:
    """The place of a mean from simple to complex; those of other packages count as the most complex."""
    return MEANS.first.index(mean) if mean in MEANS.first else len(MEANS.first)


def _is_behind(trial: FamilyTrial, other: FamilyTrial, errors: float) -> bool:
    behind, error = _behind(trial.score, other.score)
    return behind > max(errors * error, MATTERS)
