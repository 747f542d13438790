"""A scenario whose units perish as a finite Markov decision process: its state has stock by age and pipeline."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lostsales.data.economics import order_cost
from lostsales.data.progress import Progress
from lostsales.data.supply import Supply
from lostsales.errors import LostSalesError, SettingError
from lostsales.lab.exact.finite_model import COUNT_TAIL, refuse_fractions
from lostsales.lab.exact.perishable_loops import AgedTables, improve_aged
from lostsales.lab.exact.pmf import demand_pmf
from lostsales.lab.exact.value_iteration import DAMPING, Actions, Criterion, Program, Values, solve_program
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.view import View
from lostsales.simulation.demand_laws import IndependentDemand
from lostsales.simulation.scenario import Scenario
from lostsales.types import Floats, Ints

MOST_AGED_STATES = 3_000_000  # bounds memory and time
AGED_PRECISION = 1e-7  # of a profit a period


@dataclass(frozen=True, eq=False)
class PerishableModel:
    """Stock by age and orders on the way of a scenario with independent demand in whole units."""

    scenario: Scenario
    tables: AgedTables
    opening: int  # state
    beliefs: None = None  # demand has no memory, so that nothing is hidden
    has_memory: bool = False

    @classmethod
    def of(cls, scenario: Scenario) -> "PerishableModel":
        """The model of a scenario; one with more than a shelf life and a lead time is refused."""
        refuse_fractions(scenario)
        _refuse_unknown(scenario)
        keys, order = scenario.product, ActionGrid.of(scenario).orders.astype(np.int64)
        assert isinstance(keys.shelf_life, int)
        life, lead = keys.shelf_life, scenario.lead_times.longest
        digits = life - 1 + lead
        radix = int(max(order[-1], scenario.start.highest_stock, *scenario.start.on_order, 0)) + 1
        if float(radix) ** digits > MOST_AGED_STATES:
            raise SettingError(
                f"scenario {scenario.name} is too large to be solved exactly: it has {float(radix) ** digits:.2g} "
                f"states (stock by age and orders on the way), and {MOST_AGED_STATES:,} are the most; shorten shelf "
                "life or lead time, or take smaller orders"
            )
        law, price = scenario.demand_law, np.array(scenario.prices)
        assert isinstance(law, IndependentDemand)
        reach = law.reach(COUNT_TAIL)
        most = max(reach, life * (radix - 1))
        pmf = demand_pmf(law, np.zeros(1), price, np.zeros(1), most)
        above = np.cumsum(pmf[:, ::-1], axis=1)[:, ::-1]
        mean = pmf @ np.arange(most + 1)
        excess = mean[:, None] - np.cumsum(np.column_stack([np.zeros(len(price)), above[:, 1:]]), axis=1)
        tables = AgedTables(
            pmf=np.ascontiguousarray(pmf),
            above=np.ascontiguousarray(above),
            excess=excess,
            price=price,
            order=order,
            order_cost=order_cost(order.astype(np.float64), scenario.unit_costs),
            costs=scenario.unit_costs,
            waste_cost=keys.unit_waste_cost,
            from_oldest=float(keys.oldest_first),
            reach=reach,
            life=life,
            digits=digits,
            radix=radix,
        )
        model = cls(scenario, tables, 0)
        ages = np.zeros((1, life))
        ages[0, max(life - 1 - (lead == 0), 0)] = scenario.start.highest_stock
        pipeline = np.array([(*scenario.start.on_order, *(0.0,) * lead)[: max(lead - 1, 0)]])
        return cls(scenario, tables, int(model._state(ages, pipeline)[0]))

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Numbers of feature states, last demands, stocks and states, as of a `PipelineModel`."""
        return 1, 1, 1, self.tables.radix**self.tables.digits

    @cached_property
    def actions(self) -> tuple[Floats, Floats]:
        """Price and order of every action."""
        price, order = self.tables.price, self.tables.order.astype(np.float64)
        return np.repeat(price, len(order)), np.tile(order, len(price))

    def state_of(self, view: View) -> tuple[Ints, Ints, Ints]:
        """The positions of feature state, stock and state of every series."""
        if view.ages is None:
            raise LostSalesError("an exact policy for goods that perish decides on stock by age, but it was not shown")
        none = np.zeros(len(view.stock), dtype=np.int64)
        return none, none, self._state(view.ages, np.zeros((len(none), 0)) if view.pipeline is None else view.pipeline)

    def _state(self, ages: Floats, pipeline: Floats) -> Ints:
        """States of ages (series, life) and orders on the way; the freshest age is empty where orders come first."""
        units = np.column_stack([ages, pipeline])[:, : self.tables.digits].astype(np.int64)
        found = np.zeros(len(units), dtype=np.int64)
        for each in np.minimum(units, self.tables.radix - 1).T:
            found = found * self.tables.radix + each
        return found


def solve_perishable(
    model: PerishableModel, criterion: Criterion, progress: Progress | None = None
) -> tuple[Ints, float]:
    """Optimal actions, (periods, 1, 1, 1, 1, states), and the value of the opening."""
    tables, states = model.tables, model.shape[-1]
    step = DAMPING if criterion.is_average else 1.0  # the freshest first, orders may alternate for ever

    def improved(value: Values) -> tuple[Values, Actions]:
        better, action = np.empty(states), np.zeros(states, dtype=np.uint16)
        improve_aged(tables, value[0], criterion.discount, better, action)
        return (value[0] + step * (better - value[0]),), (action,)

    # Sweeps without evaluation between them: a life forgets the stock soon, so that some twenty are enough.
    found = solve_program(Program((np.zeros(states),), improved, precision=AGED_PRECISION), criterion, progress)
    actions = np.array([each[0] for each in found.actions])[:, None, None, None, None]
    return actions, found.average / step if criterion.is_average else float(found.value[0][model.opening])


def _refuse_unknown(scenario: Scenario) -> None:
    """Raise where a scenario has more than a shelf life, a lead time and independent demand."""
    plain = scenario.supply == Supply(lead_time=scenario.supply.lead_time) and scenario.lead_times.is_fixed
    reasons = {
        "independent demand (poisson, geometric or gamma)": isinstance(scenario.demand_law, IndependentDemand),
        "one fixed lead time and no other key of [supply]": plain,
        "no capacity": scenario.capacity is None,
        "no longest_run": scenario.longest_run is None,
        "lost sales": scenario.balance == "lost-sales",
        "a single opening stock": isinstance(scenario.start.stock, float),
        "no season end": scenario.product.season_end is None,
    }
    if missing := [reason for reason, holds in reasons.items() if not holds]:
        raise SettingError(f"scenario {scenario.name} has a shelf life: to be solved exactly it needs {missing[0]}")
