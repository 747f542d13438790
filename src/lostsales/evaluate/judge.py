"""`evaluate`: what a policy would earn, judged from a log alone."""

from collections.abc import Callable

import numpy as np

from lostsales.data.gate import Progress
from lostsales.data.log import SalesLog
from lostsales.errors import SettingError
from lostsales.evaluate.case import Case
from lostsales.evaluate.dr import doubly_robust
from lostsales.evaluate.fqe import FqeDesign, FqeSettings, fqe_values
from lostsales.evaluate.ledger import Ledger
from lostsales.evaluate.model import on_the_model
from lostsales.evaluate.overlap import overlap_of_actions
from lostsales.evaluate.parts import series_of
from lostsales.evaluate.results import Estimate, Evaluation, Interval
from lostsales.policy.rollout import Policy

Estimator = Callable[[Case], Estimate]
MOST_ROWS = 100_000
_ESTIMATORS: dict[str, Estimator] = {}


def register_estimator(name: str, estimator: Estimator) -> None:
    """Make an estimator known to `evaluate`."""
    _ESTIMATORS[name] = estimator


def estimators() -> tuple[str, ...]:
    """Their names, the most trusted first."""
    return tuple(_ESTIMATORS)


def evaluate(
    policy: Policy,
    log: SalesLog,
    *,
    estimators: tuple[str, ...] | None = None,
    horizon: int | None = None,
    seed: int = 0,
) -> Evaluation:
    """What a policy would earn, what was earned and the gain, each with a 95 % interval."""
    ledger, notes = prepare(log, seed)
    return evaluate_on(policy, ledger, estimators=estimators, horizon=horizon, seed=seed, notes=notes)


def prepare(log: SalesLog, seed: int = 0, progress: Progress | None = None) -> tuple[Ledger, tuple[str, ...]]:
    """What every policy on a log shares, and what must be said about it."""
    some, notes = _sample(log, seed)
    return Ledger.of(some, seed, progress), notes


def evaluate_on(
    policy: Policy,
    ledger: Ledger,
    *,
    estimators: tuple[str, ...] | None = None,
    horizon: int | None = None,
    seed: int = 0,
    notes: tuple[str, ...] = (),
) -> Evaluation:
    """The same on a log that is filled in already, so that several policies share it."""
    names = tuple(_ESTIMATORS) if estimators is None else estimators
    if unknown := [name for name in names if name not in _ESTIMATORS]:
        raise SettingError(f"no estimator {unknown[0]!r}; there are {', '.join(_ESTIMATORS)}")
    case = Case.of(policy, ledger, horizon, seed)
    return Evaluation(
        estimand=case.estimand,
        earned=ledger.earned,
        estimates=tuple(_ESTIMATORS[name](case) for name in names),
        units=ledger.units.names,
        resampled=ledger.units.by,
        notes=notes,
    )


def _sample(log: SalesLog, seed: int) -> tuple[SalesLog, tuple[str, ...]]:
    """A random part of the series where rows are too many for one matrix."""
    if not isinstance(log, SalesLog) or len(log) <= MOST_ROWS or len(log.names) < 2:
        return log, ()
    lengths = np.diff(np.r_[log.starts, len(log)])
    drawn = np.random.default_rng(seed).permutation(len(log.names))
    some = drawn[: max(1, int(np.searchsorted(np.cumsum(lengths[drawn]), MOST_ROWS, side="right")))]
    return series_of(log, np.sort(some)), (f"judged from {len(some):,} of {len(lengths):,} series, drawn at random",)


def fitted_q(case: Case, settings: FqeSettings | None = None) -> Estimate:
    """Fitted Q-evaluation with one Q per depth (see `fqe`)."""
    overlap = overlap_of_actions(case)
    if not overlap.enough:
        return Estimate("fqe", overlap, reason=overlap.sentence)
    settings = settings or FqeSettings(seed=case.seed)
    ledger, horizon, discount = case.ledger, case.estimand.horizon, case.estimand.discount
    design = FqeDesign.of(ledger.log, ledger.runs, case.known, case.decided, case.opens, settings)
    profit, discounted = fqe_values(design, ledger.profit, horizon, (1.0, discount), settings.ridge)
    (cash,) = fqe_values(design, ledger.log.cash, horizon, (1.0,), settings.ridge)
    per_period = [case.contributions(each.of_start, each.residual) / horizon for each in (profit, cash)]
    return Estimate(
        estimator="fqe",
        overlap=overlap,
        profit=Interval.of(per_period[0]),
        cash=Interval.of(per_period[1]),
        discounted=Interval.of(case.contributions(discounted.of_start, discounted.residual)),
        gain=Interval.of(per_period[0] - ledger.contributions),
        cash_gain=Interval.of(per_period[1] - ledger.units.mean(ledger.log.cash)),
        contributions=per_period[0],
    )


register_estimator("model", on_the_model)
register_estimator("fqe", fitted_q)
register_estimator("dr", doubly_robust)
