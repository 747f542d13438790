"""The planner: dynamic programming on a law of demand that is learned from censored rows."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.progress import Progress
from lostsales.demand.censoring.evidence import MOST_HIDDEN
from lostsales.demand.censoring.runs import find_runs
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.demand_model import DemandModel
from lostsales.learn.learner import Learner
from lostsales.learn.planner.arrivals import has_pipeline
from lostsales.learn.planner.learn import LEAST_DISCOUNT, learn
from lostsales.learn.planner.learn_levelled import learn_levelled
from lostsales.learn.planner.levelled_policy import LevelledPolicy
from lostsales.learn.planner.policy import PlanPolicy

USUAL_LAWS = 3
PlannerSafe = Literal["none", "paper"]
PlannerLevel = Literal["learn", "follow", "fixed"]


class Planner(Learner):
    """Planner: dynamic programming on a demand distribution that is estimated from the censored log.

    Profit and stock balance are known, and demand does not depend on the stock (Assumption 4), so only the law of
    demand given features, price and last demand is learned. In a run of stock-outs the hidden demand enters the state
    by the mean of the belief over it.

    Parameters
    ----------
    iterations : int, optional
        Greedy sweeps of the dynamic program, at most; 40 unless given. Sweeps stop when the values have converged.
    rules : Rules
        Business rules that every action obeys.
    seed : int
        The same seed gives the same policy.
    draws : int, optional
        Demand distributions planned on: the fitted one, and others from a bootstrap over series. Three unless given,
        and one where orders take longer than a period.
    pessimism : float
        0: maximise the mean value over the laws; towards 1: an ever lower quantile of it.
    price_caution : float
        Where products have price responses of their own, another price than the usual one is worth less by what so many
        standard errors of the elasticity cost today.
    discount : float, optional
        Discount of the plan; the larger of the problem's and 0.97 unless given.
    families : tuple of Family, optional
        Families among which the demand distribution is chosen; all that apply unless given.
    safe : {"none", "paper"}
        "paper": from the log's max_depth on, the highest price with the largest order.
    level : {"learn", "follow", "fixed"}
        "follow": the level of demand is followed by series through recent rows, where it did not move in the log once
        it has moved beyond chance since; "learn": only where it moved in the log.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=4, seed=1)
    >>> policy = Planner(draws=1, iterations=2, families=(Family("linear", False),)).fit(log)
    >>> policy.discount, policy.family
    (0.97, 'linear mean, additive noise')

    References
    ----------
    Gundem and Qi, Offline Dynamic Inventory and Pricing Strategy: Addressing Censored and Dependent Demand.
    Puterman and Shin (1978), Modified Policy Iteration Algorithms for Discounted Markov Decision Problems.

    """

    method: ClassVar[str] = "planner"
    bytes_a_row: ClassVar[int] = 2_000
    quick_settings: ClassVar[dict[str, Any]] = {
        "draws": 1,
        "families": (Family("linear", False), Family("linear", True), Family("kernel", False), Family("kernel", True)),
    }

    draws: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="Demand distributions planned on: the fitted one, and others from a bootstrap over series; "
        f"{USUAL_LAWS} unless given, and 1 where orders take longer than a period.",
    )
    pessimism: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="0: optimise the mean over these distributions; towards 1: an ever lower quantile."
    )
    price_caution: Annotated[float, Field(ge=0, le=10)] = Field(
        0.5,
        description="In an assortment, another price than a product's usual one is worth less by what so many standard "
        "errors of its elasticity cost today.",
    )
    discount: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        None, description=f"Discount of the plan; the larger of the problem's and {LEAST_DISCOUNT} unless given."
    )
    families: Annotated[tuple[Family, ...], Field(min_length=1)] | None = Field(
        None, description="Families among which the demand distribution is chosen; all that apply unless given."
    )
    safe: PlannerSafe = Field(
        "none", description='"paper": the highest price with the largest order from the log\'s max_depth on.'
    )

    level: PlannerLevel = Field(
        "follow",
        description='"follow": follow the level of demand by series, through the log where it moved in it and through '
        'recent rows once it has moved beyond chance; "learn": only where it moved in the log; "fixed": do not.',
    )

    def laws(self, problem: Problem) -> int:
        """How many laws are planned on."""
        usual = 1 if has_pipeline(problem) else USUAL_LAWS
        return usual if self.draws is None else self.draws

    def left_out(self, log: SalesLog) -> dict[str, int]:
        """Rows of a log that are not learned from, by reason; last rows and every depth are.

        >>> import lostsales
        >>> log, _ = lostsales.simulate("steady", episodes=12, seed=1)
        >>> Planner().left_out(log), lostsales.CFQI().left_out(log)["last row of its series"]
        ({}, 12)
        """
        depth = find_runs(log).depth
        found = {
            "no earlier demand is known": int(np.count_nonzero(depth < 0)),
            f"after more than {MOST_HIDDEN} stock-outs in a row": int(np.count_nonzero(depth > MOST_HIDDEN)),
        }
        return {reason: rows for reason, rows in found.items() if rows}

    def fit(self, log: SalesLog, progress: Progress | None = None, model: DemandModel | None = None) -> PlanPolicy:
        """Plan on the law of demand of a log; a `model` that was fitted to the log already is not fitted again."""
        return learn(log, self, progress, model)

    def fit_at_level(self, log: SalesLog, progress: Progress | None = None) -> PlanPolicy | LevelledPolicy:
        """`fit`, relative to the level of demand where that moves."""
        return learn_levelled(log, self, progress)
