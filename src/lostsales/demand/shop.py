"""Demand model of a shop: moving level x season x response to prices and features, in the periods of its log.

It gives the distribution of each row. Its realised demand is one point of that distribution: observed, or drawn above
what a stock-out shows. At another price it is the same point of the distribution there, so that level, season and
chance of that very day are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import gamma, nbinom

from lostsales import plots
from lostsales.data.confidence import margin
from lostsales.data.feature import feature_count
from lostsales.data.log import SalesLog
from lostsales.demand.best_prices import BestPrices, best_prices
from lostsales.demand.censoring.observed import Observed, observe
from lostsales.demand.forecast import Forecast, forecast
from lostsales.demand.law.price_response import PriceResponse
from lostsales.demand.law.slopes import SlopeEstimate
from lostsales.demand.model.counts import demands_at_least
from lostsales.demand.model.diagnostics import ResidualTest, residual_tests, variance_within
from lostsales.demand.model.exposure import PRICE_INPUTS, DemandExposure, copied_features, named_groups
from lostsales.demand.model.own_past import OwnPast, own_past
from lostsales.demand.model.product_response import FittedResponse
from lostsales.demand.model.shop_slopes import shop_slopes
from lostsales.demand.survival.imputation import normal_mean_between
from lostsales.errors import LostSalesError
from lostsales.types import Array, Bools, Floats, Ints

MOST_CHANCE = 1 - 1e-9  # beyond, a demand is an outlier, which is moved in proportion
PRICES = 9  # of a response, quantiles of those charged
LEVEL = 1e-3  # significance level of each test of fit
FAR = 0.06  # distance from uniform that matters
LINKED = 0.15  # correlation of residuals from one period to the next that matters
LEAST_ROWS = 10  # with known demand
FEW_ROWS = 30  # of a product, below which its effects are mostly those of others
NAMED = 5  # products in a warning
DIFFERENT = 0.1  # of an elasticity that matters
STEP = 1.01  # factor of a mean, by which lost sales are differentiated


@dataclass(frozen=True, eq=False)
class Elasticities:
    """Price elasticities at the usual price with 95 % bands; errors are clustered by period."""

    names: Array  # (rows,) products or groups
    elasticity: Floats  # (rows,)
    standard_error: Floats  # (rows,)
    price_moved: Bools  # (rows,) else the elasticity is that of similar products

    @property
    def low(self) -> Floats:
        """Lower end of the band."""
        return self.elasticity - margin(self.standard_error)

    @property
    def high(self) -> Floats:
        """Upper end of the band."""
        return self.elasticity + margin(self.standard_error)


@dataclass(frozen=True, eq=False)
class ShopDemand:
    """Demand model of a shop, as `fit_demand` returns it for a log of products or dates.

    Examples
    --------
    >>> import lostsales
    >>> model = lostsales.fit_demand(lostsales.load_example("corner-shop"))
    >>> round(float(model.elasticities("group").elasticity.mean()), 1), next(iter(model.drivers()))
    (-2.6, 'noise')

    """

    log: SalesLog
    observed: Observed
    market: DemandExposure
    fitted: FittedResponse
    mean: Floats  # (rows,) at the logged price, given the demand of the other periods

    @classmethod
    def of(cls, log: SalesLog, observed: Observed | None = None) -> "ShopDemand":
        """Fit the demand model to a log."""
        observed = observe(log) if observed is None else observed
        known = int(np.count_nonzero(observed.is_observed | log.is_share))
        if known < LEAST_ROWS:
            raise LostSalesError(f"a demand model needs at least {LEAST_ROWS} rows with known demand, but {known} came")
        market, fitted = DemandExposure.learned(log, observed)
        return cls(log, observed, market, fitted, np.maximum(fitted.mean_of_others, 1e-9))

    @property
    def distribution(self) -> str:
        """Distribution of demand around its mean: the likelier one given the level of the other periods."""
        if not self.observed.integer:
            return "continuous (gamma)"
        return "Poisson counts" if not self.market.response.dispersion.any() else "negative binomial counts"

    def elasticities(self, by: str = "product") -> Elasticities:
        """Price elasticities of products, or of groups (`by="group"`), as slopes at the usual price."""
        names, slopes, errors = self.log.products.names, self.market.response.coefficients[:, 0], self.price_errors
        moved = self.price_moved
        if by == "group":
            group = self.market.group_of.astype(np.int64)
            names, slopes, errors = (
                self.group_names,
                self.market.response.group_coefficients[:, 0],
                self.fitted.group_errors,
            )
            moved = np.bincount(group, moved, len(names)) > 0
        return Elasticities(names, slopes, errors, moved)

    def best_prices(self) -> BestPrices:
        """Most profitable price of each product if stock suffices; it needs no stock, but what a unit costs."""
        return best_prices(self.log, self.market, self.mean, self.price_errors)

    @cached_property
    def group_names(self) -> Array:
        """Names of the groups within which effects are pooled; "all products" where there is one."""
        return named_groups(self.log)[0]

    @cached_property
    def copies(self) -> tuple[str, ...]:
        """Features that follow from the price or from other features, and are left out."""
        return copied_features(self.log)

    @cached_property
    def price_moved(self) -> Bools:
        """Products whose price varied, (products,)."""
        product, price = self.log.products.of_row, self.log.price
        low, high = np.full(len(self.log.products), np.inf), np.zeros(len(self.log.products))
        np.minimum.at(low, product, price)
        np.maximum.at(high, product, price)
        return np.asarray(high > low)

    @cached_property
    def parts(self) -> dict[str, Floats]:
        """Parts of the logarithm of expected demand: level, season, price and each feature, each (rows,)."""
        log, at, market = self.log, self.log.products.of_row, self.market
        found = {"price": market.price_effect(at, log.price[:, None])[:, 0]}
        features = list(log.problem.features)
        values = [log.features[:, k] for k in range(len(features))]
        inputs = market.inputs(log.problem.features, values, len(log)) * market.coefficients[at, PRICE_INPUTS:]
        season, place = self.fitted.season.copy(), 0
        for feature in features:
            width = feature_count((feature,))
            effect = inputs[:, place : place + width].sum(axis=1)
            place += width
            if feature.calendar is not None:
                season += effect
            else:
                found[feature.name] = effect
        return {"level": self.fitted.level, "season": season, **found}

    def drivers(self) -> dict[str, float]:
        """Shares of the variance of demand within products by what drives it, the largest first; they sum to 1."""
        product, seen = self.log.products.of_row, self.fitted.is_seen
        found = {name: variance_within(part[seen], product[seen]) for name, part in self.parts.items()}
        noise = float(np.log1p(self.variance / self.mean**2)[seen].mean())
        found["own past"] = noise * self.own_past.explained
        found["noise"] = noise - found["own past"]
        total = max(sum(found.values()), 1e-12)
        return dict(sorted(((name, each / total) for name, each in found.items()), key=lambda each: -each[1]))

    @cached_property
    def variance(self) -> Floats:
        """Variance of the demand of each row around its mean, (rows,)."""
        chance = self.mean if self.observed.integer else 0.0
        return np.asarray(chance + self._dispersion * self.mean**2)

    @cached_property
    def residual(self) -> Floats:
        """Demand less its mean, relative to the mean; of stock-outs its expectation given the bound, (rows,)."""
        return np.asarray(self.fitted.demand / self.mean - 1.0)

    @cached_property
    def own_past(self) -> OwnPast:
        """Dependence of demand on that of up to three periods before, beyond the moving level."""
        return own_past(self.log, self.residual, self.mean, self._dispersion, self.observed, self.fitted.is_seen)

    @cached_property
    def residual_tests(self) -> tuple[ResidualTest, ...]:
        """Tests that residuals have the same mean on all weekdays, in all months and for all products."""
        kept = self.observed.is_observed & self.fitted.is_seen
        score = (self.observed.demand - self.mean) / np.sqrt(self.variance)
        return residual_tests(
            score[kept], self.log.period[kept], self.log.products.of_row[kept], self.log.products.names
        )

    @cached_property
    def slopes(self) -> tuple[SlopeEstimate, ...]:
        """Mean elasticity as it predicts (least squares) and as a cause (orthogonalised, by instruments)."""
        return shop_slopes(self.log, self.residual, self.variance / self.mean**2, self.market, self.fitted.is_seen)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Limits of the data, and tests that the model fails."""
        found, names = [], self.log.products.names
        still = names[~self.price_moved]
        if len(still) == len(names):
            found.append("the price never varied: nothing can be said about any other")
        elif len(still):
            own = "its elasticity is that" if len(still) == 1 else "their elasticities are those"
            found.append(f"the price of {_some(still)} never varied: {own} of similar products")
        rows = np.bincount(self.log.products.of_row, self.fitted.is_seen, len(names))
        if len(few := names[rows < FEW_ROWS]) and len(few) < len(names):
            found.append(
                f"fewer than {FEW_ROWS} rows of {_some(few)}: what moves demand is taken from similar products"
            )
        if self.copies:
            found.append(
                f"left out: {', '.join(self.copies)}, which cannot be separated from the price or from other features"
            )
        if misfit := self.misfit():
            found.append(f"the demand model does not fit: {misfit}")
        found += [each.sentence for each in self.residual_tests if each.matters]
        if self.slopes and (differs := _differ(self.slopes)):
            found.append(differs)
        return tuple(found)

    def predict(
        self,
        horizon: int = 1,
        levels: Sequence[float] = (10, 50, 90),
        *,
        future: Any = None,
        changes: Sequence[str] = (),
    ) -> Forecast:
        """Forecast the coming periods, see `lostsales.forecast`."""
        return forecast(self.log, horizon, levels, future=future, changes=changes)

    def plot(self) -> Any:
        """Picture of what drives demand, and of the elasticities of groups with their bands."""
        by = "group" if len(self.group_names) > 1 else "product"
        return plots.draw_demand(self.drivers(), self.elasticities(by))

    def _repr_html_(self) -> str:
        first = ", ".join(f"{name} {share:.0%}" for name, share in list(self.drivers().items())[:3])
        return plots.html(f"What drives demand: {first} of its variance.", self.plot)

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
        below = self.chances(observed.bound - step)
        most = np.where(observed.is_observed, observed.bound, observed.at_most)
        chance = np.minimum(below + uniform * (self.chances(most) - below), MOST_CHANCE)
        found = self.quantiles(chance)
        demand = np.where(observed.is_observed, observed.demand, np.clip(found, observed.bound, observed.at_most))
        return RealisedDemand(self, demand, chance, demand - found)

    def probabilities(self, seed: int = 0) -> Floats:
        """Randomised probability of at most the demand of each row, uniform if the model is right, (rows,)."""
        step = 1.0 if self.observed.integer else 0.0
        low, high = self.chances(self.observed.bound - step), self.chances(self.observed.bound)
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
            low=np.maximum(demand - margin(error), 0.0),
            high=demand + margin(error),
            elasticity=float(share @ slopes) if len(prices) > 1 else float("nan"),
            elasticity_error=float(np.sqrt(share**2 @ self.price_errors**2)),
            slopes=(),
            draws=0,
            resampled_rows=len(log),
            relative=True,
        )

    @cached_property
    def expected_demand(self) -> Floats:
        """Demand of every row, where it is hidden its expectation given the bounds, (rows,)."""
        observed, hidden = self.observed, np.flatnonzero(~self.observed.is_observed)
        found = observed.demand.copy()
        found[hidden] = self._given_bound(1.0)
        between = hidden[np.isfinite(observed.at_most[hidden])]
        low, high, half = observed.bound[between], observed.at_most[between], 0.5 * observed.integer
        inside = normal_mean_between(self.mean[between], np.sqrt(self.variance[between]), low - half, high + half)
        found[between] = np.clip(inside, low, high)
        return found

    @cached_property
    def expected_error(self) -> Floats:
        """Standard error of that expectation by the error of the level, (rows,)."""
        return np.asarray(np.abs(self._lost_by_mean) * self._mean_error)

    @cached_property
    def is_identified(self) -> Bools:
        """Rows whose product has shown a demand as far above its mean as the bound of the row, (rows,)."""
        product, ratio = self.log.products.of_row, self.observed.bound / self.mean
        highest = np.zeros(len(self.log.products))
        np.maximum.at(highest, product[self.observed.is_observed], ratio[self.observed.is_observed])
        return np.asarray(ratio <= highest[product])

    @cached_property
    def _own_share(self) -> Floats:
        return np.clip(self.fitted.own_share, 1.0 / len(self.log), 1.0)

    @cached_property
    def _mean_error(self) -> Floats:
        """Standard error of the level of each row, relative to it, (rows,)."""
        return np.asarray(np.sqrt(self._own_share * self.variance) / self.mean)

    def _given_bound(self, factor: float) -> Floats:
        """Expected demand of hidden rows given their bound, with means times a factor, (hidden rows,)."""
        hidden = np.flatnonzero(~self.observed.is_observed)
        mean = self.mean[None, hidden] * factor
        variance = self._dispersion[hidden] * mean**2 + (mean if self.observed.integer else 0.0)
        bound, every = self.observed.bound[None, hidden], np.ones(mean.shape, dtype=bool)
        return np.asarray(demands_at_least(bound, mean, variance, every, self.observed.integer)[0][0])

    def lost_variance(self, realised: "RealisedDemand", weight: Floats) -> float:
        """Variance of weighted lost sales: chance in each demand, and errors of levels and elasticities.

        The error of a level is shared by the periods that it is learned from, that of an elasticity by all.
        """
        log, product = self.log, self.log.products.of_row
        lost = np.maximum(realised.demand - log.sales, 0.0) * ~self.observed.is_observed
        own = np.array([np.bincount(log.series, weight * each) for each in lost])
        chance = float(own.var(axis=0, ddof=1).sum()) if len(own) > 1 else 0.0
        moved = weight * self._lost_by_mean
        place = np.arange(len(log)) - log.starts[log.series]
        block = log.series * len(log) + (place * self._own_share).astype(np.int64)
        block = np.unique(block, return_inverse=True)[1].reshape(-1)
        error = self._mean_error
        level = float((np.bincount(block, moved * error) ** 2).sum())
        price = self.market.relative(product, log.price[:, None])[:, 0]
        slope = np.bincount(product, moved * price) * self.price_errors
        return chance + level + float((slope**2).sum())

    @cached_property
    def _lost_by_mean(self) -> Floats:
        """Change of the expected lost sales where the logarithm of the mean rises by 1, (rows,)."""
        found = np.zeros(len(self.mean))
        found[~self.observed.is_observed] = (self._given_bound(STEP) - self._given_bound(1.0)) / np.log(STEP)
        return found

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
        # Fitted levels cause slight negative autocorrelation, so only positive autocorrelation is a misfit.
        if link > LINKED and 2 * float(ndtr(-link * np.sqrt(len(pairs)))) < LEVEL:
            return f"its residuals are autocorrelated (correlation {link:+.2f})"
        return ""

    def _shape(self, rows: Ints, ratio: Floats | float) -> tuple[Floats, Floats]:
        size = 1.0 / self._dispersion[rows]
        return size, size / (size + self.mean[rows] * ratio)

    @cached_property
    def _dispersion(self) -> Floats:
        return np.maximum(self.market.response.dispersion, 1e-6)[self.log.products.of_row]


def _some(names: Array) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(map(str, names[:NAMED])) + more


def _differ(slopes: tuple[SlopeEstimate, ...]) -> str:
    """Sentence where the elasticity that predicts is not that of a cause; empty where the two agree."""
    first, cause = slopes[0], slopes[-1]
    if abs(cause.value - first.value) < DIFFERENT or cause.low <= first.value <= cause.high:
        return ""
    return (
        f"the elasticity that predicts ({first.value:+.2f}) is not that of a price that is changed: by the part of "
        f"prices that nothing explains it is {cause.value:+.2f} ({cause.low:+.2f} to {cause.high:+.2f})"
    )


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
