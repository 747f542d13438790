"""Every Q^(i) converges to the solution of the paper's Bellman equations (Equations 9 and 10)."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from lostsales.learn.cfqi.learn import CFQI, CfqiResult, learn
from lostsales.learn.function.kernels import Kernel
from lostsales.learn.function.q_function import FunctionClass
from lostsales.policy.base import PolicyBase
from lostsales.policy.policy import Observes
from lostsales.policy.view import Action, View
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate
from lostsales.types import Floats, Ints

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


def _belief(exact: Exact, history: list[float], depth: int) -> Belief:
    """The belief of a history: demand at the anchor, stock, and of every period since stock, price and order."""
    belief = _point(history[0])
    for stock, price, order in np.array(history[2:]).reshape(depth, 3)[::-1]:  # the newest period comes first
        belief = exact.after_stockout(belief, price, exact.available(int(stock), order))
    return belief


def _errors(learned: CfqiResult, exact: Exact, depth: int, least: int) -> Floats:
    """Learned less exact Q on the cells of a depth with enough rows; at depth n on the actions that end the run."""
    part, actions = learned.parts[depth], learned.policy.grid.pairs
    cells, counts = np.unique(np.column_stack([part.block, part.action]), axis=0, return_counts=True)
    cells = cells[counts >= least]
    found = learned.fitted.q[depth].values(cells[:, :-2], actions)
    errors = []
    for row, cell in enumerate(cells):
        belief, stock, action = _belief(exact, cell[:-2].tolist(), depth), int(cell[1]), (cell[-2], cell[-1])
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


class EndsRuns(PolicyBase):
    """Uniform, and after two stock-outs the largest order, which ends a run: of the paper's class Pi_2."""

    problem = tiny("before").problem
    observes: Observes = "history"

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Draw price and order."""
        price, order = rng.choice(PRICES, len(view.stock)), rng.choice(ORDERS, len(view.stock))
        return Action(price, np.where(view.depth >= 2, max(ORDERS), order))


@dataclass
class Cells:
    """Q at every history and action of a log: learned, exact, and how far apart the log's chance puts them.

    The learned Q of a cell is the mean of its targets. Its own error has the variance of the targets over their number,
    and the mean error of the imputed profits, which the exact law tells. With P from a cell to the best of the next,
    both reach every Q through (1 - discount P)^-1.
    """

    depth: Ints
    rows: Ints
    error: Floats  # learned less exact Q, and less what the imputed profits account for
    std_error: Floats

    @classmethod
    def of(cls, learned: CfqiResult, exact: Exact) -> "Cells":
        """Compare all cells."""
        numbers = dict[tuple[float, ...], int]()
        of_row = [
            numbers.setdefault((depth, *block, *action), len(numbers))
            for depth, part in enumerate(learned.parts)
            for block, action in zip(part.block.tolist(), part.action.tolist(), strict=True)
        ]
        own, targets, cells = np.array(of_row), np.concatenate(learned.fitted.targets), len(numbers)
        rows = np.bincount(own, minlength=cells)
        means = np.bincount(own, targets, cells) / rows
        variance = np.bincount(own, (targets - means[own]) ** 2, cells) / np.maximum(rows - 1, 1)

        following, start = np.zeros((cells, cells)), 0
        for part in learned.parts:
            here, start = own[start : start + len(part.rows)], start + len(part.rows)
            for chosen, to, block in (
                (part.is_observed, 0, part.next_observed),
                (~part.is_observed, part.next_learned, part.next_censored),
            ):
                taken = np.unique(learned.parts[to].action, axis=0)  # others are worth the same as one of these
                best = taken[learned.fitted.q[to].values(block, taken).argmax(axis=1)]
                for cell, history, action in zip(here[chosen], block.tolist(), best.tolist(), strict=True):
                    if (after := numbers.get((to, *history, *action))) is not None:
                        following[cell, after] += 1 / rows[cell]
        carried = np.linalg.inv(np.eye(cells) - DISCOUNT * following)

        is_hidden = ~np.concatenate([part.is_observed for part in learned.parts])
        imputed = np.bincount(own, np.concatenate([part.profit for part in learned.parts]) * is_hidden, cells)
        hidden = np.bincount(own, is_hidden, cells)
        exact_q, imputed_error = np.zeros(cells), np.zeros(cells)
        for (depth, *history, price, order), cell in numbers.items():
            belief = _belief(exact, history, int(depth))
            have = exact.available(int(history[1]), order)
            above = {d: p for d, p in exact.predicted(belief, price).items() if d > have}
            if hidden[cell]:
                lost = sum((d - have) * p for d, p in above.items()) / sum(above.values())
                imputed_error[cell] = imputed[cell] - hidden[cell] * (price * have - LOST * lost - ORDER * order)
            exact_q[cell] = exact.q(belief, int(history[1]), (price, order), int(depth))
        error = means - exact_q - carried @ (imputed_error / rows)
        return cls(
            np.array([each[0] for each in numbers], dtype=np.int64),
            rows,
            error,
            np.sqrt(carried**2 @ (variance / rows)),
        )


def test_three_q_of_120_000_rows_are_exact_within_their_standard_errors() -> None:
    log, _ = simulate(tiny("before"), EndsRuns(), 3_000, seed=3)
    function = ONE_HOT.model_copy(update={"most_rank": 2_000, "pilot_rows": 400})
    with pytest.warns(UserWarning, match="the order never varied at depth 2"):
        learned = learn(log, CFQI(faithful=True, iterations=ITERATIONS, function=function, demand_max=MOST))
    assert [len(part.rows) for part in learned.parts] == [99_358, 12_064, 5_578]
    cells = Cells.of(learned, Exact("before", 2))
    for depth, wanted in enumerate((80, 80, 80)):
        some = (cells.depth == depth) & (cells.rows >= 20)
        z = cells.error[some] / cells.std_error[some]
        assert len(z) >= wanted
        assert np.abs(z).max() < 4.5, depth  # of 300 normal errors the largest is above that once in 500 logs
        assert 0.7 < np.sqrt(np.mean(z**2)) < 1.3, depth  # errors are as large as stated, and no larger
