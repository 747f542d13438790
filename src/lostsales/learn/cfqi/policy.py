"""The policy of C-FQI, PC-FQI and fusion: greedy in one Q-function per depth, safe at max_depth."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from lostsales.data.feature import Feature, feature_count
from lostsales.data.problem import Problem
from lostsales.data.product_table import ProductAttributes
from lostsales.demand.censoring.runs import ANY_DEPTH, DepthRule
from lostsales.errors import LostSalesError
from lostsales.learn.cfqi.partition import lags_of_view
from lostsales.learn.cfqi.safe_actions import SafeActions, arrival_of
from lostsales.learn.cfqi.support import Support
from lostsales.learn.cfqi.targets import ActionValueFunction
from lostsales.learn.cfqi.value_function import ValueFunction
from lostsales.learn.function.q_function import QFunction
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.base import PolicyBase
from lostsales.policy.decision import Decision, greedy
from lostsales.policy.history import blocks_of_view, supply_columns
from lostsales.policy.policy import Policy
from lostsales.policy.product_rows import attributes_of_view
from lostsales.policy.rules import SavedRules
from lostsales.policy.view import Action, View
from lostsales.policy.wrapper import PolicyWrapper
from lostsales.saved_fields import NonNegative, OneOf, numbers
from lostsales.types import Bools, Floats, Ints

# What U is of, by whose definition; docs/decisions/c-fqi.md has the formulas.
PENALTY_ON_GAINS = "on gains over the usual action (ours)"
PENALTY_CALIBRATED = "on gains over the usual action, and a constant that covers about 90 % of the errors of Q (ours)"
PENALTY_BY_SUPPORT = "by support (ours)"
PENALTY_OF_ENSEMBLE = "spread of the ensemble (ours)"
PENALTY_OF_PAPER = "posterior deviation of Q (the paper's)"
CHUNK = 2_000  # rows whose kernel stays in the cache
ROUNDING = 1e-9
MOST_LAGS = 30


@dataclass(frozen=True, eq=False)
class _Scored:
    """Some rows of a view against all actions."""

    rows: Ints
    scores: Floats  # (rows, actions) Q - U, -inf where an action may not be taken
    penalty: Floats | None  # (rows, actions) U, None where there is none
    unsafe: Bools
    outside: Bools
    untried: Bools


@dataclass(frozen=True, eq=False)
class QPolicy(PolicyBase):
    """Greedy in Q^(i) (less U^(i) where the learner is pessimistic) at depth i; safe at max_depth and beyond."""

    problem: Problem
    grid: ActionGrid
    rules: SavedRules
    q: tuple[Annotated[ActionValueFunction, OneOf(QFunction)], ...]  # by depth
    safe: SafeActions
    beta: NonNegative  # of the penalty, 0 where the last update was not pessimistic
    ranges: tuple[
        Annotated[Floats, numbers(2, "?", infinite=True)], ...
    ]  # by depth (2, coordinates), least and most of the data
    usual_demand: NonNegative
    method: str
    attributes: ProductAttributes | None = None  # None where the log has none
    costs: tuple[Feature, ...] = ()  # unit costs that vary by row
    supports: tuple[Support, ...] | None = None  # by depth, the last for all deeper; None: neither is asked for
    bounded: bool = True  # candidates are what the log supports
    on_gains: bool = False  # U is on what an action gains over the usual one
    margin: NonNegative = 0.0  # the constant in a U on gains
    pools: bool = False  # the histories of the last Q have the length of the run as a coordinate
    value: ValueFunction | None = None  # by replayed episodes; None: the value of a decision is its Q
    depth_rule: DepthRule = ANY_DEPTH  # by which max_depth was chosen
    lags: Annotated[int, Field(ge=1, le=MOST_LAGS)] = 1  # demands in the state: the anchor's and those before it
    observes: Literal["history"] = "history"

    @property
    def asks(self) -> tuple[Feature, ...]:
        """The features of the problem and the unit costs that vary."""
        return (*self.problem.features, *self.costs)

    def summary(self) -> dict[str, Any]:
        """Method, depth, the function class of each depth, what the value of a decision is, and the penalty U."""
        value = "Q" if self.value is None else "replayed episodes"
        facts = {"method": self.method, "max_depth": len(self.q) - 1, "kernels": [q.name for q in self.q]}
        penalty = {} if self.penalty_name is None else {"penalty": self.penalty_name}
        return facts | {"value": value} | penalty

    @property
    def penalty_name(self) -> str | None:
        """Penalty U of its decisions, and whether it is the paper's; None where there is none."""
        if not self.beta:
            return None
        if self.on_gains:
            return PENALTY_CALIBRATED if self.margin else PENALTY_ON_GAINS
        if not isinstance(self.q[0], QFunction):
            return PENALTY_OF_ENSEMBLE
        return PENALTY_OF_PAPER if self.q[0].basis.has_penalty_of_paper else PENALTY_BY_SUPPORT

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        price, order = np.empty(len(view.stock)), np.empty(len(view.stock))
        for part in self._scored(view, every_score=False):
            price[part.rows], order[part.rows] = self.grid.taken(part.scores.argmax(axis=1))
        return Action(price, order)

    def explain(self, view: View) -> Decision:
        """The decision with its value, penalty, runner-up and warnings."""
        rows = len(view.stock)
        penalty, value, advantage, price, order, second_price, second_order = (np.zeros(rows) for _ in range(7))
        unsafe, outside, untried = (np.empty(rows, dtype=bool) for _ in range(3))
        for part in self._scored(view):
            at, found = part.rows, greedy(part.scores, self.grid)
            unsafe[at], outside[at], untried[at] = part.unsafe, part.outside, part.untried
            value[at], advantage[at] = found.value, found.advantage
            price[at], order[at] = self.grid.taken(found.best)
            second_price[at], second_order[at] = self.grid.taken(found.second)
            if part.penalty is not None:
                penalty[at] = part.penalty[np.arange(len(at)), found.best]
        if self.value is not None:
            value = self.value(self.state(view))
        has_second = ~np.isnan(advantage)
        return Decision(
            price=price,
            order=order,
            value=value,
            penalty=penalty,
            safe=view.depth >= max(self.safe.depth, 1),
            runner_up_price=np.where(has_second, second_price, np.nan),
            runner_up_order=np.where(has_second, second_order, np.nan),
            advantage=advantage,
            unsafe=unsafe,
            beyond=view.depth > self.safe.depth,
            outside=outside,
            unknown_series=None if self.attributes is None else attributes_of_view(self.attributes, view)[1],
            untried=untried if self.bounded and self.supports is not None else None,
        )

    def state(self, view: View) -> Floats:
        """State that the value of replayed episodes depends on, (rows, coordinates).

        It is the history block without the closed periods since the anchor, and with the length of their run.
        """
        rows, known = np.arange(len(view.stock)), self._attributes(view)
        more = np.hstack([known, view.depth.astype(np.float64)[:, None]])
        return blocks_of_view(self.asks, view, rows, 0, view.depth, attributes=more)

    def _alike(self, depth: Ints) -> Ints:
        """Depth with the same Q, support and safe actions as each depth, so that such rows are scored together."""
        last, ends_at = max(len(self.q), len(self.supports or ())) - 1, max(self.safe.depth, 1)
        at_end = np.minimum(depth.astype(np.int64), max(last, ends_at + 1))
        return np.asarray(np.where(depth < ends_at - 1, np.minimum(depth, last), at_end))

    def _scored(self, view: View, every_score: bool = True) -> Iterator[_Scored]:
        """All rows, those of like depth together, a chunk at a time; else the greatest scores alone need be right."""
        alike, known = self._alike(view.depth), self._attributes(view)
        for depth in np.unique(alike):
            rows = np.flatnonzero(alike == depth)
            for start in range(0, len(rows), CHUNK):
                at = rows[start : start + CHUNK]
                yield self._scored_at(int(depth), view, at, known[at], every_score)

    def _scored_at(self, depth: int, view: View, at: Ints, known: Floats, every_score: bool) -> _Scored:
        """Rows at a depth."""
        learned, pairs = min(depth, len(self.q) - 1), self.grid.pairs
        if self.pools and learned == len(self.q) - 1:
            known = np.hstack([known, view.depth[at].astype(np.float64)[:, None]])
        block = blocks_of_view(self.asks, view, at, learned, view.depth[at], attributes=known)
        may, untried = self._feasible(view, at), np.zeros(len(at), dtype=bool)
        support = self._support(depth)
        if self.bounded and support is not None:
            may, untried = support.mask(block, may, pairs, len(self.grid.orders))
        may, unsafe = self.safe.mask(depth, block, may, pairs)
        q, penalty = self.q[learned], None
        scores = q.values(block, pairs)
        scores[~may] = -np.inf
        if self.beta and not every_score and isinstance(q, QFunction) and q.basis.has_penalty_of_paper:
            scores = q.less_penalty_where_needed(block, pairs, scores, self.beta)
        elif self.beta:
            penalty = self.penalty(depth, block, may, pairs)
            scores -= penalty
        least, most = self.ranges[learned]
        slack = ROUNDING * (1 + most - least)
        outside = ((block < least - slack) | (block > most + slack)).any(axis=1)
        return _Scored(at, scores, penalty, unsafe, outside, untried)

    def _feasible(self, view: View, at: Ints) -> Bools:
        """Actions that rules, capacity and supply allow, (rows, actions)."""
        features = {name: values[at] for name, values in view.features_by_name(self.asks).items()}
        limit = view.order_limit(self.problem)
        most = None if limit is None else limit[at]
        rules = self.rules.of_view(view, at)
        return rules.feasible(self.grid, view.stock[at], view.last_price[at], features, most)

    def _attributes(self, view: View) -> Floats:
        """The attributes of the series and the demands before the anchor, (rows, columns)."""
        earlier = lags_of_view(view, self.lags)
        if self.attributes is None:
            return earlier
        return np.hstack([attributes_of_view(self.attributes, view)[0], earlier])

    def penalty(self, depth: int, block: Floats, may: Bools | None, actions: Floats) -> Floats:
        """U at a depth, histories against actions, (rows, actions)."""
        q, support = self.q[min(depth, len(self.q) - 1)], self._support(depth)
        if not self.on_gains or support is None:
            return q.penalty(block, actions, self.beta)
        usual = support.usual_action(block, may, actions)
        return q.penalty(block, actions, self.beta * support.gain_weight, usual) + self.margin

    def _support(self, depth: int) -> Support | None:
        return None if self.supports is None else self.supports[min(depth, len(self.supports) - 1)]

    def validate(self) -> None:
        """Raise where the parts of a file are not of the same histories."""
        last, learned = len(self.q) - 1, len(self.q)
        if not self.q or len(self.ranges) != learned:
            raise LostSalesError("there must be one Q and one range a depth, from 0 on")
        if self.supports is not None and len(self.supports) not in (learned, max(learned, 2)):
            raise LostSalesError("there must be a support a depth, from 0 on")
        if self.beta and any(isinstance(q, QFunction) and q.basis.uncertainty is None for q in self.q):
            raise LostSalesError("a policy with a penalty needs the posterior variance of every Q")
        if self.safe.arrival != arrival_of(self.problem):
            raise LostSalesError(f"its orders arrive {self.safe.arrival} sales, but not those of its problem")
        state = 2 + feature_count(self.asks) + 1 + supply_columns(self.problem)
        state += self.lags - 1 + (0 if self.attributes is None else len(self.attributes.columns))
        histories = [*zip(self.q, self.ranges, range(learned), strict=True)]
        histories += [] if self.safe.chance is None else [(self.safe.chance, self.ranges[last], last)]
        for depth, each in enumerate(self.supports or ()):
            histories += [(spread.mean, each.histories, min(depth, last)) for spread in (each.price, each.order)]
            if each.stock_at != 1 + feature_count(self.asks) or each.on_order != self.problem.pipeline_length:
                raise LostSalesError("a support must tell where its histories have the stock")
        for q, least_and_most, depth in histories:
            pooled = self.pools and depth == last
            _check(q, least_and_most, state - 1 + depth * (feature_count(self.asks) + 3) + pooled)
        if self.value is not None:
            _check(self.value.mean, self.value.states, state)


def _check(q: ActionValueFunction, least_and_most: Floats, coordinates: int) -> None:
    """Raise where a Q or a range is of histories of another number of coordinates."""
    if least_and_most.shape != (2, coordinates):
        raise LostSalesError(f"a range must be of {coordinates} coordinates, but is of {least_and_most.shape[1]}")
    if isinstance(q, QFunction):
        q.basis.scaler.check(coordinates)


def q_policy(policy: Policy) -> QPolicy | None:
    """The policy, or the one inside it, where it has one Q-function per depth, else None."""
    while isinstance(policy, PolicyWrapper):
        policy = policy.policy
    return policy if isinstance(policy, QPolicy) else None


def q_functions(policy: Policy) -> tuple[QFunction, ...]:
    """One Q-function per depth where a policy has them as kernel or linear functions, else none."""
    found = q_policy(policy)
    own = () if found is None else found.q
    return tuple(q for q in own if isinstance(q, QFunction)) if all(isinstance(q, QFunction) for q in own) else ()


def boundary_depth(policy: Policy) -> int | None:
    """Rows under the safe action, for a policy with one Q-function per depth for series that are alike, else None."""
    if not isinstance(policy, QPolicy) or policy.attributes is not None or policy.costs:
        return None
    return policy.safe.depth
