"""The policy of Replay-FQI: the best action by one-period lookahead on the values of replayed transitions."""

from dataclasses import dataclass, fields
from typing import Any

from lostsales.learn.planner.policy import PlanPolicy


@dataclass(frozen=True, eq=False)
class ReplayPolicy(PlanPolicy):
    """Greedy in Q: the decisions of a plan, made on kernel-weighted rows in place of a law of demand."""

    @classmethod
    def of(cls, plan: PlanPolicy, rows: str) -> "ReplayPolicy":
        """Policy of a plan whose rows were replayed as these words say."""
        own = {each.name: getattr(plan, each.name) for each in fields(plan)}
        return cls(**(own | {"family": rows}))

    def summary(self) -> dict[str, Any]:
        """The method, and how rows were replayed."""
        return {"method": "replay-fqi", "replayed": self.family}
