"""Behaviour cloning: the probability of each action given the state, by kernel regression.

P(a | x) = (sum over rows j of w_j(x) 1{a_j = a} + alpha m(a)) / (sum over rows j of w_j(x) + alpha), with
w_j(x) = exp(d(x) - sum over k of c_k (x_jk - x_k)^2) on the standardised state x (last sales, features, stock, depth),
d(x) the least of these sums, so that the nearest row always has weight 1, and m the product of the marginal
probabilities of price and order. Without d, a stock beyond any in the log was met with the marginal orders, which made
it grow further. Coordinates enter by forward selection, each with the c_k and alpha of the greatest held-out
likelihood, as long as it rises: a rule on the stock alone is recovered as such.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy.spatial.distance import cdist

from lostsales.data.feature import feature_count
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.problem import Problem
from lostsales.data.progress import Progress
from lostsales.data.splits import FoldMasks, folds_of, hold_out
from lostsales.demand.censoring.runs import Runs
from lostsales.learn.function.q_function import Scaler
from lostsales.learn.learner import Learner
from lostsales.learn.training_data import TrainingData
from lostsales.policy.action_grid import ActionGrid, action_sizes
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision, greedy
from lostsales.policy.history import blocks_of_rows, blocks_of_view, last_observed, supply_columns
from lostsales.policy.rules import Rules, SavedRules
from lostsales.policy.view import Action, View
from lostsales.saved_fields import POSITIVE, Axis, NonNegative, Positive, indices, numbers
from lostsales.types import Floats, Ints

COEFFICIENTS = (0.3, 3.0, 30.0, 300.0)  # c, from a rule hardly seen to one that only the nearest rows show
WEIGHTS = (0.1, 1.0, 10.0, 100.0, 1e6)  # alpha; the last leaves only m
MOST_ROWS = 2_000  # kept in a policy: bounds the time of a decision
PILOT = 500  # c and alpha are chosen on so many rows
CHUNK = 128  # rows whose distances stay in the cache


@dataclass(frozen=True, eq=False)
class BehaviourPolicy(PolicyBase):
    """The cloned behaviour: `decide` draws from the estimated probabilities, `recommend` gives the likeliest action.

    The `value` of a recommendation is the probability of the action, and `advantage` by how much it is above the next.
    """

    AXES: ClassVar[dict[str, Axis]] = {"kept": Axis(least=0)}

    problem: Problem
    rules: SavedRules
    scaler: Scaler
    points: Annotated[Floats, numbers("rows", "kept")]  # standardised, times the roots of c
    taken: Annotated[Ints, indices("rows", below="actions")]  # of the grid
    usual: Annotated[Floats, numbers("actions", least=POSITIVE)]  # m
    coefficients: Annotated[Floats, numbers("kept", least=0)]  # c
    alpha: Positive
    range: Annotated[Floats, numbers(2, "coordinates")]  # least and most of the data
    usual_demand: NonNegative
    observes: Literal["history"] = "history"

    @cached_property
    def grid(self) -> ActionGrid:
        """The actions."""
        return ActionGrid.of(self.problem)

    def chances(self, situation: Floats) -> Floats:
        """P(a | x), feasible or not, (rows, actions)."""
        parts = []
        for start in range(0, max(len(situation), 1), CHUNK):
            at = self.scaler(situation[start : start + CHUNK]) * np.sqrt(self.coefficients)
            far = cdist(at, self.points, "sqeuclidean")
            parts.append(_smoothed(_weighted_counts(far, self.taken, len(self.usual)), self.usual, self.alpha))
        return np.concatenate(parts)

    def summary(self) -> dict[str, Any]:
        """The method."""
        return {"method": "behaviour"}

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Draw an action for every series."""
        up_to = np.cumsum(self._allowed(view), axis=1)
        drawn = rng.random((len(view.stock), 1)) * up_to[:, -1:]
        return Action(*self.grid.pairs[(up_to <= drawn).sum(axis=1)].T)

    def explain(self, view: View) -> Decision:
        """The likeliest action and the next."""
        chance = self._allowed(view)
        found, no = greedy(np.where(chance > 0, chance, -np.inf)), np.zeros(len(chance), dtype=bool)
        price, order = self.grid.pairs[found.best].T
        runner_up_price, runner_up_order = found.runner_up(self.grid.pairs)
        now, slack = self._situation(view), 1e-9 * (1 + self.range[1] - self.range[0])
        return Decision(
            price=price,
            order=order,
            value=found.value,
            penalty=np.zeros(len(chance)),
            safe=no,
            runner_up_price=runner_up_price,
            runner_up_order=runner_up_order,
            advantage=found.advantage,
            unsafe=no,
            beyond=view.depth > self.range[1, -1],
            outside=((now < self.range[0] - slack) | (now > self.range[1] + slack))[:, :-1].any(axis=1),
            in_money=False,
        )

    def _situation(self, view: View) -> Floats:
        """Last observation, features, stock and depth, (rows, coordinates)."""
        rows = np.arange(len(view.stock))
        return np.column_stack([blocks_of_view(self.asks, view, rows, 0), view.depth])

    def _allowed(self, view: View) -> Floats:
        """Probabilities of the feasible actions, which sum to 1, (rows, actions)."""
        chance = self.chances(self._situation(view))
        rules = self.rules.of_view(view)
        features, limit = view.features_by_name(self.asks), view.order_limit(self.problem)
        chance *= rules.feasible(self.grid, view.stock, view.last_price, features, limit)
        return np.asarray(chance / chance.sum(axis=1, keepdims=True))

    @classmethod
    def axis_sizes(cls, saved: dict[str, Any]) -> dict[str, int]:
        """The grid of the problem, and the coordinates of a situation."""
        problem = saved["problem"]
        coordinates = feature_count(problem.features) + 3 + supply_columns(problem)
        return action_sizes(problem) | {"coordinates": coordinates}

    def validate(self) -> None:
        """Raise where a file keeps coordinates that situations do not have."""
        self.scaler.check(self.range.shape[1])


class Behaviour(Learner):
    """Behaviour cloning: the probability of each action given the state, by kernel regression.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> policy = lostsales.fit(log, Behaviour(seed=0))
    >>> policy.grid.pairs.shape
    (48, 2)

    """

    method: ClassVar[str] = "behaviour"
    sets_prices: ClassVar[bool] = False  # it imitates those of the log
    meets_targets: ClassVar[bool | None] = None

    def fit(self, log: DecisionLog, progress: Progress | None = None) -> BehaviourPolicy:  # noqa: ARG002, quick
        """Clone the behaviour of a log."""
        return clone_behaviour(log, self.rules, self.seed)


def clone_behaviour(log: SalesLog, rules: Rules, seed: int) -> BehaviourPolicy:
    """Estimate P(a | x) from a log."""
    data = TrainingData.of(log, rules)
    runs, grid, rules = data.runs, data.grid, data.rules
    rules.standing(grid)
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(runs.depth >= 0)
    rows = np.sort(rng.choice(rows, min(len(rows), MOST_ROWS), replace=False))
    situation, taken = situation_of_log(log, runs, rows), _taken(log, grid, rows)
    scaler, usual = Scaler.of(situation), _usual(taken, grid)
    pilot = np.sort(rng.choice(len(rows), min(len(rows), PILOT), replace=False))
    folds = folds_of(hold_out(log, gap=1), rows[pilot])
    points = scaler(situation)
    coefficients, alpha = _choose(points[pilot], taken[pilot], usual, folds)
    return BehaviourPolicy(
        problem=data.problem,
        rules=rules,
        scaler=scaler,
        points=points * np.sqrt(coefficients),
        taken=taken,
        usual=usual,
        coefficients=coefficients,
        alpha=alpha,
        range=np.array([situation.min(axis=0), situation.max(axis=0)]),
        usual_demand=data.usual_demand,
    )


def situation_of_log(log: SalesLog, runs: Runs, rows: Ints) -> Floats:
    """Last sales (or the demand, where it is observed), features, stock and depth of rows, (rows, coordinates)."""
    return np.column_stack([blocks_of_rows(log, last_observed(log, runs, rows), rows, 0), runs.depth[rows]])


def _taken(log: SalesLog, grid: ActionGrid, rows: Ints) -> Ints:
    """Index in the grid of the action of each row, or of the nearest one, (rows,)."""
    price = np.abs(log.price[rows, None] - grid.prices).argmin(axis=1)
    order = np.abs(np.asarray(log.order)[rows, None] - grid.orders).argmin(axis=1)
    return np.asarray(price * len(grid.orders) + order)


def _usual(taken: Ints, grid: ActionGrid) -> Floats:
    """Product of the marginal probabilities of price and order; counts start at one half, (actions,)."""
    orders = len(grid.orders)
    price = np.bincount(taken // orders, minlength=len(grid.prices)) + 0.5
    order = np.bincount(taken % orders, minlength=orders) + 0.5
    return np.outer(price / price.sum(), order / order.sum()).reshape(-1)


def _weighted_counts(far: Floats, taken: Ints, actions: int) -> Floats:
    """Kernel-weighted count of each action, (states, actions), from distances (states, rows)."""
    return np.asarray(np.exp(far.min(axis=1, keepdims=True) - far) @ np.eye(actions)[taken])


def _smoothed(counts: Floats, usual: Floats, alpha: float) -> Floats:
    return np.asarray((counts + alpha * usual) / (counts.sum(axis=1, keepdims=True) + alpha))


def _choose(points: Floats, taken: Ints, usual: Floats, folds: FoldMasks) -> tuple[Floats, float]:
    """Coefficients and alpha with the greatest held-out likelihood, coordinate by coordinate."""
    coefficients = np.zeros(points.shape[1])
    best, alpha = _likelihood(np.zeros((len(points), len(points))), taken, usual, folds)
    apart = [np.subtract.outer(each, each) ** 2 for each in points.T]
    far = np.zeros_like(apart[0]) if apart else None
    for _ in apart:
        found = [
            (*_likelihood(far + c * apart[k], taken, usual, folds), k, c)
            for k in np.flatnonzero(coefficients == 0)
            for c in COEFFICIENTS
        ]
        top, its_alpha, k, c = max(found)
        if top <= best:
            break
        best, alpha, coefficients[k] = top, its_alpha, c
        far = far + c * apart[k]
    return coefficients, alpha


def _likelihood(far: Floats, taken: Ints, usual: Floats, folds: FoldMasks) -> tuple[float, float]:
    """The greatest mean log-likelihood of held-out actions over alpha, and that alpha."""
    counts = np.empty((len(far), len(usual)))
    for test, train in folds:
        counts[test] = _weighted_counts(far[np.ix_(test, train)], taken[train], len(usual))
    row = np.arange(len(far))
    return max((float(np.log(_smoothed(counts, usual, alpha)[row, taken]).mean()), alpha) for alpha in WEIGHTS)
