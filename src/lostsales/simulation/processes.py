"""Noise and feature processes of a scenario, and how they are drawn."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from lostsales.data.settings import Settings
from lostsales.types import Floats

Positive = Annotated[float, Field(ge=0)]
Probability = Annotated[float, Field(ge=0, le=1)]


def _sums_to_one(probabilities: tuple[float, ...]) -> bool:
    return abs(sum(probabilities) - 1) < 1e-9


class DemandNoise(Settings):
    """Shocks of demand.

    normal: loc + scale N; half-normal: loc + scale |N|; lognormal: exp(loc + scale N); discrete: `values` with
    `probabilities`. Under poisson and negative-binomial demand is a count around the response without a shock, of
    variance mean + dispersion mean^2.
    """

    kind: Literal["normal", "half-normal", "lognormal", "discrete", "poisson", "negative-binomial"]
    loc: float = 0.0
    scale: Positive = 1.0
    dispersion: Positive = 0.0
    values: tuple[float, ...] = ()
    probabilities: tuple[Probability, ...] = ()

    @model_validator(mode="after")
    def _complete(self) -> "DemandNoise":
        if self.kind == "discrete" and not (
            len(self.values) == len(self.probabilities) > 0 and _sums_to_one(self.probabilities)
        ):
            raise ValueError("discrete noise needs values and as many probabilities that sum to 1")
        if (self.dispersion > 0) != (self.kind == "negative-binomial"):
            raise ValueError("a dispersion above 0 belongs to negative-binomial noise, which needs one")
        return self

    @property
    def is_count(self) -> bool:
        """True if demand is a count around its mean."""
        return self.kind in ("poisson", "negative-binomial")

    def draw_counts(self, mean: Floats, rng: np.random.Generator) -> Floats:
        """Independent counts by inversion, so that the random numbers used do not depend on the means."""
        from scipy.stats import nbinom, poisson

        uniform = rng.random(len(mean))
        if self.kind == "poisson":
            return np.asarray(poisson.ppf(uniform, mean), dtype=np.float64)
        size = 1 / self.dispersion
        return np.asarray(nbinom.ppf(uniform, size, size / (size + mean)), dtype=np.float64)

    def counts_at_most(self, count: Floats, mean: Floats) -> Floats:
        """P(D <= count) of counts around a mean."""
        from scipy.special import betainc, gammaincc

        if self.kind == "poisson":
            return np.asarray(gammaincc(np.floor(count) + 1, mean))
        size = 1 / self.dispersion
        return np.asarray(betainc(size, np.floor(count) + 1, size / (size + mean)))

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """`count` independent shocks."""
        if self.kind == "discrete":
            return np.array(self.values)[
                np.searchsorted(np.cumsum(self.probabilities)[:-1], rng.random(count), side="right")
            ]
        shocks = rng.standard_normal(count)
        if self.kind == "half-normal":
            np.abs(shocks, out=shocks)
        shocks *= self.scale
        shocks += self.loc
        return np.exp(shocks) if self.kind == "lognormal" else shocks


class Autoregressive(Settings):
    """x_{t+1} = mean + persistence (x_t - mean) + shock N; by default it starts from its stationary distribution."""

    kind: Literal["ar1"]
    mean: float = 0.0
    persistence: Annotated[float, Field(gt=-1, lt=1)]
    shock: Positive
    start_mean: float | None = None
    start_sd: Positive | None = None

    def open(self, count: int, rng: np.random.Generator) -> Floats:
        """Values before the first period."""
        mean = self.mean if self.start_mean is None else self.start_mean
        stationary = self.shock / np.sqrt(1 - self.persistence**2)
        return mean + (stationary if self.start_sd is None else self.start_sd) * rng.standard_normal(count)

    def advance(self, value_t: Floats, price_t: Floats, rng: np.random.Generator) -> Floats:  # noqa: ARG002, one signature
        """Values one period later."""
        value = rng.standard_normal(len(value_t))
        value *= self.shock
        value += self.persistence * value_t
        value += (1 - self.persistence) * self.mean
        return value


class MarkovChain(Settings):
    """States 0, 1, ...: row i of `transition` holds the probabilities from state i, `start` the initial ones."""

    kind: Literal["markov"]
    transition: tuple[tuple[Probability, ...], ...]
    start: tuple[Probability, ...]

    @model_validator(mode="after")
    def _stochastic(self) -> "MarkovChain":
        states = len(self.start)
        rows = (*self.transition, self.start)
        if len(self.transition) != states or any(len(row) != states or not _sums_to_one(row) for row in rows):
            raise ValueError("start and every row of transition must have one probability a state, summing to 1")
        return self

    def open(self, count: int, rng: np.random.Generator) -> Floats:
        """States before the first period."""
        return np.searchsorted(np.cumsum(self.start)[:-1], rng.random(count), side="right").astype(np.float64)

    def advance(self, value_t: Floats, price_t: Floats, rng: np.random.Generator) -> Floats:  # noqa: ARG002, one signature
        """States one period later, by inversion of the cumulated probabilities."""
        cumulated: Floats = np.cumsum(np.array(self.transition), axis=1)[:, :-1]
        drawn = rng.random(len(value_t))
        if len(self.start) == 2:
            state = drawn >= cumulated[0, 0] + (cumulated[1, 0] - cumulated[0, 0]) * value_t
        else:
            state = np.count_nonzero(drawn[:, None] >= cumulated[value_t.astype(np.int64)], axis=1)
        return np.asarray(state, dtype=np.float64)


class CalendarCycle(Settings):
    """A calendar: 0, 1, ..., length - 1, 0, ..., from `start`."""

    kind: Literal["cycle"]
    length: Annotated[int, Field(ge=2, le=100_000)]
    start: Annotated[int, Field(ge=0)] = 0

    def open(self, count: int, rng: np.random.Generator) -> Floats:  # noqa: ARG002, one signature
        """Values before the first period."""
        return np.full(count, float(self.start % self.length))

    def advance(self, value_t: Floats, price_t: Floats, rng: np.random.Generator) -> Floats:  # noqa: ARG002, one signature
        """Values one period later."""
        return (value_t + 1) % self.length


class Drift(Settings):
    """A trend: x_{t+1} = x_t + step + shock N, from `start`."""

    kind: Literal["drift"]
    start: float = 0.0
    step: float = 0.0
    shock: Positive = 0.0

    def open(self, count: int, rng: np.random.Generator) -> Floats:  # noqa: ARG002, one signature
        """Values before the first period."""
        return np.full(count, self.start)

    def advance(self, value_t: Floats, price_t: Floats, rng: np.random.Generator) -> Floats:  # noqa: ARG002, one signature
        """Values one period later."""
        return np.asarray(value_t + self.step + self.shock * rng.standard_normal(len(value_t)))


class ReferencePrice(Settings):
    """Reference price of the customers: r_{t+1} = memory r_t + (1 - memory) P_t (Appendix G.1)."""

    kind: Literal["reference-price"]
    memory: Probability
    start: Positive

    def open(self, count: int, rng: np.random.Generator) -> Floats:  # noqa: ARG002, one signature
        """Values before the first period."""
        return np.full(count, self.start)

    def advance(self, value_t: Floats, price_t: Floats, rng: np.random.Generator) -> Floats:  # noqa: ARG002, one signature
        """Values one period later."""
        return self.memory * value_t + (1 - self.memory) * price_t


FeatureProcess = Annotated[
    Autoregressive | MarkovChain | CalendarCycle | Drift | ReferencePrice, Field(discriminator="kind")
]


def levels_of(process: Any) -> tuple[int, ...] | None:
    """Levels of a categorical feature (a calendar, or a chain with more than two states), else None."""
    if isinstance(process, CalendarCycle):
        return tuple(range(process.length))
    if isinstance(process, MarkovChain) and len(process.start) > 2:
        return tuple(range(len(process.start)))
    return None
