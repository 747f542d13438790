"""`compare`: fit several methods, evaluate them all on one log, and name the one to deploy, or none."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lostsales import plots
from lostsales.data.log import SalesLog
from lostsales.data.parallel import using_workers
from lostsales.data.progress import Progress, stages
from lostsales.data.splits import FOLDS
from lostsales.data.sublogs import COMPARED_ROWS, QUICK_ROWS
from lostsales.demand.audit.behaviour import PriceSetting
from lostsales.errors import LostSalesError, SettingError
from lostsales.evaluation.advice import KEEP_CURRENT, Advice, Concern, advice, texts
from lostsales.evaluation.assortment import AssortmentGain, decisive_gain
from lostsales.evaluation.concerns import log_concerns
from lostsales.evaluation.cross_fitted import fit_folds, folds_of
from lostsales.evaluation.evaluate import checked_estimators, evaluate_on, prepare
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.policy_on_log import check_horizon
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.results import Earned, Estimand, Evaluation, assortment_json, plain
from lostsales.evaluation.sensitivity import Sensitivity
from lostsales.evaluation.service import ServiceComparison
from lostsales.learn.fit import learner_of
from lostsales.learn.learner import LEARNERS, Learner
from lostsales.policy.provenance import PolicyVerdict
from lostsales.types import Floats

USUAL_METHODS = ("planner", "c-fqi", "pc-fqi", "fusion", "base-stock", "s-S-p", "newsvendor")

Methods = Sequence[str | Learner]  # names, or settings of learners
MethodSettings = dict[str, dict[str, Any]]  # by name of a method


@dataclass(frozen=True, eq=False)
class ComparedMethod:
    """A method, cross-fitted: fitted without each fold in turn and evaluated there."""

    method: str
    profit: Interval | None = None
    cash: Interval | None = None
    gain: Interval | None = None  # over the logged profit
    cash_gain: Interval | None = None  # over the logged cash
    behind: Interval | None = None  # difference from the best, paired; None for the best itself
    contributions: Floats | None = None  # (units,) to the gain
    reason: str | None = None  # why there is no figure
    assortment: AssortmentGain | None = None  # gains by product; None where the log has no products
    sensitivity: Sensitivity | None = None  # of the gain to a hidden cause of the prices
    concerns: tuple[Concern, ...] = ()  # of the log and of the method
    service: ServiceComparison | None = None  # next to that of the log; None where the estimator replays no periods

    @property
    def advice(self) -> Advice:
        """Advice by the gain and the concerns."""
        return advice(None if self.gain is None else decisive_gain(self.gain, self.assortment).interval, self.concerns)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods ranked by their estimated gain, and the one to deploy.

    Attributes
    ----------
    candidates : tuple of ComparedMethod
        The best first, those without a figure last.
    choice : str or None
        The best method whose 95 % interval of the gain lies above zero and about which there is no concern; None: none
        may be deployed. Of an assortment the one that gains most where it decides for the products that are chosen for
        it (`chosen`).
    verdict : str
        "deploy" the choice, prove a method in a "pilot" first, or "keep" what is done.
    sentence : str
        The verdict in words.
    estimand : Estimand
        Horizon, discount and start.
    estimator : str
        The estimator of all figures.
    earned : Earned
        The logged profit.
    held_out : str
        What a fold is: "series" or "blocks in time".
    notes : tuple of str
        What a reader must know beside the figures.
    left_out : dict
        Rows of the log that the learners of the paper do not use, by reason.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate(lostsales.Scenario.load("newsvendor", ("horizon=8",)), episodes=12, seed=1)
    >>> found = lostsales.compare(log, ["newsvendor"])
    >>> found.verdict, found.estimator, found.held_out
    ('pilot', 'model', 'series')

    """

    candidates: tuple[ComparedMethod, ...]
    choice: str | None
    sentence: str
    estimand: Estimand
    estimator: str
    earned: Earned
    held_out: str
    notes: tuple[str, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)
    verdict: Advice = "keep"
    to_try: str | None = None  # the method to prove in a pilot, where that is the verdict
    concerns: tuple[Concern, ...] = ()  # of the log
    price_setting: PriceSetting = "unknown"  # how prices were set: freely, shown, hidden or unknown

    def to_json(self) -> dict[str, Any]:
        """Content for JSON."""
        found: dict[str, Any] = plain(self)
        for shown, each in zip(found["candidates"], self.candidates, strict=True):
            shown["assortment"] = assortment_json(each.assortment)
        products = None if self.chosen is None else plain(self.chosen.choice)
        return found | {"products": products}

    @property
    def policy_verdict(self) -> PolicyVerdict:
        """The verdict as the file of the chosen policy keeps it."""
        reason = self.sentence.removeprefix(f"deploy {self.choice}: ")
        return PolicyVerdict(advice=self.verdict, reason=reason, held_out=True)

    def plot(self) -> Any:
        """Picture of the gain of each method."""
        figures = [(each.method, each.gain) for each in self.candidates]
        return plots.draw_intervals(figures, "Gain over the current practice, held out", "gain per period")

    def _repr_html_(self) -> str:
        return plots.html(self.sentence, self.plot)

    @property
    def chosen(self) -> AssortmentGain | None:
        """Gains by product of the method to deploy, None where there is none or the log has no products."""
        return next((each.assortment for each in self.candidates if each.method == self.choice), None)


def compare(
    log: SalesLog,
    methods: Methods | None = None,
    *,
    estimator: str | None = None,
    horizon: int | None = None,
    seed: int = 0,
    settings: MethodSettings | None = None,
    rows: int | None = None,
    quick: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Rank methods by what they would earn, cross-fitted: a policy decides only for series it was not fitted to.

    Parameters
    ----------
    log : SalesLog
        What `read_log` gives; it needs stock, orders and unit costs.
    methods : sequence of str or Learner, optional
        Names, or settings such as ``CFQI(iterations=10)``; by default a broad choice.
    estimator : str, optional
        Evaluates all methods; by default "model" if a demand model can be learned, else "fqe".
    horizon : int, optional
        Periods to look ahead; by default the median length of a series, at most 100: longer series are then cut into
        episodes of 100 periods.
    seed : int
        The same seed gives the same answer, on any number of workers; learners given as settings have their own.
    settings : dict, optional
        Settings by the name of a method.
    rows : int, optional
        The most rows to evaluate on, by default 20,000: of a larger log some series are drawn, and long ones cut.
    quick : bool
        Evaluate on at most 5,000 rows, with fewer folds, units and episodes, and quick settings of the methods.
    workers : int, optional
        Threads; by default those of the machine, at most four.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    Comparison
        The methods, the best first, and the one to deploy, if any.

    Raises
    ------
    SettingError
        If a method or estimator is unknown, or the horizon is below 1.
    LostSalesError
        If the log has no stock, orders or costs, or no method can be fitted to it.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate(lostsales.Scenario.load("newsvendor", ("horizon=8",)), episodes=12, seed=1)
    >>> learners = [lostsales.Newsvendor(), lostsales.BaseStock()]
    >>> found = lostsales.compare(log, learners, estimator="fqe")
    >>> sorted(each.method for each in found.candidates)
    ['base-stock', 'newsvendor']

    """
    methods = usual_methods() if methods is None else methods
    check_methods(methods)
    check_horizon(horizon)
    checked_estimators(None if estimator is None else (estimator,))
    preparing, comparing = stages(progress, (1, 2 * len(methods)))
    if rows is None:
        rows = QUICK_ROWS if quick else COMPARED_ROWS
    with using_workers(workers):
        prepared, notes = prepare(log, seed, preparing, rows, quick)
        return compare_on(
            prepared,
            methods,
            estimator=estimator,
            horizon=horizon,
            seed=seed,
            settings=settings,
            notes=notes,
            progress=comparing,
        )


def usual_methods() -> tuple[str, ...]:
    """The methods that are compared unless some are given."""
    return tuple(name for name in USUAL_METHODS if name in LEARNERS)


def check_methods(methods: Methods) -> None:
    """Raise where there is no method, or one is unknown."""
    for each in methods:
        LEARNERS.check(each) if isinstance(each, str) else learner_of(each, {})
    if not methods:
        raise SettingError("give at least one method to compare")


def compare_on(
    prepared: PreparedLog,
    methods: Methods,
    *,
    estimator: str | None = None,
    horizon: int | None = None,
    seed: int = 0,
    settings: MethodSettings | None = None,
    notes: tuple[str, ...] = (),
    progress: Progress | None = None,
) -> Comparison:
    """`compare` on a prepared log; a method that fails, whatever its exception, leaves the others' results."""
    if estimator is None:
        estimator = "model" if prepared.has_model else "fqe"
    folds, held_out = folds_of(prepared, seed)
    count = len(folds)
    candidates, estimand = [], None
    for method, name, tick in zip(methods, _names(methods), stages(progress, [1.0] * len(methods)), strict=True):
        fitting, estimating = stages(tick, (3, 1))
        try:
            own = {"seed": seed, **(settings or {}).get(method, {})} if isinstance(method, str) else {}
            learner = learner_of(method, own)
            policy = fit_folds(learner.quick() if prepared.quick else learner, prepared.log, folds, fitting)
            found = evaluate_on(
                policy, prepared, estimators=(estimator,), horizon=horizon, seed=seed, progress=estimating
            )
        except Exception as error:  # noqa: BLE001, of any kind: the others are worth having
            candidates.append(ComparedMethod(name, reason=_reason(error)))
            tick(1, 1)
            continue
        estimand = found.estimand
        candidates.append(_candidate(name, found, prepared))
    if estimand is None:
        reasons = "; ".join(f"{each.method}: {each.reason}" for each in candidates)
        raise LostSalesError(f"no method could be fitted: {reasons}")
    ranked = _ranked(candidates)
    doubts = log_concerns(prepared)
    verdict, named, sentence = _choose(ranked, doubts)
    left_out = {reason: rows for reason, rows in prepared.runs.left_out.items() if rows}
    if count != FOLDS:
        notes = (*notes, f"each method is fitted {count} times, without each of {count} folds, not {FOLDS} times")
    return Comparison(
        candidates=ranked,
        choice=named if verdict == "deploy" else None,
        sentence=sentence,
        estimand=estimand,
        estimator=estimator,
        earned=prepared.earned,
        held_out=held_out,
        notes=notes,
        left_out=left_out,
        verdict=verdict,
        to_try=named if verdict == "pilot" else None,
        concerns=doubts,
        price_setting=prepared.behaviour.verdict,
    )


def _reason(error: Exception) -> str:
    """Reason of a failure, in one line."""
    if isinstance(error, LostSalesError):
        return str(error)
    if isinstance(error, MemoryError):
        return "it ran out of memory; try --quick, fewer --rows or one worker"
    return f"it failed with {type(error).__name__}: {' '.join(str(error).split())}"


def _names(methods: Methods) -> list[str]:
    """Names of methods: settings by their method, numbered if that name is taken."""
    names: list[str] = []
    for each in methods:
        name = each if isinstance(each, str) else each.method
        taken = 0 if isinstance(each, str) else sum(one.split(" (")[0] == name for one in names)
        names.append(f"{name} ({taken + 1})" if taken else name)
    return names


def _candidate(method: str, evaluation: Evaluation, prepared: PreparedLog) -> ComparedMethod:
    found = evaluation.estimates[0]
    if found.contributions is None:
        return ComparedMethod(method, reason=found.reason)
    gains = found.contributions - prepared.contributions
    assortment = found.assortment
    if assortment is not None and evaluation.concerns:
        assortment = assortment.doubted
    return ComparedMethod(
        method,
        found.profit,
        found.cash,
        found.gain,
        found.cash_gain,
        contributions=gains,
        assortment=assortment,
        sensitivity=found.sensitivity,
        concerns=evaluation.concerns,
        service=found.service,
    )


def _ranked(candidates: list[ComparedMethod]) -> tuple[ComparedMethod, ...]:
    """The best first, each with its difference from the best; those without a figure last. Products by their total."""
    scored = [
        (each, each.gain.value if each.assortment is None else each.assortment.total.period.value, each.contributions)
        for each in candidates
        if each.gain is not None
    ]
    scored.sort(key=lambda each: -each[1])
    ranked = [
        each if place == 0 else replace(each, behind=Interval.of(scored[0][2] - contributions))
        for place, (each, _, contributions) in enumerate(scored)
        if contributions is not None and scored[0][2] is not None
    ]
    return (*ranked, *(each for each in candidates if each.gain is None))


def _choose(candidates: tuple[ComparedMethod, ...], doubts: tuple[Concern, ...]) -> tuple[Advice, str | None, str]:
    """The verdict, the method to deploy or to prove in a pilot, and the sentence.

    If the log gives red concerns no gain is claimed, whatever the figures say.
    """
    withheld = texts(doubts, "red")
    parts = [each for each in candidates if each.assortment is not None and not texts(each.concerns, "amber")]
    if parts and not withheld:
        choice, best = max(((each.assortment.choice, each) for each in parts if each.assortment is not None),
                           key=lambda each: each[0].gain.period.value)  # fmt: skip
        if choice.products:
            return "deploy", best.method, f"deploy {best.method}: {choice.sentence}"
    for wanted in ("deploy", "pilot"):
        for each in candidates:
            if each.gain is None or each.advice != wanted or (wanted == "deploy" and each.assortment is not None):
                continue
            figures = decisive_gain(each.gain, each.assortment).figures
            if wanted == "deploy":
                return "deploy", each.method, f"deploy {each.method}: a proven gain, {figures}"
            doubt = withheld or texts(each.concerns, "amber") or f"its gain is not proven, {figures}"
            return "pilot", each.method, f"{KEEP_CURRENT} for now, and test {each.method} in a pilot: {doubt}"
    if withheld:
        return "keep", None, f"{KEEP_CURRENT}: the gain of no method can be determined, as {withheld}"
    whole = " for all products" if any(each.assortment is not None for each in candidates) else ""
    return "keep", None, f"{KEEP_CURRENT}{whole}: no method has a proven gain"
