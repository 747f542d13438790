"""Every Q^(i) converges to the solution of the paper's Bellman equations (Equations 9 and 10)."""

from itertools import product

import numpy as np

from lostsales.learn.cfqi.learn import CFQI, CfqiResult, learn
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.q_function import FunctionClass
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats

PRICES, ORDERS, CAPACITY, MOST = (1.0, 2.0), (0.0, 1.0, 3.0), 3, 3
NOISE = {-1.0: 0.3, 0.0: 0.4, 1.0: 0.3}
LOST, ORDER, HOLDING, DISCOUNT = 0.5, 0.3, 0.1, 0.7
ITERATIONS = 12
# Equal histories and actions are one cell, others have nothing to do with each other: one-hot features.
ONE_HOT = FunctionClass(
    kernels=(Kernel(kind="laplacian", coefficient=1e6),), ridges=(1e-6,), most_rank=600, exact_rows=0
)


def tiny(arrival: str) -> Scenario:
    """Demand 0..3 that remembers, two prices, three orders."""
    return Scenario.model_validate(
        {
            "name": "tiny",
            "horizon": 40,
            "arrival": arrival,
            "capacity": CAPACITY,
            "prices": PRICES,
            "orders": ORDERS,
            "discount": DISCOUNT,
            "costs": {"lost": LOST, "order": ORDER, "holding": HOLDING},
            "start": {"stock": [0, 3], "last_demand": {"mean": 1.5, "sd": 1.0}},
            "demand": {
                "law": "linear",
                "intercept": 2.0,
                "rho": 0.5,
                "price": -1.0,
                "noise": {"kind": "discrete", "values": list(NOISE), "probabilities": list(NOISE.values())},
                "maximum": MOST,
            },
        }
    )


def law(last: float, price: float) -> dict[int, float]:
    """P(D = d | last demand, price)."""
    chances: dict[int, float] = {}
    for shock, chance in NOISE.items():
        demand = int(min(max(np.rint(2.0 + 0.5 * last - price + shock), 0), MOST))
        chances[demand] = chances.get(demand, 0.0) + chance
    return chances


Belief = tuple[float, ...]
Known = tuple[float, int]  # last demand, stock
Hidden = tuple[Belief, int]  # belief over the last demand, stock


class Exact:
    """Value iteration written out: depth 0 on (demand, stock), depths 1 to n on (belief, stock)."""

    def __init__(self, arrival: str, n: int) -> None:
        self.arrival, self.n = arrival, n
        self.known: dict[Known, float] = dict.fromkeys(product(range(MOST + 1), range(CAPACITY + 1)), 0.0)
        self.hidden: list[dict[Hidden, float]] = [{} for _ in range(n)]  # by depth less 1
        # Beliefs are found one period after the other: as often again until all that can be reached have their value.
        for _ in range(ITERATIONS + n):
            known = {state: self.best(_point(state[0]), state[1], 0) for state in self.known}
            hidden = [
                {state: self.best(*state, depth) for state in list(values)}
                for depth, values in enumerate(self.hidden, start=1)
            ]
            new = [dict.fromkeys(found, 0.0) | now for found, now in zip(self.hidden, hidden, strict=True)]
            self.known, self.hidden = known, new

    def best(self, belief: Belief, stock: int, depth: int) -> float:
        """V: the best action, at depth n among those that surely end the run."""
        actions = [a for a in product(PRICES, ORDERS) if depth < self.n or self.ends_run(belief, stock, a)]
        return max(self.q(belief, stock, action, depth) for action in actions)

    def after_stockout(self, belief: Belief, price: float, have: float) -> Belief:
        """Belief over a demand that exceeded what was available."""
        chances = self.predicted(belief, price)
        above = np.array([chances.get(each, 0.0) * (each > have) for each in range(MOST + 1)])
        return tuple(above / above.sum())

    def available(self, stock: int, order: float) -> int:
        """Units that can be sold."""
        return int(min(stock + order, CAPACITY)) if self.arrival == "before" else stock

    def predicted(self, belief: Belief, price: float) -> dict[int, float]:
        """P(D = d) under a belief over the last demand."""
        chances: dict[int, float] = {}
        for last, weight in enumerate(belief):
            for demand, chance in law(last, price).items():
                chances[demand] = chances.get(demand, 0.0) + weight * chance
        return chances

    def ends_run(self, belief: Belief, stock: int, action: tuple[float, float]) -> bool:
        """UP: no demand that is possible exceeds what is available."""
        chances = self.predicted(belief, action[0])
        return sum(p for d, p in chances.items() if d > self.available(stock, action[1])) < 1e-12

    def q(self, belief: Belief, stock: int, action: tuple[float, float], depth: int) -> float:
        """Equation 9, at depth n Equation 10."""
        price, order = action
        chances = self.predicted(belief, price)
        have = self.available(stock, order)
        total, censored, left_hidden = 0.0, 0.0, 0
        for demand, chance in chances.items():
            sales = min(have, demand)
            profit = price * sales - LOST * (demand - sales) - ORDER * order - HOLDING * (have - sales)
            left = have - sales if self.arrival == "before" else min(have - sales + order, CAPACITY)
            total += chance * profit
            if demand <= have:
                total += chance * DISCOUNT * self.known[(demand, int(left))]
            else:
                censored, left_hidden = censored + chance, int(left)
        if depth < self.n and censored > 0:
            state = self.after_stockout(belief, price, have), left_hidden
            total += censored * DISCOUNT * self.hidden[depth].setdefault(state, 0.0)
        return total


def _point(demand: float) -> Belief:
    return tuple(float(each == demand) for each in range(MOST + 1))


def _errors(learned: CfqiResult, exact: Exact, depth: int, least: int) -> Floats:
    """Learned less exact Q on the cells of a depth with enough rows; at depth n on the actions that end the run."""
    part, actions = learned.parts[depth], learned.policy.grid.pairs
    cells, counts = np.unique(np.column_stack([part.block, part.action]), axis=0, return_counts=True)
    cells = cells[counts >= least]
    found = learned.fitted.q[depth].values(cells[:, :-2], actions)
    errors = []
    for row, cell in enumerate(cells):
        belief, stock, action = _point(cell[0]), int(cell[1]), (cell[-2], cell[-1])
        # The history has the newest closed period first: stock, price and order of each since the anchor.
        for past_stock, past_price, past_order in cell[2:-2].reshape(depth, 3)[::-1]:
            belief = exact.after_stockout(belief, past_price, exact.available(int(past_stock), past_order))
        if depth == exact.n and not exact.ends_run(belief, stock, action):
            continue
        column = int(np.flatnonzero((actions == action).all(axis=1))[0])
        errors.append(found[row, column] - exact.q(belief, stock, action, depth))
    return np.array(errors)


def _check(arrival: str, episodes: int, n: int, cells: tuple[tuple[int, int], ...]) -> None:
    """Errors of every depth, on cells of `least` rows or more; there must be so many of them."""
    log, _ = simulate(tiny(arrival), episodes=episodes, seed=3)
    settings = CFQI(
        iterations=ITERATIONS,
        max_depth=n,
        deeper="left-out",
        support="all",
        eps=0.02,
        function=ONE_HOT,
        tail="to_max",
        demand_max=MOST,
    )
    learned, exact = learn(log, settings), Exact(arrival, n)
    assert len(learned.fitted.q) == n + 1
    for depth, (least, wanted) in enumerate(cells):
        errors = _errors(learned, exact, depth, least)
        assert len(errors) >= wanted
        # Targets have a standard deviation of about 1.3, so a cell of n rows is off by about 1.3 / sqrt(n).
        assert np.abs(errors).max() < 4 * 1.3 / np.sqrt(least), depth
        assert abs(errors.mean()) < 0.1, depth


def test_every_q_converges_to_the_exact_solution() -> None:
    _check("before", 700, 1, ((150, 40), (10, 10)))


def test_three_q_of_120_000_rows_are_those_of_the_exact_solution() -> None:
    _check("before", 3_000, 2, ((600, 40), (60, 60), (10, 60)))
