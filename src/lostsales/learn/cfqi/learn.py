"""C-FQI, PC-FQI and fusion from a log: runs, imputed profits, partition by depth, fitted Q-iteration, policy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from lostsales.data.cost_features import costs_as_features
from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.data.splits import folds_of, hold_out
from lostsales.demand.censoring.runs import Runs, iterations_rule
from lostsales.demand.survival.imputation import impute
from lostsales.learn.cfqi.allowed_actions import allowed_actions
from lostsales.learn.cfqi.iteration import FittedQ, FqiSettings, iterate
from lostsales.learn.cfqi.own_actions import OwnActions
from lostsales.learn.cfqi.partition import Partition, partition, single_partition
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.cfqi.safe_actions import SafeActions, arrival_of, fit_safe_actions
from lostsales.learn.cfqi.series_coordinates import SeriesCoordinates
from lostsales.learn.training_data import TrainingData
from lostsales.policy.action_grid import room_of
from lostsales.types import Floats

if TYPE_CHECKING:
    from lostsales.learn.cfqi.settings import CFQI

MOST_ITERATIONS = 40


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
    with threadpool_limits(1):
        return _learn(log, settings, progress)


def _learn(log: SalesLog, settings: "CFQI", progress: Progress | None) -> CfqiResult:
    data = TrainingData.of(log, settings.rules, settings.max_depth)
    runs, actions = data.runs, OwnActions(data.ladders.coarse(), room_of(log.problem))
    coordinates = SeriesCoordinates.of(log)
    profit = impute(
        log, demand_max=settings.demand_max, tail=settings.tail, replicates=0, runs=runs, seed=settings.seed, quick=True
    ).profit_filled
    assert profit is not None  # the log has stock, orders and costs
    rule = min(iterations_rule(int(runs.usable.sum()), log.problem.discount), MOST_ITERATIONS)
    iterations = rule if settings.iterations is None else settings.iterations
    fqi = FqiSettings(
        iterations=iterations,
        discount=log.problem.discount,
        beta=settings.beta,
        pessimistic_until=settings.pessimistic_iterations(iterations),
        function=settings.function,
        seed=settings.seed,
    )
    priced = costs_as_features(log)
    parts = [single_partition(priced, profit, coordinates)]
    if not settings.independent:
        parts = partition(priced, runs, profit, coordinates)
    holdout = hold_out(log, gap=runs.max_depth + 1)
    if settings.independent:
        safe = SafeActions.never(settings.safe, settings.eps, arrival_of(log.problem))
    else:
        safe = fit_safe_actions(priced, runs, holdout, coordinates, fqi, settings.safe, settings.eps)
    limits = coordinates.own_range if coordinates.vary else None
    allowed = [
        allowed_actions(priced, runs, part, depth, actions, safe, data.rules, settings.boundary == "safe", limits)
        for depth, part in enumerate(parts)
    ]
    folds = [folds_of(holdout, part.rows) for part in parts]
    fitted = iterate(parts, folds, actions, allowed, fqi, progress)
    policy = QPolicy(
        problem=data.problem,
        actions=actions,
        rules=data.rules,
        q=fitted.q,
        safe=safe,
        beta=settings.beta if fitted.pessimistic else 0.0,
        ranges=tuple(_range(part.block, settings.independent) for part in parts),
        usual_demand=data.usual_demand,
        method=settings.method,
        coordinates=coordinates if coordinates.vary else None,
        costs=priced.problem.features[len(log.problem.features) :],
        unit_cost=float(data.grid.unit_cost),
    )
    return CfqiResult(policy, fitted, tuple(parts), runs, profit)


def _range(block: Floats, independent: bool) -> Floats:
    """Range of the histories, (2, coordinates); that of the anchor's demand is infinite where demand is independent."""
    found = np.array([block.min(axis=0), block.max(axis=0)])
    if independent:
        found[:, 0] = -np.inf, np.inf
    return found
