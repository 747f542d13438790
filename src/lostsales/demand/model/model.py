"""The demand model: moving level x season x response, with its distribution and sample paths."""

from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.demand.model.bank import member_forecasts
from lostsales.demand.model.columns import RECENT, MarketPanel, response_columns
from lostsales.demand.model.counts import demand_quantiles
from lostsales.demand.model.fitting import FittedPanel, fit_panel
from lostsales.demand.model.held_out import origins_of
from lostsales.demand.model.learning import Learned, learn
from lostsales.demand.model.panel import Panel, panel_of
from lostsales.demand.model.paths import PathNumbers
from lostsales.demand.model.response import Response
from lostsales.types import Floats


@dataclass(frozen=True, eq=False)
class Plan:
    """Prices and features of the coming periods of each product; the usual ones by default."""

    price: Floats  # (products, horizon)
    features: Floats  # (products, horizon, features)


@dataclass(frozen=True, eq=False)
class DemandAhead:
    """Distribution of demand in the coming periods: negative binomial for counts, else gamma."""

    mean: Floats  # (products, horizon)
    variance: Floats  # (products, horizon)
    integer: bool
    unit: Floats  # (products, 1) of counts the lot that a product sells in

    def quantile(self, level: float) -> Floats:
        """Quantile at a probability, (products, horizon)."""
        return self.drawn(np.full((*self.mean.shape, 1), level))[..., 0]

    def drawn(self, chances: Floats) -> Floats:
        """Quantiles at probabilities (products, horizon, draws), in the same shape."""
        mean, variance = self.mean / self.unit, self.variance / self.unit**2
        return self.unit[..., None] * demand_quantiles(np.ascontiguousarray(chances), mean, variance, self.integer)


@dataclass(frozen=True, eq=False)
class StructuralDemand:
    """Demand = moving level x season x exp(response to prices, competitors' prices and features), fitted to a log.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("newsvendor", episodes=5, seed=1)
    >>> model = StructuralDemand.fit(log, horizon=2)
    >>> model.ahead().mean.shape, model.paths(4).shape
    ((5, 2), (5, 2, 4))

    """

    fitted: FittedPanel
    learned: Learned
    origins: int  # earlier origins at which forecasts were repeated

    @classmethod
    def fit(
        cls,
        log: SalesLog,
        horizon: int = 1,
        *,
        season: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> "StructuralDemand":
        """Estimate response and season, then levels, their weights and the spread of forecasts up to `horizon`."""
        fitted = fit_panel(panel_of(log, horizon, season), seed)
        horizons = np.unique([1, (horizon + 1) // 2, horizon])
        origins = origins_of(fitted.panel, horizons)
        learned = learn(fitted.panel, horizons, origins, fitted.spread, fitted.seasons, seed, progress)
        return cls(fitted, learned, len(origins))

    @property
    def panel(self) -> Panel:
        """Demand of products and periods."""
        return self.fitted.panel

    @property
    def response(self) -> Response:
        """Estimated effects of prices and features."""
        return self.fitted.response

    @property
    def usual_plan(self) -> Plan:
        """Usual prices and features of the coming periods."""
        panel, rows = self.panel, np.arange(len(self.panel.names))[:, None]
        return Plan(panel.market.price[rows, panel.coming], panel.market.features[rows, panel.coming])

    def ahead(self, plan: Plan | None = None) -> DemandAhead:
        """Distribution of the demand of coming periods under a plan, by default the usual one."""
        panel, values = self._planned(plan)
        learned = self.learned
        horizon = panel.coming.shape[1]
        members = member_forecasts(
            panel, panel.last, panel.coming, learned.seasons, learned.reading, grows=learned.grows
        )
        near = np.abs(learned.horizons[:, None] - np.arange(1, horizon + 1)).argmin(axis=0)
        mean = (members * learned.weights[:, near]).sum(axis=2)
        variance = np.stack(
            [learned.spreads[h].variance(mean[:, step], learned.own[:, h]) for step, h in enumerate(near)], axis=1
        )
        variance += mean**2 * self._response_variance(values)
        return DemandAhead(panel.unit * mean, panel.unit**2 * variance, panel.integer, panel.unit)

    def _response_variance(self, values: Floats) -> Floats:
        """Posterior variance of the logarithm of the response in coming periods, relative to that of recent periods."""
        panel, rows = self.panel, np.arange(len(self.panel.names))[:, None]
        recent = np.maximum(panel.last[:, None] - np.arange(RECENT), 0)
        return self.response.variance(values[rows, panel.coming] - values[rows, recent].mean(axis=1, keepdims=True))

    def paths(self, count: int, plan: Plan | None = None, *, seed: int = 0) -> Floats:
        """Sample paths of demand, (products, horizon, paths); all plans and products share the random numbers."""
        ahead = self.ahead(plan)
        numbers = PathNumbers.drawn(count, ahead.mean.shape[1], self.learned.correlation, np.random.default_rng(seed))
        return ahead.drawn(np.broadcast_to(numbers.chances, (*ahead.mean.shape, count)))

    def _planned(self, plan: Plan | None) -> tuple[Panel, Floats]:
        """Panel whose coming periods have the response to a plan, and the columns of the response."""
        if plan is None:
            return self.panel, self.fitted.columns.values
        panel, rows = self.panel, np.arange(len(self.panel.names))[:, None]
        price, features = panel.market.price.copy(), panel.market.features.copy()
        price[rows, panel.coming], features[rows, panel.coming] = plan.price, plan.features
        market: MarketPanel = replace(panel.market, price=price, features=features)
        values = response_columns(market).values
        return replace(panel, market=market, response=np.exp(self.response.log_factor(values))), values
