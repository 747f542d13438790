"""`evaluate`: the profit of a policy, estimated from a log alone."""

from collections.abc import Sequence

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress, stages
from lostsales.data.sublogs import series_of
from lostsales.errors import LostSalesError
from lostsales.evaluation.estimators.estimator import ESTIMATORS
from lostsales.evaluation.prepared_log import PreparedLog, check_log
from lostsales.evaluation.results import Estimate, Evaluation, Overlap
from lostsales.evaluation.task import EvaluationTask, check_policy
from lostsales.policy.policy import Policy

MOST_ROWS = 100_000


def evaluate(
    policy: Policy,
    log: SalesLog,
    *,
    estimators: Sequence[str] | None = None,
    horizon: int | None = None,
    start_stock: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Estimate what a policy would earn, what was earned and the gain, each with a 95 % interval.

    Parameters
    ----------
    policy : Policy
        What `fit` or `load` gives, made for the same problem as the log.
    log : SalesLog
        What `read_log` gives; it needs stock, orders and unit costs.
    estimators : sequence of str, optional
        Names such as "model", "fqe" and "dr"; all unless given. The first that does not refuse is the answer.
    horizon : int, optional
        Periods to look ahead; the median length of a series unless given.
    start_stock : float, optional
        Stock at the start of every series; as in the log unless given. Only "model" can start from another.
    seed : int
        The same seed gives the same answer.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    Evaluation
        One estimate an estimator, or the reason of its refusal.

    Raises
    ------
    SettingError
        Where an estimator is unknown, an option is out of range, or policy and log differ in their problem.
    LostSalesError
        Where the log has no stock, orders or costs, or the policy needs true demand or a fixed number of periods.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate(lostsales.Scenario.load("newsvendor", ("horizon=8",)), episodes=12, seed=1)
    >>> policy = lostsales.fit(log, lostsales.Newsvendor())
    >>> found = lostsales.evaluate(policy, log, estimators=["model"])
    >>> found.best.estimator, round(found.best.gain.value, 1), found.best.gain.proven
    ('model', 18.9, True)

    """
    checked_estimators(estimators)
    check_log(log)
    check_policy(policy, log, horizon, start_stock)  # before any work
    preparing, estimating = stages(progress, (1, 1))
    prepared, notes = prepare(log, seed, preparing)
    return evaluate_on(
        policy,
        prepared,
        estimators=estimators,
        horizon=horizon,
        start_stock=start_stock,
        seed=seed,
        notes=notes,
        progress=estimating,
    )


def prepare(log: SalesLog, seed: int = 0, progress: Progress | None = None) -> tuple[PreparedLog, tuple[str, ...]]:
    """A log prepared for every policy, and notes for its readers."""
    some, notes = _sample(log, seed)
    prepared = PreparedLog.of(some, seed, progress)
    return prepared, (*notes, log.notes.balance_warning) if log.notes.balance_broken else notes


def evaluate_on(
    policy: Policy,
    prepared: PreparedLog,
    *,
    estimators: Sequence[str] | None = None,
    horizon: int | None = None,
    start_stock: float | None = None,
    seed: int = 0,
    notes: tuple[str, ...] = (),
    progress: Progress | None = None,
) -> Evaluation:
    """`evaluate` on a prepared log, which several policies share."""
    names = checked_estimators(estimators)
    task = EvaluationTask.of(policy, prepared, horizon, seed, start_stock, progress)
    return Evaluation(
        estimand=task.estimand,
        earned=prepared.earned,
        estimates=tuple(_estimate(name, task) for name in names),
        units=prepared.units.names,
        resampled=prepared.units.by,
        notes=notes,
        withheld=prepared.log.notes.balance_finding,
    )


def _estimate(name: str, task: EvaluationTask) -> Estimate:
    """The estimate of one estimator; an error of its own is a refusal, and the others go on."""
    try:
        return ESTIMATORS.get(name)(task)
    except LostSalesError as error:
        return Estimate(name, Overlap("nothing", 0.0, 0.0, False, "not judged"), reason=str(error))


def checked_estimators(asked: Sequence[str] | None) -> tuple[str, ...]:
    """The estimators that were asked for, all where none were; raises where one is unknown."""
    ESTIMATORS.check(*(asked or ()))
    return tuple(asked or ESTIMATORS.names)


def _sample(log: SalesLog, seed: int) -> tuple[SalesLog, tuple[str, ...]]:
    """A random part of the series where rows are too many for one matrix."""
    if not isinstance(log, SalesLog) or len(log) <= MOST_ROWS or len(log.names) < 2:
        return log, ()
    lengths = np.diff(np.r_[log.starts, len(log)])
    drawn = np.random.default_rng(seed).permutation(len(log.names))
    some = drawn[: max(1, int(np.searchsorted(np.cumsum(lengths[drawn]), MOST_ROWS, side="right")))]
    return series_of(log, np.sort(some)), (f"judged from {len(some):,} of {len(lengths):,} series, drawn at random",)
