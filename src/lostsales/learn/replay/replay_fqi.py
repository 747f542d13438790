"""Replay-FQI: fitted Q-iteration on replayed transitions, without a parametric demand model."""

from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from lostsales.data.log import DecisionLog
from lostsales.data.parallel import single_threaded
from lostsales.data.progress import Progress
from lostsales.demand.law.demand_law import Family
from lostsales.demand.law.local_estimation import BANDWIDTHS
from lostsales.demand.law.local_residuals import LocalResiduals
from lostsales.demand.law.selection import fit_law
from lostsales.errors import warn
from lostsales.learn.learner import Learner
from lostsales.learn.planner.planner import LEAST_DISCOUNT, Planner, planned
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.learn.replay.local_demand import Alignment, aligning_families, realigned
from lostsales.learn.training_data import TrainingData

Bandwidth = Annotated[float, Field(gt=0)]
COORDINATES = ("market", "price", "last demand", "mean")  # of `Points`


@dataclass(frozen=True, eq=False)
class ReplayPolicy(PlanPolicy):
    """Greedy in Q: the decisions of a plan, made on kernel-weighted rows instead of a demand distribution."""

    @classmethod
    def of(cls, plan: PlanPolicy, rows: str) -> "ReplayPolicy":
        """Policy of a plan whose rows were replayed as these words say."""
        own = {each.name: getattr(plan, each.name) for each in fields(plan)}
        return cls(**(own | {"family": rows}))

    def summary(self) -> dict[str, Any]:
        """The method, and how rows were replayed."""
        return {"method": "replay-fqi", "replayed": self.family}


class ReplayFQI(Learner):
    """Replay-FQI: fitted Q-iteration on replayed transitions, kernel-weighted; it assumes no law of demand.

    Demand does not depend on the stock (Assumption 4), and profit and stock balance are known. So a row tells what any
    order at any stock would have led to: its demand is replayed for all of them, and a hidden demand by its conditional
    distribution above what was available. Q at a state is a weighted mean over the replayed rows; weights fall with
    the distance in market, price and last demand, are not negative and sum to one, so that iterations converge. Before
    it is replayed, the demand of a row is moved by the difference between the conditional means there and here.

    Parameters
    ----------
    iterations : int, optional
        Greedy sweeps of Q-iteration, at most; by default 40. Sweeps stop when the values have converged.
    rules : Rules
        Business rules that every action obeys.
    seed : int
        The same seed gives the same policy.
    bandwidths : tuple of float
        Bandwidths that are tried in each coordinate, in its standard deviations, besides an infinite one; held-out rows
        decide. With none, all rows count alike everywhere.
    alignment : {"learn", "shift", "scale"}
        How the demand of a row is moved to another state: by a difference of means, by their ratio, or by what
        predicts held-out rows better.
    discount : float, optional
        Discount of Q; by default the larger of the problem's and 0.97.

    Examples
    --------
    >>> import lostsales
    >>> log, _ = lostsales.simulate("released", episodes=10, seed=1)
    >>> policy = ReplayFQI(alignment="shift", bandwidths=()).fit(log)
    >>> policy.family
    'demand shifted by a linear mean, all rows alike'

    References
    ----------
    Ormoneit and Sen (2002), Kernel-Based Reinforcement Learning.
    Gordon (1995), Stable Function Approximation in Dynamic Programming.

    """

    method: ClassVar[str] = "replay-fqi"
    bandwidths: tuple[Bandwidth, ...] = Field(
        BANDWIDTHS,
        description="Bandwidths tried in each coordinate, in its standard deviations, besides an infinite one.",
    )
    alignment: Alignment = Field(
        "learn",
        description="How the demand of a row is moved to another state: by a difference of means (`shift`), by their "
        "ratio (`scale`), or by what predicts held-out rows better (`learn`).",
    )
    discount: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        None, description=f"Discount of Q; by default the larger of the problem's and {LEAST_DISCOUNT}."
    )

    def fit(self, log: DecisionLog, progress: Progress | None = None) -> ReplayPolicy:
        """Align demands, weigh rows, and iterate Q on the replayed transitions."""
        with single_threaded():
            data = TrainingData.of(log, self.rules, least_rows=0)
            families = aligning_families(self.alignment)
            model = fit_law(log, families, self.seed)
            model, local = realigned(log, model, families, self.bandwidths, self.seed)
            for message in model.warnings:
                warn(message)
            data = data.with_all_prices() if model.is_causal else data
            shared = {name: getattr(self, name) for name in ("iterations", "rules", "seed", "discount")}
            found = planned(data, model, Planner(draws=1, **shared), progress, local)
            return ReplayPolicy.of(found, _in_words(model.family, local))


def _in_words(family: Family, local: LocalResiduals) -> str:
    """Alignment and weights of the replayed rows, in words."""
    moved = "scaled" if family.is_log else "shifted"
    near = [f"{name} ({own:g})" for name, own in zip(COORDINATES, local.bandwidth, strict=True) if np.isfinite(own)]
    weighed = f"rows near in {', '.join(near)}" if near else "all rows alike"
    return f"demand {moved} by a {family.mean} mean, {weighed}"
