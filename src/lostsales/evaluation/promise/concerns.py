"""Reasons to doubt a gain: red ones withhold it, amber ones keep it from being called proven."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lostsales.demand.audit.decision_panel import DecisionPanel
from lostsales.demand.audit.robust_regression import coefficient
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.results import Estimate
from lostsales.evaluation.task import EvaluationTask

WITHIN_CHANCE = 2.0  # standard errors
OTHER_PRICES = 0.02  # relative change of the mean price from which a policy counts as setting other prices
EVERYWHERE = 0.95  # share of the decisions
RARELY = 0.2  # share of the rows of the log
DISAGREE = 2.0  # times the gain by another estimator
DRIFT_CHANCE = 1e-3
DRIFT_MATTERS = 0.5  # standard deviations of unexplained demand, from the start of a series to its end

Level = Literal["amber", "red"]


@dataclass(frozen=True)
class Concern:
    """A reason to doubt."""

    level: Level
    text: str


def log_concerns(prepared: PreparedLog) -> tuple[Concern, ...]:
    """Those that hold for every policy that is judged from a log."""
    found = []
    if prepared.log.notes.balance_finding:
        found.append(Concern("red", prepared.log.notes.balance_finding))
    if prepared.behaviour.is_hidden:
        found.append(Concern("red", prepared.behaviour.sentence))
    if prepared.laws is not None and not prepared.laws.model.calibration.fits:
        found.append(Concern("red", f"the demand model does not fit: {prepared.laws.model.calibration.reason}"))
    if prepared.panel is not None and (drift := drift_of(prepared.panel)):
        found.append(Concern("red", drift))
    return tuple(found)


def drift_of(panel: DecisionPanel) -> str:
    """In words how demand drifts over the periods of a series, empty where it does not beyond chance."""
    log, series = panel.log, panel.evidence.series
    length = np.diff(np.r_[log.starts, len(log)])[series]
    share = (panel.rows - log.starts[series]) / np.maximum(length - 1, 1)
    trend = coefficient(panel.residual, share, np.column_stack([panel.features, panel.price, panel.calendar]), panel.unit)
    spread = float(np.nanstd(panel.residual))
    if trend is None or trend.p_value > DRIFT_CHANCE or abs(trend.value) < DRIFT_MATTERS * spread:
        return ""
    way = "rises" if trend.value > 0 else "falls"
    return f"the market drifts: demand {way} from the start of a series to its end in a way that no column shows"


def policy_concerns(task: EvaluationTask, estimates: tuple[Estimate, ...]) -> Iterator[Concern]:
    """Those of one policy."""
    price = task.actions[:, :, 0].mean(axis=0)
    logged = task.logged_actions[:, 0]
    moves = abs(float(price.mean()) / max(float(logged.mean()), 1e-12) - 1) > OTHER_PRICES
    panel = task.prepared.panel
    if panel is not None and moves and np.ptp(panel.price) > 0:
        effect = price_effect(panel)
        if effect is None or abs(effect) < WITHIN_CHANCE:
            yield Concern("amber", "the effect of the price on demand is within chance, and the policy sets other prices")
    if edge := _edge(task):
        yield Concern("amber", edge)
    yield from _disagreement(estimates)


def price_effect(panel: DecisionPanel) -> float | None:
    """The slope of demand on the price in standard errors, None where it cannot be told."""
    beside = np.column_stack([panel.features, panel.sales_at(-1), panel.calendar])
    found = coefficient(panel.demand, panel.price, beside, panel.unit)
    return None if found is None else found.t


def _edge(task: EvaluationTask) -> str:
    """Where the policy sets the same end of its prices nearly everywhere, and the log rarely did."""
    ladders = getattr(task.policy, "may_recommend", None)
    if ladders is None or ladders.relative_prices or len(ladders.prices) < 3:
        return ""
    price, logged = task.actions[:, :, 0], task.logged_actions[:, 0]
    for name, end in (("lowest", ladders.prices[0]), ("highest", ladders.prices[-1])):
        if np.mean(np.isclose(price, end)) >= EVERYWHERE and np.mean(np.isclose(logged, end)) < RARELY:
            return f"the best price is the {name} one nearly everywhere ({end:g}), which the log rarely shows"
    return ""


def _disagreement(estimates: tuple[Estimate, ...]) -> Iterator[Concern]:
    gains = [(each.estimator, each.gain.value) for each in estimates if each.gain is not None]
    for name, gain in gains[1:]:
        first = gains[0][1]
        if first > 0 and gain * DISAGREE < first:
            yield Concern("amber", f"estimators disagree: a gain of {first:.2f} by {gains[0][0]}, {gain:.2f} by {name}")
