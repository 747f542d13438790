"""The law of demand given the market, the price and the last demand."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lostsales.demand.law.means import Mean
from lostsales.demand.law.residuals import Residuals
from lostsales.types import Floats


@dataclass(frozen=True)
class Family:
    """A family of laws: a mean by its name in `MEANS`, additive or multiplicative noise, learned or normal shape."""

    mean: str
    multiplicative: bool
    noise: Literal["smooth", "normal"] = "smooth"

    @property
    def name(self) -> str:
        """The family in words.

        >>> Family("kernel", True).name, Family("linear", False, "normal").name
        ('kernel mean, multiplicative noise', 'linear mean, additive normal noise')
        """
        shape = "normal noise" if self.noise == "normal" else "noise"
        return f"{self.mean} mean, {'multiplicative' if self.multiplicative else 'additive'} {shape}"


@dataclass(frozen=True, eq=False)
class DemandLaw:
    """D = scale * (mean + effect + e), or scale * exp(mean + effect + e); whole where demand is."""

    family: Family
    mean: Mean
    residuals: Residuals
    integer: bool
    near_zero: float  # added to the last demand, in units of scale, before its logarithm is taken
    scale: Floats  # (series,) of the log
    effect: Floats  # (series,) series effect: what a series adds to the mean
    demand_max: float  # no demand is drawn above this multiple of scale
    usual_price: Floats  # (series,) what prices are divided by, 1 where series do not differ in price

    def inputs(self, market: Floats, price: Floats, lag: Floats) -> Floats:
        """The inputs of the mean, (rows, inputs); price relative to the usual one, lag in units of scale."""
        memory = np.log(np.maximum(lag, 0) + self.near_zero) if self.family.multiplicative else lag
        return np.column_stack([market, price, memory])

    def latent(self, demand: Floats) -> Floats:
        """The latent of a demand in units of scale."""
        if not self.family.multiplicative:
            return demand
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(demand > 0, np.log(demand), -np.inf)

    def demand(self, latent: Floats, scale: Floats | float) -> Floats:
        """The demand of a latent, in units of the log."""
        relative = np.exp(np.minimum(latent, 50.0)) if self.family.multiplicative else latent
        demand = np.clip(relative, 0.0, self.demand_max) * scale
        return np.rint(demand) if self.integer else demand
