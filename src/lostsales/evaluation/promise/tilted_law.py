"""Demand models with another response to the price, as an unobserved confounder of prices may have biased it."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.demand.audit.decision_tests import PriceLink
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.means import Mean
from lostsales.types import Floats

PRICE, LAST_DEMAND = -2, -1  # columns of the inputs of a mean


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
        """Return the other mean: a tilted mean is not iterated."""
        return other


def tilted(law: DemandLaw, evidence: Evidence, slope: float) -> DemandLaw:
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
