"""From a log to the policy on sample paths: demand model, product table, price ranges."""

import numpy as np

from lostsales.data.assortment import is_assortment
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.product_table import ProductTable
from lostsales.demand.model.exposure import DemandExposure
from lostsales.errors import LostSalesError
from lostsales.learn.planner.paths.policy import MOST_REVIEW, PathPolicy, check_draws
from lostsales.learn.planner.paths.prices import ProductPrices
from lostsales.learn.planner.paths.product_levels import ProductLevels
from lostsales.learn.planner.paths.search import Search
from lostsales.learn.training_data import TrainingData
from lostsales.policy.action_grid import ActionGrid, room_of
from lostsales.policy.rules import Rules
from lostsales.policy.shelf import ShelfLives

LEAST_ROWS = 2  # a level needs a period to start from, and one to move by
# The criterion is profit per period: futures are short, and hardly discounted.
LEAST_DISCOUNT = 0.999


def fit_paths(
    log: DecisionLog,
    rules: Rules,
    search: Search,
    *,
    sets_prices: bool,
    caution: float = 0.5,
    discount: float | None = None,
    one_shop: bool | None = None,
) -> PathPolicy:
    """Learn the demand model of a log, and the policy that decides on its sample paths.

    `one_shop`: series are episodes of one shop, and a new one starts like the others; by default if they are alike.
    """
    data = TrainingData.of(log, rules, least_rows=LEAST_ROWS)
    _check_rules(data)
    review, search = _review(log, data.rules), search.of(log.problem)
    check_draws(log.problem, search, review)
    market, fitted = DemandExposure.learned(log, data.runs.observed)
    usual = log.products.means(np.exp(fitted.level))
    return PathPolicy(
        problem=log.problem,
        rules=data.rules,
        products=ProductTable.of(log, data.rules),
        market=market,
        levels=ProductLevels.of(
            log, data.runs, market, usual, not is_assortment(log) if one_shop is None else one_shop
        ),
        prices=ProductPrices.of(log, data.rules),
        sets_prices=sets_prices and not log.keeps_price,
        caution=caution,
        discount=max(log.problem.discount, LEAST_DISCOUNT) if discount is None else discount,
        fixed_cost=float(log.costs.fixed_order),
        counted=data.runs.observed.integer,
        review=review,
        usual_demand=data.usual_demand,
        search=search,
        candidates=data.candidates if sets_prices else data.candidates.at_usual_price(log),
        goods=ShelfLives.of(log),
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
