"""`evaluate`: the profit of a policy, estimated from a log alone."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from lostsales.data.log import SalesLog
from lostsales.data.parallel import using_workers
from lostsales.data.progress import Progress, stages
from lostsales.data.sublogs import EVALUATED_ROWS, QUICK_ROWS, evaluated_part
from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluation.concerns import log_concerns, policy_concerns
from lostsales.evaluation.estimators.estimator import ESTIMATORS
from lostsales.evaluation.policy_on_log import check_policy
from lostsales.evaluation.prepared_log import PreparedLog, check_log
from lostsales.evaluation.results import Estimate, Evaluation, Overlap
from lostsales.evaluation.task import EvaluationTask
from lostsales.policy.policy import Policy

_logger = logging.getLogger(__name__)
SHARES = (1, 5)  # of the time, for the demand models and for the estimators; measured on `steady`
SHOP_ESTIMATORS = ("model", "dr")  # by default
QUICK_NOTE = "quick: from fewer rows, units and episodes, so that intervals are wider"


def evaluate(
    policy: Policy,
    log: SalesLog,
    *,
    estimators: Sequence[str] | None = None,
    horizon: int | None = None,
    start_stock: float | None = None,
    seed: int = 0,
    rows: int | None = None,
    quick: bool = False,
    workers: int | None = None,
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
        Names such as "model", "fqe" and "dr"; by default all. The first that does not refuse is the answer.
    horizon : int, optional
        Periods to look ahead; by default the median length of a series, at most 100: longer series are then cut into
        episodes of 100 periods.
    start_stock : float, optional
        Stock at the start of every series; by default that of the log. Only "model" can start from another.
    seed : int
        The same seed gives the same answer, on any number of workers.
    rows : int, optional
        The most rows to evaluate on, by default 40,000: of a larger log some series are drawn, and long ones cut.
    quick : bool
        Evaluate on at most 5,000 rows, with fewer units and episodes.
    workers : int, optional
        Threads; by default those of the machine, at most four.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    Evaluation
        One estimate an estimator, or the reason of its refusal.

    Raises
    ------
    SettingError
        If an estimator is unknown, an option is out of range, or policy and log differ in their problem.
    LostSalesError
        If the log has no stock, orders or costs, or the policy needs true demand or a fixed number of periods.

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
    _logger.info("a policy is evaluated on %s rows of %s series", len(log), len(log.names))
    check_policy(policy, log, horizon, start_stock)  # before any work
    preparing, estimating = stages(progress, SHARES)
    with using_workers(workers):
        prepared, notes = prepare(log, seed, preparing, rows, quick)
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


def prepare(
    log: SalesLog, seed: int = 0, progress: Progress | None = None, rows: int | None = None, quick: bool = False
) -> tuple[PreparedLog, tuple[str, ...]]:
    """A log, or the part of it that policies are evaluated on, prepared for every policy, and notes for its readers."""
    check_log(log)
    most = (QUICK_ROWS if quick else EVALUATED_ROWS) if rows is None else rows
    if most < 1:
        raise SettingError(f"rows must be at least 1, but {most} came")
    some, notes = evaluated_part(log, most, seed)
    prepared = replace(PreparedLog.of(some, seed, progress, quick), is_part=len(some) < len(log))
    if prepared.products_in_log:
        prepared = replace(prepared, products_in_log=len(log.products))
    notes = (*notes, QUICK_NOTE) if quick else notes
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
    # Fitted Q-evaluation knows no level that moves: of a shop it is only made where it is asked for.
    names = checked_estimators(SHOP_ESTIMATORS if estimators is None and prepared.realised is not None else estimators)
    task = EvaluationTask.of(policy, prepared, horizon, seed, start_stock, progress)
    estimates = tuple(_estimate(name, task) for name in names)
    return Evaluation(
        estimand=task.estimand,
        earned=prepared.earned,
        estimates=estimates,
        units=prepared.units.names,
        resampled=prepared.units.by,
        notes=notes,
        concerns=(*log_concerns(prepared), *policy_concerns(task, estimates)),
    )


def _estimate(name: str, task: EvaluationTask) -> Estimate:
    """The estimate of one estimator; an error of its own is a refusal, and the others go on."""
    try:
        return ESTIMATORS.get(name)(task)
    except LostSalesError as error:
        return Estimate(name, Overlap("nothing", 0.0, 0.0, False, "not evaluated"), reason=str(error))


def checked_estimators(asked: Sequence[str] | None) -> tuple[str, ...]:
    """The estimators that were asked for, all where none were; raises where one is unknown."""
    ESTIMATORS.check(*(asked or ()))
    return tuple(asked or ESTIMATORS.names)
