"""`solve`: the oracle or pi* of a scenario, its value and the discretisation error."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Literal

import numpy as np

from lostsales.data.progress import Progress
from lostsales.errors import SettingError
from lostsales.lab.exact.finite_model import FiniteModel, Resolution
from lostsales.lab.exact.history_tree import ExactExpansion, history_tree, solve_histories
from lostsales.lab.exact.oracle import oracle_pair_value, solve_oracle
from lostsales.lab.exact.perishable import PerishableModel, solve_perishable
from lostsales.lab.exact.pi_star import BeliefModel, solve_pi_star
from lostsales.lab.exact.pipeline_model import PipelineModel
from lostsales.lab.exact.pipeline_solve import solve_pipeline, with_first
from lostsales.lab.exact.solved_policies import (
    BeliefPolicy,
    HistoryPolicy,
    OraclePolicy,
    PipelinePolicy,
    SolverSettings,
)
from lostsales.lab.exact.value_iteration import Criterion
from lostsales.policy.policy import SavedPolicy
from lostsales.simulation.hidden_market import check_markov
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

    Examples
    --------
    >>> import lostsales
    >>> round(lostsales.solve("newsvendor", "oracle", horizon=2).a_period, 1)
    23.9

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
    average: bool = False,
    progress: Progress | None = None,
) -> Solution:
    """Solve a scenario by dynamic programming on its true law of demand.

    If orders take time the state has the pipeline too, up to `MOST_STATES` states.

    Parameters
    ----------
    scenario : Scenario, str or Path
        The shop: a scenario, the name of a preset, or the path of a TOML file.
    target : {"oracle", "pi-star"}
        The optimal policy that observes demand, or the one that observes sales only.
    discount : float, optional
        By default the scenario's; with a horizon 1.
    horizon : int, optional
        Number of periods; by default infinite.
    max_depth : int, optional
        pi*: censored periods in a row from which on only safe actions are allowed.
    method : {"auto", "beliefs", "histories"}
        pi*: belief grid, or enumeration of all histories; "auto" enumerates where there are few.
    first_row : bool
        Plan also for a first period that is off the law of demand (`start.lag_term`).
    average : bool
        Maximise the average profit a period instead of the discounted sum; `value` is then that average.
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
    criterion = criterion_of(scenario, discount, horizon, average)
    return solve_reference(scenario, target, criterion, max_depth, method, first_row, progress=progress)


def criterion_of(scenario: Scenario, discount: float | None, horizon: int | None, average: bool = False) -> Criterion:
    """Criterion with a horizon, by default undiscounted, or infinite, by default with the scenario's discount."""
    if average:
        if discount is not None or horizon is not None:
            raise SettingError("the average criterion has neither a discount nor a horizon; leave them out")
        return Criterion(1.0)
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

    Policies are planned on the law of demand. If the first period is off the law (`start.lag_term`) the value
    accounts for it, and with `first_row` the first decision is optimal for it too.
    """
    if max_depth is not None and max_depth < 1:
        raise SettingError(f"max_depth must be at least 1, but {max_depth} came")
    check_markov(scenario, "dynamic programming")
    fine = grid or Resolution()
    began = perf_counter()
    if scenario.product.shelf_life is not None:
        aged = PerishableModel.of(scenario)
        actions, value = solve_perishable(aged, criterion, progress)
        policy: SavedPolicy = PipelinePolicy(SolverSettings(scenario, fine, criterion), aged, True, actions)
        return Solution(policy, criterion, "dynamic programming", value, 0.0, perf_counter() - began)
    if needs_pipeline(scenario, criterion):
        policy, value, error = _with_pipeline(scenario, target, criterion, fine, first_row, progress)
        return Solution(policy, criterion, "dynamic programming", value, error, perf_counter() - began)
    settings = SolverSettings(scenario, fine, criterion, max_depth if target == "pi-star" else None)
    if target == "pi-star" and method != "beliefs":
        try:
            policy, value = _histories(settings)
            return Solution(policy, criterion, "histories", value, 0.0, perf_counter() - began)
        except SettingError:
            if method == "histories":
                raise
    solver = _oracle if target == "oracle" else _beliefs
    _, rough = solver(
        SolverSettings(scenario, fine.coarser(), criterion, settings.max_depth), first_row, _stage(progress, 0)
    )
    solved, value = solver(settings, first_row, _stage(progress, 1))
    name = "dynamic programming" if target == "oracle" else "beliefs"
    return Solution(solved, criterion, name, value, 2 * abs(value - rough), perf_counter() - began)


def needs_pipeline(scenario: Scenario, criterion: Criterion) -> bool:
    """True where supply is more than an order that arrives in full, before or after sales, or the average is asked."""
    supply = scenario.supply
    plain = supply.order_days is None and supply.capacity is None and supply.multiple is None and not supply.minimum
    return criterion.is_average or not plain or not scenario.receives_orders


def _with_pipeline(
    scenario: Scenario,
    target: Target,
    criterion: Criterion,
    grid: Resolution,
    first_row: bool,
    progress: Progress | None,
) -> tuple[SavedPolicy, float, float]:
    """Policy, value and error of the grid, where the state has the pipeline."""
    model, coarse = (PipelineModel.of(scenario, each, target == "oracle") for each in (grid, grid.coarser()))
    solved = solve_pipeline(model, criterion, first_row, _stage(progress, 1))
    error = 0.0
    if coarse.shape != model.shape:
        error = 2 * abs(solved.value - solve_pipeline(coarse, criterion, first_row, _stage(progress, 0)).value)
    settings, sees_demand = SolverSettings(scenario, grid, criterion), target == "oracle"
    return PipelinePolicy(settings, model, sees_demand, solved.actions), solved.value, error


def _oracle(settings: SolverSettings, first_row: bool, progress: Progress | None) -> tuple[SavedPolicy, float]:
    model = FiniteModel.of(settings.scenario, settings.grid)
    found = solve_oracle(model, settings.criterion, progress)
    opening = oracle_pair_value(model, model.first_pmf, found.following[0], 0, settings.criterion.discount)
    value, first = _opening(model, opening, found.actions[0][0], first_row)
    tables: Array = np.array(with_first(found.actions, first))
    return OraclePolicy(settings, model, tables), value


def _beliefs(settings: SolverSettings, first_row: bool, progress: Progress | None) -> tuple[SavedPolicy, float]:
    model = FiniteModel.of(settings.scenario, settings.grid)
    belief_model = BeliefModel.of(model, settings.grid, settings.max_depth)
    found = solve_pi_star(belief_model, settings.criterion, progress)
    opening = belief_model.opening(found.following[0], settings.criterion.discount)
    value, first = _opening(model, opening, found.actions[0][0], first_row)
    tables = with_first([each[:1] for each in found.actions], first)
    after = [found.following[0]] * (len(tables) - len(found.following)) + found.following
    kept = tuple(np.array(layer, dtype=np.float32) for layer in zip(*after, strict=True))
    return BeliefPolicy(settings, model, belief_model, np.array(tables)[:, 0], kept), value


def _histories(settings: SolverSettings) -> tuple[SavedPolicy, float]:
    model = FiniteModel.of(settings.scenario, settings.grid)
    if model.first_pmf is not model.pmf:
        raise SettingError("histories need a first period with the demand distribution of the others; solve on beliefs")
    tree = history_tree(model, ExactExpansion(model), settings.max_depth, settings.criterion.horizon)
    found = solve_histories(tree, settings.criterion)
    tables = np.array([each[0] for each in found.actions])
    policy = HistoryPolicy(settings, model, tables, tree.parents, tree.children)
    return policy, opening_of_tree(model, found.value[0])


def opening_of_tree(model: FiniteModel, value: Floats) -> float:
    """Expected value of the opening, from values (block, f) whose first blocks are the observed demands."""
    features, stocks, demands = model.shape
    observed = value[: stocks * demands].reshape(stocks, demands, features)
    return float((np.moveaxis(observed, -1, 0) * model.opening).sum())


def _opening(model: FiniteModel, pair_value: Floats, action: Array, first_row: bool) -> tuple[float, Array | None]:
    """Value of the opening under its actions, and optimal ones where the first period is planned for."""
    better = None
    if first_row and model.first_pmf is not model.pmf:
        _, better = model.best(pair_value, model.pair_of, model.allowed)
    value = model.taken(pair_value, action if better is None else better)  # (f, d, y)
    return float((model.opening * np.swapaxes(value, 1, 2)).sum()), better


def _stage(progress: Progress | None, stage: int) -> Progress | None:
    """Progress of one of two stages as progress of the whole; the coarse grid is about a fifth of the work."""
    if progress is None:
        return None
    report: Callable[[int, int], None] = progress
    before, share = (0, 20) if stage == 0 else (20, 80)
    return lambda done, total: report(before + share * done // total, 100)
