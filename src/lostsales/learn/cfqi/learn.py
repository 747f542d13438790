"""C-FQI, PC-FQI and fusion from a log: runs, imputed profits, partition by depth, fitted Q-iteration, policy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lostsales.data.cost_features import costs_as_features
from lostsales.data.log import SalesLog
from lostsales.data.parallel import single_threaded
from lostsales.data.progress import Progress
from lostsales.data.splits import Holdout, folds_of, hold_out
from lostsales.demand.censoring.runs import DepthRule, Runs, iterations_rule
from lostsales.demand.survival.imputation import impute
from lostsales.errors import warn
from lostsales.learn.cfqi.allowed_actions import allowed_actions
from lostsales.learn.cfqi.iteration import FittedQ, FqiSettings, iterate
from lostsales.learn.cfqi.partition import Partition, partition, single_partition
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.cfqi.safe_actions import SafeActions, arrival_of, fit_safe_actions
from lostsales.learn.cfqi.support import Support
from lostsales.learn.training_data import TrainingData
from lostsales.policy.file_content import feature_count
from lostsales.policy.series_attributes import SeriesAttributes
from lostsales.types import Floats

if TYPE_CHECKING:
    from lostsales.learn.cfqi.settings import CFQI

MOST_ITERATIONS = 40
AFTER_STOCKOUT_ROWS = 60  # from which on behaviour after a stock-out has a support of its own
RULED_ROWS = 12  # from which on one price or one order after every stock-out counts as a rule
FIXED_SHARE = 0.9  # of the rows that leave one price or order to choose, from which on `fit` says so
STILL_AHEAD = 0.05  # of the value beyond these iterations, from which the cap is told


@dataclass(frozen=True, eq=False)
class CfqiResult:
    """A policy with its Q-functions, partition, runs and surrogate profits."""

    policy: QPolicy
    fitted: FittedQ
    parts: tuple[Partition, ...]
    runs: Runs
    profit: Floats  # (rows,) surrogate profit


def learn(log: SalesLog, settings: "CFQI", progress: Progress | None = None) -> CfqiResult:
    """C-FQI, PC-FQI or fusion on a log (Algorithms 1 and 2)."""
    # Threads add little to factorisations of this size, cost much where the machine is busy, and change the bits.
    with single_threaded():
        return _learn(log, settings, progress)


def _learn(log: SalesLog, settings: "CFQI", progress: Progress | None) -> CfqiResult:
    pool = settings.deeper == "pooled"
    depths = DepthRule(settings.max_depth, pool, settings.depth_rows if pool else 0.0)
    data = TrainingData.of(log, settings.rules, depths.cap, pool=pool, a_coordinate=depths.a_coordinate)
    runs, grid, attributes = data.runs, data.grid, SeriesAttributes.of(log)
    profit = impute(
        log, demand_max=settings.demand_max, tail=settings.tail, replicates=0, runs=runs, seed=settings.seed, quick=True
    ).profit_filled
    assert profit is not None  # the log has stock, orders and costs
    rule = min(iterations_rule(int(runs.usable.sum()), log.problem.discount), MOST_ITERATIONS)
    iterations = rule if settings.iterations is None else settings.iterations
    _say_where_the_cap_bites(int(runs.usable.sum()), log.problem.discount, settings)
    fqi = FqiSettings(
        iterations=iterations,
        discount=log.problem.discount,
        beta=settings.penalty_scale,
        pessimistic_until=settings.pessimistic_iterations(iterations),
        function=settings.penalised_function,
        calibrated=settings.penalty == "calibrated",
        seed=settings.seed,
    )
    priced = costs_as_features(log)
    parts = [single_partition(priced, profit)]
    if not settings.independent:
        parts = partition(priced, runs, profit)
    holdout = hold_out(log, gap=runs.max_depth + 1)
    if settings.independent:
        safe = SafeActions.never(settings.safe, settings.eps, arrival_of(log.problem))
    else:
        safe = fit_safe_actions(priced, runs, holdout, fqi, settings.safe, settings.eps)
    folds = [folds_of(holdout, part.rows) for part in parts]
    on_gains = settings.penalty in ("gains", "calibrated") and fqi.pessimistic_until > 0
    bounded = settings.support == "near"
    supports = _supports(priced, runs, parts, holdout, settings) if on_gains or bounded else None
    bounds = supports if bounded else None
    if not bounded:
        for at, name in enumerate(("price", "order")):
            never = [bool(np.ptp(part.action[:, at]) == 0) for part in parts]
            arbitrary = 'which of all candidates (support="all") is taken is arbitrary'
            _say_what_is_not_learned(f"the {name} never varied", never, arbitrary)
    allowed = [
        allowed_actions(priced, runs, part, grid, safe, data.rules, settings.boundary == "safe", bounds)
        for part in parts
    ]
    fitted = iterate(parts, folds, grid.pairs, allowed, fqi, progress, supports if on_gains else None)
    policy = QPolicy(
        problem=data.problem,
        grid=grid,
        rules=data.rules,
        q=fitted.q,
        safe=safe,
        supports=supports if bounded or (on_gains and fitted.pessimistic) else None,
        bounded=bounded,
        on_gains=on_gains and fitted.pessimistic,
        pools=runs.pooled > 0 and not settings.independent,
        beta=fqi.beta if fitted.pessimistic else 0.0,
        margin=fitted.margin,
        ranges=tuple(_range(part.block, settings.independent) for part in parts),
        usual_demand=data.usual_demand,
        method=settings.method,
        attributes=attributes if attributes.columns else None,
        costs=priced.problem.features[len(log.problem.features) :],
        depth_rule=DepthRule(cap=0) if settings.independent else depths,
    )
    return CfqiResult(policy, fitted, tuple(parts), runs, profit)


def _say_where_the_cap_bites(rows: int, discount: float, settings: "CFQI") -> None:
    asked = iterations_rule(rows, discount)
    if settings.iterations is None and asked > MOST_ITERATIONS and discount**MOST_ITERATIONS > STILL_AHEAD:
        warn(
            f"at discount {discount:g} the rule asks for K = {asked} iterations, and {MOST_ITERATIONS} are made: what "
            f"lies further ahead is left out. iterations={asked} makes them all"
        )


def _supports(
    log: SalesLog, runs: Runs, parts: list[Partition], holdout: Holdout, settings: "CFQI"
) -> tuple[Support, ...]:
    """The support of each depth, and a warning where one price or one order ruled at one.

    After a stock-out behaviour has a support of its own, though Q may be pooled with that of depth 0, unless its rows
    are so few that a stray or two would count as support.
    """
    samples = [(part, np.ones(len(part.rows), dtype=bool)) for part in parts]
    if len(parts) == 1 and not settings.independent:
        after_stockout = runs.depth[parts[0].rows] > 0
        action = parts[0].action[after_stockout]
        ruled = len(action) >= RULED_ROWS and np.ptp(action, axis=0).min() == 0  # one price or one order
        own = ruled or len(action) >= AFTER_STOCKOUT_ROWS
        samples = [(parts[0], ~after_stockout), (parts[0], after_stockout)] if own else samples * 2
    stock_at = 1 + feature_count(log.problem.features)
    found = tuple(
        Support.of(
            part.block[at],
            part.action[at],
            folds_of(holdout, part.rows[at]),
            stock_at,
            settings.seed,
            log.problem.pipeline_length,
        )
        for part, at in samples
    )
    for at, name in enumerate(("price", "order")) if settings.support == "near" else ():
        own = [(getattr(each, name), part, kept) for each, (part, kept) in zip(found, samples, strict=True)]
        constant = [spread.range == 0 for spread, _, _ in own]
        fixed = [
            spread.fixed_share(part.block[kept], part.action[kept, at]) >= FIXED_SHARE for spread, part, kept in own
        ]
        followed = [each and not never for each, never in zip(fixed, constant, strict=True)]
        _say_what_is_not_learned(f"the {name} never varied", constant, "no other is recommended there")
        _say_what_is_not_learned(
            f"after most histories the log supports one {name} alone", followed, "no other is recommended there"
        )
    return found


def _say_what_is_not_learned(fact: str, at_depth: list[bool], consequence: str) -> None:
    """Warn where one price or one order ruled at a depth, or has support alone after most histories."""
    if any(at_depth):
        depths = ", ".join(str(depth) for depth, is_so in enumerate(at_depth) if is_so)
        where = "" if all(at_depth) else f" at depth {depths}"
        warn(f"{fact}{where}: nothing could be learned of its effect, and {consequence}")


def _range(block: Floats, independent: bool) -> Floats:
    """Range of the histories, (2, coordinates); that of the anchor's demand is infinite where demand is independent."""
    found = np.array([block.min(axis=0), block.max(axis=0)])
    if independent:
        found[:, 0] = -np.inf, np.inf
    return found
