"""Everything that a report on a policy shows, worked out from the log alone."""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lostsales.data.assortment import is_assortment, period_word
from lostsales.data.describe import Description, describe
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.progress import Progress, stages
from lostsales.demand.audit.audit import Audit, audit
from lostsales.demand.law.demand_model import DemandModel
from lostsales.demand.law.price_response import PriceResponse, price_response
from lostsales.demand.shop import ShopDemand
from lostsales.errors import LostSalesError
from lostsales.evaluation.assortment import Gain
from lostsales.evaluation.back_test import BackTest, BackTestWindow, back_test
from lostsales.evaluation.compare import Comparison, Methods, check_methods, compare_on
from lostsales.evaluation.cross_fitted import fit_folds, folds_of
from lostsales.evaluation.diagnostics.diagnose import diagnose
from lostsales.evaluation.diagnostics.diagnostic import Diagnostics
from lostsales.evaluation.evaluate import evaluate_on, prepare
from lostsales.evaluation.policy_on_log import check_policy
from lostsales.evaluation.prepared_log import PreparedLog, check_log
from lostsales.evaluation.report.action_changes import ActionChanges, action_changes
from lostsales.evaluation.report.next_decisions import NextDecisions, next_decisions
from lostsales.evaluation.report.policy_map import PolicyMaps, draw_maps
from lostsales.evaluation.report.traces import Trace, typical_traces
from lostsales.evaluation.results import Evaluation
from lostsales.evaluation.task import EvaluationTask
from lostsales.evaluation.trade_off import TradeOff, trade_off
from lostsales.learn.cfqi.policy import q_functions
from lostsales.learn.fit import learner_again, learner_of, refusal_of
from lostsales.learn.learner import LEARNERS
from lostsales.policy.policy import Policy, SavedPolicy
from lostsales.policy.provenance import MetTarget, met_targets
from lostsales.types import Floats, Ints

SIMPLE_RULES = {"base-stock", "capped-base-stock", "constant-order", "newsvendor", "projected-level", "s-S-p"}


@dataclass(frozen=True, eq=False)
class ReportContents:
    """The contents of a report on a policy, in the order of its sections; see `report_contents`.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("newsvendor", episodes=10, seed=1)
    >>> found = report_contents(lostsales.fit(log, "newsvendor"), log, horizon=5)
    >>> found.facts.series, found.comparison is None
    (10, True)

    """

    facts: Description
    decisions: NextDecisions | None  # None where the series are episodes of one shop
    traces: tuple[Trace, ...]
    audit: Audit
    observed_at_depth: Ints  # (depths,) rows whose demand is observed
    censored_at_depth: Ints  # (depths,) rows whose demand is censored
    model: "ReportedModel | None"  # None where no demand model can be learned
    response: PriceResponse | None  # likewise
    maps: PolicyMaps
    action_changes: ActionChanges
    evaluation: Evaluation
    held_out: str | None  # what the policy is evaluated on: "series" or "blocks in time"; None where in-sample
    in_sample_reason: str  # why the gain is in-sample, "" where it is held out
    comparison: Comparison | None  # None where no methods were given
    back_test: BackTest | None  # of the method of the policy; None where it was not asked for or is not known
    diagnostics: Diagnostics | None  # terms of the regret bound; None where the policy has no Q-functions
    currency: str | None
    period_word: str  # day, week or period
    targets: tuple[MetTarget, ...] = ()  # of service that the policy was learned to meet
    trade_off: TradeOff | None = None  # of profit, stock and service; None where no other costs can be tried

    @property
    def basis_sentence(self) -> str:
        """Sentence on the data that the gain of the policy was estimated on."""
        if self.held_out is not None:
            return f"the gain is held out: the method was fitted again without the {self.held_out} it was evaluated on"
        return f"the gain may be in-sample, which is biased upwards: {self.in_sample_reason}"

    @property
    def comparison_sentence(self) -> str | None:
        """The gain of the best method compared in words, None where none were."""
        if self.comparison is None:
            return None
        best, held_out = self.comparison.candidates[0], f"{self.comparison.held_out} held out"
        if best.gain is None:
            return f"none of the compared methods can be evaluated on {held_out}"
        if self.evaluation.withheld:
            return "nor can the gain of the compared methods be determined"
        gain = Gain(best.gain, "per period") if best.assortment is None else best.assortment.total.usual
        gain = gain if self.currency is None else gain._replace(over=f"{self.currency} {gain.over}")
        alike = "also held out" if self.held_out is not None else f"on {held_out}, so that the two cannot be compared"
        return f"for comparison, {_best_of(self.comparison)} would gain {gain.figures}, {alike}"


def report_contents(
    policy: SavedPolicy,
    log: SalesLog,
    *,
    methods: Methods = (),
    horizon: int | None = None,
    windows: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> ReportContents:
    """Evaluate a policy and gather everything that a report on it shows.

    Parameters
    ----------
    policy : SavedPolicy
        What `fit` or `load` gives, made for the same problem as the log.
    log : SalesLog
        What `read_log` gives; it needs stock, orders and unit costs.
    methods : sequence of str or Learner
        Compared with the policy; by default none.
    horizon : int, optional
        Periods to look ahead; by default the median length of a series.
    windows : int
        Windows of a back-test of the policy's method; by default none.
    seed : int
        The same seed gives the same contents.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    ReportContents
        Description, audit, demand model, policy maps, action changes, evaluation, comparison and diagnostics.

    Raises
    ------
    SettingError
        If a method is unknown, the horizon is below 1, or policy and log differ in their problem.
    LostSalesError
        If the log has no stock, orders or costs, or the policy cannot be evaluated from a log.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate(lostsales.Scenario.load("newsvendor", ("horizon=8",)), episodes=12, seed=1)
    >>> policy = lostsales.fit(log, lostsales.Newsvendor())
    >>> found = report_contents(policy, log)
    >>> found.facts.rows, len(found.traces), found.evaluation.best.estimator
    (96, 5, 'model')

    """
    check_policy(policy, log, horizon)
    log = check_log(log)
    if methods:
        check_methods(methods)
        methods = [each for each in methods if refusal_of(learner_of(each, {}), log.problem) is None]
    preparing, refitting, estimating, auditing, responding, comparing, testing = stages(
        progress, (6, 3, 6, 1, 1, 3 * len(methods), 6 * windows)
    )
    prepared, notes = prepare(log, seed, preparing)
    task = EvaluationTask.of(policy, prepared, horizon, seed)
    cross_fitted, held_out, in_sample_reason = _held_out(policy, log, prepared, seed, refitting)
    evaluation = evaluate_on(cross_fitted, prepared, horizon=horizon, seed=seed, notes=notes, progress=estimating)
    model = _reported(prepared)
    runs = prepared.runs
    depth, is_observed = runs.depth[task.rows], runs.observed.is_observed[task.rows]
    found = audit(log, seed=seed, progress=auditing)
    return ReportContents(
        facts=describe(log),
        decisions=next_decisions(policy, log, evaluation.assortment) if _has_products(log) else None,
        traces=typical_traces(prepared),
        audit=found,
        observed_at_depth=np.bincount(depth[is_observed], minlength=runs.longest + 1),
        censored_at_depth=np.bincount(depth[~is_observed], minlength=runs.longest + 1),
        model=model,
        response=_response(prepared, seed, responding),
        maps=draw_maps(policy, prepared.log, runs),
        action_changes=action_changes(task),
        evaluation=evaluation,
        held_out=held_out,
        in_sample_reason=in_sample_reason,
        comparison=compare_on(prepared, methods, horizon=horizon, seed=seed, progress=comparing) if methods else None,
        back_test=_back_test(policy, log, windows, seed, testing),
        diagnostics=diagnose(task) if q_functions(policy) else None,
        currency=log.problem.format.currency,
        period_word=period_word(log),
        targets=met_targets(policy),
        trade_off=trade_off(cross_fitted, prepared, seed, task.estimand.horizon),
    )


class ReportedModel(NamedTuple):
    """Demand model of a report: its name, and how it fits."""

    name: str
    shares: Floats  # (10,) of the rows in each tenth of their distribution
    fits: bool
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, model: DemandModel) -> "ReportedModel":
        """The demand law of episodes."""
        return cls(model.law.family.name, model.calibration.shares, model.calibration.fits, tuple(model.warnings))

    @classmethod
    def of_shop(cls, shop: ShopDemand) -> "ReportedModel":
        """The demand model of a shop."""
        shares = np.histogram(shop.probabilities(), bins=10, range=(0.0, 1.0))[0] / len(shop.mean)
        misfit = shop.misfit()
        warnings = (f"the demand model does not fit: {misfit}",) if misfit else ()
        return cls("level, season, prices and features", shares, not misfit, warnings)


def _reported(prepared: PreparedLog) -> ReportedModel | None:
    if prepared.realised is not None:
        return ReportedModel.of_shop(prepared.realised.shop)
    return None if prepared.laws is None else ReportedModel.of(prepared.laws.model)


def _response(prepared: PreparedLog, seed: int, progress: Progress) -> PriceResponse | None:
    if prepared.realised is not None:
        return prepared.realised.shop.response()
    if prepared.laws is None:
        return None
    return price_response(prepared.log, prepared.laws.model, seed=seed, progress=progress)


def _held_out(
    policy: SavedPolicy, log: DecisionLog, prepared: PreparedLog, seed: int, progress: Progress
) -> tuple[Policy, str | None, str]:
    """Refit the policy on the folds of a comparison for evaluation, or keep it if that is not possible.

    Returns that policy, what is held out or None, and the reason where nothing is.
    """
    learner, reason = learner_again(policy, log)
    if learner is None:
        return policy, None, reason
    try:
        folds, held_out = folds_of(prepared, seed)
        return fit_folds(learner, prepared.log, folds, progress), held_out, ""
    except LostSalesError as error:
        return policy, None, f"it cannot be fitted without some of the rows ({error})"


def _best_of(comparison: Comparison) -> str:
    """The best of the compared methods, with the number of those that have a gain.

    Simple rules are called so, as a manager knows them.
    """
    names = [each.method for each in comparison.candidates if each.gain is not None]
    if len(names) == 1:
        return names[0]
    kind = "simple rules" if set(names) <= SIMPLE_RULES else "methods"
    better = f"the better of two {kind}" if len(names) == 2 else f"the best of {len(names)} {kind}"
    return f"{better} ({names[0]})"


def _back_test(policy: SavedPolicy, log: SalesLog, windows: int, seed: int, progress: Progress) -> BackTest | None:
    method = policy.summary().get("method")
    if not windows or method not in LEARNERS.names:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return back_test(log, method, windows=windows, seed=seed, quick=True, progress=progress)
        except LostSalesError as error:
            return BackTest(method, (BackTestWindow("", "", 0, reason=str(error)),))


def _has_products(log: SalesLog) -> bool:
    return is_assortment(log) or len(log.products) == 1
