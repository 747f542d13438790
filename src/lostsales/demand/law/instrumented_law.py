"""Demand model whose price response and autocorrelation are identified by instruments."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.demand.law.estimation import fit_family
from lostsales.demand.law.means import LinearMean
from lostsales.demand.law.price_slopes import CompletedRows
from lostsales.demand.law.slopes import SlopeEstimate, two_stage
from lostsales.types import Floats

STRONG = 10.0  # F of the first stage below which instruments are too weak (Staiger and Stock, 1997)


@dataclass(frozen=True)
class Instrumented:
    """Slopes of a law by instruments."""

    price: SlopeEstimate
    memory: SlopeEstimate | None  # None where the instruments hardly moved the last demand

    @property
    def slopes(self) -> tuple[float, float | None]:
        """Slopes on the price, and on the last demand if it is identified."""
        return self.price.value, None if self.memory is None else self.memory.value

    def drawn(self, rng: np.random.Generator) -> "Instrumented":
        """Slopes drawn from their sampling distribution, normal around these."""
        price, memory = (
            None if each is None else replace(each, value=each.value + each.error * float(rng.standard_normal()))
            for each in (self.price, self.memory)
        )
        assert price is not None
        return Instrumented(price, memory)


@dataclass(frozen=True, eq=False)
class FixedSlopesMean:
    """A linear mean some of whose slopes are given."""

    linear: LinearMean  # with slopes of 0 there
    given: Floats  # (inputs,) NaN where a slope is fitted

    def __call__(self, inputs: Floats) -> Floats:
        """The mean of every row."""
        return self.linear(inputs) + inputs @ np.nan_to_num(self.given)

    def refit(self, inputs: Floats, latent: Floats, weights: Floats) -> "FixedSlopesMean":
        """Least squares of what the given slopes leave on the other inputs."""
        others = np.where(np.isnan(self.given), inputs, 0.0)
        left = latent - inputs @ np.nan_to_num(self.given)
        return replace(self, linear=self.linear.refit(others, left, weights))

    def extrapolate(self, other: "FixedSlopesMean", step: float) -> "FixedSlopesMean":
        """The mean plus `step` times the difference from another."""
        return replace(self, linear=self.linear.extrapolate(other.linear, step))

    @property
    def as_linear(self) -> LinearMean:
        """Equivalent linear mean with all slopes in one place."""
        return replace(self.linear, slopes=self.linear.slopes + np.nan_to_num(self.given))


def law_with_slopes(
    evidence: Evidence,
    law: DemandLaw,
    price: float,
    memory: float | None = None,
    weights: Floats | None = None,
    seed: int = 0,
) -> DemandLaw:
    """A law with a linear mean whose slope on the price, and on the last demand, is given; all else is fitted."""
    assert isinstance(law.mean, LinearMean)
    family = replace(law.family, mean="linear")
    given = np.full(len(law.mean.slopes), np.nan)
    given[-2] = price
    given[-1] = np.nan if memory is None else memory
    is_held = ~np.isnan(given)
    without = replace(law.mean, slopes=np.where(is_held, 0.0, law.mean.slopes))
    start = replace(law, family=family, mean=FixedSlopesMean(without, given))
    found = fit_family(evidence, family, law.scale, weights, start, seed)
    assert isinstance(found.mean, FixedSlopesMean)
    return replace(found, mean=found.mean.as_linear)


def instrumented_slopes(log: SalesLog, evidence: Evidence, law: DemandLaw, seed: int = 0) -> Instrumented | None:
    """The two-stage slopes of a law with a linear mean; None where the instruments hardly moved the price."""
    rows = CompletedRows.of(log, evidence, law, seed)
    price = rows.estimated(two_stage, rows.for_price)
    if (price.first_stage or 0.0) < STRONG:
        return None
    memory = rows.estimated(two_stage, lambda draws: rows.for_memory(price.value, draws))
    return Instrumented(price, memory if (memory.first_stage or 0.0) >= STRONG else None)
