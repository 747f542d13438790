"""The law of demand given the market, the price and the last demand."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from lostsales.demand.law.count_loops import count_atoms, count_quantiles
from lostsales.demand.law.means import Mean
from lostsales.demand.law.residuals import Residuals
from lostsales.types import Floats, Ints

LEAST_MEAN = 0.05  # of the reference, at which a spread falls no further
MOST_EXPONENT = 20.0  # against underflow of the exponential
MOST_LATENT = 50.0  # under multiplicative noise
MOST_LAGS = 3  # last demands that a model may have
COUNTS = {"poisson": "Poisson", "negative-binomial": "negative binomial"}


@dataclass(frozen=True)
class Family:
    """A family of laws: a mean by its name in `MEANS`, additive or multiplicative noise, learned or normal shape.

    The mean is that of demand or, by the link "log" and under multiplicative noise, its logarithm. Counts, Poisson or
    negative binomial, have the link "log".
    """

    mean: str
    multiplicative: bool
    noise: Literal["smooth", "normal", "poisson", "negative-binomial"] = "smooth"
    link: Literal["identity", "log"] = "identity"
    lags: int = 1  # how many of the last demands matter
    saturates: bool = (
        False  # of a logarithm, last demands matter ever less: by their share L / (L + half), not by log L
    )

    def __post_init__(self) -> None:
        """Raise where the parts do not go together."""
        if self.is_count and (self.multiplicative or self.link != "log"):
            raise ValueError('counts have the link "log", and their noise is not multiplicative')
        if not 1 <= self.lags <= MOST_LAGS:
            raise ValueError(f"lags must be from 1 to {MOST_LAGS}, but {self.lags} came")
        if self.saturates and not self.is_log:
            raise ValueError('a saturating lag effect needs the link "log" or multiplicative noise')

    @classmethod
    def counts(cls, mean: str, noise: Literal["poisson", "negative-binomial"], *, saturates: bool = False) -> "Family":
        """A family of counts."""
        return cls(mean, False, noise, "log", saturates=saturates)

    @property
    def is_count(self) -> bool:
        """True if demand is a count around its mean."""
        return self.noise in ("poisson", "negative-binomial")

    @property
    def is_log(self) -> bool:
        """True if price, features and last demand multiply demand."""
        return self.multiplicative or self.link == "log"

    @property
    def log_link(self) -> bool:
        """True if the mean is the logarithm of the mean of the latent."""
        return self.link == "log" and not self.multiplicative

    @property
    def name(self) -> str:
        """The family in words.

        >>> Family("kernel", True).name, Family("linear", False, "normal").name
        ('kernel mean, multiplicative noise', 'linear mean, additive normal noise')
        >>> Family("linear", False, link="log").name
        'linear mean of the logarithm, additive noise'
        >>> Family.counts("linear", "negative-binomial").name
        'linear mean of the logarithm, negative binomial counts'
        >>> Family("linear", False, lags=2).name
        'linear mean, additive noise, 2 lags'
        """
        lags = f", {self.lags} lags" if self.lags > 1 else ""
        lags = f", saturating lag effect{lags}" if self.saturates else lags
        if self.is_count:
            return f"{self.mean} mean of the logarithm, {COUNTS[self.noise]} counts{lags}"
        shape = "normal noise" if self.noise == "normal" else "noise"
        of = " of the logarithm" if self.log_link else ""
        return f"{self.mean} mean{of}, {'multiplicative' if self.multiplicative else 'additive'} {shape}{lags}"


@dataclass(frozen=True)
class NoisePower:
    """The spread of demand as a power of its mean, 0 where it does not change; relative to 1 at a reference."""

    power: float = 0.0
    reference: float = 1.0  # mean of the latent

    def factor(self, mean: Floats) -> Floats:
        """Factor of the spread of latents, given their mean.

        >>> NoisePower(0.5, 4.0).factor(np.array([1.0, 4.0]))
        array([0.5, 1. ])
        """
        if self.power == 0:
            return np.ones_like(mean)
        return np.asarray((np.maximum(mean, LEAST_MEAN * self.reference) / self.reference) ** self.power)


@dataclass(frozen=True, eq=False)
class DemandLaw:
    """D = scale * latent, or scale * exp(latent), whole where demand is; latent = mean + level + spread * e.

    The mean is shared by all series; the scale and the level are those of the series. Under a log link the spread
    changes with the mean, by a power that is learned. A law of counts has no residuals: scale * latent is
    Poisson around its mean, or negative binomial of variance mean + dispersion * mean^2.
    """

    family: Family
    mean: Mean
    residuals: Residuals
    integer: bool
    near_zero: float  # added to the last demand, in units of scale, before its logarithm or its share is taken
    scale: Floats  # (series,) of the log
    level: Floats  # (series,) of each around the shared mean, 0 where they do not differ
    demand_max: float  # no demand is drawn above this multiple of scale
    usual_price: Floats  # (series,) what prices are divided by, 1 where series do not differ in price
    noise: NoisePower = NoisePower()
    dispersion: float = 0.0  # of counts
    level_variance: float = 0.0  # between series
    lag_weights: tuple[float, ...] = (1.0,)  # of the last demands, which sum to 1: what is called the lag is their mean

    def with_lags(self, lags: int) -> "DemandLaw":
        """Equivalent model with more last demands, whose weights are 0."""
        further = lags - len(self.lag_weights)
        return replace(self, family=replace(self.family, lags=lags), lag_weights=self.lag_weights + (0.0,) * further)

    def inputs(self, market: Floats, price: Floats, lag: Floats) -> Floats:
        """The inputs of the mean, (rows, inputs); price relative to the usual one, lag in units of scale."""
        return np.column_stack([market, self.price_input(price), self.memory_input(lag)])

    def price_input(self, price: Floats) -> Floats:
        """The price as the mean takes it: its logarithm where it multiplies demand and prices are relative."""
        return np.log(price) if self.family.is_log and self.is_relative else price

    def memory_input(self, lag: Floats) -> Floats:
        """The last demand as the mean takes it."""
        if not self.family.is_log:
            return lag
        shifted = np.maximum(lag, 0) + self.near_zero
        return np.asarray(1 - self.near_zero / shifted if self.family.saturates else np.log(shifted))

    def memory_slope(self, lag: Floats) -> Floats:
        """Derivative of `memory_input`."""
        if not self.family.is_log:
            return np.ones_like(lag)
        shifted = np.maximum(lag, 0) + self.near_zero
        return np.asarray(self.near_zero / shifted**2 if self.family.saturates else 1 / shifted)

    def mean_of(self, inputs: Floats, series: Ints) -> Floats:
        """The mean of the latent of each row, (rows,)."""
        return self.linked(self.mean(inputs) + self.level[series])

    def linked(self, predictor: Floats) -> Floats:
        """The mean of the latent from shared mean and level together; none is above what can be drawn."""
        if not self.family.log_link:
            return predictor
        return np.exp(np.clip(predictor, -MOST_EXPONENT, np.log(self.demand_max)))

    def spread_of(self, mean: Floats, scale: Floats | float) -> Floats:
        """Spread of the residuals of rows with a mean of the latent, in series of a scale; of counts their own."""
        if self.family.is_count:
            return np.asarray(np.sqrt(mean / scale + self.dispersion * mean**2))
        return self.noise.factor(mean)

    def quantile(self, share: Floats, mean: Floats, scale: Floats | float) -> Floats:
        """The latent that a share of the law lies below; `share` has the shape of the means."""
        if not self.family.is_count:
            return mean + self.spread_of(mean, scale) * self.residuals.quantile(share)
        own_scale = np.broadcast_to(scale, mean.shape).reshape(-1)
        counts = np.empty(mean.size)
        count_quantiles(np.ascontiguousarray(share).reshape(-1), mean.reshape(-1) * own_scale, self.dispersion, counts)
        return np.asarray((counts / own_scale).reshape(mean.shape))

    def atoms(self, mean: Floats, scale: Floats | float, count: int) -> Floats:
        """Means of equally likely shares of the latent, rising, (..., count) for means (...)."""
        if not self.family.is_count:
            return mean[..., None] + self.spread_of(mean, scale)[..., None] * self.residuals.atoms(count)
        own_scale = np.broadcast_to(scale, mean.shape).reshape(-1)
        atoms = np.empty((mean.size, count))
        count_atoms(mean.reshape(-1) * own_scale, self.dispersion, atoms)
        return np.asarray((atoms / own_scale[:, None]).reshape(*mean.shape, count))

    def of_series(self, series: Ints) -> "DemandLaw":
        """The law of some of the series."""
        return replace(self, level=self.level[series], scale=self.scale[series], usual_price=self.usual_price[series])

    @property
    def is_dispersed(self) -> bool:
        """True if the dispersion of counts is learned."""
        return self.family.noise == "negative-binomial"

    @cached_property
    def is_relative(self) -> bool:
        """True if prices are relative to the usual price of each series."""
        return bool((self.usual_price != 1).any())

    def latent(self, demand: Floats) -> Floats:
        """The latent of a demand in units of scale."""
        if not self.family.multiplicative:
            return demand
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(demand > 0, np.log(demand), -np.inf)

    def demand(self, latent: Floats, scale: Floats | float) -> Floats:
        """The demand of a latent, in units of the log."""
        demand = self.expected(latent, scale)
        return np.rint(demand) if self.integer else demand

    def demand_of_atoms(self, latent: Floats, scale: Floats | float) -> Floats:
        """The demand of atoms: those of counts are means over a share, and stay in parts of a unit.

        Sales and what is left are linear in demand between whole numbers, so that nothing is lost.
        """
        return self.expected(latent, scale) if self.family.is_count else self.demand(latent, scale)

    def expected(self, latent: Floats, scale: Floats | float) -> Floats:
        """The demand of a latent before it is rounded: its mean over latents is smooth."""
        relative = np.exp(np.minimum(latent, MOST_LATENT)) if self.family.multiplicative else latent
        return np.clip(relative, 0.0, self.demand_max) * scale
