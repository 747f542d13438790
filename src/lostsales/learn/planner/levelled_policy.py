"""A planner's policy for demand whose level moves: asked in units of the level, it answers in those of the shop."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from lostsales.data.ladders import Ladders
from lostsales.data.log import SalesLog
from lostsales.data.settings import StrictSettings, checked_json
from lostsales.demand.forecasting.spread import Spread
from lostsales.learn.planner.moving_level import DECAYS, LevelStates
from lostsales.policy.decision import Decision
from lostsales.policy.file_content import POSITIVE, Content, Header, NonNegative, feature_count, numbers, texts
from lostsales.policy.file_format import POLICIES, Artefact, content_of
from lostsales.policy.in_units import MONEY, QUANTITIES, Rescaled, factors, view_in_units
from lostsales.policy.view import Action, View
from lostsales.types import Array, Floats

KIND = "levelled"
BEFORE = "level_"  # of the names of its arrays
MOST_PERIOD = 9.2e18  # which int64 can hold
MOST_STEP = 1 << 62
# Variance beyond that of a count, as a share of it: less is lost in rounding, and then divided by.
Excess = Annotated[float, Field(ge=1e-6, le=1e6)]


class LevelledSettings(StrictSettings):
    """The settings in a policy file."""

    kind: Literal["plan"]
    settings: dict[str, Any]
    linear: Excess
    quadratic: Excess
    integer: bool
    whole: bool
    still: NonNegative = 0.0
    chance: NonNegative = 0.0
    step: Annotated[int, Field(ge=0, le=MOST_STEP)] = 0
    orders: tuple[NonNegative, ...] | None = None  # that the policy inside has


@dataclass(frozen=True, eq=False)
class LevelledPolicy(Rescaled):
    """Asks at the level where each series stands."""

    states: LevelStates
    whole: bool  # orders are whole
    replayed: dict[str, float] | None = None  # levels at which periods are replayed, by product

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

    def to_artefact(self) -> Artefact:
        """The content of the policy inside, with the levels."""
        own, spread = self.policy.to_artefact(), self.states.spread
        settings = {"kind": own.kind, "settings": own.settings, "whole": self.whole, "integer": spread.integer}
        settings |= {"linear": spread.linear, "quadratic": spread.quadratic}
        settings |= {"orders": own.problem.orders, "still": self.states.still}
        settings |= {"chance": self.states.chance, "step": self.states.step}
        states = {f"{BEFORE}{name}": values for name, values in _arrays(self.states).items()}
        return Artefact(KIND, own.observes, own.horizon, self.problem, settings, own.arrays | states)

    @classmethod
    def content(cls, header: Header) -> Content | None:
        """What a file of the policy inside may hold, and the levels."""
        settings = _settings(header.settings)
        names = header.names - frozenset(f"{BEFORE}{name}" for name in SPECS)
        problem = header.problem.model_copy(update={"orders": settings.orders})
        inside = content_of(settings.kind, replace(header, settings=settings.settings, names=names, problem=problem))
        specs = {f"{BEFORE}{name}": spec for name, spec in SPECS.items()}
        own = {"level inputs": 1 + feature_count(header.problem.features)}
        return None if inside is None else replace(inside, arrays=inside.arrays | specs, sizes=inside.sizes | own)

    @classmethod
    def from_artefact(cls, artefact: Artefact) -> "LevelledPolicy":
        """The policy of a file."""
        settings = _settings(artefact.settings)
        own = {name: artefact.arrays[f"{BEFORE}{name}"] for name in SPECS}
        arrays = {name: array for name, array in artefact.arrays.items() if not name.startswith(BEFORE)}
        problem = artefact.problem.model_copy(update={"orders": settings.orders})
        inside = replace(artefact, kind=settings.kind, settings=settings.settings, arrays=arrays, problem=problem)
        spread = Spread(settings.linear, settings.quadratic, settings.integer)
        own |= {"names": own["names"].astype(object), "last": own["last"].astype(np.int64)}
        still, chance, step = settings.still, settings.chance, settings.step
        states = LevelStates(spread=spread, still=still, chance=chance, step=step, **own)
        return cls(POLICIES.get(settings.kind).from_artefact(inside), artefact.problem, states, settings.whole)


SCALARS = ("still", "chance", "step")  # of the levels, among the settings
SPECS = {
    "names": texts("levels"),
    "last": numbers("levels", least=-(2.0**63), most=MOST_PERIOD),
    "usual": numbers("levels", least=POSITIVE),
    "total": numbers("levels", len(DECAYS)),
    "weight": numbers("levels", len(DECAYS), least=0),
    "score": numbers("levels", len(DECAYS)),
    "slopes": numbers("level inputs"),
    "centre": numbers("level inputs"),
}


def _arrays(states: LevelStates) -> dict[str, Array]:
    found = {each.name: getattr(states, each.name) for each in fields(states) if each.name not in ("spread", *SCALARS)}
    return found | {"names": states.names.astype(np.str_), "last": states.last.astype(np.float64)}


def _settings(keys: dict[str, Any]) -> LevelledSettings:
    return checked_json(LevelledSettings, keys, "its settings")
