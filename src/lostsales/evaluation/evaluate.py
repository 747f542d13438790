"""`evaluate`: what a policy would earn, judged from a log alone."""

from collections.abc import Callable

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.data.sublogs import series_of
from lostsales.errors import LostSalesError
from lostsales.evaluation.prepared_log import PreparedLog, check_log
from lostsales.evaluation.results import Estimate, Evaluation, Overlap
from lostsales.evaluation.task import EvaluationTask, check_policy
from lostsales.policy.policy import Policy
from lostsales.registry import Registry

Estimator = Callable[[EvaluationTask], Estimate]
MOST_ROWS = 100_000
# The most trusted first.
ESTIMATORS = Registry[Estimator]("lostsales.estimators", "estimator", first=("model", "fqe", "dr"))


def evaluate(
    policy: Policy,
    log: SalesLog,
    *,
    estimators: tuple[str, ...] | None = None,
    horizon: int | None = None,
    start_stock: float | None = None,
    seed: int = 0,
) -> Evaluation:
    """What a policy would earn, what was earned and the gain, each with a 95 % interval.

    Series start as in the log, over as many periods as is usual there, unless `horizon` or `start_stock` say otherwise.
    """
    named(estimators)
    check_log(log)
    check_policy(policy, log, horizon, start_stock)  # before any work
    ledger, notes = prepare(log, seed)
    return evaluate_on(
        policy, ledger, estimators=estimators, horizon=horizon, start_stock=start_stock, seed=seed, notes=notes
    )


def prepare(log: SalesLog, seed: int = 0, progress: Progress | None = None) -> tuple[PreparedLog, tuple[str, ...]]:
    """What every policy on a log shares, and what must be said about it."""
    some, notes = _sample(log, seed)
    return PreparedLog.of(some, seed, progress), notes


def evaluate_on(
    policy: Policy,
    ledger: PreparedLog,
    *,
    estimators: tuple[str, ...] | None = None,
    horizon: int | None = None,
    start_stock: float | None = None,
    seed: int = 0,
    notes: tuple[str, ...] = (),
    progress: Progress | None = None,
) -> Evaluation:
    """The same on a log that is filled in already, so that several policies share it."""
    names = named(estimators)
    case = EvaluationTask.of(policy, ledger, horizon, seed, start_stock, progress)
    return Evaluation(
        estimand=case.estimand,
        earned=ledger.earned,
        estimates=tuple(_estimate(name, case) for name in names),
        units=ledger.units.names,
        resampled=ledger.units.by,
        notes=notes,
    )


def _estimate(name: str, case: EvaluationTask) -> Estimate:
    """What an estimator says; one that cannot work on this log refuses, and the others go on."""
    try:
        return ESTIMATORS.get(name)(case)
    except LostSalesError as error:
        return Estimate(name, Overlap("nothing", 0.0, 0.0, False, "not judged"), reason=str(error))


def named(asked: tuple[str, ...] | None) -> tuple[str, ...]:
    """The estimators that were asked for, all where none were."""
    ESTIMATORS.check(*(asked or ()))
    return asked or ESTIMATORS.names


def _sample(log: SalesLog, seed: int) -> tuple[SalesLog, tuple[str, ...]]:
    """A random part of the series where rows are too many for one matrix."""
    if not isinstance(log, SalesLog) or len(log) <= MOST_ROWS or len(log.names) < 2:
        return log, ()
    lengths = np.diff(np.r_[log.starts, len(log)])
    drawn = np.random.default_rng(seed).permutation(len(log.names))
    some = drawn[: max(1, int(np.searchsorted(np.cumsum(lengths[drawn]), MOST_ROWS, side="right")))]
    return series_of(log, np.sort(some)), (f"judged from {len(some):,} of {len(lengths):,} series, drawn at random",)
