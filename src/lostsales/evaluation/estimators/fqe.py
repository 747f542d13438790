"""Fitted Q-evaluation (FQE), and the estimate it shares with its doubly robust correction."""

from typing import NamedTuple

from lostsales.errors import LostSalesError
from lostsales.evaluation.estimators.overlap import overlap_of_actions
from lostsales.evaluation.estimators.own_error import OwnError, own_error
from lostsales.evaluation.estimators.q_evaluation import FqeDesign, FqeSettings, fqe_values
from lostsales.evaluation.interval import Interval
from lostsales.evaluation.results import Estimate, Overlap
from lostsales.evaluation.task import EvaluationTask
from lostsales.types import Floats

# Measured: docs/decisions/evaluation.md.
UNKNOWN_ERROR = "it underestimates the gain, by an amount that cannot be estimated without a demand model"
KNOWN_ERROR = "on logs simulated from the demand model its bias is {:+.2f} per period (standard error {:.2f})"


class Figures(NamedTuple):
    """Earnings of a policy, each as contributions of units with that mean, (units,)."""

    profit: Floats  # a period
    discounted: Floats
    cash: Floats  # a period


def fitted_q_evaluation(task: EvaluationTask, settings: FqeSettings | None = None) -> Estimate:
    """Fitted Q-evaluation with one Q per depth, refused where the log shows too few of the policy's actions."""
    own = settings or FqeSettings(seed=task.seed)
    overlap = overlap_of_actions(task)
    if not overlap.enough:
        return Estimate("fqe", overlap, reason=overlap.sentence)
    error = own_error(task, lambda drawn: float(q_figures(drawn, own).profit.mean()))
    return q_estimate(task, "fqe", overlap, q_figures(task, own), error)


def q_figures(task: EvaluationTask, settings: FqeSettings, ratios: Floats | None = None) -> Figures:
    """Estimate by fitted Q-evaluation, with residuals weighted by `ratios` (rows, horizon) if given."""
    if task.start_stock is not None:
        raise LostSalesError(
            "it starts where the series of the log started; the estimator model can start with another stock"
        )
    prepared, horizon, discount = task.prepared, task.estimand.horizon, task.estimand.discount
    opening = task.opening_rows, task.opening_weight
    design = FqeDesign.of(prepared.log, prepared.runs, task.rows, task.actions, opening, settings)
    given = settings.ridge, ratios
    values = [
        *fqe_values(design, prepared.profit, horizon, (1.0, discount), *given),
        *fqe_values(design, prepared.log.cash, horizon, (1.0,), *given),
    ]
    profit, discounted, cash = (task.contributions(each.of_start, each.residual) for each in values)
    return Figures(profit / horizon, discounted, cash / horizon)


def q_estimate(task: EvaluationTask, name: str, overlap: Overlap, found: Figures, error: OwnError | None) -> Estimate:
    """The estimate of figures, with the error that their estimator has on drawn logs beside it."""
    prepared, (profit, discounted, cash) = task.prepared, found
    uncertainty = prepared.model_uncertainty
    return Estimate(
        estimator=name,
        overlap=overlap,
        profit=Interval.of(profit, uncertainty),
        cash=Interval.of(cash),
        discounted=Interval.of(discounted, uncertainty * task.estimand.horizon),
        gain=Interval.of(profit - prepared.contributions, uncertainty),
        cash_gain=Interval.of(cash - prepared.units.mean(prepared.log.cash)),
        contributions=profit,
        model_uncertainty=uncertainty,
        own_error=0.0 if error is None else error.mean,
        notes=(UNKNOWN_ERROR if error is None else KNOWN_ERROR.format(error.mean, error.error),),
    )
