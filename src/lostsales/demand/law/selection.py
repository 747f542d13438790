"""The demand model of a log: the family that predicts held-out rows best, and whether it fits at all.

Families are compared by the logarithmic score of each held-out row: the log probability of the observed demand, or of
demand above what was available, given all earlier rows of its series. Stock and price follow from those rows, so these
probabilities multiply to the likelihood of the log up to a factor that no family changes: the score is proper under
censoring (a squared error of imputed demands is not).
"""

from dataclasses import dataclass, replace
from importlib.util import find_spec

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.parallel import in_parallel
from lostsales.data.progress import Progress, stages
from lostsales.data.scale import series_scale
from lostsales.data.splits import BY_SERIES, FoldMasks, folds_of, hold_out, resample_counts
from lostsales.demand.censoring.evidence import Evidence, gather_evidence
from lostsales.demand.law.calibration import Calibration, calibrate
from lostsales.demand.law.demand_law import MOST_LAGS, DemandLaw, Family
from lostsales.demand.law.estimation import CompletedLatents, complete_latents, fit_family, with_effects
from lostsales.demand.law.evidence_sample import drawn_blocks, sample_blocks
from lostsales.demand.law.means import MEANS
from lostsales.demand.law.memory import observed_lag
from lostsales.demand.law.price_slopes import STRONG, SlopeEstimate, instrumented_law, law_with_slope
from lostsales.errors import LostSalesError, SettingError
from lostsales.types import Floats

LEAST_ROWS = 10
SCORED_ROWS = 1_000, 10_000  # families are compared on a tenth of the rows, within these, of whole series ...
MOST_SCORED = 15_000  # ... or, where whole series are more than this, of blocks of them
MOST_FITTED = 20_000  # a law is learned from at most so many rows: further ones narrow no error that matters
MOST_RESAMPLED = 4_000  # rows of a bootstrap behind standard errors, which are scaled to all rows
BOOSTED_ROWS = 5_000  # trees are tried from so many rows on
MOST_GAP = 3  # periods left out around a block in time
BEYOND_CHANCE = 2.0  # standard errors ...
MATTERS = 0.005  # ... and mean log probability by which a family must beat a simpler one
ADDITIVE_MARGIN = 1.5  # standard errors by which another kind of noise must beat additive, which misleads less
RULED_OUT = 4.0  # standard errors behind at which a kind of noise is not tried with richer means

FAMILIES = tuple(Family(mean, multiplicative) for mean in ("linear", "kernel") for multiplicative in (False, True))
# Products of different prices share elasticities: the logarithm of their mean is tried too.
RELATIVE_FAMILIES = tuple(Family(mean, False, link="log") for mean in ("linear", "kernel"))
COUNT_FAMILIES = (
    Family.counts("linear", "poisson"),
    Family.counts("linear", "negative-binomial"),
    Family.counts("linear", "poisson", saturates=True),
    Family.counts("linear", "negative-binomial", saturates=True),
    Family.counts("kernel", "poisson"),
    Family.counts("kernel", "negative-binomial"),
)


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


@dataclass(frozen=True, eq=False)
class DemandModel:
    """A fitted law of demand with its cross-validation, as `fit_demand` returns it.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> lostsales.fit_demand(log).family.mean
    'linear'

    """

    law: DemandLaw
    evidence: Evidence
    sample: Evidence  # what laws are learned from: the evidence, or blocks of it where it is large
    candidates: tuple[FamilyScore, ...]  # simplest first
    calibration: Calibration  # on held-out rows
    held_out: str  # "series" or "blocks in time"
    prices: Floats  # the different prices of the log
    one_price: bool = False  # the problem allows no other, so that none has to be told about
    instrument: SlopeEstimate | None = None  # the two-stage slope of the law, where instruments are strong enough
    weak_instruments: bool = False  # instruments are named, but do not move the price enough

    @property
    def family(self) -> Family:
        """The chosen family."""
        return self.law.family

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the latent around its mean; of counts, over the rows whose last demand is observed."""
        law, evidence = self.law, self.sample
        if not law.family.is_count:
            return law.residuals.spread
        lag = observed_lag(evidence, law.lag_weights)
        rows = np.flatnonzero(~np.isnan(lag))
        series = evidence.series[rows]
        scale = law.scale[series]
        mean = law.mean_of(law.inputs(evidence.market[rows], evidence.price[rows], lag[rows] / scale), series)
        return float(np.sqrt(np.mean(law.factor_of(mean, scale) ** 2)))

    @property
    def choice_reason(self) -> str:
        """Why this family was chosen, in words."""
        own = next(each for each in self.candidates if each.family == self.family)
        rivals = [each for each in self.candidates if each.family != self.family]
        if not rivals:
            return "the only one that was tried"
        best = min(rivals, key=lambda each: each.behind)
        if own.behind > best.behind:
            among = f"{own.behind:.3f} (standard error {own.error:.3f}) behind the best, {best.family.name}"
            return f"the simplest that is not behind beyond chance: {among}"
        return (
            f"the best score; next comes {best.family.name}, {best.behind:.3f} (standard error {best.error:.3f}) behind"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left to a sample."""
        if self.sample is self.evidence:
            return ()
        return (f"learned from {len(self.sample):,} of {len(self.evidence):,} rows, in blocks drawn at random",)

    def fit_law(
        self,
        family: Family,
        *,
        weights: Floats | None = None,
        start: DemandLaw | None = None,
        sample: Evidence | None = None,
        seed: int = 0,
    ) -> DemandLaw:
        """Fit a law to the sample and series effects to all evidence, or both to a part of the sample.

        `weights` count the rows of the evidence.
        """
        part = self.sample if sample is None else sample
        own = None if weights is None else weights[np.searchsorted(self.evidence.rows, part.rows)]
        if self.instrument is not None:  # which other rows would hardly move
            return law_with_slope(part, self.law, self.instrument.value, own, seed)
        law = fit_family(part, family, self.law.scale, own, start, seed)
        return with_effects(self.evidence, law, seed, weights) if part is self.sample is not self.evidence else law

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user must know before relying on it."""
        found = []
        if len(self.prices) == 1 and not self.one_price:
            found.append(f"the price was always {self.prices[0]:g}: nothing can be said about any other")
        if self.weak_instruments:
            found.append("the instruments hardly move the price: its effect is estimated without them")
        if not self.calibration.fits:
            found.append(f"the demand model does not fit: {self.calibration.reason}")
        return tuple(found)


def fit_demand(
    log: SalesLog, families: tuple[Family, ...] | None = None, seed: int = 0, progress: Progress | None = None
) -> DemandModel:
    """Learn the law of demand: choose a family by cross-validation, then fit it to all rows.

    Parameters
    ----------
    log : SalesLog
        What `read_log` returns; a demand-only log will do.
    families : tuple of Family, optional
        Candidates; by default linear and kernel means with additive and multiplicative noise, as counts where demand is
        whole, and boosted means from 5,000 rows on where scikit-learn is installed. A mean may be any name in `MEANS`.
    seed : int
        Of the rows that are scored and of the draws of hidden demands.
    progress : callable, optional
        Called with families done and families in total.

    Returns
    -------
    DemandModel
        The law, the scores of all candidates, and the calibration of the chosen one on held-out rows.

    Raises
    ------
    LostSalesError
        Too few rows have an observed demand.
    SettingError
        No family is given, or the mean of one is unknown.

    Examples
    --------
    >>> from lostsales.simulation.scenario import Scenario
    >>> from lostsales.simulation.simulator import simulate
    >>> log, _ = simulate(Scenario.load("released"), episodes=8, seed=1)
    >>> model = fit_demand(log, families=(Family("linear", False), Family("linear", True)))
    >>> model.family.name, model.held_out
    ('linear mean, additive noise', 'blocks in time')

    """
    evidence = gather_evidence(log)
    rows = int(np.count_nonzero(np.isfinite(evidence.high)))
    if rows < LEAST_ROWS:
        wanted = f"a demand model needs at least {LEAST_ROWS} rows with known demand, besides the first of each series"
        raise LostSalesError(f"{wanted}, but there are {rows}")
    tries_memory = families is None
    if families is None:
        trees = len(evidence) >= BOOSTED_ROWS and find_spec("sklearn") is not None
        is_relative = bool((evidence.usual_price != 1).any())
        families = FAMILIES + (RELATIVE_FAMILIES if is_relative else ()) + (COUNT_FAMILIES if evidence.integer else ())
        families += (Family("boosted", False), Family("boosted", True)) if trees else ()
    if not families:
        raise SettingError("families must name at least one family of laws")
    MEANS.check(*(family.mean for family in families))
    scale = series_scale(log)
    scored, folds, by = _scored_rows(log, evidence, seed)
    trials: dict[Family, FamilyTrial] = {}
    sample = sample_blocks(evidence, MOST_FITTED, seed)
    *comparing, remembering, fitting = stages(
        progress, [1.0] * len(families) + [2.0 * tries_memory, len(sample) / len(scored) / len(folds)]
    )

    def cross_validated(family: Family, tick: Progress) -> FamilyTrial:
        return _cross_validate(family, trials, scored, folds, scale, seed, tick)

    for family, tick in zip(sorted(families, key=lambda each: _complexity(each.mean)), comparing, strict=True):
        if not _is_ruled_out(family, trials):
            trials[family] = cross_validated(family, tick)
        tick(1, 1)
    chosen = _choose(trials, additive_first=bool((evidence.usual_price == 1).all()))
    if tries_memory:
        longer = [replace(chosen, lags=lags) for lags in range(2, MOST_LAGS + 1)]
        for family, tick in zip(longer, stages(remembering, [1.0] * len(longer)), strict=True):
            trials[family] = cross_validated(family, tick)
        chosen = _shortest_memory(chosen, trials)
    candidates = _compare(trials)
    law = fit_family(sample, chosen, scale, seed=seed)
    law = law if sample is evidence else with_effects(evidence, law, seed)
    instrument, is_weak = None, False
    if log.problem.instruments and not chosen.log_link and np.ptp(log.price) > 0:
        linear = (
            law if chosen.mean == "linear" else fit_family(sample, replace(chosen, mean="linear"), scale, seed=seed)
        )
        instrumented, instrument = instrumented_law(log, sample, linear, seed)
        is_weak = not (instrument.first_stage or 0.0) >= STRONG
        law, instrument = (law, None) if is_weak else (instrumented, instrument)
    fitting(1, 1)
    return DemandModel(
        law=law,
        evidence=evidence,
        sample=sample,
        candidates=candidates,
        calibration=calibrate(scored, trials[chosen].probabilities),
        held_out=by,
        prices=np.unique(log.price),
        one_price=len(log.problem.prices or ()) == 1,
        instrument=instrument,
        weak_instruments=is_weak,
    )


def bootstrap_laws(
    log: SalesLog,
    model: DemandModel,
    draws: int,
    seed: int = 0,
    progress: Progress | None = None,
    fresh: bool = False,
    sample: Evidence | None = None,
) -> list[DemandLaw]:
    """Laws fitted to resampled series (or blocks in time), each started at the fitted law unless `fresh`.

    The former is quicker, but iterations depend on their start, so that these laws vary too little. `sample` is a part
    of the evidence to resample in place of the model's own.
    """
    evidence, law = model.evidence, model.law
    held = hold_out(log, gap=1)
    start = None if fresh else law
    weights = (count[held.unit[evidence.rows]] for count in resample_counts(held.units, draws, seed))
    drawn = [each for each in weights if each @ np.isfinite(evidence.high) > 0]

    def refit(counts: Floats) -> DemandLaw:
        return model.fit_law(law.family, weights=counts, start=start, sample=sample, seed=seed)

    return in_parallel(refit, drawn, progress)


def _scored_rows(log: SalesLog, evidence: Evidence, seed: int) -> tuple[Evidence, FoldMasks, str]:
    """Rows to compare families on, their folds, and what these hold out."""
    series = np.random.default_rng(seed).permutation(np.unique(evidence.series))
    wanted = np.clip(len(evidence) // 10, *SCORED_ROWS)
    enough = np.searchsorted(np.cumsum(np.bincount(evidence.series)[series]), wanted) + 1
    kept = np.isin(evidence.series, series[:enough])
    # Rows of one run are dependent, but short series must not lose everything to gaps.
    length = int(np.bincount(log.series).max())
    held = hold_out(log, gap=min(int(evidence.depth.max(initial=0)) + 1, MOST_GAP, length // 10))
    if held.by == BY_SERIES and np.ptp(held.clock[evidence.rows[kept]]) == 0:
        # The few long series are all in one fold: the first rows of one series a fold instead.
        chosen = series[np.unique(held.clock[log.starts[series]], return_index=True)[1]]
        place = np.arange(len(evidence)) - np.searchsorted(evidence.series, evidence.series)
        kept = np.isin(evidence.series, chosen) & (place < wanted // len(chosen))
    elif np.count_nonzero(kept) > MOST_SCORED:
        kept = drawn_blocks(evidence, int(wanted), seed)
    scored = evidence.part(kept)
    return scored, folds_of(held, scored.rows), held.by


def _cross_validate(
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
        # Series effects are fitted to the held-out rows too, as in use they are known; all else is held out.
        return law, complete_latents(evidence, with_effects(evidence, law, seed), seed)

    score, below, within = (np.full(len(evidence), np.nan) for _ in range(3))
    laws = []
    for (out, _), (law, done) in zip(folds, in_parallel(fit_without, range(len(folds)), progress), strict=True):
        score[out], below[out], within[out] = done.score[out], done.below[out], done.within[out]
        laws.append(law)
    return FamilyTrial(score, (below, within), tuple(laws))


def _shortest_memory(chosen: Family, trials: dict[Family, FamilyTrial]) -> Family:
    """The chosen family with as few lags as are not behind beyond chance."""
    same = [family for family in trials if replace(family, lags=1) == chosen]
    best = max(same, key=lambda family: float(trials[family].score.mean()))
    return next(each for each in sorted(same, key=_lags) if not _is_behind(trials[each], trials[best], BEYOND_CHANCE))


def _lags(family: Family) -> int:
    return family.lags


def _is_ruled_out(family: Family, trials: dict[Family, FamilyTrial]) -> bool:
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


def _compare(trials: dict[Family, FamilyTrial]) -> tuple[FamilyScore, ...]:
    best = max((each.score for each in trials.values()), key=np.mean)
    return tuple(
        FamilyScore(family, float(each.score.mean()), *_behind(each.score, best)) for family, each in trials.items()
    )


def _choose(trials: dict[Family, FamilyTrial], additive_first: bool = True) -> Family:
    """The simplest mean that is not behind the best of all beyond chance, with additive noise unless it is behind.

    Products of different prices share elasticities rather than slopes: there the better score decides.
    """

    def score(family: Family) -> float:
        return float(trials[family].score.mean())

    best = max(trials, key=score)
    for mean in sorted(dict.fromkeys(family.mean for family in trials), key=_complexity):
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


def _complexity(mean: str) -> int:
    """The place of a mean from simple to complex; those of other packages count as the most complex."""
    return MEANS.first.index(mean) if mean in MEANS.first else len(MEANS.first)


def _is_behind(trial: FamilyTrial, other: FamilyTrial, errors: float) -> bool:
    behind, error = _behind(trial.score, other.score)
    return behind > max(errors * error, MATTERS)
