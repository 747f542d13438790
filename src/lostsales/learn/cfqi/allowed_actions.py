"""Actions of the maximum in the targets of Q: those that the deployed policy is allowed, and what the log supports."""

from dataclasses import replace

import numpy as np

from lostsales.data.feature import feature_count
from lostsales.data.log import SalesLog
from lostsales.data.splits import Holdout, folds_of
from lostsales.demand.censoring.runs import Runs
from lostsales.errors import warn
from lostsales.learn.cfqi.partition import Partition
from lostsales.learn.cfqi.safe_actions import SafeActions
from lostsales.learn.cfqi.settings import CfqiSettings
from lostsales.learn.cfqi.support import Support
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.history import limits_of_rows
from lostsales.policy.rules import Rules
from lostsales.types import Bools, Ints

CHUNK = 20_000  # rows at once: bounds memory


def allowed_actions(
    log: SalesLog,
    runs: Runs,
    part: Partition,
    grid: ActionGrid,
    safe: SafeActions,
    rules: Rules,
    safe_boundary: bool,
    supports: tuple[Support, ...] | None = None,  # by depth
) -> tuple[Bools | None, Bools | None]:
    """Masks (rows, actions) after the observed and after the censored rows of a depth; None where all are allowed."""
    unlimited = rules == Rules() and np.isinf(grid.room) and supports is None
    unlimited &= limits_of_rows(log, part.rows[:0]) is None
    if unlimited and (not safe_boundary or runs.longest == 0):
        return None, None
    masks: list[Bools | None] = []
    observed, actions, n_orders = part.is_observed, grid.pairs, len(grid.orders)
    at_0 = np.zeros(int(observed.sum()), dtype=np.int64)
    for chosen, next_depth, block, learned in (
        (observed, at_0, part.next_observed, 0),
        (~observed, part.next_depth, part.next_censored, max(part.next_learned, 1)),
    ):
        rows = part.rows[chosen]
        may = np.empty((len(rows), len(grid)), dtype=bool)
        for start in range(0, len(rows), CHUNK):
            here = np.arange(start, min(start + CHUNK, len(rows)))
            may[here] = _feasible(log, rows[here], grid, rules)
            if supports is not None:
                may[here] = supports[learned].mask(block[here], may[here], actions, n_orders)[0]
            for each in np.unique(next_depth[here]) if safe_boundary else ():
                there = here[next_depth[here] == each]
                may[there] = safe.mask(int(each), block[there], may[there], actions)[0]
        masks.append(None if may.all() else may)
    return masks[0], masks[1]


def _feasible(log: SalesLog, rows: Ints, grid: ActionGrid, rules: Rules) -> Bools:
    """Actions that the rules allow in the periods after rows, (rows, actions)."""
    assert log.costs is not None  # or the log had been refused
    own, most = rules.of_names(log.names[log.series[rows]]), limits_of_rows(log, rows + 1)
    grid = replace(grid, unit_cost=log.costs.at(rows + 1).order)
    return own.feasible(grid, np.asarray(log.stock)[rows + 1], log.price[rows], log.features_by_name(rows + 1), most)


AFTER_STOCKOUT_ROWS = 60  # from which on behaviour after a stock-out has a support of its own
RULED_ROWS = 12  # from which on one price or one order after every stock-out counts as a rule
FIXED_SHARE = 0.9  # of the rows that leave one price or order to choose, from which on `fit` says so
DECISIONS = ("price", "order")

Sample = tuple[Partition, Bools]  # rows of a part


def supports_by_depth(
    log: SalesLog, runs: Runs, parts: list[Partition], holdout: Holdout, settings: CfqiSettings
) -> tuple[Support, ...]:
    """The support of each depth, and a warning where one price or one order alone is supported at one.

    After a stock-out behaviour has a support of its own, though Q may be pooled with that of depth 0, unless its rows
    are so few that a stray or two would count as support.
    """
    samples: list[Sample] = [(part, np.ones(len(part.rows), dtype=bool)) for part in parts]
    if len(parts) == 1 and not settings.independent:
        after_stockout = runs.depth[parts[0].rows] > 0
        action = parts[0].action[after_stockout]
        ruled = len(action) >= RULED_ROWS and np.ptp(action, axis=0).min() == 0  # one price or one order
        own = ruled or len(action) >= AFTER_STOCKOUT_ROWS
        samples = [(parts[0], ~after_stockout), (parts[0], after_stockout)] if own else samples * 2
    stock_at, on_order = 1 + feature_count(log.problem.features), log.problem.pipeline_length
    supports = tuple(
        Support.of(part.block[at], part.action[at], folds_of(holdout, part.rows[at]), stock_at, settings.seed, on_order)
        for part, at in samples
    )
    if settings.support == "near":
        _warn_of_one_candidate(supports, samples)
    return supports


def warn_of_constants(parts: list[Partition]) -> None:
    """Warn where a price or an order never varied at a depth, though all are candidates."""
    for at, name in enumerate(DECISIONS):
        never = [bool(np.ptp(part.action[:, at]) == 0) for part in parts]
        _warn(f"the {name} never varied", never, 'which of all candidates (support="all") is taken is arbitrary')


def _warn_of_one_candidate(supports: tuple[Support, ...], samples: list[Sample]) -> None:
    for at, name in enumerate(DECISIONS):
        own = [(getattr(each, name), part, kept) for each, (part, kept) in zip(supports, samples, strict=True)]
        constant = [spread.range == 0 for spread, _, _ in own]
        shares = [spread.fixed_share(part.block[kept], part.action[kept, at]) for spread, part, kept in own]
        followed = [share >= FIXED_SHARE and not never for share, never in zip(shares, constant, strict=True)]
        _warn(f"the {name} never varied", constant, "no other is recommended there")
        _warn(f"after most histories the log supports one {name} alone", followed, "no other is recommended there")


def _warn(fact: str, at_depth: list[bool], consequence: str) -> None:
    if any(at_depth):
        depths = ", ".join(str(depth) for depth, is_so in enumerate(at_depth) if is_so)
        where = "" if all(at_depth) else f" at depth {depths}"
        warn(f"{fact}{where}: nothing could be learned of its effect, and {consequence}")
