"""The rows of a log by depth, ready for fitted Q-iteration (O_N^(i), Section 3.6)."""

from dataclasses import dataclass, field

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.learn.cfqi.series_coordinates import SeriesCoordinates
from lostsales.policy.history import blocks_of_rows
from lostsales.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Partition:
    """The rows of one depth; at max_depth those of greater depth too."""

    rows: Ints  # (rows,) of the log
    block: Floats  # (rows, coordinates)
    action: Floats  # (rows, 2) price and order
    profit: Floats  # (rows,) R*, imputed where censored
    is_observed: Bools  # (rows,)
    next_observed: Floats  # (observed rows, coordinates at depth 0) W_{t+1}
    scale: Floats | None = None  # (rows,) what units, and with them profits, were divided by; None: nothing
    usual_price: Floats | None = None  # (rows,) what prices, and with them profits, were divided by; None: nothing
    order_multiple: Floats | None = None  # (rows,) what orders come in; None: the same in all
    # After a stock-out; nothing where every demand is observed.
    next_censored: Floats = field(
        default_factory=lambda: np.zeros((0, 0))
    )  # (censored rows, coordinates at next_learned)
    next_depth: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (censored rows,)
    next_learned: int = 0  # depth of the Q that goes on


def single_partition(log: SalesLog, profit: Floats, coordinates: SeriesCoordinates) -> Partition:
    """All rows at depth 0, for independent demand: a stock-out censors profit but no state."""
    rows = np.flatnonzero(log.has_next)
    zero, (scale, usual) = np.zeros(len(rows)), _units(log, rows, coordinates)
    return Partition(
        rows=rows,
        block=_blocks(log, zero, rows, 0, coordinates),
        action=np.column_stack([log.price[rows] / usual, np.asarray(log.order)[rows] / scale]),
        profit=profit[rows] / (scale * usual),
        is_observed=np.ones(len(rows), dtype=bool),
        next_observed=_blocks(log, zero, rows + 1, 0, coordinates),
        scale=scale,
        usual_price=usual,
        order_multiple=_cases(log, rows, coordinates),
    )


def partition(
    log: SalesLog, runs: Runs, profit: Floats, coordinates: SeriesCoordinates | None = None
) -> list[Partition]:
    """The usable rows of every depth up to `max_depth`, whose part has all deeper ones."""
    parts, observed = [], runs.observed
    for depth in range(runs.max_depth + 1):
        rows = np.flatnonzero(runs.usable & (runs.learned_depth == depth))
        is_observed = observed.is_observed[rows]
        ends, goes_on = rows[is_observed], rows[~is_observed]
        scale, usual = _units(log, rows, coordinates)
        to = min(depth + 1, runs.max_depth)
        parts.append(
            Partition(
                rows=rows,
                block=blocks_at_depth(log, runs, rows, depth, coordinates),
                action=np.column_stack([log.price[rows] / usual, np.asarray(log.order)[rows] / scale]),
                profit=profit[rows] / (scale * usual),
                is_observed=is_observed,
                next_observed=blocks_at_depth(log, runs, ends + 1, 0, coordinates),
                next_censored=blocks_at_depth(log, runs, goes_on + 1, to, coordinates),
                next_depth=runs.depth[goes_on] + 1,
                next_learned=to,
                scale=scale,
                usual_price=usual,
                order_multiple=_cases(log, rows, coordinates),
            )
        )
    return parts


def blocks_at_depth(log: SalesLog, runs: Runs, rows: Ints, depth: int, coordinates: SeriesCoordinates | None) -> Floats:
    """The histories of rows as the Q of a depth takes them, (rows, coordinates)."""
    return _blocks(log, runs.anchor_demand[rows], rows, depth, coordinates, runs.run_length(rows, depth))


def _blocks(
    log: SalesLog,
    anchor_demand: Floats,
    rows: Ints,
    depth: int,
    coordinates: SeriesCoordinates | None,
    run_length: Floats | None = None,
) -> Floats:
    scale, usual = _units(log, rows, coordinates)
    known = [] if coordinates is None else [coordinates.values[log.series[rows]]]
    more = [*known, *([] if run_length is None else [run_length])]
    return blocks_of_rows(log, anchor_demand, rows, depth, scale, np.hstack(more) if more else None, usual)


def _units(log: SalesLog, rows: Ints, coordinates: SeriesCoordinates | None) -> tuple[Floats, Floats]:
    """Scale and usual price of the series of rows, each (rows,)."""
    if coordinates is None:
        return np.ones(len(rows)), np.ones(len(rows))
    return coordinates.scale[log.series[rows]], coordinates.usual_price[log.series[rows]]


def _cases(log: SalesLog, rows: Ints, coordinates: SeriesCoordinates | None) -> Floats | None:
    """What the orders of the series of rows come in, (rows,), None where in the same."""
    multiple = None if coordinates is None else coordinates.order_multiple
    return None if multiple is None else multiple[log.series[rows]]
