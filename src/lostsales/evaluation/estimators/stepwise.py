"""Estimates that go back step by step: fitted Q-evaluation, and whatever corrects its residuals."""

from dataclasses import replace

from lostsales.errors import LostSalesError
from lostsales.evaluation.estimators.fqe import FqeDesign, FqeSettings, fqe_values
from lostsales.evaluation.estimators.overlap import overlap_of_actions
from lostsales.evaluation.results import Estimate, Interval, Overlap
from lostsales.evaluation.task import EvaluationTask
from lostsales.types import Floats

# Measured: docs/decisions/evaluation.md.
SHORT = "in simulated shops it fell short of the true gain, by more than its interval says: read it as too low"


def fitted_q_evaluation(case: EvaluationTask, settings: FqeSettings | None = None) -> Estimate:
    """Fitted Q-evaluation with one Q per depth (see `fqe`)."""
    overlap = overlap_of_actions(case)
    if not overlap.enough:
        return Estimate("fqe", overlap, reason=overlap.sentence)
    found = stepwise(case, "fqe", overlap, settings or FqeSettings(seed=case.seed))
    return replace(found, notes=(SHORT,))


def stepwise(
    case: EvaluationTask, name: str, overlap: Overlap, settings: FqeSettings, ratios: Floats | None = None
) -> Estimate:
    """Value and contributions of fitted Q-evaluation, its residuals weighed by `ratios` where they are given."""
    if case.start_stock is not None:
        raise LostSalesError("it judges from where the series of the log started; model can start with another stock")
    ledger, horizon, discount = case.ledger, case.estimand.horizon, case.estimand.discount
    design = FqeDesign.of(ledger.log, ledger.runs, case.known, case.decided, case.opens, settings)
    given = settings.ridge, ratios
    values = [
        *fqe_values(design, ledger.profit, horizon, (1.0, discount), *given),
        *fqe_values(design, ledger.log.cash, horizon, (1.0,), *given),
    ]
    profit, discounted, cash = (case.contributions(each.of_start, each.residual) for each in values)
    profit, cash = profit / horizon, cash / horizon
    return Estimate(
        estimator=name,
        overlap=overlap,
        profit=Interval.of(profit, ledger.doubt),
        cash=Interval.of(cash),
        discounted=Interval.of(discounted, ledger.doubt * horizon),
        gain=Interval.of(profit - ledger.contributions, ledger.doubt),
        cash_gain=Interval.of(cash - ledger.units.mean(ledger.log.cash)),
        contributions=profit,
        doubt=ledger.doubt,
    )
