"""The policy that C-FQI and its kin learn: greedy in one Q per depth, safe where the learned runs end."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from lostsales.arrays import Array, Bools, Floats, Ints
from lostsales.data.problem import Problem
from lostsales.learn.blocks import block_of_view
from lostsales.learn.fqi import Q
from lostsales.learn.saved import q_arrays, q_from, q_settings, within
from lostsales.policy.actions import ActionGrid
from lostsales.policy.artefact import Artefact
from lostsales.policy.recommend import Decision, Deployable
from lostsales.policy.rollout import Action, View
from lostsales.policy.rules import Rules

Safe = Literal["learned", "paper"]
CHUNK = 2_000  # rows whose kernel stays in the cache
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class SafeActions:
    """Which actions may be taken where a run must end (UP, line 275)."""

    kind: Safe
    chance: Q | None  # estimated chance that the run ends; None where it always did
    eps: float
    depth: int  # max_depth
    arrival: str

    def mask(self, depth: int, block: Floats, feasible: Bools, grid: ActionGrid) -> tuple[Bools, Bools]:
        """Feasible actions that are safe at a depth, (rows, actions), and rows at which none is safe enough, (rows,).

        The paper's: the highest price with the largest order. The learned: a chance to end the run of at least 1 - eps,
        else the likeliest; the paper's in runs longer than learned where every learned one ended.

        An order that arrives after sales cannot end today's run. So its leg acts a period earlier too (but not before a
        run has begun): the largest, as it is where no action is safe enough.
        """
        nobody = np.zeros(len(feasible), dtype=bool)
        price, order = grid.pairs.T
        ends_at = max(self.depth, 1)  # with nothing learned of runs, any is too long
        always_ended = self.kind == "learned" and self.chance is None
        if self.arrival == "after" and 1 <= depth == ends_at - 1 and not always_ended:
            return _at_most(feasible, order), nobody
        if depth < ends_at or (always_ended and depth == self.depth):
            return feasible, nobody
        if self.kind == "paper" or self.chance is None:
            return _at_most(_at_most(feasible, order), price), nobody
        chance = np.where(feasible, self.chance.values(block, grid.pairs), -np.inf)
        enough: Bools = chance >= 1 - self.eps
        none = np.asarray(~enough.any(axis=1))
        likeliest = feasible & (chance >= chance.max(axis=1, keepdims=True) - ROUNDING)
        if self.arrival == "after":
            likeliest = _at_most(likeliest, order)
        return np.where(none[:, None], likeliest, enough), none


def _at_most(feasible: Bools, quantity: Floats) -> Bools:
    """Of the feasible actions of each row those with the largest quantity."""
    largest = np.where(feasible, quantity, -np.inf).max(axis=1, keepdims=True)
    return np.asarray(feasible & (quantity == largest))


@dataclass(frozen=True, eq=False)
class _Scored:
    """Some rows of a view against all actions."""

    rows: Ints
    scores: Floats  # (rows, actions) Q - U, -inf where an action may not be taken
    penalty: Floats | None  # (rows, actions) U, None where there is none
    unsafe: Bools
    outside: Bools


@dataclass(frozen=True, eq=False)
class QPolicy(Deployable):
    """Greedy in Q^(i) (less U^(i) where the learner is pessimistic) at depth i; safe at max_depth and beyond."""

    problem: Problem
    grid: ActionGrid
    rules: Rules
    q: tuple[Q, ...]  # by depth
    safe: SafeActions
    beta: float  # of the penalty, 0 where the last update was not pessimistic
    ranges: tuple[Floats, ...]  # by depth (2, coordinates), least and most of the data
    usual_demand: float
    method: str
    observes: Literal["history"] = "history"
    horizon: None = None

    def decide(self, view: View, rng: np.random.Generator) -> Action:  # noqa: ARG002, the protocol passes it
        """Price and order of every series."""
        last_price = view.past[-1].action.price if view.past else np.full(len(view.stock), np.nan)
        chosen = np.empty(len(view.stock), dtype=np.int64)
        for part in self._scored(view, last_price):
            chosen[part.rows] = part.scores.argmax(axis=1)
        return Action(*self.grid.pairs[chosen].T)

    def explain(self, view: View, last_price: Floats) -> Decision:
        """The decision with its value, penalty, runner-up and warnings."""
        rows = len(view.stock)
        value, penalty, next_value = (np.empty(rows) for _ in range(3))
        best, second = (np.empty(rows, dtype=np.int64) for _ in range(2))
        unsafe, outside = (np.empty(rows, dtype=bool) for _ in range(2))
        for part in self._scored(view, last_price):
            at, scores, row = part.rows, part.scores, np.arange(len(part.rows))
            unsafe[at], outside[at] = part.unsafe, part.outside
            best[at] = first = scores.argmax(axis=1)
            value[at], penalty[at] = scores[row, first], 0.0 if part.penalty is None else part.penalty[row, first]
            scores[row, first] = -np.inf
            second[at] = first = scores.argmax(axis=1)
            next_value[at] = scores[row, first]
        alone = np.isneginf(next_value)
        pairs = self.grid.pairs
        return Decision(
            price=pairs[best, 0],
            order=pairs[best, 1],
            value=value,
            penalty=penalty,
            safe=view.depth >= max(self.safe.depth, 1),
            runner_up_price=np.where(alone, np.nan, pairs[second, 0]),
            runner_up_order=np.where(alone, np.nan, pairs[second, 1]),
            margin=np.where(alone, np.nan, value - next_value),
            unsafe=unsafe,
            beyond=view.depth >= len(self.q),
            outside=outside,
        )

    def _scored(self, view: View, last_price: Floats) -> Iterator[_Scored]:
        """All rows, those of one depth together, a chunk at a time."""
        pairs = self.grid.pairs
        for depth in np.unique(view.depth).tolist():
            at_depth = np.flatnonzero(view.depth == depth)
            learned = min(depth, len(self.q) - 1)
            q, (least, most) = self.q[learned], self.ranges[learned]
            slack = ROUNDING * (1 + most - least)
            for start in range(0, len(at_depth), CHUNK):
                rows = at_depth[start : start + CHUNK]
                block = block_of_view(self.problem, view, rows, learned, depth)
                feasible = self.rules.feasible(self.grid, view.stock[rows], last_price[rows])
                may, unsafe = self.safe.mask(depth, block, feasible, self.grid)
                scores, penalty = q.values(block, pairs), None
                if self.beta:
                    penalty = q.form.penalty(block, self.beta)
                    scores -= penalty
                scores[~may] = -np.inf
                outside = ((block < least - slack) | (block > most + slack)).any(axis=1)
                yield _Scored(rows, scores, penalty, unsafe, outside)

    def to_artefact(self) -> Artefact:
        """What has to be saved."""
        arrays: dict[str, Array] = {"prices": self.grid.prices, "orders": self.grid.orders}
        models = {str(depth): q for depth, q in enumerate(self.q)}
        if self.safe.chance is not None:
            models["chance"] = self.safe.chance
        settings: dict[str, Any] = {
            "method": self.method,
            "room": None if np.isinf(self.grid.room) else self.grid.room,
            "rules": asdict(self.rules),
            "beta": self.beta,
            "usual_demand": self.usual_demand,
            "safe": {"kind": self.safe.kind, "eps": self.safe.eps, "depth": self.safe.depth},
            "models": {name: q_settings(q) for name, q in models.items()},
        }
        for name, q in models.items():
            arrays |= {f"{name}_{key}": each for key, each in q_arrays(q).items()}
        arrays |= {f"{depth}_range": each for depth, each in enumerate(self.ranges)}
        return Artefact("q", self.observes, None, self.problem, settings, arrays)

    @classmethod
    def from_artefact(cls, artefact: Artefact) -> "QPolicy":
        """The policy again."""
        settings, arrays = artefact.settings, artefact.arrays
        models = {name: q_from(each, within(name, arrays)) for name, each in settings["models"].items()}
        depths = len(models) - ("chance" in models)
        rules = settings["rules"]
        ladder, forbidden = rules["price_ladder"], tuple(tuple(pair) for pair in rules["forbidden"])
        safe = settings["safe"]
        return cls(
            problem=artefact.problem,
            grid=ActionGrid(
                arrays["prices"], arrays["orders"], np.inf if settings["room"] is None else settings["room"]
            ),
            rules=Rules(**rules | {"price_ladder": ladder and tuple(ladder), "forbidden": forbidden}),
            q=tuple(models[str(depth)] for depth in range(depths)),
            safe=SafeActions(safe["kind"], models.get("chance"), safe["eps"], safe["depth"], artefact.problem.arrival),
            beta=settings["beta"],
            ranges=tuple(arrays[f"{depth}_range"] for depth in range(depths)),
            usual_demand=settings["usual_demand"],
            method=settings["method"],
        )
