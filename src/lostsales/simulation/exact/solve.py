"""The front door: solve a scenario for the oracle or for pi*, and say how good the answer is."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

import numpy as np

from lostsales.data.progress import Progress
from lostsales.errors import SettingError
from lostsales.policy.policy import SavedPolicy
from lostsales.simulation.exact.expansion import ExactExpansion
from lostsales.simulation.exact.histories import history_tree, solve_histories
from lostsales.simulation.exact.iterate import Actions, Criterion, Values
from lostsales.simulation.exact.oracle import oracle_plan_value, solve_oracle
from lostsales.simulation.exact.pi_star import BeliefWorld, solve_pi_star
from lostsales.simulation.exact.solved_policies import BeliefPolicy, HistoryPolicy, OraclePolicy, SolverSettings
from lostsales.simulation.exact.world import Resolution, World
from lostsales.simulation.scenario import Scenario
from lostsales.types import Array, Floats

Target = Literal["oracle", "pi-star"]
Method = Literal["auto", "beliefs", "histories"]


@dataclass(frozen=True)
class Solution:
    """A solved scenario: the policy, and what it earns from the opening under the criterion it was solved for."""

    policy: SavedPolicy
    criterion: Criterion
    method: str
    value: float
    grid_error: float  # twice what a grid about half as fine moves the value by
    seconds: float

    @property
    def a_period(self) -> float:
        """The value as a profit that, earned in every period, is worth as much."""
        return self.value / self.criterion.worth


def criterion_of(scenario: Scenario, discount: float | None, horizon: int | None) -> Criterion:
    """With a horizon no discount unless given; else for ever, with the scenario's discount unless given."""
    if horizon is not None:
        if horizon < 1 or not 0 <= (1.0 if discount is None else discount) <= 1:
            raise SettingError(f"horizon must be at least 1 and discount from 0 to 1, but {horizon}, {discount} came")
        return Criterion(1.0 if discount is None else discount, horizon)
    chosen = scenario.discount if discount is None else discount
    if not 0 <= chosen < 1:
        raise SettingError(f"without a horizon discount must be from 0 to below 1, but {chosen:g} came")
    return Criterion(chosen)


def reference(
    scenario: Scenario,
    target: Target,
    criterion: Criterion,
    max_depth: int | None = None,
    method: Method = "auto",
    first_row: bool = False,
    grid: Resolution | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Solve a scenario and measure the error of the grid by solving it on a coarser one as well.

    Policies are planned on the law of demand. Where the opening of a scenario breaks the law (`start.lag_term`) the
    value counts what really happens, and with `first_row` the first decision is planned for it too.
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
