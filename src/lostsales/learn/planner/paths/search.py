"""Orders of many series by sampled futures: the draws they share, and the search."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from pydantic import Field

from lostsales.data.shop import Shop
from lostsales.data.supply import periods_to_order
from lostsales.demand.model.moving_level_loops import RATES
from lostsales.demand.model.moving_levels import MovingLevels, PathDraws, stratified
from lostsales.learn.planner.paths.roll_out_loops import Terms
from lostsales.learn.planner.paths.search_loops import Draws, Found, Situation, order_values, search_actions
from lostsales.types import Floats

MOST_PATHS, MOST_AHEAD = 10_000, 200  # bound time and memory
PATHS = 128  # sampled futures of a series: the time of a decision grows in proportion
AHEAD = 6  # periods that are looked at beyond the longest lead time


@dataclass(frozen=True)
class Search:
    """Length and number of the sampled futures."""

    paths: Annotated[int, Field(ge=1, le=MOST_PATHS)] = PATHS
    ahead: Annotated[int, Field(ge=1, le=MOST_AHEAD)] = AHEAD
    seed: Annotated[int, Field(ge=0)] = 0

    def periods(self, longest: int, review: int = 1) -> int:
        """Number of periods of a path, where orders may be placed in one of `review` periods."""
        return self.ahead + longest + review - 1


def find_actions(levels: MovingLevels, situation: Situation, terms: Terms, search: Search) -> Found:
    """Best price and order of every series; its periods are those of `situation.exposure`."""
    periods, longest = situation.exposure.shape[1], situation.chances.shape[1] - 1
    draws = common_draws(search.paths, periods, situation.pipeline.shape[1], longest, search.seed)
    found: Found = search_actions(levels.weighted, RATES, levels.counted, situation, terms, draws)
    return found


def values_of_orders(
    levels: MovingLevels, situation: Situation, terms: Terms, search: Search, orders: Floats
) -> Floats:
    """Value of orders at the planned prices of a situation, (series, orders)."""
    periods, longest = situation.exposure.shape[1], situation.chances.shape[1] - 1
    draws = common_draws(search.paths, periods, situation.pipeline.shape[1], longest, search.seed)
    found: Floats = order_values(levels.weighted, RATES, levels.counted, situation, terms, draws, orders)
    return found


def demand_paths(levels: MovingLevels, exposure: Floats, situation: Situation, search: Search) -> Floats:
    """Demands with an exposure (series, some), the first periods as the search draws: (series, paths, some)."""
    periods, longest = situation.exposure.shape[1], situation.chances.shape[1] - 1
    draws = common_draws(search.paths, periods, situation.pipeline.shape[1], longest, search.seed)
    first = exposure.shape[1]
    numbers = draws.chances, draws.errors
    if first > periods:
        beyond = PathDraws.of(search.paths, first - periods, np.random.default_rng([search.seed, periods]))
        numbers = np.hstack([draws.chances, beyond.chances]), np.hstack([draws.errors, beyond.errors])
    some = PathDraws(*(np.ascontiguousarray(each[:, :first]) for each in numbers))
    return levels.paths(some, np.ascontiguousarray(exposure))


@lru_cache(maxsize=128)
def common_draws(paths: int, periods: int, columns: int, longest: int, seed: int) -> Draws:
    """Draw the random numbers that all series share."""
    demand_rng, order_rng, arrival_rng = np.random.default_rng(seed).spawn(3)
    demand = PathDraws.of(paths, periods, demand_rng)
    orders = stratified(paths, columns + periods, order_rng)
    return Draws(demand.chances, demand.errors, orders, stratified(paths, periods + longest + 1, arrival_rng))


def terms_of(shop: Shop, review: int = 1, shown: bool = True, hold: int = 1, discount: float | None = None) -> Terms:
    """Terms that the series of a shop share; `review` where the shop has no cycle of order days."""
    supply, cycle = shop.supply, shop.supply.order_cycle
    return Terms(
        discount=shop.discount if discount is None else discount,
        share=supply.share,
        flow=shop.flow,
        crossing=supply.crossing,
        review=review if cycle is None else int(periods_to_order(cycle).max()),
        shown=shown,
        hold=hold,
    )
