"""Demand of a shop in the periods of its log: what it was, and what it would have been at another price.

The demand model (level that moves, season, response to prices and features) gives the distribution of each row. Its
realised demand is one point of that distribution: observed, or drawn above what a stock-out shows. At another price it
is the same point of the distribution there, so that level, season and chance of that very day are kept.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import gamma, nbinom

from lostsales.data.log import DecisionLog
from lostsales.demand.censoring.observed import Observed
from lostsales.demand.law.price_response import PriceResponse
from lostsales.demand.model.exposure import DemandExposure
from lostsales.types import Bools, Floats, Ints

MOST_CHANCE = 1 - 1e-9  # beyond, a demand is an outlier, which is moved in proportion
PRICES = 9  # of a response, quantiles of those charged
WIDE = 1.96  # standard errors on either side of a 95 % band
LEVEL = 1e-3  # significance level of each test of fit
FAR = 0.06  # distance from uniform that matters
LINKED = 0.15  # correlation of residuals from one period to the next that matters


@dataclass(frozen=True, eq=False)
class ShopDemand:
    """Distribution of the demand of every row of a log by the demand model."""

    log: DecisionLog
    observed: Observed
    market: DemandExposure
    mean: Floats  # (rows,) at the logged price

    @classmethod
    def of(cls, log: DecisionLog, observed: Observed) -> "ShopDemand":
        """Fit the demand model to a log."""
        market, fitted = DemandExposure.learned(log, observed)
        return cls(log, observed, market, np.maximum(fitted.mean, 1e-9))

    @property
    def price_errors(self) -> Floats:
        """Standard errors of the elasticities, (products,)."""
        return self.market.price_errors[:-1]

    def relative_price(self, rows: Ints, price: Floats) -> Floats:
        """Logarithm of prices of rows relative to their usual one; its factor is the elasticity, (rows,)."""
        return np.asarray(self.market.relative(self.log.products.of_row[rows], price[:, None])[:, 0])

    def ratio(self, rows: Ints, price: Floats) -> Floats:
        """Expected demand at prices relative to that at the logged ones, (rows,)."""
        at, logged = self.log.products.of_row[rows], self.log.price[rows]
        effect = self.market.price_effect(at, np.column_stack([price, logged]))
        return np.where(price == logged, 1.0, np.exp(effect[:, 0] - effect[:, 1]))

    def chances(self, demand: Floats) -> Floats:
        """Probability of a demand of at most so much in each row, (rows,)."""
        if self.observed.integer:
            return np.asarray(nbinom.cdf(demand, *self._shape(np.arange(len(self.mean)), 1.0)))
        return np.asarray(gamma.cdf(demand, 1.0 / self._dispersion, scale=self.mean * self._dispersion))

    def quantiles(self, chance: Floats) -> Floats:
        """Demand of every row at probabilities (draws, rows)."""
        if self.observed.integer:
            return np.asarray(nbinom.ppf(chance, *self._shape(np.arange(len(self.mean)), 1.0)))
        return np.asarray(gamma.ppf(chance, 1.0 / self._dispersion, scale=self.mean * self._dispersion))

    def realised(self, draws: int, seed: int) -> "RealisedDemand":
        """Draw the demands that a stock-out hides, and the point of its distribution at which each demand lies."""
        observed, rows = self.observed, len(self.mean)
        rng = np.random.default_rng(seed)
        strata = rng.permuted(np.tile(np.arange(draws)[:, None], rows), axis=0)
        uniform = (strata + rng.random((draws, rows))) / draws
        step = 1.0 if observed.integer else 0.0
        below = self.chances(observed.least - step)
        most = np.where(observed.is_observed, observed.least, observed.at_most)
        chance = np.minimum(below + uniform * (self.chances(most) - below), MOST_CHANCE)
        found = self.quantiles(chance)
        demand = np.where(observed.is_observed, observed.demand, np.clip(found, observed.least, observed.at_most))
        return RealisedDemand(self, demand, chance, demand - found)

    def probabilities(self, seed: int = 0) -> Floats:
        """Randomised probability of at most the demand of each row, uniform if the model is right, (rows,)."""
        step = 1.0 if self.observed.integer else 0.0
        low, high = self.chances(self.observed.least - step), self.chances(self.observed.least)
        high = np.where(self.observed.is_observed, high, 1.0)
        return np.asarray(low + np.random.default_rng(seed).random(len(low)) * (high - low))

    def response(self) -> PriceResponse:
        """Mean demand of the log's rows at prices relative to the usual ones, with a pointwise 95 % band."""
        log, product = self.log, self.log.products.of_row
        usual = self.market.usual_price[product]
        logged = log.price / usual
        prices = np.unique(np.quantile(logged, np.linspace(0.0, 1.0, PRICES)).round(2))
        nearest = np.abs(logged[:, None] - prices).argmin(axis=1)
        rows = np.bincount(nearest, minlength=len(prices))
        prices, rows = prices[rows > 0], rows[rows > 0]
        nearest = np.abs(logged[:, None] - prices).argmin(axis=1)
        effect = self.market.price_effect(product, usual[:, None] * prices)
        own = self.mean[:, None] * np.exp(effect - self.market.price_effect(product, log.price[:, None]))
        by_product = np.array([np.bincount(product, each, len(log.products)) for each in own.T]) / len(log)
        demand = by_product.sum(axis=1)
        error = np.sqrt((by_product**2) @ self.price_errors**2) * np.abs(np.log(np.maximum(prices, 1e-9)))
        share = np.bincount(product, self.mean, len(log.products)) / self.mean.sum()
        slopes = self.market.response.coefficients[:, 0]
        return PriceResponse(
            prices=prices,
            rows=rows,
            sales=np.bincount(nearest, log.sales, len(prices)) / rows,
            demand=demand,
            low=np.maximum(demand - WIDE * error, 0.0),
            high=demand + WIDE * error,
            elasticity=float(share @ slopes) if len(prices) > 1 else float("nan"),
            elasticity_error=float(np.sqrt(share**2 @ self.price_errors**2)),
            slopes=(),
            draws=0,
            resampled_rows=len(log),
            relative=True,
        )

    def misfit(self, seed: int = 0) -> str:
        """Reason why the model does not fit the rows whose demand is observed, empty if no test rejects it."""
        from scipy.special import ndtr
        from scipy.stats import kstest

        kept, series = self.observed.is_observed, self.log.series
        if np.count_nonzero(kept) < 2:
            return ""
        pit = self.probabilities(seed)
        test = kstest(pit, "uniform")
        if test.pvalue < LEVEL and test.statistic > FAR:
            return f"its probabilities are off by up to {test.statistic:.0%}"
        pairs = np.flatnonzero((series[1:] == series[:-1]) & kept[1:] & kept[:-1])
        here, after = pit[pairs] - 0.5, pit[pairs + 1] - 0.5
        link = float(here @ after) / max(float(np.sqrt((here @ here) * (after @ after))), 1e-12)
        # Levels follow the rows themselves, which makes neighbours slightly opposed: only what goes on is a misfit.
        if link > LINKED and 2 * float(ndtr(-link * np.sqrt(len(pairs)))) < LEVEL:
            return f"its residuals are autocorrelated (correlation {link:+.2f})"
        return ""

    def _shape(self, rows: Ints, ratio: Floats | float) -> tuple[Floats, Floats]:
        size = 1.0 / self._dispersion[rows]
        return size, size / (size + self.mean[rows] * ratio)

    @cached_property
    def _dispersion(self) -> Floats:
        return np.maximum(self.market.response.dispersion, 1e-6)[self.log.products.of_row]


@dataclass(frozen=True, eq=False)
class RealisedDemand:
    """Demand of every row in several draws, which differ where a stock-out hides it."""

    shop: ShopDemand
    demand: Floats  # (draws, rows) at the logged price
    chance: Floats  # (draws, rows) of at most so much
    beyond: Floats  # (draws, rows) by which a demand exceeds the quantile at that chance

    @property
    def lost(self) -> Floats:
        """Expected lost sales, (rows,)."""
        return np.asarray(np.maximum(self.demand - self.shop.log.sales, 0.0).mean(axis=0) * self._hides)

    @property
    def _hides(self) -> Bools:
        return ~self.shop.observed.is_observed

    def at(self, draw: Ints, rows: Ints, price: Floats) -> Floats:
        """Demand of rows in a draw of each at other prices, (rows,)."""
        shop, ratio = self.shop, self.shop.ratio(rows, price)
        demand, beyond = self.demand[draw, rows], self.beyond[draw, rows]
        if not shop.observed.integer:
            return demand * ratio
        size, p = shop._shape(rows, ratio)
        moved = nbinom.ppf(self.chance[draw, rows], size, p) + np.rint(beyond * ratio)
        return np.where(ratio == 1.0, demand, np.maximum(moved, 0.0))
