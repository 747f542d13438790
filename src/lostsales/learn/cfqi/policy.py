"""The policy that C-FQI and its kin learn: greedy in one Q per depth, safe where the learned runs end."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lostsales.data.problem import Feature, Problem
from lostsales.errors import LostSalesError
from lostsales.learn.cfqi.partition import block_of_view
from lostsales.learn.cfqi.safe_actions import SafeActions
from lostsales.learn.cfqi.series_coordinates import SeriesCoordinates
from lostsales.learn.cfqi.targets import ActionValueFunction
from lostsales.learn.function.q_arrays import facts_arrays, facts_from, q_arrays, q_from, q_settings, within
from lostsales.learn.function.q_function import QFunction
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.file_format import Artefact
from lostsales.policy.recommendation import Decision, Deployable
from lostsales.policy.rollout import Action, View, features_by_name
from lostsales.policy.rules import Rules
from lostsales.types import Array, Bools, Floats, Ints

CHUNK = 2_000  # rows whose kernel stays in the cache
ROUNDING = 1e-9


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
    q: tuple[ActionValueFunction, ...]  # by depth
    safe: SafeActions
    beta: float  # of the penalty, 0 where the last update was not pessimistic
    ranges: tuple[Floats, ...]  # by depth (2, coordinates), least and most of the data
    usual_demand: float
    method: str
    facts: SeriesCoordinates | None = None  # what tells its series apart; None where nothing does
    costs: tuple[Feature, ...] = ()  # unit costs that vary, asked of each day like features
    observes: Literal["history"] = "history"
    horizon: None = None

    @property
    def seen(self) -> Problem:
        """The problem with all that is asked of a day among its features."""
        return self.problem.model_copy(update={"features": (*self.problem.features, *self.costs)})

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
            beyond=view.depth > self.safe.depth,
            outside=outside,
            unknown_series=None if self.facts is None else self.facts.of_view(view)[2],
        )

    def _scored(self, view: View, last_price: Floats) -> Iterator[_Scored]:
        """All rows, those of one depth and scale together, a chunk at a time."""
        seen, rows = self.seen, len(view.stock)
        scales, attributes, _ = (np.ones(rows), None, None) if self.facts is None else self.facts.of_view(view)
        groups, group_of = np.unique(np.column_stack([view.depth, scales]), axis=0, return_inverse=True)
        for group, (deep, scale) in enumerate(groups):
            depth, in_group = int(deep), np.flatnonzero(group_of.reshape(-1) == group)
            learned = min(depth, len(self.q) - 1)
            q, (least, most) = self.q[learned], self.ranges[learned]
            slack, pairs = ROUNDING * (1 + most - least), self.grid.pairs / [1.0, scale]
            for start in range(0, len(in_group), CHUNK):
                at = in_group[start : start + CHUNK]
                told = None if attributes is None else attributes[at]
                block = block_of_view(seen, view, at, learned, depth, scale, told)
                features = {name: values[at] for name, values in features_by_name(seen, view).items()}
                feasible = self.rules.feasible(self.grid, view.stock[at], last_price[at], features)
                may, unsafe = self.safe.mask(depth, block, feasible, self.grid, scale)
                scores, penalty = q.values(block, pairs) * scale, None
                if self.beta:
                    penalty = q.penalty(block, pairs, self.beta * scale)
                    scores -= penalty
                scores[~may] = -np.inf
                outside = ((block < least - slack) | (block > most + slack)).any(axis=1)
                yield _Scored(at, scores, penalty, unsafe, outside)

    def to_artefact(self) -> Artefact:
        """What has to be saved."""
        arrays: dict[str, Array] = {"prices": self.grid.prices, "orders": self.grid.orders}
        models = {str(depth): _savable(q) for depth, q in enumerate(self.q)}
        if self.safe.chance is not None:
            models["chance"] = _savable(self.safe.chance)
        settings: dict[str, Any] = {
            "method": self.method,
            "room": None if np.isinf(self.grid.room) else self.grid.room,
            "rules": self.rules.saved(),
            "beta": self.beta,
            "usual_demand": self.usual_demand,
            "safe": {"kind": self.safe.kind, "eps": self.safe.eps, "depth": self.safe.depth},
            "models": {name: q_settings(q) for name, q in models.items()},
            "costs": [feature.name for feature in self.costs],
            "attributes": None if self.facts is None else list(self.facts.columns),
        }
        if self.facts is not None:
            arrays |= facts_arrays(self.facts)
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
        safe = settings["safe"]
        return cls(
            problem=artefact.problem,
            grid=ActionGrid(
                arrays["prices"], arrays["orders"], np.inf if settings["room"] is None else settings["room"]
            ),
            rules=Rules.of_saved(settings["rules"]),
            q=tuple(models[str(depth)] for depth in range(depths)),
            safe=SafeActions(safe["kind"], models.get("chance"), safe["eps"], safe["depth"], artefact.problem.arrival),
            beta=settings["beta"],
            ranges=tuple(arrays[f"{depth}_range"] for depth in range(depths)),
            usual_demand=settings["usual_demand"],
            method=settings["method"],
            facts=facts_from(settings["attributes"], within("series", arrays)),
            costs=tuple(Feature(name=name) for name in settings["costs"]),
        )


def _savable(q: ActionValueFunction) -> QFunction:
    if not isinstance(q, QFunction):
        raise LostSalesError(
            f"a policy learned with a {q.name} cannot be saved: the file holds numbers, never code. Learn with a "
            "kernel or a linear function to save it, or keep this one in memory"
        )
    return q
