"""Both references by brute force in plain Python, sharing no code with the solvers."""

from collections import defaultdict
from collections.abc import Callable
from functools import cache

from lostsales.simulation.demand_laws import Linear
from lostsales.simulation.processes import MarkovChain
from lostsales.simulation.scenario import Scenario

Law = tuple[tuple[float, float], ...]  # (demand, chance)


def best_value(scenario: Scenario, periods: int, discount: float, sees_demand: bool) -> float:
    """Optimal value of the opening over `periods`, by enumerating every decision and every outcome."""
    value = _value_of(scenario, discount, sees_demand)
    (chain,) = scenario.features.values()
    assert isinstance(chain, MarkovChain)
    assert isinstance(scenario.start.stock, float)
    assert isinstance(scenario.start.last_demand, float)
    known = ((scenario.start.last_demand, 1.0),)
    stock = scenario.start.stock
    return sum(chance * value(periods, economy, stock, 0, known) for economy, chance in enumerate(chain.start))


def _value_of(scenario: Scenario, discount: float, sees_demand: bool) -> Callable[[int, int, float, int, Law], float]:
    law = scenario.demand_law
    (name,) = scenario.features
    chain = scenario.features[name]
    assert isinstance(law, Linear)
    assert isinstance(chain, MarkovChain)
    effect = law.features[name]
    assert isinstance(effect, float)
    costs = scenario.costs

    def demands(economy: int, price: float, last: float) -> list[tuple[float, float]]:
        drawn = []
        for shock, chance in zip(law.noise.values, law.noise.probabilities, strict=True):
            raw = shock + law.rho * last + (law.price * price + law.intercept) + effect * economy
            drawn.append((float(min(max(round(raw), law.minimum), law.maximum or 1e9)), chance))
        return drawn

    @cache
    def value(left: int, economy: int, stock: float, depth: int, belief: Law) -> float:
        if left == 0:
            return 0.0
        return max(
            decided(left, economy, stock, depth, belief, price, order)
            for price in scenario.prices
            for order in scenario.orders
        )

    def decided(left: int, economy: int, stock: float, depth: int, belief: Law, price: float, order: float) -> float:
        capacity = scenario.capacity or 1e9
        total = -costs.order * order
        outcomes: dict[tuple[float, bool, float], dict[float, float]] = defaultdict(lambda: defaultdict(float))
        for last, weight in belief:
            for demand, chance in demands(economy, price, last):
                available = min(stock + order, capacity) if scenario.arrival == "before" else stock
                if depth == scenario.longest_run and demand > available:
                    demand = available
                sold, lost = min(demand, available), max(demand - available, 0.0)
                left_over = available - sold
                stock_tp1 = left_over if scenario.arrival == "before" else min(left_over + order, capacity)
                if scenario.balance == "netted" and scenario.arrival == "after":
                    stock_tp1 = min(max(stock + order - demand, 0.0), capacity)
                total += weight * chance * (price * sold - costs.lost * lost - costs.holding * left_over)
                shown = demand if sees_demand else sold
                outcomes[shown, lost > 0, stock_tp1][demand] += weight * chance
        for (_, stockout, stock_tp1), hidden in outcomes.items():
            together = sum(hidden.values())
            after = tuple(sorted((demand, round(weight / together, 13)) for demand, weight in hidden.items()))
            for economy_tp1, chance in enumerate(chain.transition[economy]):
                deeper = depth + 1 if stockout else 0
                total += discount * together * chance * value(left - 1, economy_tp1, stock_tp1, deeper, after)
        return total

    return value
