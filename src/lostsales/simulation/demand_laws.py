"""Laws of demand of a scenario. A new one joins the union in `Scenario.demand_law` and the pmf in `exact/pmf.py`."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from lostsales.data.problem import NonNegative
from lostsales.data.settings import Settings
from lostsales.simulation.processes import Noise
from lostsales.types import Floats

Effect = float | tuple[float, ...]


class Linear(Settings):
    """D_t = intercept + rho D_{t-1} + price P_t + sum of effects of the features + noise (Equation 1)."""

    law: Literal["linear"]
    intercept: float = 0.0
    rho: float = 0.0
    price: float = 0.0
    features: dict[str, Effect] = Field(default_factory=dict)
    noise: Noise
    minimum: NonNegative = 0.0
    maximum: NonNegative | None = None
    integer: bool = True

    def lag_term(self, last_demand: Floats) -> Floats:
        """Contribution of D_{t-1}."""
        return self.rho * last_demand

    def respond(self, shock: Floats, lag_term: Floats, price_t: Floats, effect: Floats) -> Floats:
        """Demand before rounding and bounds."""
        return shock + lag_term + (self.price * price_t + self.intercept) + effect


class Saturating(Settings):
    """D_t = base m(D_{t-1}) exp(price (P_t - price_at) + effects) noise, m(d) = floor + (1 - floor) 2 d / (d + half).

    m is increasing and concave in the last demand, and 1 where it equals `half`.
    """

    law: Literal["saturating"]
    base: Annotated[float, Field(gt=0)]
    floor: Annotated[float, Field(ge=0, le=1)]
    half: Annotated[float, Field(gt=0)]
    price: float
    price_at: float = 0.0
    features: dict[str, Effect] = Field(default_factory=dict)
    noise: Noise
    minimum: NonNegative = 0.0
    maximum: NonNegative | None = None
    integer: bool = True

    def lag_term(self, last_demand: Floats) -> Floats:
        """m(D_{t-1})."""
        return self.floor + (1 - self.floor) * 2 * last_demand / (last_demand + self.half)

    def respond(self, shock: Floats, lag_term: Floats, price_t: Floats, effect: Floats) -> Floats:
        """Demand before rounding and bounds."""
        return self.base * lag_term * np.exp(self.price * (price_t - self.price_at) + effect) * shock
