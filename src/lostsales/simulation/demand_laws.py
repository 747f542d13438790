"""Laws of demand of a scenario. A new one joins the union in `Scenario.demand_law` and the pmf in `exact/pmf.py`."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy.special import gammainc, pdtr

from lostsales.data.settings import Above0, NonNegative, Settings
from lostsales.simulation.processes import DemandNoise
from lostsales.types import Floats

Effect = float | tuple[float, ...]


class Linear(Settings):
    """D_t = intercept + rho D_{t-1} + price P_t + sum of effects of the features + noise (Equation 1).

    With a `second_rho` D_{t-2} adds to it: a lag more than in the paper.
    """

    law: Literal["linear"]
    intercept: float = 0.0
    rho: float = 0.0
    second_rho: float = 0.0
    price: float = 0.0
    features: dict[str, Effect] = Field(default_factory=dict)
    noise: DemandNoise
    minimum: NonNegative = 0.0
    maximum: NonNegative | None = None
    integer: bool = True

    def lag_term(self, last_demand: Floats) -> Floats:
        """Contribution of D_{t-1}."""
        return self.rho * last_demand

    def respond(self, shock: Floats, lag_term: Floats, price_t: Floats, effect: Floats) -> Floats:
        """Demand before rounding and bounds."""
        return shock + lag_term + (self.price * price_t + self.intercept) + effect

    def mean(self, lag_term: Floats, price_t: Floats, effect: Floats) -> Floats:
        """Mean of demand where it is a count."""
        return np.maximum(self.respond(np.zeros(1), lag_term, price_t, effect), 0.0)


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
    noise: DemandNoise
    minimum: NonNegative = 0.0
    maximum: NonNegative | None = None
    integer: bool = True
    second_rho: ClassVar[float] = 0.0

    def lag_term(self, last_demand: Floats) -> Floats:
        """m(D_{t-1})."""
        return self.floor + (1 - self.floor) * 2 * last_demand / (last_demand + self.half)

    def respond(self, shock: Floats, lag_term: Floats, price_t: Floats, effect: Floats) -> Floats:
        """Demand before rounding and bounds."""
        return self.base * lag_term * np.exp(self.price * (price_t - self.price_at) + effect) * shock

    def mean(self, lag_term: Floats, price_t: Floats, effect: Floats) -> Floats:
        """Mean of demand where it is a count."""
        return self.respond(np.ones(1), lag_term, price_t, effect)


class IndependentDemand(Settings):
    """Whole demands of a constant mean: neither features nor price nor the past move them."""

    mean: Above0
    features: dict[str, Effect] = Field(default_factory=dict, max_length=0)
    minimum: NonNegative = 0.0
    maximum: NonNegative | None = None
    integer: Literal[True] = True
    second_rho: ClassVar[float] = 0.0

    def lag_term(self, last_demand: Floats) -> Floats:
        """Zero: demand does not depend on the past."""
        return np.zeros_like(last_demand)

    def respond(self, shock: Floats, lag_term: Floats, price_t: Floats, effect: Floats) -> Floats:
        """The mean, as a shock of 1 multiplies it."""
        return self.mean * shock + 0 * (lag_term + price_t + effect)

    def at_most(self, demand: Floats) -> Floats:
        """P(D <= demand)."""
        raise NotImplementedError

    def reach(self, tail: float) -> int:
        """About the least demand above which the probability is at most `tail`."""
        reach = 1
        while self.at_most(np.array([float(reach)]))[0] < 1 - tail:
            reach = 1 + int(1.1 * reach)
        return reach


class Poisson(IndependentDemand):
    """Poisson demand."""

    law: Literal["poisson"]

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """`count` independent demands."""
        return rng.poisson(self.mean, count).astype(np.float64)

    def at_most(self, demand: Floats) -> Floats:
        """P(D <= demand)."""
        return np.asarray(pdtr(np.floor(demand), self.mean))


class Geometric(IndependentDemand):
    """Geometric demand from 0 on: P(D = d) = (1 - q) q^d with q = mean / (1 + mean)."""

    law: Literal["geometric"]

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """`count` independent demands."""
        return rng.geometric(1 / (1 + self.mean), count).astype(np.float64) - 1

    def at_most(self, demand: Floats) -> Floats:
        """P(D <= demand)."""
        return 1 - (self.mean / (1 + self.mean)) ** (np.floor(demand) + 1)


class Gamma(IndependentDemand):
    """Gamma demand with a coefficient of variation `cv`, rounded to whole units."""

    law: Literal["gamma"]
    cv: Above0 = 0.5

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """`count` independent demands."""
        return rng.gamma(self.cv**-2, self.mean * self.cv**2, count)

    def at_most(self, demand: Floats) -> Floats:
        """P(D <= demand)."""
        return np.asarray(gammainc(self.cv**-2, (np.floor(demand) + 0.5) / (self.mean * self.cv**2)))


ScenarioLaw = Linear | Saturating | Poisson | Geometric | Gamma
