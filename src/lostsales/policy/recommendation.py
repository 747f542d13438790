"""Recommendations: tables of recent and open rows in, a table of decisions out."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from lostsales.data.problem import Problem
from lostsales.data.reading.table import open_table
from lostsales.errors import LostSalesError
from lostsales.policy.file_format import SavedPolicy, save
from lostsales.policy.open_day import situation
from lostsales.policy.rollout import View
from lostsales.types import Array, Bools, Floats, Ints

OUTSIDE = "outside the data"
BEYOND = "a longer run of stock-outs than was learned"
UNKNOWN_SERIES = "a series that the log never had: it is taken for a usual one"
UNSAFE = "no action is safe enough: the likeliest to end the run"


@dataclass(frozen=True, eq=False)
class Decision:
    """What is decided for each row, and why."""

    price: Floats
    order: Floats
    value: Floats
    penalty: Floats
    safe: Bools  # the safe action at the end of the learned runs fired
    runner_up_price: Floats
    runner_up_order: Floats
    margin: Floats  # by how much the runner-up loses
    unsafe: Bools  # no action was safe enough: the likeliest to end the run was taken
    beyond: Bools  # the run of stock-outs is longer than any that was learned
    outside: Bools  # today lies outside the data
    more: dict[str, Floats] = field(default_factory=dict)  # what else this kind of policy tells, by column
    unknown_series: Bools | None = None  # a series that the log never had; None where that makes no difference


class Explains(SavedPolicy, Protocol):
    """A policy that can say why."""

    @property
    def usual_demand(self) -> float:
        """The demand that stands in where nothing is known."""
        ...

    def explain(self, view: View, last_price: Floats) -> Decision:
        """Decide for every row of a view."""
        ...


class Deployed(SavedPolicy, Protocol):
    """What `fit` returns: a policy to save and to ask."""

    def save(self, path: str | Path) -> None:
        """Write it to a file for `lostsales.load`."""
        ...

    def recommend(self, recent: Any, today: Any) -> Any:
        """Price and order for today's open rows."""
        ...


class Deployable:
    """Gives a policy that explains itself `save` and `recommend`."""

    def save(self: SavedPolicy, path: str | Path) -> None:
        """Write it to a file for `lostsales.load`."""
        save(self, path)

    def recommend(self: Explains, recent: Any, today: Any) -> Any:
        """Price and order for today's open rows, as a table of the same library and in the order of `today`.

        `recent` holds closed rows of each series, back to its last known demand at least (or None on day one).
        """
        import narwhals as nw

        if isinstance(today, str | Path):
            raise LostSalesError("today must be a pandas, polars or Arrow table; `lostsales recommend` reads files")
        keys, decided = recommend_columns(self, recent, today)
        frame = nw.from_native(today, eager_only=True)
        named = frame.select(*keys)  # as they came, so that the answer can be joined to any other table
        columns = (nw.new_series(name, values, backend=frame.implementation) for name, values in decided.items())
        return named.with_columns(*columns).to_native()


def ready(policy: SavedPolicy) -> Explains:
    """The policy as one that can recommend, or an error that says why it cannot."""
    if policy.observes == "demand":
        raise LostSalesError("this policy needs true demand, which no shop sees: it can only be simulated")
    if not hasattr(policy, "explain"):
        raise LostSalesError("this policy can only be simulated: it does not explain its decisions")
    return cast(Explains, policy)


def recommend_columns(policy: Explains, recent: Any, today: Any) -> tuple[dict[str, Array], dict[str, Array]]:
    """The columns that name today's rows, and those of the recommendation; both arguments are tables or paths."""
    problem: Problem = getattr(policy, "seen", policy.problem)
    now = situation(problem, None if recent is None else open_table(recent), open_table(today), policy.usual_demand)
    decision = policy.explain(now.view, now.last_price)
    depth: Ints = now.view.depth.astype(np.int64)
    flags = now.flags | {BEYOND: decision.beyond, OUTSIDE: decision.outside, UNSAFE: decision.unsafe}
    if decision.unknown_series is not None:
        flags[UNKNOWN_SERIES] = decision.unknown_series
    return now.keys, {
        "price": decision.price,
        "order": decision.order,
        "depth": depth,
        "value": decision.value,
        "penalty": decision.penalty,
        "safe_action": decision.safe,
        "runner_up_price": decision.runner_up_price,
        "runner_up_order": decision.runner_up_order,
        "margin": decision.margin,
        "flag": said(flags),
        **decision.more,
    }


def said(flags: dict[str, Bools]) -> Array:
    """All that is said of each row, as one text.

    >>> said({"late": np.array([True, False]), "dear": np.array([True, True])})
    array(['late; dear', 'dear'], dtype=object)
    """
    pattern = np.stack(list(flags.values()), axis=1) @ (1 << np.arange(len(flags)))
    texts = ["; ".join(text for bit, text in enumerate(flags) if each >> bit & 1) for each in range(1 << len(flags))]
    return np.array(texts, dtype=object)[pattern]
