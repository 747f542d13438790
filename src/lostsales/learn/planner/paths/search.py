"""Orders of many series by sampled futures: the draws they share, and the search."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated

import numpy as np
from pydantic import Field

from lostsales.data.shop import Shop
from lostsales.data.supply import periods_to_order
from lostsales.demand.model.moving_level_loops import RATES
from lostsales.demand.model.moving_levels import MovingLevels, PathDraws, stratified
from lostsales.learn.planner.paths.roll_out_loops import FOR_EVER, Shelves, Terms
from lostsales.learn.planner.paths.search_loops import Draws, Found, Situation, order_values, search_actions
from lostsales.policy.shelf import Shelf
from lostsales.policy.view import View
from lostsales.types import Floats, Ints

MOST_PATHS, MOST_AHEAD = 10_000, 200  # bound time and memory
PATHS = 128  # sampled futures of a series: the time of a decision grows in proportion
AHEAD = 6  # periods that are looked at beyond the longest lead time
# Of goods that perish an order may be thrown away late, and orders are closer to each other: with twice as many futures
# as of others, the planner cost 1.6 % more than the optimum in one shop of `benchmark perishables`.
SHELF_PATHS, SHELF_AHEAD = 4, 10  # times as many futures, and at least so many periods


@dataclass(frozen=True)
class Search:
    """Length and number of the sampled futures."""

    paths: Annotated[int, Field(ge=1, le=MOST_PATHS)] = PATHS
    ahead: Annotated[int, Field(ge=1, le=MOST_AHEAD)] = AHEAD
    seed: Annotated[int, Field(ge=0)] = 0

    def of(self, shop: Shop) -> "Search":
        """Search for a shop: longer and on more futures where goods perish."""
        if shop.product.shelf_life is None:
            return self
        return replace(self, paths=min(SHELF_PATHS * self.paths, MOST_PATHS), ahead=max(self.ahead, SHELF_AHEAD))

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


def shelves_of(shop: Shop, view: View, life: Ints, waste_cost: Floats, from_oldest: Floats) -> Shelves:
    """Stock by remaining life of the rows of a view, each other argument (rows,); without ages it arrived last."""
    if shop.product.shelf_life is None:
        return FOR_EVER
    if view.ages is None:
        units = Shelf.fresh(shop, life, from_oldest, view.stock).seen
    else:
        units = np.zeros((len(view.stock), max(int(life.max(initial=1)), view.ages.shape[1])))
        units[:, : view.ages.shape[1]] = view.ages
        beyond = np.arange(units.shape[1]) >= life[:, None]
        units[np.arange(len(units)), life - 1] += np.where(beyond, units, 0.0).sum(axis=1)
        units[beyond] = 0.0
    return Shelves(np.ascontiguousarray(units), life, waste_cost, from_oldest)
