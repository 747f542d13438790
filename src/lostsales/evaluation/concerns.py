"""Concerns about a gain: of the log, whatever the policy, and of the actions and estimates of a policy."""

from collections.abc import Iterator

import numpy as np

from lostsales.demand.audit.decision_panel import DecisionPanel
from lostsales.demand.audit.robust_regression import coefficient
from lostsales.evaluation.advice import Concern
from lostsales.evaluation.prepared_log import PreparedLog
from lostsales.evaluation.results import Estimate
from lostsales.evaluation.task import EvaluationTask

CHANCE = 1e-3  # significance level of each test
SECOND_LAG_MATTERS = 0.1  # least coefficient of demand at lag 2 that is a concern
DRIFT_MATTERS = 0.5  # least drift over a series that is a concern, in standard deviations of residual demand
WITHIN_CHANCE = 2.0  # standard errors below which the price effect is not significant
OTHER_PRICES = 0.02  # relative change of the mean price beyond which a policy sets other prices
EVERYWHERE = 0.95  # share of the decisions at one end of the prices, from which on this is a concern ...
RARELY = 0.2  # ... if that price has less than this share of the rows of the log
RUN_DOWN = 0.5  # largest share of a gain that may come from less stock at the end
DISAGREE = 2.0  # factor between two estimators, beyond which they disagree


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
    if prepared.realised is not None and (misfit := prepared.realised.shop.misfit(prepared.seed)):
        found.append(Concern("red", f"the demand model does not fit: {misfit}"))
    if prepared.panel is not None and prepared.realised is None:  # the level of a shop may drift
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


def policy_concerns(task: EvaluationTask, estimates: tuple[Estimate, ...]) -> Iterator[Concern]:
    """Concerns about one policy."""
    price = task.actions[:, :, 0].mean(axis=0)
    logged = task.logged_actions[:, 0]
    moves = abs(float(price.mean()) / max(float(logged.mean()), 1e-12) - 1) > OTHER_PRICES
    panel = task.prepared.panel
    if panel is not None and moves and np.ptp(panel.price) > 0:
        effect = price_effect(panel)
        if effect is None or abs(effect) < WITHIN_CHANCE:
            yield Concern("amber", "the price effect is not significant, and the policy sets other prices")
    if edge := _edge(task):
        yield Concern("amber", edge)
    yield from run_down(estimates)
    yield from _disagreement(estimates)


def price_effect(panel: DecisionPanel) -> float | None:
    """Slope of demand on the price in standard errors, None if it is not identified."""
    controls = np.column_stack([panel.features, panel.sales_at(-1), panel.calendar])
    found = coefficient(panel.demand, panel.price, controls, panel.unit)
    return None if found is None else found.t


def _edge(task: EvaluationTask) -> str:
    """Concern if the policy sets its lowest or highest price nearly everywhere, and the log rarely did; else empty."""
    grids = getattr(task.policy, "may_recommend", None)
    if grids is None or grids.relative_prices or len(grids.prices) < 3:
        return ""
    price, logged = task.actions[:, :, 0], task.logged_actions[:, 0]
    for name, end in (("lowest", grids.prices[0]), ("highest", grids.prices[-1])):
        if np.mean(np.isclose(price, end)) >= EVERYWHERE and np.mean(np.isclose(logged, end)) < RARELY:
            return f"the policy sets the {name} price nearly everywhere ({end:g}), which is rare in the log"
    return ""


def run_down(estimates: tuple[Estimate, ...]) -> Iterator[Concern]:
    """Concern if most of the gain is stock that the policy runs down and must buy again after the horizon."""
    best = next((each for each in estimates if each.gain is not None), None)
    if best is None or best.gain is None or best.gain.value <= 0:
        return
    if -best.worth_of_stock > RUN_DOWN * best.gain.value:
        saved = f"of a gain of {best.gain.value:.2f} per period, {-best.worth_of_stock:.2f} is stock that it runs down"
        yield Concern("amber", f"{saved} and does not buy again within the evaluated periods")


def _disagreement(estimates: tuple[Estimate, ...]) -> Iterator[Concern]:
    """Concern if another estimator finds less than half of the gain, even after correcting its known shortfall.

    In an assortment its upper bound must be below half: one Q for all products has no product-specific response, and
    the largest products move its mean by many times the gain.
    """
    scored = [(each, each.gain) for each in estimates if each.gain is not None]
    for each, gain in scored[1:]:
        (best, its_gain), falls_short = scored[0], max(-each.own_error, 0.0)
        first, at_most = its_gain.value, gain.value if best.assortment is None else gain.high
        if first > 0 and (at_most + falls_short) * DISAGREE < first:
            gains = f"a gain of {first:.2f} by {best.estimator}, {gain.value:.2f} by {each.estimator}"
            yield Concern("amber", f"estimators disagree: {gains}")
