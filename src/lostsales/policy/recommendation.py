"""Recommendations: tables of recent and open rows in, a table of decisions out."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

from lostsales.data.labels import beside
from lostsales.data.pipelines import arrival_texts
from lostsales.data.problem import Problem
from lostsales.data.reading.table import open_table
from lostsales.errors import LostSalesError
from lostsales.policy.coming_periods import rows_that_are_open
from lostsales.policy.decision import Decision
from lostsales.policy.limits import AppliedLimit, within_limits
from lostsales.policy.next_day import next_day
from lostsales.policy.open_day import OpenDay, read_open_day
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.provenance import NOT_EVALUATED, verdict_of
from lostsales.policy.recent_rows import RecentRows
from lostsales.policy.view import Action, View
from lostsales.types import Array, Bools, Floats

Decide = Callable[[Any, View, np.random.Generator], Action]
PREFIX = "recommended_"  # of a column whose name the table has given to another
OUTSIDE = "outside the data"
BEYOND = "a longer run of stock-outs than was learned"
UNKNOWN_SERIES = "a product that the log never had: it is treated as a typical one"
NOT_CHOSEN = "no proven gain for this product: keep what you do"
UNSEEN = "a price or an order that this series never had"
NEVER_ORDERED = "no order was ever logged for this product: candidates follow from its demand"
ONE_PRICE = "only one price was ever charged: it is kept"
UNTRIED = "one price or one order only was tried in such a case: it is kept"
UNSAFE = "no action is safe enough: the likeliest to end the run"


@dataclass(frozen=True, eq=False)
class Recommendation:
    """Today's decisions as columns, in the order of today's rows and under the names of its table."""

    problem: Problem
    keys: dict[str, Array]  # the columns that name a row, as they came
    columns: dict[str, Array]  # price and order by their names in the table, depth, value, ...
    limits: tuple[AppliedLimit, ...] = ()  # that the products share, and what the orders use of them

    @property
    def table(self) -> dict[str, Array]:
        """All columns; a column of the decision that shares its name with a key gets the prefix `recommended_`."""
        return self.keys | beside(self.columns, self.keys, PREFIX)

    @property
    def text_table(self) -> dict[str, Array]:
        """All columns for a text file or a screen: dates as the problem declares it, prices and orders without `.0`."""
        names = self.problem.columns
        whole = {name: _whole(self.columns[name]) for name in (names.price, names.order)}
        return self.table | whole | {names.period: self._written_period()}

    def _written_period(self) -> Array:
        period, formats = self.keys[self.problem.columns.period], self.problem.format.date_formats
        if period.dtype.kind != "M":
            return period
        if formats:
            moments = period.astype("datetime64[us]").astype(object)
            return np.array([each.strftime(formats[0]) for each in moments], dtype=object)
        days = period.astype("datetime64[D]")
        return days if (days == period).all() else period


def _whole(values: Floats) -> Array:
    """Values as integers if all are whole."""
    return values.astype(np.int64) if (values == np.rint(values)).all() and (np.abs(values) < 2**53).all() else values


def recommend(policy: SavedPolicy, recent: Any, today: Any = None) -> Any:
    """The recommendation as a table of the same library as `today`, whose key columns stay as they came.

    Without `today` it is for the period after the recent rows, in a table of their library.
    """
    if isinstance(today, str | Path) or (today is None and isinstance(recent, str | Path)):
        raise LostSalesError("today must be a pandas, polars or Arrow table; `lostsales recommend` reads files")
    found = recommendation(policy, recent, today)
    if today is not None:
        return as_frame(found, today)
    import narwhals as nw

    return nw.from_dict(found.table, backend=nw.from_native(recent).implementation).to_native()


def on_tables(decide: Decide) -> Decide:
    """The `decide` of a policy, which then decides for the rows of a table too."""

    @wraps(decide)
    def either(policy: SavedPolicy, view: Any, rng: Any = None) -> Any:
        return decide(policy, view, rng) if isinstance(view, View) else _decided(policy, decide, view, rng)

    return either


def _decided(policy: SavedPolicy, decide: Decide, rows: Any, recent: Any) -> Any:
    """Price and order of every row of a table, each decided alone; rows without a name or a period are numbered."""
    import narwhals as nw

    table, names = nw.from_native(rows, eager_only=True), policy.problem.columns
    missing = [name for name in (*names.series_parts, names.period) if name not in table.columns]
    table = table.with_columns(
        *(nw.new_series(name, np.arange(len(table)), backend=table.implementation) for name in missing)
    )
    day = open_day(policy, recent, table.to_native(), repeats=True)
    action = decide(policy, day.view, np.random.default_rng(0))
    found = as_frame(
        Recommendation(policy.problem, day.keys, {names.price: action.price, names.order: action.order}),
        table.to_native(),
    )
    return nw.from_native(found).drop(missing).to_native()


def as_frame(found: Recommendation, today: Any) -> Any:
    """A recommendation as a table of the same library as `today`; rows that only announce features are left out."""
    import narwhals as nw

    given = nw.from_native(today)
    frame = given.collect() if isinstance(given, nw.LazyFrame) else given
    if any(len(each) < len(frame) for each in found.keys.values()):
        frame = frame[rows_that_are_open(found.problem, open_table(frame.to_native())).tolist()]
    own = beside(found.columns, found.keys, PREFIX)
    columns = (nw.new_series(name, values, backend=frame.implementation) for name, values in own.items())
    return frame.select(*found.keys).with_columns(*columns).to_native()


def recommendation(policy: SavedPolicy, recent: Any, today: Any, *, reasons: bool = True) -> Recommendation:
    """Decide for today's rows, or for the period after the recent rows where there are none.

    Both are tables or paths, open or not, and `recent` may be read already.
    """
    return recommended(policy, open_day(policy, recent, today), reasons=reasons)


def open_day(policy: SavedPolicy, recent: Any, today: Any, *, repeats: bool = False) -> OpenDay:
    """Today's rows as a policy asks for them; `repeats` allows several rows of a series, each decided alone."""
    if policy.refusal is not None:
        raise LostSalesError(policy.refusal)
    problem = policy.problem.model_copy(update={"features": policy.asks})
    if recent is not None and not isinstance(recent, RecentRows):
        table = open_table(recent)
        recent = RecentRows.read(problem, table) if table.rows else None
    if today is None:
        if recent is None:
            raise LostSalesError("without today's rows, recent rows are needed: the next period follows from them")
        today = next_day(recent)
    return read_open_day(problem, recent, open_table(today), policy.usual_demand, repeats=repeats)


def recommended(policy: SavedPolicy, day: OpenDay, *, reasons: bool = True) -> Recommendation:
    """Decide for an open day; what drove the prices, in words, takes longer than the decisions."""
    view, limits = within_limits(policy, day.view)
    problem, decision = policy.problem, policy.explain(view)
    _check_usable(decision)
    flags = day.flags | decision_flags(decision)
    actions = {problem.columns.price: decision.price, problem.columns.order: decision.order}
    others: dict[str, Array] = {
        "depth": day.view.depth.astype(np.int64),
        "value": decision.value,
        "penalty": decision.penalty,
        "safe_action": decision.safe,
        "runner_up_price": decision.runner_up_price,
        "runner_up_order": decision.runner_up_order,
        "advantage": decision.advantage,
        "flag": joined_flags(flags),
        "verdict": _verdicts(policy, decision),
    }
    if day.view.pipeline is not None:
        others["on_order"] = day.view.on_order
        others["expected_arrivals"] = arrival_texts(problem, day.view.pipeline)
    if "expected_lost" in decision.more:
        demand = decision.more["expected_demand"]
        served = 1.0 - decision.more["expected_lost"] / np.where(demand > 0, demand, 1.0)
        others["expected_fill_rate"] = np.where(demand > 0, served, 1.0)
    more = others | decision.more | (decision.reasons() if reasons else {})
    return Recommendation(policy.problem, day.keys, actions | beside(more, actions, PREFIX), limits)


def _check_usable(decision: Decision) -> None:
    """Raise where a price or an order is none, as the numbers of a policy file can lead to."""
    for name, values in (("a price", decision.price), ("an order", decision.order)):
        wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
        if len(wrong):
            raise LostSalesError(
                f"the policy decides {name} of {values[wrong[0]]:g} for row {wrong[0]} of today, which is none: its "
                "numbers do not fit this row"
            )


def _verdicts(policy: SavedPolicy, decision: Decision) -> Array:
    """Verdict on the policy for each row: keep where it should not decide for a product."""
    found = verdict_of(policy)
    advised = NOT_EVALUATED if found is None else found.advice
    kept = False if decision.not_chosen is None else decision.not_chosen
    return np.where(np.broadcast_to(kept, len(decision.price)), "keep", advised).astype(object)


def decision_flags(decision: Decision) -> dict[str, Bools]:
    """Warnings about each row of a decision, by their text."""
    flags = {BEYOND: decision.beyond, OUTSIDE: decision.outside, UNSAFE: decision.unsafe}
    some = {
        UNKNOWN_SERIES: decision.unknown_series,
        NOT_CHOSEN: decision.not_chosen,
        UNSEEN: decision.unseen,
        UNTRIED: decision.untried,
        NEVER_ORDERED: decision.never_ordered,
        ONE_PRICE: decision.one_price,
    }
    return flags | {text: rows for text, rows in some.items() if rows is not None}


def joined_flags(flags: dict[str, Bools]) -> Array:
    """All flags of each row as one text.

    >>> joined_flags({"late": np.array([True, False]), "dear": np.array([True, True])})
    array(['late; dear', 'dear'], dtype=object)
    """
    pattern = np.stack(list(flags.values()), axis=1) @ (1 << np.arange(len(flags)))
    seen, place = np.unique(pattern, return_inverse=True)
    texts = ["; ".join(text for bit, text in enumerate(flags) if each >> bit & 1) for each in seen.tolist()]
    return np.array(texts, dtype=object)[place]
