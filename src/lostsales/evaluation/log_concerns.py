"""Reasons to doubt a gain that lie in the log, whatever the policy."""

import numpy as np

from lostsales.demand.audit.decision_panel import DecisionPanel
from lostsales.demand.audit.robust_regression import coefficient
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.promise.advice import Concern

CHANCE = 1e-3  # of a false alarm of each test
MEMORY_MATTERS = 0.1  # of the demand before the last
DRIFT_MATTERS = 0.5  # standard deviations of unexplained demand, from the start of a series to its end


def log_concerns(prepared: PreparedLog) -> tuple[Concern, ...]:
    """Those that hold for every policy that is judged from a log."""
    found = []
    if prepared.log.notes.balance_finding:
        found.append(Concern("red", prepared.log.notes.balance_finding, by_pilot=False))
    is_causal = prepared.laws is not None and prepared.laws.model.is_causal
    if prepared.behaviour.is_hidden and not is_causal:
        found.append(Concern("red", prepared.behaviour.sentence))
    if prepared.laws is not None and not prepared.laws.model.calibration.fits:
        found.append(Concern("red", f"the demand model does not fit: {prepared.laws.model.calibration.reason}"))
    if prepared.panel is not None:
        found += [Concern("red", text) for text in (drift_of(prepared.panel), memory_of(prepared.panel)) if text]
    return tuple(found)


def drift_of(panel: DecisionPanel) -> str:
    """In words how demand drifts over the periods of a series, empty where it does not beyond chance."""
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


def memory_of(panel: DecisionPanel) -> str:
    """In words that demand remembers more than the last period, empty where it does not beyond chance."""
    price, last = panel.price, panel.demand_at(-1)
    beside = np.column_stack([panel.features, price, price**2, last, last**2, price * last, panel.calendar])
    found = coefficient(panel.residual, panel.demand_at(-2), beside, panel.unit)
    if found is None or found.p_value > CHANCE or abs(found.value) < MEMORY_MATTERS:
        return ""
    return f"demand depends on more than the last period: the coefficient of the one before is {found.value:+.2f}"


def is_doubtful(prepared: PreparedLog) -> bool:
    """Whether the law of demand is known to be wrong: it does not fit, drifts, or prices had a hidden cause."""
    return any(each.level == "red" and each.by_pilot for each in log_concerns(prepared))
