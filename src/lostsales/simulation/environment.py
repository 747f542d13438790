"""The Gymnasium environments: an adapter over the functions of the simulator."""

from typing import Any, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.rollout import RunningShop
from lostsales.policy.view import Action, order_limit
from lostsales.simulation.hidden_market import check_markov
from lostsales.simulation.processes import Autoregressive, FeatureProcess, ReferencePrice, levels_of
from lostsales.simulation.scenario import Scenario, as_scenario
from lostsales.types import Floats, Ints

Observation = NDArray[np.float32]
# Standard deviations that bound an autoregressive feature; leaving them has probability below 1e-22 a period.
FEATURE_RANGE = 10.0
LARGEST = float(np.finfo(np.float32).max)


class BatchedShop:
    """Several shops stepped together as arrays, with the observations of an agent."""

    def __init__(self, scenario: Scenario, series: int, observe_demand: bool) -> None:
        check_markov(scenario, "an environment")
        self.scenario, self.series, self.observe_demand = scenario, series, observe_demand
        self.grid = ActionGrid.of(scenario)

    @property
    def over(self) -> bool:
        """True once the horizon is reached."""
        return self._now.period >= self.scenario.horizon

    def open(self, rng: np.random.Generator) -> Observation:
        """Open an episode; one observation a shop."""
        self._now = RunningShop(self.scenario, self.scenario, self.scenario.unit_costs, self.series, rng)
        return self._observation()

    def close(self, actions: Ints) -> tuple[Observation, Floats]:
        """Take actions, positions in the grids (series, 2); return the next observations and the profits."""
        limit = order_limit(self.scenario, self._now.stock, self._now.on_order, self._now.phase)
        order = np.minimum(actions[:, 1], self.grid.feasible_orders(self._now.stock, limit) - 1)
        outcome = self._now.close(Action(self.grid.prices[actions[:, 0]], self.grid.orders[order]))
        return self._observation(), outcome.profit

    def _observation(self) -> Observation:
        now = self._now
        last = (now.demand,) if self.observe_demand else (now.sales, now.stockout)
        cycle = () if now.phase is None else (now.phase,)
        on_order = () if now.on_order is None else now.on_order.T
        ages = () if now.shelf is None else now.shelf.units
        columns = [*now.features, now.stock, *ages, *on_order, *cycle, *last]
        return np.column_stack(columns).astype(np.float32)


class RetailerEnv(gymnasium.Env[Observation, NDArray[np.int64]]):
    """A shop with a price and an order to decide every period.

    ## Action space
    `MultiDiscrete([prices, orders])`: positions in the grids of the scenario. If the capacity rule is "forbid" an
    order that does not fit is lowered to the largest that does; so is one that order days or the capacity of the
    pipeline do not allow.

    ## Observation space
    `Box`: the features, the stock, of goods that perish the units by remaining life (1, 2, ... periods), what is on the
    way (arriving in 1, 2, ... periods, at the latest where lead times
    vary), the position in the cycle of order days where there is one, the sales of the last period and whether it was
    a stock-out (1) or not (0). With `observe_demand=True` the last true demand replaces the last two.

    ## Reward
    The profit of the period, with the true cost of lost sales.

    ## Episode end
    Truncated after the horizon of the scenario; never terminated.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012, gymnasium declares it so

    def __init__(self, scenario: str | Scenario, *, observe_demand: bool = False) -> None:
        self.scenario = as_scenario(scenario)
        self._shops = BatchedShop(self.scenario, 1, observe_demand)
        self.grid = self._shops.grid
        self.action_space = gymnasium.spaces.MultiDiscrete([len(self.grid.prices), len(self.grid.orders)])
        self.observation_space = observation_space(self.scenario, observe_demand)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Open a new episode."""
        super().reset(seed=seed, options=options)
        return self._shops.open(self.np_random)[0], {}

    def step(self, action: NDArray[np.int64]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Close a period and open the next."""
        observation, profit = self._shops.close(np.asarray(action)[None])
        return observation[0], float(profit[0]), False, self._shops.over, {}


def observation_space(scenario: Scenario, observe_demand: bool) -> gymnasium.Space[Observation]:
    """Finite bounds; stock is at most the opening stock plus a largest order every period."""
    law, opening = scenario.demand_law, scenario.start.last_demand
    on_order = sum(scenario.start.on_order)
    most_stock = scenario.capacity or scenario.start.highest_stock + on_order + scenario.horizon * scenario.orders[-1]
    most_demand = LARGEST if law.maximum is None else law.maximum
    most_opening = opening if isinstance(opening, float) else most_demand
    bounds = [_bounds(process, scenario) for process in scenario.features.values()]
    life = scenario.product.shelf_life
    bounds += [(0.0, most_stock)] * (1 + (life if isinstance(life, int) else 0))
    most_order = max(scenario.orders[-1], *scenario.start.on_order, 0.0)
    bounds += [(0.0, most_order)] * scenario.pipeline_length
    cycle = scenario.supply.order_cycle
    bounds += [] if cycle is None else [(0.0, float(len(cycle) - 1))]
    if observe_demand:
        bounds.append((0.0, max(most_demand, most_opening)))
    else:
        bounds += [(0.0, max(most_stock, most_opening)), (0.0, 1.0)]
    low, high = np.array(bounds, dtype=np.float32).T
    return cast(gymnasium.Space[Observation], gymnasium.spaces.Box(low, high))


def _bounds(process: FeatureProcess, scenario: Scenario) -> tuple[float, float]:
    if isinstance(process, Autoregressive):
        start = process.mean if process.start_mean is None else process.start_mean
        deviation = max(process.shock / np.sqrt(1 - process.persistence**2), process.start_sd or 0.0)
        spread = FEATURE_RANGE * deviation
        return min(process.mean, start) - spread, max(process.mean, start) + spread
    if isinstance(process, ReferencePrice):
        return min(process.start, scenario.prices[0]), max(process.start, scenario.prices[-1])
    return 0.0, float(len(levels_of(process) or (0, 1)) - 1)
