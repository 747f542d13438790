"""`solve`: the oracle or pi* of a scenario, its value and the discretisation error."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Literal

import numpy as np

from lostsales.data.reading.gate import Progress
from lostsales.errors import SettingError
from lostsales.policy.file_format import SavedPolicy
from lostsales.simulation.exact.expansion import ExactExpansion
from lostsales.simulation.exact.histories import history_tree, solve_histories
from lostsales.simulation.exact.iterate import Actions, Criterion, Values
from lostsales.simulation.exact.oracle import oracle_plan_value, solve_oracle
from lostsales.simulation.exact.pi_star import BeliefWorld, solve_pi_star
from lostsales.simulation.exact.solved_policies import BeliefPolicy, HistoryPolicy, OraclePolicy, SolverSettings
from lostsales.simulation.exact.world import Resolution, World
from lostsales.simulation.scenario import Scenario, as_scenario
from lostsales.types import Array, Floats

Target = Literal["oracle", "pi-star"]
Method = Literal["auto", "beliefs", "histories"]


@dataclass(frozen=True)
class Solution:
    """A solved scenario.

    Attributes
    ----------
    policy : SavedPolicy
        The optimal policy, which `simulate` runs and `lostsales.load` reads back.
    criterion : Criterion
        Discount and horizon for which it is optimal.
    method : str
        "dynamic programming", "beliefs" or "histories".
    value : float
        Expected value of the opening state under the criterion.
    grid_error : float
        Discretisation error: twice the change of the value on a grid about half as fine.
    seconds : float
        Time of solving.

    """

    policy: SavedPolicy
    criterion: Criterion
    method: str
    value: float
    grid_error: float
    seconds: float

    @property
    def a_period(self) -> float:
        """The constant profit a period that has the same value."""
        return self.value / self.criterion.worth


def solve(
    scenario: Scenario | str | Path,
    target: Target = "oracle",
    *,
    discount: float | None = None,
    horizon: int | None = None,
    max_depth: int | None = None,
    method: Method = "auto",
    first_row: bool = False,
    progress: Progress | None = None,
) -> Solution:
    """Solve a scenario by dynamic programming on its true law of demand.

    Parameters
    ----------
    scenario : Scenario, str or Path
        The shop: a scenario, the name of a preset, or the path of a TOML file.
    target : {"oracle", "pi-star"}
        The optimal policy that observes demand, or the one that observes sales only.
    discount : float, optional
        The scenario's unless given; with a horizon 1.
    horizon : int, optional
        Periods to plan; infinite unless given.
    max_depth : int, optional
        pi*: censored periods in a row from which on only safe actions are allowed.
    method : {"auto", "beliefs", "histories"}
        pi*: belief grid, or enumeration of all histories; "auto" enumerates where there are few.
    first_row : bool
        Plan also for a first period that is off the law of demand (`start.lag_term`).
    progress : callable, optional
        Called with the share of the work done, as two integers.

    Returns
    -------
    Solution
        The policy, its value and the error of the discretisation.

    Raises
    ------
    SettingError
        If a number is out of range, stock or demand is not in whole units, or histories are too many to enumerate.

    Examples
    --------
    >>> solved = solve("newsvendor", horizon=2)
    >>> round(solved.value, 2), solved.method
    (47.73, 'dynamic programming')

    """
    scenario = as_scenario(scenario)
    criterion = criterion_of(scenario, discount, horizon)
    return solve_reference(scenario, target, criterion, max_depth, method, first_row, progress=progress)


def criterion_of(scenario: Scenario, discount: float | None, horizon: int | None) -> Criterion:
    """With a horizon undiscounted unless given; else infinite, with the scenario's discount unless given."""
    if horizon is not None:
        if horizon < 1 or not 0 <= (1.0 if discount is None else discount) <= 1:
            raise SettingError(f"horizon must be at least 1 and discount from 0 to 1, but {horizon}, {discount} came")
        return Criterion(1.0 if discount is None else discount, horizon)
    chosen = scenario.discount if discount is None else discount
    if not 0 <= chosen < 1:
        raise SettingError(f"without a horizon discount must be from 0 to below 1, but {chosen:g} came")
    return Criterion(chosen)


def solve_reference(
    scenario: Scenario,
    target: Target,
    criterion: Criterion,
    max_depth: int | None = None,
    method: Method = "auto",
    first_row: bool = False,
    grid: Resolution | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Solve a scenario for a criterion, and once more on a coarser grid to measure the discretisation error.

    Policies are planned on the law of demand. Where the first period is off the law (`start.lag_term`) the value
    accounts for it, and with `first_row` the first decision is optimal for it too.
    """
    if max_depth is not None and max_depth < 1:
        raise SettingError(f"max_depth must be at least 1, but {max_depth} came")
    fine = grid or Resolution()
    began = perf_counter()
    plan = SolverSettings(scenario, fine, criterion, max_depth if target == "pi-star" else None)
    if target == "pi-star" and method != "beliefs":
        try:
            policy, value = _histories(plan)
            return Solution(policy, criterion, "histories", value, 0.0, perf_counter() - began)
        except SettingError:
            if method == "histories":
                raise
    solver = _oracle if target == "oracle" else _beliefs
    _, rough = solver(
        SolverSettings(scenario, fine.coarser(), criterion, plan.max_depth), first_row, _part(progress, 0)
    )
    solved, value = solver(plan, first_row, _part(progress, 1))
    name = "dynamic programming" if target == "oracle" else "beliefs"
    return Solution(solved, criterion, name, value, 2 * abs(value - rough), perf_counter() - began)


def _oracle(plan: SolverSettings, first_row: bool, progress: Progress | None) -> tuple[SavedPolicy, float]:
    world = World.of(plan.scenario, plan.grid)
    values, actions = solve_oracle(world, plan.criterion, progress)
    following = _following(values, plan.criterion)
    opening = oracle_plan_value(world, world.first_pmf, following[0], 0, plan.criterion.discount)
    value, first = _opening(world, opening, actions[0][0], first_row)
    tables: Array = np.array(_with_first(actions, first))
    return OraclePolicy(plan, world, tables), value


def _beliefs(plan: SolverSettings, first_row: bool, progress: Progress | None) -> tuple[SavedPolicy, float]:
    world = World.of(plan.scenario, plan.grid)
    seen = BeliefWorld.of(world, plan.grid, plan.max_depth)
    values, actions = solve_pi_star(seen, plan.criterion, progress)
    following = _following(values, plan.criterion)
    value, first = _opening(world, seen.opening(following[0], plan.criterion.discount), actions[0][0], first_row)
    known = _with_first([each[:1] for each in actions], first)
    kept = [tuple(layer.astype(np.float32) for layer in each) for each in following]
    kept = [kept[0]] * (len(known) - len(kept)) + kept
    return BeliefPolicy(plan, world, seen, np.array(known)[:, 0], kept), value


def _histories(plan: SolverSettings) -> tuple[SavedPolicy, float]:
    world = World.of(plan.scenario, plan.grid)
    if world.first_pmf is not world.pmf:
        raise SettingError("histories are enumerated where the first period follows the law; solve on beliefs")
    tree = history_tree(world, ExactExpansion(world), plan.max_depth, plan.criterion.horizon)
    values, actions = solve_histories(tree, plan.criterion)
    tables = np.array([each[0] for each in actions])
    policy = HistoryPolicy(plan, world, tables, tree.parents, tree.children)
    return policy, opening_of_tree(world, values[0][0])


def opening_of_tree(world: World, value: Floats) -> float:
    """The expected value of the opening, from values (block, f) whose first blocks are the known demands."""
    features, stocks, demands = world.shape
    known = value[: stocks * demands].reshape(stocks, demands, features)
    return float((np.moveaxis(known, -1, 0) * world.opening).sum())


def _following(values: list[Values], criterion: Criterion) -> list[Values]:
    """The value after each period."""
    if criterion.horizon is None:
        return values
    return [*values[1:], tuple(np.zeros_like(layer) for layer in values[-1])]


def _opening(world: World, plan_value: Floats, action: Array, first_row: bool) -> tuple[float, Array | None]:
    """What the opening is worth under its actions, and better ones where the first period is planned for."""
    better = None
    if first_row and world.first_pmf is not world.pmf:
        _, better = world.best(plan_value, world.plan_of, world.allowed)
    value = world.taken(plan_value, action if better is None else better)  # (f, d, y)
    return float((world.opening * np.swapaxes(value, 1, 2)).sum()), better


def _with_first(actions: list[Actions], first: Array | None) -> list[Actions]:
    """Tables by period, with the actions of the first period in layer 0 where it has its own."""
    if first is None:
        return actions
    rest = actions[1:] if len(actions) > 1 else actions
    return [(first, *actions[0][1:]), *rest]


def _part(progress: Progress | None, stage: int) -> Progress | None:
    """Progress of one of two stages as progress of the whole; the coarse stage is about a fifth of the work."""
    if progress is None:
        return None
    report: Callable[[int, int], None] = progress
    before, share = (0, 20) if stage == 0 else (20, 80)
    return lambda done, total: report(before + share * done // total, 100)
