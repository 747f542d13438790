"""The demand model of a log: the family that predicts held-out rows best, and whether it fits at all."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress, stages
from lostsales.data.scale import series_scale
from lostsales.data.splits import BY_SERIES, FoldMasks, folds_of, hold_out
from lostsales.demand.censoring.evidence import Evidence, gather_evidence
from lostsales.demand.law.calibration import calibrate
from lostsales.demand.law.collinear_features import without_copies
from lostsales.demand.law.demand_law import MOST_LAGS, DemandLaw, Family
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.estimation import fit_family, with_levels
from lostsales.demand.law.evidence_sample import drawn_blocks, sample_blocks
from lostsales.demand.law.family_trials import (
    FamilyTrial,
    choose,
    complexity,
    cross_validate,
    is_ruled_out,
    scores,
    shortest_memory,
)
from lostsales.demand.law.instrumented_law import Instrumented, instrumented_slopes, law_with_slopes
from lostsales.demand.law.means import MEANS
from lostsales.errors import LostSalesError, SettingError

LEAST_ROWS = 10  # with known demand, below which no model is fitted
SCORED_ROWS = 1_000, 10_000  # families are compared on a tenth of the rows, within these, of whole series ...
MOST_SCORED = 15_000  # ... or, where whole series are more than this, of blocks of them
MOST_FITTED = 20_000  # largest sample of a fit: further rows narrow no error that matters
BOOSTED_ROWS = 5_000  # fewest rows for which trees are tried
MOST_GAP = 3  # periods left out around a block in time

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
BOOSTED_FAMILIES = Family("boosted", False), Family("boosted", True)


def fit_law(
    log: SalesLog, families: tuple[Family, ...] | None = None, seed: int = 0, progress: Progress | None = None
) -> DemandModel:
    """Learn the law of demand: choose a family by cross-validation, then fit it to all rows.

    By default linear and kernel means with additive and multiplicative noise are candidates, as counts if demand is
    whole, and boosted means from 5,000 rows on if scikit-learn is installed. A mean may be any name in `MEANS`. Raises
    and progress are those of `lostsales.fit_demand`.

    >>> from lostsales.simulation.scenario import Scenario
    >>> from lostsales.simulation.simulator import simulate
    >>> log, _ = simulate(Scenario.load("released"), episodes=8, seed=1)
    >>> model = fit_law(log, families=(Family("linear", False), Family("linear", True)))
    >>> model.family.name, model.held_out
    ('linear mean, additive noise', 'blocks in time')
    """
    evidence, copies = without_copies(log, gather_evidence(log))
    rows = int(np.count_nonzero(np.isfinite(evidence.high)))
    if rows < LEAST_ROWS:
        wanted = f"a demand model needs at least {LEAST_ROWS} rows with known demand, besides the first of each series"
        raise LostSalesError(f"{wanted}, but there are {rows}")
    by_instruments = bool(log.problem.instruments and np.ptp(log.price) > 0)
    # A persistent hidden market looks like long autocorrelation; instruments identify that of one period.
    tries_memory = families is None and not by_instruments
    families = _default_families(evidence, by_instruments) if families is None else families
    if not families:
        raise SettingError("families must name at least one family of demand models")
    MEANS.check(*(family.mean for family in families))
    scale = series_scale(log)
    scored, folds, by = _scored_rows(log, evidence, seed)
    trials: dict[Family, FamilyTrial] = {}
    sample = sample_blocks(evidence, MOST_FITTED, seed)
    *comparing, remembering, fitting = stages(
        progress, [1.0] * len(families) + [2.0 * tries_memory, len(sample) / len(scored) / len(folds)]
    )

    def cross_validated(family: Family, tick: Progress) -> FamilyTrial:
        return cross_validate(family, trials, scored, folds, scale, seed, tick)

    for family, tick in zip(sorted(families, key=lambda each: complexity(each.mean)), comparing, strict=True):
        if not is_ruled_out(family, trials):
            trials[family] = cross_validated(family, tick)
        tick(1, 1)
    chosen = choose(trials, additive_first=bool((evidence.usual_price == 1).all()))
    if tries_memory:
        longer = [replace(chosen, lags=lags) for lags in range(2, MOST_LAGS + 1)]
        for family, tick in zip(longer, stages(remembering, [1.0] * len(longer)), strict=True):
            trials[family] = cross_validated(family, tick)
        chosen = shortest_memory(chosen, trials)
    law = fit_family(sample, chosen, scale, seed=seed)
    law = law if sample is evidence else with_levels(evidence, law, seed)
    instrumented = None
    if by_instruments and not chosen.log_link:
        law, instrumented = _instrumented(log, sample, law, chosen, seed)
    fitting(1, 1)
    return DemandModel(
        law=law,
        evidence=evidence,
        sample=sample,
        candidates=scores(trials),
        calibration=calibrate(scored, trials[chosen].probabilities, period=log.period[scored.rows]),
        held_out=by,
        prices=np.unique(log.price),
        one_price=len(log.problem.prices or ()) == 1,
        instrumented=instrumented,
        weak_instruments=by_instruments and instrumented is None,
        copies=copies,
    )


def _default_families(evidence: Evidence, by_instruments: bool) -> tuple[Family, ...]:
    families = FAMILIES
    if by_instruments:  # whose slopes are those of demand or of its logarithm, not of the logarithm of a mean
        return families
    if (evidence.usual_price != 1).any():
        families += RELATIVE_FAMILIES
    if evidence.integer:
        families += COUNT_FAMILIES
    if len(evidence) >= BOOSTED_ROWS and find_spec("sklearn") is not None:
        families += BOOSTED_FAMILIES
    return families


def _instrumented(
    log: SalesLog, sample: Evidence, law: DemandLaw, family: Family, seed: int
) -> tuple[DemandLaw, Instrumented | None]:
    """The law with two-stage slopes and these; where instruments are weak, the law itself and None."""
    linear = law
    if family.mean != "linear":
        linear = fit_family(sample, replace(family, mean="linear"), law.scale, seed=seed)
    found = instrumented_slopes(log, sample, linear, seed)
    return (law, None) if found is None else (law_with_slopes(sample, linear, *found.slopes, seed=seed), found)


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
