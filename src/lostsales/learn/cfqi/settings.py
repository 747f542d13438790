"""Settings of C-FQI, PC-FQI and fusion (Algorithms 1 and 2)."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from lostsales.data.log import SalesLog
from lostsales.data.progress import Progress
from lostsales.data.relative import Quantity
from lostsales.demand.censoring.runs import Runs, find_runs
from lostsales.demand.survival.tail import Tail
from lostsales.learn.cfqi.iteration import BETA
from lostsales.learn.cfqi.learn import learn
from lostsales.learn.cfqi.policy import QPolicy
from lostsales.learn.cfqi.safe_actions import Safe
from lostsales.learn.function.q_function import FunctionClass
from lostsales.learn.function.regressors import Regressor
from lostsales.learn.learner import Learner

Boundary = Literal["safe", "paper"]
Penalty = Literal["gains", "calibrated", "support", "paper"]
# Two posterior deviations of the paper's U, whose constant it leaves open: about its published curve from uniform logs.
BETAS: dict[Penalty, float] = {"gains": 1.0, "calibrated": 1.0, "support": BETA, "paper": 2.0}
Supported = Literal["near", "all"]
Deeper = Literal["pooled", "left-out"]
FUSION_START = 4  # pessimistic iterations of fusion (Appendix F)


class CFQI(Learner):
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

    beta: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="Scale of the penalty U for uncertainty, used by PC-FQI and fusion; unless given 1 where U is of "
        "gains, 2 for the paper's, and 10 by support.",
    )
    safe: Safe = Field(
        "learned", description='Safe action at max_depth: "learned", or "paper": highest price with the largest order.'
    )
    eps: Annotated[float, Field(ge=0, le=1)] = Field(
        0.05, description="A learned safe action ends the run with probability at least 1 - eps."
    )
    boundary: Boundary = Field(
        "safe", description='V at max_depth is taken over safe actions; "paper": over all actions.'
    )
    penalty: Penalty = Field(
        "gains",
        description="What U is of, in PC-FQI and fusion: gains over the usual action of the log (ours), the same and a "
        "constant with which U covers about 90 % of the errors of Q and decisions are the same (ours), actions that "
        "are less supported than most rows (ours), or the paper's posterior deviation of Q.",
    )
    support: Supported = Field(
        "near",
        description='Candidates are prices and orders that the log shows near the history; "all": every one, as in the '
        "paper.",
    )
    max_depth: Annotated[int, Field(ge=0)] | None = Field(None, description="Learn no deeper than this.")
    deeper: Deeper = Field(
        "pooled",
        description='Rows deeper than can be learned are pooled with the deepest that can; "left-out", as in the '
        "paper, drops them and the stock-outs before them.",
    )
    depth_rows: Annotated[float, Field(ge=0)] = Field(
        2.0,
        description="Rows that end, for every coordinate of its history, below which a depth is pooled; 20 rows are "
        "the least in any case.",
    )
    independent: bool = Field(
        False, description="Demand does not depend on past demand: every row is at depth 0, only profit is censored."
    )
    function: FunctionClass | Regressor = Field(
        FunctionClass(),
        description="Function class of Q, or a regressor with `fit` and `predict`; PC-FQI and fusion need an ensemble.",
    )
    demand_max: Annotated[Annotated[float, Field(gt=0)] | None, Quantity] = Field(
        None, description="Largest possible demand; the largest sales unless given."
    )
    tail: Tail = Field("last", description="Tail rule of the survival curves behind the imputed profits.")

    @field_validator("function", mode="before")
    @classmethod
    def _function(cls, value: Any) -> Any:
        if not isinstance(value, dict | FunctionClass | Regressor):
            raise ValueError("Input should be a FunctionClass, or a regressor with `fit` and `predict`")
        return value

    @property
    def penalty_scale(self) -> float:
        """Beta as given, or that of the penalty."""
        return BETAS[self.penalty] if self.beta is None else self.beta

    @property
    def penalised_function(self) -> FunctionClass | Regressor:
        """The function class, with the kernel and without the threshold of the paper where its penalty is asked for."""
        if self.penalty != "paper" or not isinstance(self.function, FunctionClass):
            return self.function
        return self.function.model_copy(update={"support_kernel": None, "unpenalized_share": 0.0})

    def pessimistic_iterations(self, iterations: int) -> int:  # noqa: ARG002, PC-FQI and fusion use it
        """How many of the iterations, from the first, are pessimistic."""
        return 0

    def runs(self, log: SalesLog) -> Runs:
        """The runs of stock-outs of a log as it learns from them."""
        pool = self.deeper == "pooled"
        return find_runs(log, self.max_depth, pool=pool, a_coordinate=self.depth_rows if pool else 0.0)

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
