"""Sensitivity of a gain to an unobserved confounder of prices and demand, compared with the observed covariates.

The strength is a partial R2: the share of the residual variance of prices, and of demand, that the confounder
explains. A confounder with partial R2 of R for both biases the slope on the price by sd(demand) / sd(price) *
R / sqrt(1 - R), both standard deviations of residuals (Cinelli and Hazlett, 2020, Making Sense of Sensitivity).
"""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.demand.audit.decision_panel import DecisionPanel
from lostsales.demand.audit.decision_tests import PriceLink
from lostsales.demand.audit.robust_regression import residualised
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.means import Mean
from lostsales.types import Floats

PRICE, LAST_DEMAND = -2, -1  # columns of the inputs of a mean


@dataclass(frozen=True)
class ObservedCause:
    """Partial R2 of an observed covariate with prices and with demand."""

    name: str
    price: float
    demand: float


@dataclass(frozen=True)
class Sensitivity:
    """Confounder that would erase a gain, and the strongest observed covariate."""

    erased_at: float | None  # partial R2 with prices and demand alike; None if no bias of the price response does
    strongest: ObservedCause | None
    uncertainty: float = 0.0  # of the gain, by a confounder that no test rules out or by a wrong demand model

    @property
    def sentence(self) -> str:
        """Sentence; empty if there is no gain to erase."""
        if self.erased_at == 0:
            return ""
        if self.erased_at is None:
            return (
                "the gain does not depend on how customers react to prices, so no unobserved confounder of the prices "
                "would erase it"
            )
        erases = f"an unobserved confounder with a partial R2 of {self.erased_at:.0%} for prices and for demand"
        if self.strongest is None:
            return f"{erases} would erase the gain"
        known = f"{self.strongest.name}, has {self.strongest.price:.0%} and {self.strongest.demand:.0%}"
        return f"{erases} would erase the gain; the strongest covariate in the log, {known}"


def robustness_value(bend: float) -> float:
    """Robustness value: partial R2 with both that biases a slope by `bend`, in units of sd(demand) / sd(price).

    >>> round(robustness_value(0.5 / np.sqrt(1 - 0.5)), 6)
    0.5
    """
    return float((np.sqrt(bend**4 + 4 * bend**2) - bend**2) / 2)


def sensitivity(panel: DecisionPanel, gain: float, slope: float, shifts: Floats, wrong: float = 0.0) -> Sensitivity:
    """Sensitivity of a gain that changes by `shifts` if the price response is biased by `slope` either way.

    `wrong` is the error of a demand model that is known to be wrong.
    """
    loss = -float(np.min(shifts, initial=0.0))
    uncertainty = float(np.hypot(np.max(np.abs(shifts), initial=0.0), wrong))
    known = observed_causes(panel)
    strongest = max(known, key=lambda each: each.price * each.demand, default=None)
    if gain <= 0:
        return Sensitivity(0.0, strongest, uncertainty)
    if loss <= 0 or slope <= 0:
        return Sensitivity(None, strongest, uncertainty)
    price, demand = (_left_of(panel, column) for column in (panel.price, panel.demand))
    bend = slope * gain / loss * float(price.std() / max(demand.std(), 1e-12))
    return Sensitivity(robustness_value(bend), strongest, uncertainty)


def observed_causes(panel: DecisionPanel) -> tuple[ObservedCause, ...]:
    """Partial R2 of every feature and the last sales, each given the others."""
    groups = _groups(panel)
    found = []
    for name, own in groups.items():
        others = np.column_stack([np.zeros((len(own), 0)), *(each for key, each in groups.items() if key != name)])
        kept = np.isfinite(panel.demand) & np.isfinite(others).all(axis=1) & np.isfinite(own).all(axis=1)
        if np.count_nonzero(kept) <= others.shape[1] + own.shape[1] + 2:
            continue
        price = _partial_r2(panel.price[kept], own[kept], others[kept])
        controls = np.column_stack([others, panel.price])[kept]
        found.append(ObservedCause(name, price, _partial_r2(panel.demand[kept], own[kept], controls)))
    return tuple(found)


def _groups(panel: DecisionPanel) -> dict[str, Floats]:
    found, at = {}, 0
    for feature in panel.log.problem.features:
        columns = len(feature.levels or ()) if feature.kind == "categorical" else 1
        if feature.name not in panel.log.problem.instruments:
            found[feature.name] = panel.features[:, at : at + columns]
        at += columns
    return found | {"last sales": panel.sales_at(-1)[:, None]}


def _left_of(panel: DecisionPanel, column: Floats) -> Floats:
    """Residuals of prices or demand given the observed covariates, and of demand also given the price."""
    causes = np.column_stack(list(_groups(panel).values()))
    if column is not panel.price:
        causes = np.column_stack([causes, panel.price])
    kept = np.isfinite(column) & np.isfinite(causes).all(axis=1)
    return residualised(column[kept], causes[kept])


def _partial_r2(column: Floats, own: Floats, others: Floats) -> float:
    without = residualised(column, others)
    with_it = residualised(column, np.column_stack([others, own]))
    total = float(without @ without)
    return 1 - float(with_it @ with_it) / total if total > 0 else 0.0


@dataclass(frozen=True, eq=False)
class TiltedMean:
    """Mean with an additional slope on one of its inputs, around the mean of that input."""

    mean: Mean
    slope: float
    centre: float
    column: int = PRICE

    def __call__(self, inputs: Floats) -> Floats:
        """Mean of every row."""
        return self.mean(inputs) + self.slope * (inputs[:, self.column] - self.centre)

    def refit(self, inputs: Floats, latent: Floats, weights: Floats) -> Mean:
        """Refit the original mean, without the slope."""
        return self.mean.refit(inputs, latent, weights)

    def extrapolate(self, other: Mean, step: float) -> Mean:  # noqa: ARG002, the protocol passes it
        """Return the other mean: a mean with another slope is not iterated."""
        return other


def with_price_slope(law: DemandLaw, evidence: Evidence, slope: float) -> DemandLaw:
    """Add `slope` to the effect of the relative price on relative demand, around the mean price of the log.

    If the price acts multiplicatively, the slope is relative to mean demand.
    """
    price = law.price_input(evidence.price)
    if law.family.is_log:
        shown = np.where(np.isfinite(evidence.high), evidence.high, np.maximum(evidence.low, 0.0))
        slope /= max(float(np.mean(shown / law.scale[evidence.series])), 1e-9)
    return replace(law, mean=TiltedMean(law.mean, slope, float(price.mean())))


def with_memory(law: DemandLaw, evidence: Evidence, slope: float) -> DemandLaw:
    """Add `slope` to the coefficient of the last demand, around its mean in the log."""
    lag = evidence.lag / law.scale[evidence.series]
    centre = float(np.mean(law.memory_input(lag[~np.isnan(lag)])))
    return replace(law, mean=TiltedMean(law.mean, slope, centre, LAST_DEMAND))


def hidden_slope(link: PriceLink | None) -> float:
    """Standard error of the bias of the price response by a persistent confounder; 0 if it was not tested.

    Such a confounder correlates yesterday's and tomorrow's prices with demand by about half of its bias or more
    (docs/decisions/promise.md), and an interval reaches at least two standard errors.

    >>> hidden_slope(PriceLink(value=0.03, error=0.12)), hidden_slope(PriceLink(value=-0.3, error=0.12))
    (0.12, 0.3)
    """
    return 0.0 if link is None else max(abs(link.value), link.error)
