"""The error of an estimator on logs whose truth is known: drawn from the learned law, decided by the cloned behaviour.

Fitted Q-evaluation shrinks: from a log of the usual size it finds a part of the gain only. On logs like the one at hand
with demand drawn from its law the value of every policy is known, and so is by how much the estimator misses. Two
estimators disagree only where they differ by more than that.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lostsales.data.confidence import standard_error
from lostsales.data.log import DecisionLog
from lostsales.data.parallel import in_parallel
from lostsales.data.splits import units_of
from lostsales.data.sublogs import series_parts
from lostsales.demand.censoring.evidence import Evidence
from lostsales.demand.censoring.runs import find_runs
from lostsales.demand.law.demand_law import DemandLaw
from lostsales.evaluation.estimators.replay import ReplayMarket, ReplayPeriods, random_decisions, replay, replayed_steps
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.task import EvaluationTask
from lostsales.learn.baselines.behaviour import Behaviour
from lostsales.learn.fit import fit_in_shop_units
from lostsales.policy.policy import Policy
from lostsales.types import Array

DRAWN_LOGS = 6  # on which the error is measured
EPISODES = 300  # replayed to find the true profit under the learned model
# Longer series are drawn in parts of at least this many periods, all at once: a period of many takes as long as of one.
PART = 1_000


class OwnError(NamedTuple):
    """Mean error of an estimator on drawn logs, in profit a period, and the standard error of that mean."""

    mean: float
    error: float


def own_error(task: EvaluationTask, profit: Callable[[EvaluationTask], float]) -> OwnError | None:
    """Error of an estimate of the profit on logs drawn from the demand model of a task; None without a model."""
    prepared, estimand = task.prepared, task.estimand
    if prepared.laws is None:
        return None
    evidence, law = prepared.laws.model.evidence, prepared.laws.law
    at = task.seed, task.start_stock, estimand.restarts
    periods = ReplayPeriods.of(prepared.log, evidence, estimand.horizon, EPISODES, *at)
    played = replay(task.policy, periods, law, estimand.horizon, estimand.discount, task.seed)
    truth = float(played.profit[periods.is_replayed].mean())
    behaviour = fit_in_shop_units(Behaviour(seed=task.seed), prepared.log)

    def error(draw: int) -> float:
        seed = task.seed + 1 + draw
        parts = drawn_periods(prepared.log, evidence, estimand.horizon, seed)
        opens = np.r_[True, np.diff(parts.series) != 0] | estimand.restarts  # an episode; not where a series goes on
        return profit(task.on(drawn_log(prepared, law, behaviour, parts, seed), opens)) - truth

    errors = np.array(in_parallel(error, range(DRAWN_LOGS)))
    return OwnError(float(errors.mean()), standard_error(errors))


def drawn_periods(log: DecisionLog, evidence: Evidence, horizon: int, seed: int) -> ReplayPeriods:
    """The periods of a log, long series in parts that each open as the log did there and hold whole horizons."""
    return ReplayPeriods.of(log, evidence, -(-PART // horizon) * horizon, episodes=1, seed=seed, restarts=True)


def drawn_log(
    prepared: PreparedLog, law: DemandLaw, behaviour: Policy, periods: ReplayPeriods, seed: int
) -> PreparedLog:
    """The periods of a log with other demand, drawn from a law, and the decisions of a behaviour; profits are true."""
    log, evidence = periods.log, periods.evidence
    market = ReplayMarket.of(behaviour, periods, law)
    steps = list(replayed_steps(behaviour, periods, market, random_decisions(seed)))
    kept = periods.is_replayed.T

    def column(values: Sequence[Array | None]) -> Array:
        return np.ascontiguousarray(np.array(values).swapaxes(0, 1)[kept])

    outcomes, views = [each.step.outcome for each in steps], [each.step.view for each in steps]
    begins = np.zeros(kept.shape, dtype=bool)
    begins[:, 0] = True
    drawn: DecisionLog = replace(
        series_parts(log, column([each.rows for each in steps]), begins[kept]),
        stock=column([each.stock for each in views]),
        price=column([each.step.action.price for each in steps]),
        order=column([each.step.action.order for each in steps]),
        sales=column([each.sales for each in outcomes]),
        stockout=None if log.stockout is None else column([each.stockout for each in outcomes]),
        received=None if log.received is None else column([each.arrived for each in outcomes]),
        pipeline=None if log.pipeline is None else column([each.pipeline for each in views]),
        adjustment=None,
        out_of_stock=None,
        open_time=None,
        last_sales=evidence.lag[periods.row[0]],
        last_stockout=np.zeros(len(kept), dtype=bool),
    )
    return replace(
        prepared,
        log=drawn,
        runs=find_runs(drawn),
        units=units_of(drawn, len(prepared.units)),
        profit=column([each.profit for each in steps]),
        laws=None,
        profit_without=None,
        profit_alternatives=None,
    )
