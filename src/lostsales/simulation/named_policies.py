"""Policies by name, or by the path of a policy file."""

from os.path import isfile
from pathlib import Path

import numpy as np

from lostsales.data.problem import Problem
from lostsales.errors import SettingError
from lostsales.policy.action_grid import ActionGrid
from lostsales.policy.file_format import load
from lostsales.policy.policy import Policy, SavedPolicy
from lostsales.policy.simple import BaseStockRule, EpsilonGreedy, Uniform
from lostsales.simulation.manager_policy import ManagerPolicy
from lostsales.simulation.scenario import Scenario

NAMES = "uniform, manager, base-stock, base-stock:LEVEL or base-stock:LEVEL@PRICE"


def named_policy(name: str, scenario: Scenario, epsilon: float = 0.0) -> Policy:
    """A policy by name or by the path of its file, with a share `epsilon` of its decisions drawn uniformly.

    >>> from lostsales.simulation.scenario import Scenario
    >>> named_policy("base-stock:20@6", Scenario.load("released")).level
    20.0
    """
    if not 0 <= epsilon <= 1:
        raise SettingError(f"epsilon must lie between 0 and 1, but {epsilon:g} came")
    policy: Policy
    if name == "uniform":
        policy = Uniform(scenario.problem)
    elif name == "manager":
        policy = ManagerPolicy.of(scenario)
    elif name.partition(":")[0] == "base-stock":
        policy = _base_stock(name, scenario.problem)
    elif isfile(name):
        policy = saved_policy(name, scenario)
    else:
        raise SettingError(f"no policy {name!r}; the names are {NAMES}, and there is no file of that name")
    return EpsilonGreedy(policy, epsilon) if epsilon else policy


def saved_policy(path: str | Path, scenario: Scenario) -> SavedPolicy:
    """The policy in a file, refused where its problem differs from the scenario's."""
    policy = load(path)
    made_for, runs_in = policy.problem, scenario.problem
    for key in ("prices", "orders", "features", "arrival", "balance", "capacity", "capacity_rule"):
        wanted, came = getattr(made_for, key), getattr(runs_in, key)
        fits = set(wanted) <= set(came) if key in ("prices", "orders") and wanted and came else wanted == came
        if not fits:
            raise SettingError(
                f"policy {path} was made for {key} {_shown(wanted)}, but scenario {scenario.name} has {_shown(came)}"
            )
    if made_for.lead_times != runs_in.lead_times:
        raise SettingError(
            f"policy {path} was made for lead times {made_for.lead_times}, but scenario {scenario.name} has "
            f"{runs_in.lead_times}"
        )
    if policy.horizon is not None and policy.horizon < scenario.horizon:
        raise SettingError(
            f"policy {path} plans {policy.horizon} periods, but scenario {scenario.name} has {scenario.horizon}"
        )
    return policy


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return (
            ", ".join(f"{each:g}" if isinstance(each, float) else getattr(each, "name", "") for each in value) or "none"
        )
    return "none" if value is None else str(value)


def _base_stock(name: str, problem: Problem) -> BaseStockRule:
    """Parse a base-stock policy; by default the level is the largest order and the price the middle one."""
    grid = ActionGrid.of(problem)
    level_text, _, price_text = name.partition(":")[2].partition("@")
    try:
        level = float(level_text) if level_text else float(grid.orders[-1])
        price = float(price_text) if price_text else float(grid.prices[len(grid.prices) // 2])
    except ValueError:
        raise SettingError(f"level and price must be numbers, but {name!r} came; the names are {NAMES}") from None
    if not np.isfinite(level):
        raise SettingError(f"level must be a finite number, but {level:g} came")
    if price not in grid.prices:
        raise SettingError(f"price must be one of {', '.join(f'{p:g}' for p in grid.prices)}, but {price:g} came")
    return BaseStockRule(problem, level, price)
