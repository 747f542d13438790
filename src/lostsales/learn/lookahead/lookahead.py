"""The learner that orders by sampled futures."""

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.product_table import ProductTable
from lostsales.data.progress import Progress
from lostsales.demand.model.market import Market
from lostsales.errors import LostSalesError
from lostsales.learn.learner import Learner
from lostsales.learn.lookahead.orders import AHEAD, MOST_AHEAD, MOST_PATHS, PATHS, Search
from lostsales.learn.lookahead.policy import MOST_REVIEW, PathPolicy, check_draws
from lostsales.learn.lookahead.prices import PriceRange
from lostsales.learn.lookahead.product_levels import ProductLevels
from lostsales.learn.training_data import TrainingData
from lostsales.policy.action_grid import ActionGrid, room_of
from lostsales.policy.rules import Rules

LEAST_ROWS = 2  # a level needs a period to start from, and one to move by
QUICK_PATHS = 32  # a quarter of the usual number: a first look
# The criterion is profit per period: futures are short, and hardly discounted.
LEAST_DISCOUNT = 0.999


class Lookahead(Learner):
    """Look-ahead: orders by sampled futures of a demand whose level moves; the price stays as it is.

    Every series has levels of demand with several rates and trends, which follow its sales through stock-outs and are
    weighted by how well they foretold it; weekdays and weeks of the year have indices that series share. Paths of
    demand and of deliveries are drawn from them, order-up-to levels are rolled out on these, and today's order is the
    best with the best level behind it. A few periods are enough to start.

    References
    ----------
    Hyndman, Koehler, Ord and Snyder (2008), Forecasting with exponential smoothing. Bertsekas (2022), Rollout, policy
    iteration, and distributed reinforcement learning.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> lostsales.fit(log, Lookahead(paths=100)).summary()
    {'method': 'lookahead', 'paths': 100, 'ahead': 6}

    """

    method: ClassVar[str] = "lookahead"
    models_products: ClassVar[bool] = True
    sets_prices: ClassVar[bool] = False
    quick_settings: ClassVar[dict[str, Any]] = {"paths": QUICK_PATHS}

    paths: Annotated[int, Field(ge=10, le=MOST_PATHS)] = Field(PATHS, description="Sampled futures of each series.")
    ahead: Annotated[int, Field(ge=1, le=MOST_AHEAD)] = Field(
        AHEAD, description="Periods that are looked at beyond the longest lead time."
    )

    def fit(self, log: DecisionLog, progress: Progress | None = None) -> PathPolicy:  # noqa: ARG002, quick
        """Levels, response and costs of each product."""
        return fit_paths(log, self.rules, Search(self.paths, self.ahead, self.seed), sets_prices=False)


def fit_paths(
    log: DecisionLog,
    rules: Rules,
    search: Search,
    *,
    sets_prices: bool,
    caution: float = 0.5,
    discount: float | None = None,
) -> PathPolicy:
    """Learn the demand model of a log, and the policy that decides on its sample paths."""
    data = TrainingData.of(log, rules, least_rows=LEAST_ROWS)
    _check_rules(data)
    review = _review(log, data.rules)
    check_draws(log.problem, search, review)
    market, fitted = Market.learned(log, data.runs.observed)
    usual = log.products.means(np.exp(fitted.level))
    return PathPolicy(
        problem=log.problem,
        rules=data.rules,
        products=ProductTable.of(log, data.rules),
        market=market,
        levels=ProductLevels.of(log, data.runs, market, usual),
        prices=PriceRange.of(log, data.rules),
        sets_prices=sets_prices and not log.keeps_price,
        caution=caution,
        discount=max(log.problem.discount, LEAST_DISCOUNT) if discount is None else discount,
        fixed_cost=float(log.costs.fixed_order),
        counted=data.runs.observed.integer,
        review=review,
        usual_demand=data.usual_demand,
        search=search,
    )


def _check_rules(data: TrainingData) -> None:
    """Raise where no listed action passes the rules."""
    shop = data.log.problem
    if shop.prices is not None and shop.orders is not None:
        data.rules.standing(ActionGrid(np.array(shop.prices), np.array(shop.orders), room_of(shop)))


def _review(log: SalesLog, rules: Rules) -> int:
    """Periods from one order day to the next, where a column says which are."""
    if rules.order_days is None:
        return 1
    features = log.features_by_name(np.arange(len(log)))
    if rules.order_days not in features:
        raise LostSalesError(f"order_days must be a feature, but {rules.order_days!r} is not; there are {[*features]}")
    share = float(np.mean(features[rules.order_days] != 0))
    return min(round(1 / share), MOST_REVIEW) if share > 0 else 1
