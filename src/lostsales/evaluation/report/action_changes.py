"""Action changes: prices and orders of a policy in the rows of the log against the logged ones."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lostsales.evaluation.task import EvaluationTask
from lostsales.types import Floats

MOST_VALUES = 16  # that are counted one by one
BINS = 10  # where there are more
ROUNDING = 1e-9  # relative difference up to which actions are equal


@dataclass(frozen=True, eq=False)
class DistributionChange:
    """Distribution of one part of the action in the log (now) and under the policy (then); shares sum to 1."""

    what: str  # "price" or "order"
    labels: tuple[str, ...]
    now: Floats  # (labels,)
    then: Floats  # (labels,)
    mean_now: float
    mean_then: float
    higher: float  # share of the rows in which it is higher under the policy
    lower: float


@dataclass(frozen=True, eq=False)
class ActionChanges:
    """Changes of price and order."""

    price: DistributionChange
    order: DistributionChange
    same: float  # share of the rows in which both stay
    rows: int


def action_changes(task: EvaluationTask) -> ActionChanges:
    """Compare the actions in the rows of known depth."""
    now = task.logged_actions
    differs = np.abs(task.actions - now) > ROUNDING * (1 + np.abs(now))
    return ActionChanges(
        price=_distribution_change("price", now[:, 0], task.actions[..., 0]),
        order=_distribution_change("order", now[:, 1], task.actions[..., 1]),
        same=float(1 - differs.any(axis=-1).mean()),
        rows=len(now),
    )


def _distribution_change(what: str, now: Floats, then: Floats) -> DistributionChange:
    """Histograms of `now` (rows,) and `then` (draws, rows) on the same bins."""
    values = np.unique(np.r_[now, then.reshape(-1)])
    if len(values) <= MOST_VALUES:
        edges = np.r_[-np.inf, (values[1:] + values[:-1]) / 2, np.inf]
        labels = [f"{value:g}" for value in values]
    else:
        edges = np.linspace(values[0], values[-1], BINS + 1)
        labels = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    slack = ROUNDING * (1 + np.abs(now))
    return DistributionChange(
        what=what,
        labels=tuple(labels),
        now=np.histogram(now, edges)[0] / now.size,
        then=np.histogram(then, edges)[0] / then.size,
        mean_now=float(now.mean()),
        mean_then=float(then.mean()),
        higher=float(np.mean(then > now + slack)),
        lower=float(np.mean(then < now - slack)),
    )
