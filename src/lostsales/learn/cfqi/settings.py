"""C-FQI, PC-FQI and fusion as learners (Algorithms 1 and 2)."""

from typing import Any, ClassVar

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.demand.censoring.runs import Runs, find_runs
from lostsales.learn.cfqi.choices import CfqiChoices
from lostsales.learn.cfqi.learn import learn
from lostsales.learn.cfqi.policy import QPolicy

FUSION_START = 4  # pessimistic iterations of fusion (Appendix F)


class CFQI(CfqiChoices):
    """C-FQI: fitted Q-iteration with one Q-function per depth and imputed profits (Algorithm 1).

    References
    ----------
    Gundem and Qi, Offline Dynamic Inventory and Pricing Strategy: Addressing Censored and Dependent Demand.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=5, seed=1)
    >>> policy = lostsales.fit(log, CFQI(iterations=2, function={"kind": "linear"}))
    >>> policy.summary()
    {'method': 'c-fqi', 'max_depth': 3, 'kernels': ['linear', 'linear', 'linear', 'linear'], 'value': 'Q'}

    """

    method: ClassVar[str] = "c-fqi"
    bytes_a_row: ClassVar[int] = 3_500
    quick_settings: ClassVar[dict[str, Any]] = {"iterations": 10}

    def runs(self, log: SalesLog) -> Runs:
        """The runs of stock-outs of a log as it learns from them."""
        rule = self.depth_rule
        return find_runs(log, rule.cap, rule.least_rows, rule.pool, rule.a_coordinate)

    def left_out(self, log: SalesLog) -> dict[str, int]:
        """Rows of a log that are not learned from, by reason."""
        last_rows = {"last row of its series": int(np.count_nonzero(~log.has_next))}
        found = last_rows if self.independent else self.runs(log).left_out
        return {reason: rows for reason, rows in found.items() if rows}

    def rows_learned(self, log: SalesLog) -> dict[str, int]:
        """Rows of a log that are learned from, and how many of them, deeper than the deepest Q, share it.

        >>> import lostsales
        >>> log, _ = lostsales.simulate("released", episodes=12, seed=1)
        >>> CFQI(max_depth=2).rows_learned(log)
        {'rows_kept': 588, 'rows_pooled': 239}
        """
        kept = len(log) - sum(self.left_out(log).values())
        return {"rows_kept": kept, "rows_pooled": 0 if self.independent else self.runs(log).pooled}

    def fit(self, log: SalesLog, progress: Progress | None = None) -> QPolicy:
        """Learn one Q-function per depth from a log."""
        return learn(log, self, progress).policy


class PCFQI(CFQI):
    """PC-FQI: C-FQI with a penalty in every iteration and in the policy (Algorithm 2); the default penalty is ours.

    The default U has a kernel of its own and is on what an action gains over the usual one of the log: it keeps the
    policy from leaving what was done unless that pays, and is no uncertainty quantifier in the paper's sense. With
    `penalty="calibrated"` it is one, at about 90 %, and decisions are the same. The paper's U, the posterior deviation
    of Q's own kernel, is `penalty="paper"`.

    Examples
    --------
    >>> PCFQI(beta=5.0).pessimistic_iterations(10)
    10

    """

    method: ClassVar[str] = "pc-fqi"

    def pessimistic_iterations(self, iterations: int) -> int:
        """All of them."""
        return iterations


class Fusion(CFQI):
    """Fusion: the first iterations as in PC-FQI (default penalty: ours), the others as in C-FQI (Appendix F).

    Examples
    --------
    >>> Fusion().pessimistic_iterations(10)
    4

    """

    method: ClassVar[str] = "fusion"

    def pessimistic_iterations(self, iterations: int) -> int:
        """The first few."""
        return min(FUSION_START, iterations)
