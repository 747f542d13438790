"""`compare`: fit several methods, judge them all on one log, and name the one to deploy, or none."""

from dataclasses import dataclass, replace
from typing import Any

from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress, stages
from lostsales.data.splits import split
from lostsales.data.sublogs import without
from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluation.cross_fitted import CrossFittedPolicy
from lostsales.evaluation.evaluate import evaluate_on, named, prepare
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.results import Earned, Estimand, Estimate, Interval, plain
from lostsales.evaluation.task import check_horizon
from lostsales.learn.fit import fit
from lostsales.learn.learner import LEARNERS
from lostsales.types import Floats

KEEP = "keep what you do"
USUAL = ("planner", "c-fqi", "pc-fqi", "fusion", "base-stock", "s-S-p", "newsvendor")


@dataclass(frozen=True, eq=False)
class ComparedMethod:
    """A method, fitted without each fold in turn and judged there."""

    method: str
    profit: Interval | None = None
    cash: Interval | None = None
    gain: Interval | None = None  # over what was earned
    behind: Interval | None = None  # how much less than the best, paired; None for the best itself
    contributions: Floats | None = None  # (units,) to the gain
    reason: str | None = None  # why it is not judged


@dataclass(frozen=True, eq=False)
class Comparison:
    """All methods, the best first."""

    candidates: tuple[ComparedMethod, ...]
    choice: str | None  # the method to deploy; None: keep what you do
    sentence: str
    estimand: Estimand
    estimator: str
    earned: Earned
    held_out: str  # "series" or "blocks in time"
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        found: dict[str, Any] = plain(self)
        return found


def compare(
    log: SalesLog,
    methods: tuple[str, ...],
    *,
    estimator: str | None = None,
    horizon: int | None = None,
    seed: int = 0,
    options: dict[str, dict[str, Any]] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Rank methods by what they would earn, cross-fitted: a policy runs only series that did not teach it.

    All are judged by one law of demand, learned from the whole log, on the same days. The estimator is the model's
    where one can be learned, else fitted Q-evaluation. `options` are those of a method by its name.
    """
    check_methods(methods)
    check_horizon(horizon)
    named(None if estimator is None else (estimator,))
    preparing, judging = stages(progress, (1, 2 * len(methods)))
    ledger, notes = prepare(log, seed, preparing)
    return compare_on(
        ledger, methods, estimator=estimator, horizon=horizon, seed=seed, options=options, notes=notes, progress=judging
    )


def check_methods(methods: tuple[str, ...]) -> None:
    """Refuse what cannot be compared."""
    LEARNERS.check(*methods)
    if not methods:
        raise SettingError("give at least one method to compare")


def compare_on(
    ledger: PreparedLog,
    methods: tuple[str, ...],
    *,
    estimator: str | None = None,
    horizon: int | None = None,
    seed: int = 0,
    options: dict[str, dict[str, Any]] | None = None,
    notes: tuple[str, ...] = (),
    progress: Progress | None = None,
) -> Comparison:
    """The same on a log that is filled in already."""
    if estimator is None:
        estimator = "fqe" if ledger.laws is None else "model"
    folds, held_out = split(ledger.log, seed, gap=ledger.runs.max_depth + 1)
    candidates, estimand = [], None
    for method, tick in zip(methods, stages(progress, [1.0] * len(methods)), strict=True):
        fitting, judging = stages(tick, (3, 1))
        try:
            pupils = []
            for number, fold in enumerate(folds):
                pupils.append(
                    fit(without(ledger.log, fold.held_out), method, seed=seed, **(options or {}).get(method, {}))
                )
                fitting(number + 1, len(folds))
            panel = CrossFittedPolicy(
                tuple(pupils), {name: number for number, fold in enumerate(folds) for name in fold.names}
            )
            judged = evaluate_on(panel, ledger, estimators=(estimator,), horizon=horizon, seed=seed, progress=judging)
        except LostSalesError as error:
            candidates.append(ComparedMethod(method, reason=str(error)))
            continue
        estimand = judged.estimand
        candidates.append(_candidate(method, judged.estimates[0], ledger))
    if estimand is None:
        raise LostSalesError(f"no method could be fitted: {candidates[0].method}: {candidates[0].reason}")
    ranked = _ranked(candidates)
    choice, sentence = _choose(ranked)
    return Comparison(ranked, choice, sentence, estimand, estimator, ledger.earned, held_out, notes)


def _candidate(method: str, found: Estimate, ledger: PreparedLog) -> ComparedMethod:
    if found.contributions is None:
        return ComparedMethod(method, reason=found.reason)
    gains = found.contributions - ledger.contributions
    return ComparedMethod(method, found.profit, found.cash, found.gain, contributions=gains)


def usual_methods() -> tuple[str, ...]:
    """What is compared unless methods are named."""
    return tuple(name for name in USUAL if name in LEARNERS)


def _ranked(candidates: list[ComparedMethod]) -> tuple[ComparedMethod, ...]:
    """The best first, each with how far it is behind; the unjudged last."""
    scored = [(each, each.gain.value, each.contributions) for each in candidates if each.gain is not None]
    scored.sort(key=lambda each: -each[1])
    ranked = [
        each if place == 0 else replace(each, behind=Interval.of(scored[0][2] - contributions))
        for place, (each, _, contributions) in enumerate(scored)
        if contributions is not None and scored[0][2] is not None
    ]
    return (*ranked, *(each for each in candidates if each.gain is None))


def _choose(candidates: tuple[ComparedMethod, ...]) -> tuple[str | None, str]:
    """The best of those that gain something with 95 % certainty; a loss is what must not happen, so one side counts."""
    for each in candidates:
        if each.gain is not None and each.contributions is not None:
            floor = each.gain.floor(len(each.contributions))
            if floor > 0:
                gain = f"a gain of {each.gain.value:.2f} a period, above {floor:.2f} with 95 % certainty"
                return each.method, f"deploy {each.method}: {gain}"
    return None, f"{KEEP}: no method has a proven gain"
