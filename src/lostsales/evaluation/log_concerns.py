"""Concerns about a log, whatever the policy."""

import numpy as np

from lostsales.demand.audit.decision_panel import DecisionPanel
from lostsales.demand.audit.robust_regression import coefficient
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.promise.advice import Concern

CHANCE = 1e-3  # significance level of each test
SECOND_LAG_MATTERS = 0.1  # least coefficient of demand at lag 2 that is a concern
DRIFT_MATTERS = 0.5  # least drift over a series that is a concern, in standard deviations of residual demand


def log_concerns(prepared: PreparedLog) -> tuple[Concern, ...]:
    """Concerns about every policy that is evaluated on a log."""
    found = []
    if prepared.log.notes.balance_finding:
        found.append(Concern("red", prepared.log.notes.balance_finding, by_pilot=False))
    is_causal = prepared.laws is not None and prepared.laws.model.is_causal
    if prepared.behaviour.is_hidden and not is_causal:
        found.append(Concern("red", prepared.behaviour.sentence))
    if prepared.laws is not None and not prepared.laws.model.calibration.fits:
        found.append(Concern("red", f"the demand model does not fit: {prepared.laws.model.calibration.reason}"))
    if prepared.panel is not None:
        found += [Concern("red", text) for text in (drift_of(prepared.panel), second_lag_of(prepared.panel)) if text]
    return tuple(found)


def drift_of(panel: DecisionPanel) -> str:
    """Sentence on the drift of demand over the periods of a series, empty if it is not significant."""
    log, series = panel.log, panel.evidence.series
    length = np.diff(np.r_[log.starts, len(log)])[series]
    share = (panel.rows - log.starts[series]) / np.maximum(length - 1, 1)
    trend = coefficient(
        panel.residual, share, np.column_stack([panel.features, panel.price, panel.calendar]), panel.unit
    )
    spread = float(np.nanstd(panel.residual))
    if trend is None or trend.p_value > CHANCE or abs(trend.value) < DRIFT_MATTERS * spread:
        return ""
    way = "rises" if trend.value > 0 else "falls"
    return f"demand has a trend that no column explains: it {way} from the start of a series to its end"


def second_lag_of(panel: DecisionPanel) -> str:
    """Sentence on the effect of demand at lag 2, empty if it is not significant."""
    price, last = panel.price, panel.demand_at(-1)
    controls = np.column_stack([panel.features, price, price**2, last, last**2, price * last, panel.calendar])
    found = coefficient(panel.residual, panel.demand_at(-2), controls, panel.unit)
    if found is None or found.p_value > CHANCE or abs(found.value) < SECOND_LAG_MATTERS:
        return ""
    return f"demand depends on more than the last period: the coefficient of the one before is {found.value:+.2f}"


def is_doubtful(prepared: PreparedLog) -> bool:
    """Return True if the demand model is known to be wrong: misfit, drift, or an unobserved confounder of prices."""
    return any(each.level == "red" and each.by_pilot for each in log_concerns(prepared))
