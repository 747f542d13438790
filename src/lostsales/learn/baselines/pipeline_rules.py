"""Ordering rules of the literature on lost sales with lead times, tuned on a log as base-stock is.

Independent demand from the Kaplan-Meier curve of its price, simulated under timing, supply and costs of the problem.
"""

from itertools import product
from typing import ClassVar

import numpy as np

from lostsales.data.log import DecisionLog
from lostsales.data.progress import Progress
from lostsales.learn.baselines.threshold_tuning import Tuning
from lostsales.learn.baselines.thresholds import ThresholdPolicy
from lostsales.learn.learner import Learner
from lostsales.types import Floats

NEVER = 1e12  # a level that stock and pipeline never reach
MOST_CAPS = 20  # candidates: bounds the time of a fit


class CappedBaseStock(Learner):
    """Capped base-stock: order up to S (inventory position), but at most a cap; at one price.

    References
    ----------
    Xin (2021), Understanding the performance of capped base-stock policies in lost-sales inventory models.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate(lostsales.Scenario.load("lost-sales", ("orders={most = 12}",)), episodes=5, seed=1)
    >>> rule = lostsales.fit(log, CappedBaseStock()).thresholds
    >>> 0 < rule.most_order <= rule.order_up_to
    True

    """

    method: ClassVar[str] = "capped-base-stock"

    def fit(self, log: DecisionLog, progress: Progress | None = None) -> ThresholdPolicy:  # noqa: ARG002, quick
        """Tune level, cap and price on a log."""
        tuning = Tuning.of(log, self)
        caps = _caps(tuning)
        best, _ = tuning.best([(s, s, p, p, cap) for s, p, cap in product(tuning.levels(), tuning.laws, caps)])
        near = tuning.refined(best, lambda level: (level, level, *best[2:]))
        return tuning.policy(*tuning.best([(*rule[:4], cap) for rule, cap in product(near, caps)]))


class ProjectedLevel(Learner):
    """Projected inventory level: order so that the expected stock when the order arrives reaches a level; one price.

    References
    ----------
    van Jaarsveld and Arts (2024), Projected inventory-level policies for lost sales inventory systems.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate(lostsales.Scenario.load("lost-sales", ("orders={most = 12}",)), episodes=5, seed=1)
    >>> lostsales.fit(log, ProjectedLevel()).thresholds.order_up_to > 0
    True

    """

    method: ClassVar[str] = "projected-level"

    def fit(self, log: DecisionLog, progress: Progress | None = None) -> ThresholdPolicy:  # noqa: ARG002, quick
        """Tune level and price on a log."""
        tuning = Tuning.of(log, self)
        best, value = tuning.best([(s, s, p, p) for s, p in product(tuning.levels(), tuning.laws)], projects=True)
        if log.problem.pipeline_length:
            best, value = tuning.best(tuning.refined(best, lambda s: (s, s, *best[2:])), projects=True)
        return tuning.policy(best, value, projects=True)


class ConstantOrder(Learner):
    """Constant order: the same order in every period, at one price.

    References
    ----------
    Goldberg, Katz-Rogozhnikov, Lu, Sharma and Squillante (2016), Asymptotic optimality of constant-order policies for
    lost sales inventory models with large lead times.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate(lostsales.Scenario.load("lost-sales", ("orders={most = 12}",)), episodes=5, seed=1)
    >>> lostsales.fit(log, ConstantOrder()).thresholds.most_order <= 12
    True

    """

    method: ClassVar[str] = "constant-order"

    def fit(self, log: DecisionLog, progress: Progress | None = None) -> ThresholdPolicy:  # noqa: ARG002, quick
        """Tune order and price on a log."""
        tuning = Tuning.of(log, self)
        orders = tuning.data.grid.orders.tolist()
        return tuning.policy(*tuning.best([(NEVER, NEVER, p, p, o) for o, p in product(orders, tuning.laws)]))


def _caps(tuning: Tuning) -> list[float]:
    """Caps of an order: those of the grid, or some of them where it is long."""
    orders: Floats = tuning.data.grid.orders
    at = np.unique(np.linspace(0, len(orders) - 1, MOST_CAPS).round().astype(np.int64))
    return [float(each) for each in orders[at] if each > 0] or [float(orders[-1])]
