"""Both references by brute force in plain Python, sharing no code with the solvers."""

from collections import defaultdict
from functools import cache
from itertools import product

from lostsales.simulation.demand_laws import Linear
from lostsales.simulation.processes import MarkovChain
from lostsales.simulation.scenario import Scenario

Law = tuple[tuple[float, float], ...]  # (demand, chance)
Waiting = tuple[tuple[int, float], ...]  # (periods since it was ordered, units)
NEXT_PERIOD = {1: 1.0}  # chance of each lead time of an order that can be sold in the next period


def best_value(
    scenario: Scenario,
    periods: int,
    discount: float,
    sees_demand: bool,
    chances: dict[int, float] = NEXT_PERIOD,
    order_every: int = 1,
) -> float:
    """Optimal value of the opening by enumerating every decision, demand and delivery; lead times are independent.

    `chances` of lead times are those of orders that arrive after the sales.
    """
    (name,) = scenario.features
    law, chain, costs = scenario.demand_law, scenario.features[name], scenario.costs
    assert isinstance(law, Linear)
    assert isinstance(chain, MarkovChain)
    assert isinstance(scenario.start.stock, float)
    assert isinstance(scenario.start.last_demand, float)
    effect, longest = law.features[name], max(chances)
    assert isinstance(effect, float)

    def arrives_after(waited: int) -> float:
        """Chance that an order arrives in the period that makes `waited` full, given that it has not before."""
        return chances.get(waited, 0.0) / (1 - sum(chance for time, chance in chances.items() if time < waited))

    def deliveries(waiting: Waiting) -> list[tuple[float, float, Waiting]]:
        """(chance, units that arrive, what stays on the way) of every outcome of a period."""
        found = []
        for pattern in product((False, True), repeat=len(waiting)):
            chance, units, stays = 1.0, 0.0, []
            for arrives, (age, order) in zip(pattern, waiting, strict=True):
                hazard = arrives_after(age + 1)
                chance *= hazard if arrives else 1 - hazard
                if arrives:
                    units += order
                elif age + 1 < longest:
                    stays.append((age + 1, order))
            found.append((chance, units, tuple(stays)))
        return [each for each in found if each[0] > 0]

    @cache
    def value(left: int, economy: int, stock: float, waiting: Waiting, depth: int, belief: Law) -> float:
        if left == 0:
            return 0.0
        may = scenario.orders if (periods - left) % order_every == 0 else (0.0,)
        return max(decided(left, economy, stock, waiting, depth, belief, p, o) for p in scenario.prices for o in may)

    def decided(
        left: int, economy: int, stock: float, waiting: Waiting, depth: int, belief: Law, price: float, order: float
    ) -> float:
        total = -costs.order * order
        outcomes: dict[tuple[float, bool, float, Waiting], dict[float, float]] = defaultdict(lambda: defaultdict(float))
        capacity = scenario.capacity or 1e9
        available, placed = stock, (*waiting, (0, order)) if order else waiting
        if scenario.arrival == "before":
            available, placed = min(stock + order, capacity), ()
        for last, weight in belief:
            for shock, drawn in zip(law.noise.values, law.noise.probabilities, strict=True):
                raw = shock + law.rho * last + (law.price * price + law.intercept) + effect * economy
                demand = float(min(max(round(raw), law.minimum), law.maximum or 1e9))
                if depth == scenario.longest_run and demand > available:
                    demand = available
                sold, lost = min(demand, available), max(demand - available, 0.0)
                total += weight * drawn * (price * sold - costs.lost * lost - costs.holding * (available - sold))
                for chance, units, stays in deliveries(placed):
                    left_over = available - (demand if scenario.balance == "netted" else sold)
                    stock_tp1 = min(max(left_over + units, 0.0), capacity)
                    key = demand if sees_demand else sold, lost > 0, stock_tp1, stays
                    outcomes[key][demand] += weight * drawn * chance
        for (_, stockout, stock_tp1, stays), hidden in outcomes.items():
            together = sum(hidden.values())
            after = tuple(sorted((demand, round(weight / together, 13)) for demand, weight in hidden.items()))
            for economy_tp1, chance in enumerate(chain.transition[economy]):
                deeper = depth + 1 if stockout else 0
                total += discount * together * chance * value(left - 1, economy_tp1, stock_tp1, stays, deeper, after)
        return total

    known = ((scenario.start.last_demand, 1.0),)
    stock = scenario.start.stock
    return sum(chance * value(periods, economy, stock, (), 0, known) for economy, chance in enumerate(chain.start))
