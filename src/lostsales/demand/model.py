"""The demand model of a log: the family that predicts held-out rows best, and whether it fits at all.

Families are compared by the logarithmic score of what each held-out row shows: the chance of the known demand, or that
demand lay above what was available, given all earlier rows of its series. Stock and price follow from those rows, so
these chances multiply to the likelihood of the log up to a factor that no family changes: the score is proper under
censoring (a squared error of filled-in demands is not).
"""

from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import Any

import numpy as np

from lostsales.arrays import Floats, Ints
from lostsales.data.log import SalesLog
from lostsales.demand.calibration import Calibration, calibrate
from lostsales.demand.evidence import Evidence, gather
from lostsales.demand.holdout import hold_out
from lostsales.demand.law import DemandLaw, Family, complete, fit_family
from lostsales.errors import LostSalesError, SettingError

LEAST_ROWS = 20
JUDGED_ROWS = 1_000  # families are compared on at most so many rows, of whole series
BOOSTED_ROWS = 5_000  # trees are tried from so many rows on
HETEROGENEOUS = 3.0  # from this ratio of usual sales on, series are brought to one scale
BEYOND_CHANCE = 2.0  # standard errors ...
MATTERS = 0.005  # ... and mean log chance by which a family must beat a simpler one
HOPELESS = 4.0  # standard errors behind at which a kind of noise is not tried with richer means

MEANS = ("linear", "kernel", "boosted")  # simplest first
FAMILIES = tuple(Family(mean, multiplicative) for mean in ("linear", "kernel") for multiplicative in (False, True))


@dataclass(frozen=True)
class Candidate:
    """A family and how well it predicts rows that it has not seen."""

    family: Family
    score: float  # mean log chance of a held-out row, higher is better
    behind: float  # how far its score lies below that of the best
    error: float  # standard error of that difference


@dataclass(frozen=True, eq=False)
class DemandModel:
    """A fitted law with what speaks for it and against it."""

    law: DemandLaw
    evidence: Evidence
    candidates: tuple[Candidate, ...]  # simplest first
    calibration: Calibration  # on held-out rows
    held_out: str  # "series" or "blocks in time"
    prices: Floats  # the different prices of the log

    @property
    def family(self) -> Family:
        """The chosen family."""
        return self.law.family

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user must know before trusting it."""
        said = []
        if len(self.prices) == 1:
            said.append(f"the price was always {self.prices[0]:g}: nothing can be said about any other")
        if not self.calibration.fits:
            said.append(f"the demand model does not fit: {self.calibration.reason}")
        return tuple(said)


def fit_demand(log: SalesLog, families: tuple[Family, ...] | None = None, seed: int = 0) -> DemandModel:
    """Choose a family by cross-validation over whole series (or blocks in time), then fit it to all rows."""
    evidence = gather(log)
    rows = int(np.count_nonzero(evidence.told & ~evidence.hidden))
    if rows < LEAST_ROWS:
        wanted = f"a demand model needs at least {LEAST_ROWS} rows with known demand that follow a known demand"
        raise LostSalesError(f"{wanted}, but there are {rows}")
    if families is None:
        trees = len(evidence) >= BOOSTED_ROWS and find_spec("sklearn") is not None
        families = FAMILIES + ((Family("boosted", False), Family("boosted", True)) if trees else ())
    if not families:
        raise SettingError("families must name at least one family of laws")
    scale = series_scale(log)
    judged, folds, by = _judged(log, evidence)
    trials: dict[Family, tuple[Floats, tuple[Floats, Floats]]] = {}
    for family in sorted(families, key=lambda each: MEANS.index(each.mean)):
        if not _hopeless(family, trials):
            trials[family] = _out_of_fold(judged, family, scale, folds, seed)
    candidates = _compare({family: score for family, (score, _) in trials.items()})
    chosen = _choose(candidates)
    law = fit_family(evidence, chosen, scale, seed=seed)
    _, pit = trials[chosen]
    return DemandModel(law, evidence, candidates, calibrate(judged, pit), by, np.unique(log.price))


def series_scale(log: SalesLog) -> Floats:
    """Usual sales of each series where these differ much, else 1 for all, (series,)."""
    names, part = np.unique(log.names, return_inverse=True)
    of_row = part[log.series]
    usual = np.bincount(of_row, weights=log.sales, minlength=len(names)) / np.bincount(of_row, minlength=len(names))
    low, high = np.quantile(usual, [0.1, 0.9])
    if len(usual) < 2 or high <= HETEROGENEOUS * max(low, 1e-9):
        return np.ones(len(log.names))
    return np.asarray(np.maximum(usual, 1e-3 * usual.mean())[part])


def _judged(log: SalesLog, evidence: Evidence) -> tuple[Evidence, Ints, str]:
    """Rows to compare families on, the fold of each, and what a fold is."""
    held = hold_out(log, gap=int(evidence.depth.max(initial=0)) + 1)
    fold = np.unique(np.column_stack([held.lower, held.upper])[evidence.rows], axis=0, return_inverse=True)[1]
    last = len(evidence)
    if last > JUDGED_ROWS:  # rows are in the order of series: cut where a series ends
        ends = np.flatnonzero(np.diff(evidence.series)) + 1
        last = int(ends[ends >= JUDGED_ROWS][0]) if (ends >= JUDGED_ROWS).any() else last
    return first_rows(evidence, last), fold.reshape(-1)[:last].astype(np.int64), held.by


def first_rows(evidence: Evidence, count: int) -> Evidence:
    """The first rows, up to the end of a series."""
    own: dict[str, Any] = {each.name: getattr(evidence, each.name) for each in fields(evidence)}
    own |= {name: each[:count] for name, each in own.items() if isinstance(each, np.ndarray)}
    return Evidence(**own)


def _out_of_fold(
    evidence: Evidence, family: Family, scale: Floats, folds: Ints, seed: int
) -> tuple[Floats, tuple[Floats, Floats]]:
    """Score of every row under a law fitted without its fold, and the chances below and within what it shows."""
    score, below, within = (np.full(len(evidence), np.nan) for _ in range(3))
    whole = fit_family(evidence, family, scale, seed=seed)
    for fold in np.unique(folds):
        out = folds == fold
        law = fit_family(evidence, family, scale, weights=(~out).astype(np.float64), start=whole, seed=seed)
        done = complete(evidence, law, seed)
        score[out], below[out], within[out] = done.score[out], done.below[out], done.within[out]
    # A known demand in an interval of some width: its density counts, so that families of any scale compare.
    return np.where(evidence.told, score, 0.0), (below, within)


def _hopeless(family: Family, trials: dict[Family, tuple[Floats, Any]]) -> bool:
    """True where a linear mean already tells that noise of this kind is not what is seen."""
    own, other = (Family("linear", kind) for kind in (family.multiplicative, not family.multiplicative))
    if family.mean == "linear" or own not in trials or other not in trials:
        return False
    behind = trials[other][0] - trials[own][0]
    return bool(behind.mean() > HOPELESS * behind.std() / np.sqrt(len(behind)))


def _compare(scores: dict[Family, Floats]) -> tuple[Candidate, ...]:
    best = max(scores.values(), key=np.mean)
    candidates = []
    for family, score in scores.items():
        behind = best - score
        error = float(behind.std() / np.sqrt(len(behind)))
        candidates.append(Candidate(family, float(score.mean()), float(behind.mean()), error))
    return tuple(candidates)


def _choose(candidates: tuple[Candidate, ...]) -> Family:
    """The best with the simplest kind of mean that is not behind the best of all beyond chance."""
    near = [each for each in candidates if each.behind <= max(BEYOND_CHANCE * each.error, MATTERS)]
    simplest = min(MEANS.index(each.family.mean) for each in near)
    return min(
        (each for each in near if MEANS.index(each.family.mean) == simplest), key=lambda each: each.behind
    ).family
