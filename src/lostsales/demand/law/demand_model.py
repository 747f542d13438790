"""A fitted law of demand with its cross-validation, and further laws from a bootstrap."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.parallel import in_parallel
from lostsales.data.progress import Progress
from lostsales.data.splits import hold_out, resample_counts
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.calibration import Calibration
from lostsales.demand.law.demand_law import DemandLaw, Family
from lostsales.demand.law.estimation import fit_family, with_levels
from lostsales.demand.law.family_trials import FamilyScore
from lostsales.demand.law.instrumented_law import Instrumented, law_with_slopes
from lostsales.demand.law.memory import observed_lag
from lostsales.types import Floats


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
    one_price: bool = False  # the problem allows no other, so that no warning is needed
    instrumented: Instrumented | None = None  # the two-stage slopes of the law, where instruments are strong enough
    weak_instruments: bool = False  # instruments are named, but do not move the price enough
    copies: tuple[str, ...] = ()  # features that follow from the price or from other features, and are left out

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
        return float(np.sqrt(np.mean(law.spread_of(mean, scale) ** 2)))

    @property
    def choice_reason(self) -> str:
        """Reason for the choice of the family, in words."""
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
        """Note on the sample that the model was learned from."""
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
        """Fit a law to the sample and levels of series to all evidence, or both to a part of the sample.

        `weights` count the rows of the evidence.
        """
        part = self.sample if sample is None else sample
        own = None if weights is None else weights[np.searchsorted(self.evidence.rows, part.rows)]
        if self.instrumented is not None:
            return law_with_slopes(part, self.law, *self.instrumented.slopes, own, seed)
        law = fit_family(part, family, self.law.scale, own, start, seed)
        return with_levels(self.evidence, law, seed, weights) if part is self.sample is not self.evidence else law

    @property
    def is_causal(self) -> bool:
        """True if instruments identify the effect of a price, now and in later periods, whatever else moved prices."""
        return self.instrumented is not None and self.instrumented.memory is not None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that a user must know before relying on the model."""
        found = []
        if len(self.prices) == 1 and not self.one_price:
            found.append(f"the price was always {self.prices[0]:g}: nothing can be said about any other")
        if self.copies:
            names, follow = ", ".join(self.copies), "it follows" if len(self.copies) == 1 else "they follow"
            found.append(
                f"left out of the demand model: {names}, as {follow} from the price or from other features, so that "
                "their effects cannot be separated"
            )
        if self.weak_instruments:
            found.append("the instruments hardly move the price: its effect is estimated without them")
        if self.instrumented is not None and self.instrumented.memory is None:
            found.append("the instruments hardly move the last demand: its effect is estimated without them")
        if not self.calibration.fits:
            found.append(f"the demand model does not fit: {self.calibration.reason}")
        found += [f"the demand model misses a season: {each}" for each in self.calibration.seasons]
        return tuple(found)


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
    of the evidence to resample instead of the model's own.
    """
    evidence, law = model.evidence, model.law
    held = hold_out(log, gap=1)
    start = None if fresh else law
    weights = (count[held.unit[evidence.rows]] for count in resample_counts(held.units, draws, seed))
    drawn = [each for each in weights if each @ np.isfinite(evidence.high) > 0]

    rng = np.random.default_rng(seed)
    told = [None if model.instrumented is None else model.instrumented.drawn(rng) for _ in drawn]

    def refit(counts: Floats, instrumented: Instrumented | None) -> DemandLaw:
        own = replace(model, instrumented=instrumented)
        return own.fit_law(law.family, weights=counts, start=start, sample=sample, seed=seed)

    return in_parallel(lambda each: refit(*each), list(zip(drawn, told, strict=True)), progress)
