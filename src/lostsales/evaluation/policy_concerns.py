"""Concerns about the actions of a policy and the estimates of its gain."""

from collections.abc import Iterator

import numpy as np

from lostsales.demand.audit.decision_panel import DecisionPanel
from lostsales.demand.audit.robust_regression import coefficient
from lostsales.evaluation.promise.advice import Concern
from lostsales.evaluation.results import Estimate
from lostsales.evaluation.task import EvaluationTask

WITHIN_CHANCE = 2.0  # standard errors below which the price effect is not significant
OTHER_PRICES = 0.02  # relative change of the mean price beyond which a policy sets other prices
EVERYWHERE = 0.95  # share of the decisions at one end of the prices, from which on this is a concern ...
RARELY = 0.2  # ... if that price has less than this share of the rows of the log
RUN_DOWN = 0.5  # largest share of a gain that may come from less stock at the end
DISAGREE = 2.0  # factor between two estimators, beyond which they disagree


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
    scored = [each for each in estimates if each.gain is not None]
    for each in scored[1:]:
        assert each.gain is not None
        assert scored[0].gain is not None
        first, falls_short = scored[0].gain.value, max(-each.own_error, 0.0)
        at_most = each.gain.value if scored[0].assortment is None else each.gain.high
        if first > 0 and (at_most + falls_short) * DISAGREE < first:
            gains = f"a gain of {first:.2f} by {scored[0].estimator}, {each.gain.value:.2f} by {each.estimator}"
            yield Concern("amber", f"estimators disagree: {gains}")
