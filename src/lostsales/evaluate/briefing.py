"""Everything that a report on a policy shows, worked out from the log alone."""

from dataclasses import dataclass

import numpy as np

from lostsales.arrays import Ints
from lostsales.data.describe import Description, describe
from lostsales.data.gate import Progress
from lostsales.data.log import SalesLog
from lostsales.demand.audit import Audit, audit
from lostsales.demand.model import DemandModel
from lostsales.demand.response import Response, response
from lostsales.errors import LostSalesError
from lostsales.evaluate.case import Case
from lostsales.evaluate.change import Change, change
from lostsales.evaluate.choosing import Comparison, compare
from lostsales.evaluate.diagnostics import Diagnostics, diagnose
from lostsales.evaluate.judge import evaluate_on, prepare
from lostsales.evaluate.policy_map import PolicyMaps, draw_maps
from lostsales.evaluate.results import Evaluation
from lostsales.evaluate.story import Trace, tell
from lostsales.policy.artefact import SavedPolicy


@dataclass(frozen=True, eq=False)
class Briefing:
    """The findings, in the order in which they are told."""

    facts: Description
    traces: tuple[Trace, ...]
    audit: Audit
    known_at_depth: Ints  # (depths,) rows whose demand is known
    hidden_at_depth: Ints  # (depths,) rows whose demand is hidden
    model: DemandModel | None  # None where no law of demand can be learned
    response: Response | None  # likewise
    maps: PolicyMaps
    change: Change
    evaluation: Evaluation
    comparison: Comparison | None  # None where no methods were asked for
    diagnostics: Diagnostics

    @property
    def sentence(self) -> str:
        """What gain, with what certainty."""
        best = self.evaluation.best
        if best is None or best.gain is None:
            return "no estimator can judge this policy from this log"
        gain = best.gain
        sure = "a proven gain" if gain.proven else "a proven loss" if gain.high < 0 else "no proven gain"
        return f"{sure}: {gain.value:+.2f} a period, with 95 % certainty {gain.low:+.2f} to {gain.high:+.2f}"


def brief(
    policy: SavedPolicy,
    log: SalesLog,
    *,
    methods: tuple[str, ...] = (),
    horizon: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Briefing:
    """Judge a policy, and methods beside it where they are named."""
    own, given = ({each.name for each in problem.features} for problem in (policy.problem, log.problem))
    if missing := sorted(own - given - _cost_columns(log)):
        raise LostSalesError(f"the policy knows the market by {', '.join(missing)}, and the log's problem does not")
    shares = (5, 1, 6 if methods else 0)  # about how long each part takes

    def part(number: int) -> Progress:
        begins, own = sum(shares[:number]), shares[number]

        def report(done: int, total: int) -> None:
            if progress:
                progress(begins * total + own * done, sum(shares) * total)

        return report

    ledger, notes = prepare(log, seed, part(0))
    case = Case.of(policy, ledger, horizon, seed)
    evaluation = evaluate_on(policy, ledger, horizon=horizon, seed=seed, notes=notes)
    model = None if ledger.laws is None else ledger.laws.model
    told = ledger.runs.depth >= 0
    depth, known = ledger.runs.depth[told], ledger.runs.observed.known[told]
    found = audit(log, seed=seed, progress=part(1))
    return Briefing(
        facts=describe(log),
        traces=tell(ledger),
        audit=found,
        known_at_depth=np.bincount(depth[known], minlength=ledger.runs.longest + 1),
        hidden_at_depth=np.bincount(depth[~known], minlength=ledger.runs.longest + 1),
        model=model,
        response=None if model is None else response(ledger.log, model, seed=seed),
        maps=draw_maps(policy, ledger.log, ledger.runs),
        change=change(case),
        evaluation=evaluation,
        comparison=compare(log, methods, horizon=horizon, seed=seed, progress=part(2)) if methods else None,
        diagnostics=diagnose(case),
    )


def _cost_columns(log: SalesLog) -> set[str]:
    """Columns of unit costs, which a policy may ask for as for features."""
    costs, names = log.problem.costs, log.problem.columns
    named = {each for each in (costs.lost, costs.order, costs.holding) if isinstance(each, str)}
    return named | {names.lost_cost, names.order_cost, names.holding_cost}
