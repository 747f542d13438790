"""Everything that a report on a policy shows, worked out from the log alone."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.describe import Description, describe
from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress, stages
from lostsales.demand.audit.audit import Audit, audit
from lostsales.demand.law.price_response import PriceResponse, price_response
from lostsales.demand.law.selection import DemandModel
from lostsales.evaluation.compare import Comparison, check_methods, compare_on
from lostsales.evaluation.diagnostics import Diagnostics, diagnose
from lostsales.evaluation.evaluate import evaluate_on, prepare
from lostsales.evaluation.prepared_log import check_log
from lostsales.evaluation.report.action_changes import PolicyChange, change
from lostsales.evaluation.report.policy_map import PolicyMaps, draw_maps
from lostsales.evaluation.report.traces import Trace, tell
from lostsales.evaluation.results import Evaluation
from lostsales.evaluation.task import EvaluationTask, check_policy
from lostsales.policy.policy import SavedPolicy
from lostsales.types import Ints


@dataclass(frozen=True, eq=False)
class ReportContents:
    """The findings, in the order in which they are told."""

    facts: Description
    traces: tuple[Trace, ...]
    audit: Audit
    known_at_depth: Ints  # (depths,) rows whose demand is known
    hidden_at_depth: Ints  # (depths,) rows whose demand is hidden
    model: DemandModel | None  # None where no law of demand can be learned
    response: PriceResponse | None  # likewise
    maps: PolicyMaps
    change: PolicyChange
    evaluation: Evaluation
    comparison: Comparison | None  # None where no methods were asked for
    diagnostics: Diagnostics

    @property
    def beside(self) -> str | None:
        """What the best of the methods compared would gain, None where none were."""
        if self.comparison is None:
            return None
        best, others = self.comparison.candidates[0], f"judged on {self.comparison.held_out} that did not teach them"
        if best.gain is None:
            return f"none of the methods beside it can be {others}"
        sure = f"{best.gain.value:+.2f} a period ({best.gain.low:+.2f} to {best.gain.high:+.2f})"
        proven = "a proven gain" if best.gain.proven else "no proven gain"
        return f"of the methods beside it, {others}, {best.method} does best: {proven}, {sure}"


def brief(
    policy: SavedPolicy,
    log: SalesLog,
    *,
    methods: tuple[str, ...] = (),
    horizon: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> ReportContents:
    """Judge a policy, and methods beside it where they are named."""
    check_policy(policy, log, horizon)
    check_log(log)
    if methods:
        check_methods(methods)
    preparing, judging, auditing, answering, comparing = stages(progress, (6, 6, 1, 1, 3 * len(methods)))
    ledger, notes = prepare(log, seed, preparing)
    case = EvaluationTask.of(policy, ledger, horizon, seed)
    evaluation = evaluate_on(policy, ledger, horizon=horizon, seed=seed, notes=notes, progress=judging)
    model = None if ledger.laws is None else ledger.laws.model
    told = ledger.runs.depth >= 0
    depth, known = ledger.runs.depth[told], ledger.runs.observed.is_observed[told]
    found = audit(log, seed=seed, progress=auditing)
    return ReportContents(
        facts=describe(log),
        traces=tell(ledger),
        audit=found,
        known_at_depth=np.bincount(depth[known], minlength=ledger.runs.longest + 1),
        hidden_at_depth=np.bincount(depth[~known], minlength=ledger.runs.longest + 1),
        model=model,
        response=None if model is None else price_response(ledger.log, model, seed=seed, progress=answering),
        maps=draw_maps(policy, ledger.log, ledger.runs),
        change=change(case),
        evaluation=evaluation,
        comparison=compare_on(ledger, methods, horizon=horizon, seed=seed, progress=comparing) if methods else None,
        diagnostics=diagnose(case),
    )
