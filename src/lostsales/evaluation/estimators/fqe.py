"""Fitted Q-evaluation (FQE), and the estimate it shares with its doubly robust correction."""

from dataclasses import replace

from lostsales.errors import LostSalesError
from lostsales.evaluation.estimators.overlap import overlap_of_actions
from lostsales.evaluation.estimators.q_evaluation import FqeDesign, FqeSettings, fqe_values
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.results import Estimate, Overlap
from lostsales.evaluation.task import EvaluationTask
from lostsales.types import Floats

# Measured: docs/decisions/evaluation.md.
BIAS_NOTE = "in simulated shops it fell short of the true gain, by more than its interval says: read it as too low"


def fitted_q_evaluation(task: EvaluationTask, settings: FqeSettings | None = None) -> Estimate:
    """Fitted Q-evaluation with one Q per depth, refused where the log shows too few of the policy's actions."""
    overlap = overlap_of_actions(task)
    if not overlap.enough:
        return Estimate("fqe", overlap, reason=overlap.sentence)
    found = q_estimate(task, "fqe", overlap, settings or FqeSettings(seed=task.seed))
    return replace(found, notes=(BIAS_NOTE,))


def q_estimate(
    task: EvaluationTask, name: str, overlap: Overlap, settings: FqeSettings, ratios: Floats | None = None
) -> Estimate:
    """Values and contributions of fitted Q-evaluation, its residuals weighted by `ratios` (rows, horizon) if given."""
    if task.start_stock is not None:
        raise LostSalesError("it judges from where the series of the log started; model can start with another stock")
    prepared, horizon, discount = task.prepared, task.estimand.horizon, task.estimand.discount
    design = FqeDesign.of(prepared.log, prepared.runs, task.rows, task.actions, task.opening_rows, settings)
    given = settings.ridge, ratios
    values = [
        *fqe_values(design, prepared.profit, horizon, (1.0, discount), *given),
        *fqe_values(design, prepared.log.cash, horizon, (1.0,), *given),
    ]
    profit, discounted, cash = (task.contributions(each.of_start, each.residual) for each in values)
    profit, cash = profit / horizon, cash / horizon
    uncertainty = prepared.model_uncertainty
    return Estimate(
        estimator=name,
        overlap=overlap,
        profit=Interval.of(profit, uncertainty),
        cash=Interval.of(cash),
        discounted=Interval.of(discounted, uncertainty * horizon),
        gain=Interval.of(profit - prepared.contributions, uncertainty),
        cash_gain=Interval.of(cash - prepared.units.mean(prepared.log.cash)),
        contributions=profit,
        model_uncertainty=uncertainty,
    )
