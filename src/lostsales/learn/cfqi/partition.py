"""History blocks as matrices: what a decision may depend on since the last known demand."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.encoding import feature_columns
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.demand.censoring.runs import Runs
from lostsales.learn.cfqi.series_coordinates import SeriesCoordinates
from lostsales.policy.rollout import View
from lostsales.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Period:
    """One period of a history, one entry a row; the open one has no action yet."""

    features: tuple[Floats, ...]
    stock: Floats
    price: Floats | None = None
    order: Floats | None = None


def block(
    problem: Problem,
    anchor_demand: Floats,
    periods: list[Period],
    scale: Floats | float = 1.0,
    attributes: Floats | None = None,
) -> Floats:
    """H'_{(t-i):t} (line 268), newest period first: the anchor's demand, then features, stock and past actions.

    Units are divided by the scale of each row's series, and its attributes (rows, columns) come last.
    """
    columns = [anchor_demand / scale]
    for period in periods:
        columns += [*feature_columns(problem, period.features), period.stock / scale]
        if period.price is not None and period.order is not None:
            columns += [period.price, period.order / scale]
    return np.column_stack(columns if attributes is None else [*columns, attributes])


def block_of_log(
    log: SalesLog, anchor_demand: Floats, rows: Ints, depth: int, facts: SeriesCoordinates | None = None
) -> Floats:
    """The blocks of rows of a log, all at one depth."""
    if log.stock is None or log.order is None:
        raise ValueError("a demand-only log has no blocks")
    periods = []
    for back in range(depth + 1):
        at = rows - back
        actions = (log.price[at], log.order[at]) if back else (None, None)
        periods.append(Period(tuple(log.features[at].T), log.stock[at], *actions))
    if facts is None:
        return block(log.problem, anchor_demand, periods)
    series = log.series[rows]
    return block(log.problem, anchor_demand, periods, facts.scale[series], facts.values[series])


def block_of_view(
    problem: Problem,
    view: View,
    chosen: Ints,
    depth: int,
    run: int | None = None,
    scale: Floats | float = 1.0,
    attributes: Floats | None = None,
) -> Floats:
    """The blocks of the chosen series of a view, all at one depth; the anchor lies `run` (or `depth`) periods back."""
    periods = [Period(tuple(each[chosen] for each in view.features), view.stock[chosen])]
    closed = list(reversed(view.past))
    for period in closed[:depth]:
        features = tuple(each[chosen] for each in period.view.features)
        action = period.action.price[chosen], period.action.order[chosen]
        periods.append(Period(features, period.view.stock[chosen], *action))
    back = depth if run is None else run
    anchor = closed[back - 1].view if back else view
    return block(problem, anchor.last_sales[chosen], periods, scale, attributes)


@dataclass(frozen=True, eq=False)
class Partition:
    """The rows of one depth, ready to learn from (O_N^(i), line 531)."""

    rows: Ints  # (rows,) of the log
    block: Floats  # (rows, coordinates)
    action: Floats  # (rows, 2) price and order
    profit: Floats  # (rows,) R*, imputed where censored
    known: Bools  # (rows,)
    next_known: Floats  # (known rows, coordinates at depth 0) W_{t+1} after a known demand
    next_hidden: Floats | None  # (censored rows, coordinates at depth + 1) H'_{(t-i):(t+1)}; None at max_depth
    scale: Floats | None = None  # (rows,) what units and profits were divided by; None: nothing


def whole(log: SalesLog, profit: Floats, facts: SeriesCoordinates) -> Partition:
    """All rows at depth 0, for a demand that does not remember: no history is hidden by a stock-out, only profit is."""
    rows = np.flatnonzero(log.has_next)
    nothing, scale = np.zeros(len(rows)), facts.scale[log.series[rows]]
    return Partition(
        rows=rows,
        block=block_of_log(log, nothing, rows, 0, facts),
        action=np.column_stack([log.price[rows], np.asarray(log.order)[rows] / scale]),
        profit=profit[rows] / scale,
        known=np.ones(len(rows), dtype=bool),
        next_known=block_of_log(log, nothing, rows + 1, 0, facts),
        next_hidden=None,
        scale=scale,
    )


def partition(log: SalesLog, runs: Runs, profit: Floats, facts: SeriesCoordinates | None = None) -> list[Partition]:
    """One part a depth up to `max_depth`, from usable rows only."""
    parts, observed = [], runs.observed
    if log.order is None:
        raise ValueError("a demand-only log has no orders")
    for depth in range(runs.max_depth + 1):
        rows = np.flatnonzero(runs.usable & (runs.depth == depth))
        known = observed.is_observed[rows]
        ends, goes_on = rows[known], rows[~known]
        scale = np.ones(len(rows)) if facts is None else facts.scale[log.series[rows]]
        next_hidden = None
        if depth < runs.max_depth:
            next_hidden = block_of_log(log, runs.anchor_demand[goes_on], goes_on + 1, depth + 1, facts)
        parts.append(
            Partition(
                rows=rows,
                block=block_of_log(log, runs.anchor_demand[rows], rows, depth, facts),
                action=np.column_stack([log.price[rows], log.order[rows] / scale]),
                profit=profit[rows] / scale,
                known=known,
                next_known=block_of_log(log, observed.demand[ends], ends + 1, 0, facts),
                next_hidden=next_hidden,
                scale=scale,
            )
        )
    return parts
