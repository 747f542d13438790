"""What a policy would change: its prices and orders in the rows of the log beside those that were chosen."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lostsales.evaluation.task import EvaluationTask
from lostsales.types import Floats

MOST_VALUES = 16  # that are counted one by one
BINS = 10  # where there are more
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class DistributionChange:
    """One part of the decision, as it was and as it would be; shares are of the rows and sum to 1."""

    what: str  # "price" or "order"
    labels: tuple[str, ...]
    now: Floats  # (labels,)
    then: Floats  # (labels,)
    mean_now: float
    mean_then: float
    higher: float  # share of the rows in which it would be higher
    lower: float


@dataclass(frozen=True, eq=False)
class PolicyChange:
    """Both parts of the decision."""

    price: DistributionChange
    order: DistributionChange
    same: float  # share of the rows in which both would stay
    rows: int


def change(case: EvaluationTask) -> PolicyChange:
    """Count over the rows whose history is known."""
    log = case.ledger.log
    now = np.column_stack([log.price[case.known], np.asarray(log.order)[case.known]])
    differs = case.decided - now
    moved = np.abs(differs) > ROUNDING * (1 + np.abs(now))
    return PolicyChange(
        price=_shift("price", now[:, 0], case.decided[..., 0]),
        order=_shift("order", now[:, 1], case.decided[..., 1]),
        same=float(1 - moved.any(axis=-1).mean()),
        rows=len(now),
    )


def _shift(what: str, now: Floats, then: Floats) -> DistributionChange:
    """`now` (rows,) against `then` (draws, rows)."""
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
