"""A planner's policy for demand whose level moves: asked in units of the level, it answers in those of the shop."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from lostsales.data.feature import feature_count
from lostsales.data.ladders import Ladders
from lostsales.data.log import SalesLog
from lostsales.errors import LostSalesError
from lostsales.learn.planner.moving_level import LevelStates
from lostsales.learn.planner.policy import PlanPolicy
from lostsales.policy.decision import Decision
from lostsales.policy.in_units import MONEY, QUANTITIES, Rescaled, factors, view_in_units
from lostsales.policy.view import Action, View
from lostsales.saved_fields import NOT_SAVED
from lostsales.types import Floats


@dataclass(frozen=True, eq=False)
class LevelledPolicy(Rescaled):
    """Asks at the level where each series stands."""

    states: LevelStates
    whole: bool  # orders are whole
    replayed: Annotated[dict[str, float] | None, NOT_SAVED] = None  # levels at which periods are replayed, by product

    @property
    def usual_demand(self) -> float:
        """That of the policy inside."""
        return self.policy.usual_demand

    @property
    def may_recommend(self) -> Ladders | None:
        """What the policy inside does while no level has moved; None where orders are that times the level."""
        return self.policy.may_recommend if self.states.still else None

    def summary(self) -> dict[str, Any]:
        """That of the policy inside, and that the level moves."""
        return self.policy.summary() | {"level": "followed" if self.states.still else "moves"}

    @cached_property
    def _at_the_end(self) -> dict[str, float]:
        """Levels while no recent rows are known: where none moved in the log, one that strayed at its end is usual."""
        return {} if self.states.still else self.states.now()

    def informed(self, view: View, recent: SalesLog) -> View:
        """The view with the level of each series after recent rows."""
        return replace(view, level=factors(view, self.states.after(recent).now()))

    def replayed_on(self, log: SalesLog) -> "LevelledPolicy":
        """The policy at the mean level of a log, which is that of a law learned from it: so it is asked in a replay."""
        return replace(self, replayed=self.states.mean_over(log))

    def units(self, view: View) -> Floats:
        """The level of each series of a view."""
        if view.level is not None:
            return view.level
        return factors(view, self._at_the_end if self.replayed is None else self.replayed)

    def decide(self, view: View, rng: np.random.Generator) -> Action:
        """Price and order of every series."""
        level = self.units(view)
        price, order = self.policy.decide(view_in_units(view, level), rng)
        return Action(price, self._order(order, level))

    def explain(self, view: View) -> Decision:
        """The decision of the policy inside, and the level."""
        level = self.units(view)
        found = self.policy.explain(view_in_units(view, level))
        named = {name: getattr(found, name) * level for name in QUANTITIES | MONEY if hasattr(found, name)}
        named |= {name: self._order(getattr(found, name), level) for name in ("order", "runner_up_order")}
        more = {name: each * level if name in QUANTITIES else each for name, each in found.more.items()}
        return replace(found, **named, more=more | {"demand_level": level})

    def _order(self, order: Floats, level: Floats) -> Floats:
        """An order in the quantities of the shop, the nearest that its problem allows."""
        wanted = order * level
        if self.problem.orders is not None:
            listed = np.sort(np.array(self.problem.orders))
            middle = (listed[1:] + listed[:-1]) / 2
            return np.where(np.isnan(wanted), np.nan, listed[np.searchsorted(middle, np.nan_to_num(wanted))])
        return np.rint(wanted) if self.whole else wanted

    @classmethod
    def axis_sizes(cls, saved: dict[str, Any]) -> dict[str, int]:
        """The price and the features, on which levels depend."""
        return {"level inputs": 1 + feature_count(saved["problem"].features)}

    def validate(self) -> None:
        """Raise where a file puts another policy than a plan inside."""
        super().validate()
        if not isinstance(self.policy, PlanPolicy):
            raise LostSalesError("the policy inside must be a plan")
