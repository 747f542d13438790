"""Scenarios: a simulated shop and its law of demand as a TOML file, a preset by name or any by path."""

import tomllib
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field, field_validator, model_validator

from lostsales.data.business_rules import BusinessRules
from lostsales.data.calendar.clock import LEARN
from lostsales.data.economics import UnitCosts
from lostsales.data.feature import Feature
from lostsales.data.problem import Columns, Costs, Problem
from lostsales.data.reading.supply import lot_rules
from lostsales.data.settings import NonNegative, Settings, checked, read_toml, with_settings
from lostsales.data.shop import Shop
from lostsales.errors import SettingError
from lostsales.policy.rollout import Opening
from lostsales.policy.view import Features
from lostsales.simulation.demand_laws import IndependentDemand, ScenarioLaw
from lostsales.simulation.manager import SIGNALS, Manager
from lostsales.simulation.presets import ALIASES, preset_names, preset_text
from lostsales.simulation.processes import Drift, FeatureProcess, levels_of
from lostsales.types import Floats

MOST_PERIODS = 1_000_000  # of an episode


class UniformStart(NamedTuple):
    """An integer, uniform from low to high."""

    low: int
    high: int


class NormalStart(Settings):
    """A rounded normal draw, not below 0."""

    mean: float
    sd: NonNegative


class Start(Settings):
    """Stock and demand before the first period; `lag_term` overrides the contribution of that demand.

    `on_order` is on the way and arrives in 1, 2, ... periods, at the latest where lead times vary; else nothing is.
    """

    stock: NonNegative | UniformStart = 0.0
    last_demand: NonNegative | NormalStart = 0.0
    lag_term: float | None = None
    on_order: tuple[NonNegative, ...] = ()

    @property
    def highest_stock(self) -> float:
        """The largest stock that a series can open with."""
        return self.stock if isinstance(self.stock, float) else float(self.stock.high)

    @field_validator("stock")
    @classmethod
    def _rises(cls, stock: float | UniformStart) -> float | UniformStart:
        if isinstance(stock, UniformStart) and not 0 <= stock.low <= stock.high:
            raise ValueError("an opening stock between two values needs 0 <= low <= high")
        return stock


class ConstantCosts(Settings):
    """Unit costs that do not change."""

    lost: NonNegative
    order: NonNegative
    holding: NonNegative
    fixed_order: NonNegative = 0.0


class Scenario(Shop):
    """A simulated shop: the `Market` that a roll-out draws from and the `Problem` that a log of it carries.

    The fields are the keys of its TOML file; `Scenario.load` reads one.

    Attributes
    ----------
    name, about : str
        Name and one line of description.
    horizon : int
        Periods of an episode.
    prices, orders : tuple of float
        The action grid.
    costs : ConstantCosts
        Unit costs of lost sales, orders and holding, and the fixed cost of an order.
    start : Start
        Opening stock and the demand before the first period.
    demand_law : Linear, Saturating, Poisson, Geometric or Gamma
        Law of D_t given X_t, P_t and D_{t-1}; the table `[demand]` of the file.
    features : dict of str to FeatureProcess
        Processes of the market features X_t.
    hidden : tuple of str
        Features that the log does not show; the manager sees them.
    strength : float
        Of the hidden causes: it multiplies their effects on demand and on what the manager does.
    instruments : tuple of str
        Features that move the price but not demand, as in `Problem`.
    manager : Manager, optional
        The behaviour that the policy `"manager"` stands for.
    arrival, balance, capacity, capacity_rule, longest_run, discount, supply
        As in `Problem`.

    Examples
    --------
    >>> Scenario.load("steady").prices
    (4.0, 4.25, 4.5)

    """

    name: str
    about: str = ""
    horizon: Annotated[int, Field(ge=1, le=MOST_PERIODS)]
    prices: tuple[NonNegative, ...]
    orders: tuple[NonNegative, ...]
    costs: ConstantCosts
    start: Start
    demand_law: Annotated[ScenarioLaw, Field(discriminator="law", alias="demand")]
    features: dict[str, FeatureProcess] = Field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    strength: NonNegative = 1.0
    instruments: tuple[str, ...] = ()
    manager: Manager | None = None

    @classmethod
    def load(cls, name: str | Path, settings: tuple[str, ...] = ()) -> "Scenario":
        """Read a preset by name, or a TOML file by path.

        Parameters
        ----------
        name : str or Path
            Name of a preset, or path of a file that ends in `.toml`.
        settings : tuple of str
            Fields to override, such as `"demand.rho=0.6"`.

        Returns
        -------
        Scenario
            The validated scenario.

        Raises
        ------
        SettingError
            If there is no such preset or file, or a field is missing, unknown or inconsistent.

        Examples
        --------
        >>> Scenario.load("released", ("horizon=10",)).horizon
        10

        """
        name = ALIASES.get(str(name), name)
        if str(name) in preset_names():
            keys = tomllib.loads(preset_text(str(name)))
        elif str(name).endswith(".toml"):
            keys = read_toml(Path(name))
        else:
            raise SettingError(
                f"no scenario {str(name)!r}; give the path of a .toml file or one of {', '.join(preset_names())}"
            )
        keys = with_settings(keys, settings, "demand.rho=0.6")
        keys.setdefault("name", Path(name).stem)
        return checked(Scenario, keys, f"scenario {name}")

    @model_validator(mode="after")
    def _is_consistent(self) -> "Scenario":
        for name, effect in self.demand_law.features.items():
            if name not in self.features:
                raise ValueError(f"demand names the feature {name!r}, which [features] does not define")
            levels = levels_of(self.features[name])
            if isinstance(effect, tuple) and (levels is None or len(effect) != len(levels)):
                raise ValueError(f"the effect of {name!r} must be a number, or one number for each of its levels")
        if self.capacity is not None and self.start.highest_stock > self.capacity:
            raise ValueError("the opening stock must fit the capacity")
        if len(self.start.on_order) > self.pipeline_length:
            raise ValueError(
                f"start.on_order may have {self.pipeline_length} entries by the lead time, but has "
                f"{len(self.start.on_order)}"
            )
        days = self.supply.order_days
        if isinstance(days, str) and days not in self.features:
            raise ValueError(f"supply.order_days names the feature {days!r}, which [features] does not define")
        if self.product.columns:
            raise ValueError(f"product must have numbers in a scenario, but names {', '.join(self.product.columns)}")
        if isinstance(self.supply.multiple, str) or isinstance(self.supply.minimum, str):
            raise ValueError("supply.multiple and supply.minimum must be numbers in a scenario")
        if self.supply.lead_time == LEARN:
            raise ValueError(
                "supply.lead_time must be a number or a table in a scenario: there is no log to learn from"
            )
        if self.demand_law.maximum is not None and self.demand_law.maximum < self.demand_law.minimum:
            raise ValueError("the maximum of demand must not lie below its minimum")
        if taken := set(self.features) & set(Columns().named):
            raise ValueError(f"a feature cannot be called {', '.join(sorted(taken))}: a log has such a column already")
        return self

    @model_validator(mode="after")
    def _names_are_features(self) -> "Scenario":
        rules = () if self.manager is None else (self.manager.price, self.manager.level)
        reactions = [name for rule in rules for name in rule.on if name not in SIGNALS]
        for role, names in (("hidden", self.hidden), ("instruments", self.instruments), ("manager", reactions)):
            if unknown := sorted(set(names) - set(self.features)):
                raise ValueError(f"{role} names {', '.join(unknown)}, which [features] does not define")
        shown = [name for name in self.features if name not in self.hidden]
        if list(self.features)[: len(shown)] != shown:
            raise ValueError("hidden features must come last in [features]")
        if moved := sorted(set(self.instruments) & {name for name, each in self.demand_law.features.items() if each}):
            raise ValueError(f"an instrument must not move demand, but {', '.join(moved)} does")
        return self

    @property
    def shown(self) -> int:
        """Number of features that the log shows; they come first."""
        return len(self.features) - len(self.hidden)

    @property
    def has_hidden_state(self) -> bool:
        """True if demand depends on more than features, price and last demand of the log, or drifts without end."""
        drifts = any(isinstance(each, Drift) for each in self.features.values())
        return bool(self.hidden) or drifts or self.demand_law.second_rho != 0

    @property
    def unit_costs(self) -> UnitCosts:
        """The costs of a roll-out."""
        return UnitCosts(**self.costs.model_dump())

    @property
    def problem(self) -> Problem:
        """The problem of a log of this scenario."""
        shared = {key: getattr(self, key) for key in Shop.model_fields}
        features = []
        for name, process in list(self.features.items())[: self.shown]:
            levels = levels_of(process)
            features.append(Feature(name=name, kind="categorical" if levels else "numeric", levels=levels))
        rules = lot_rules(BusinessRules(), self.supply)
        return Problem(
            **shared,
            costs=Costs(**self.costs.model_dump()),
            features=tuple(features),
            rules=rules,
            instruments=self.instruments,
        )

    def open(self, series: int, rng: np.random.Generator) -> Opening:
        """Features, stock and last demand before the first period."""
        stock, lag, pipeline = self.start.stock, self.start.last_demand, None
        if self.start.on_order:
            pipeline = np.zeros((series, self.pipeline_length))
            pipeline[:, : len(self.start.on_order)] = self.start.on_order
        features = tuple(process.open(series, rng) for process in self.features.values())
        if isinstance(stock, UniformStart):
            opening = rng.integers(stock.low, stock.high, size=series, endpoint=True).astype(np.float64)
        else:
            opening = np.full(series, stock)
        if isinstance(lag, NormalStart):
            drawn = np.rint(lag.mean + lag.sd * rng.standard_normal(series))
            return Opening(features, opening, np.clip(drawn, 0, self.demand_law.maximum), None, pipeline)
        return Opening(features, opening, np.full(series, lag), None, pipeline)

    def demand(
        self,
        period: int,
        features: Features,
        price: Floats,
        last_demand: Floats,
        rng: np.random.Generator,
        before_last: Floats | None = None,
    ) -> Floats:
        """Draw D_t given X_t, P_t and D_{t-1}, and D_{t-2} where the law has a second lag."""
        law = self.demand_law
        lag_term = law.lag_term(last_demand)
        if before_last is not None:
            lag_term = lag_term + law.second_rho * before_last
        if period == 0 and self.start.lag_term is not None:
            lag_term = np.full(len(price), self.start.lag_term)
        if isinstance(law, IndependentDemand):
            demand = law.draw(len(price), rng)
        elif law.noise.is_count:
            demand = law.noise.draw_counts(law.mean(lag_term, price, self.effect(features, len(price))), rng)
        else:
            demand = law.respond(law.noise.draw(len(price), rng), lag_term, price, self.effect(features, len(price)))
        if law.integer:
            np.rint(demand, out=demand)
        np.maximum(demand, law.minimum, out=demand)
        return demand if law.maximum is None else np.minimum(demand, law.maximum)

    def effect(self, features: Features, series: int) -> Floats:
        """Sum of the effects of the features (on the log scale where the law is multiplicative)."""
        total = np.zeros(series)
        for (name, _), value in zip(self.features.items(), features, strict=True):
            effect = self.demand_law.features.get(name, 0.0)
            strength = self.strength if name in self.hidden else 1.0
            if isinstance(effect, tuple):
                total += strength * np.array(effect)[value.astype(np.int64)]
            elif effect:
                total += strength * effect * value
        return total

    def next_features(self, features: Features, price: Floats, rng: np.random.Generator) -> Features:
        """Draw X_{t+1} given X_t and P_t."""
        return tuple(
            process.advance(value, price, rng) for process, value in zip(self.features.values(), features, strict=True)
        )


def as_scenario(scenario: Scenario | str | Path) -> Scenario:
    """A scenario itself, or the one that a name or path stands for."""
    return scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
