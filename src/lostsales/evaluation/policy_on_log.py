"""A policy and a log: whether it can be evaluated there, and its decisions in the rows."""

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.settings import MOST_NUMBER
from lostsales.demand.censoring.runs import Runs
from lostsales.errors import LostSalesError, SettingError
from lostsales.policy.history import log_as_asked, view_of_rows
from lostsales.policy.policy import Policy
from lostsales.types import Floats, Ints

DRAWS = 8  # of a stochastic policy
SHARED_KEYS = ("features", "arrival", "balance", "capacity", "capacity_rule")  # the same for policy and log


def check_policy(policy: Policy, log: SalesLog, horizon: int | None, start_stock: float | None = None) -> None:
    """Raise where a policy cannot be evaluated from a log."""
    for key in SHARED_KEYS:
        wanted, came = shown(getattr(policy.problem, key)), shown(getattr(log.problem, key))
        if wanted != came:
            advice = "fit one to this log, or give a log of its shop"
            raise SettingError(f"the policy was made for {key} {wanted}, but the log has {came}: {advice}")
    if policy.observes == "demand":
        raise LostSalesError("this policy needs true demand, which no shop sees: it can only be simulated")
    if policy.horizon is not None:
        raise LostSalesError("this policy plans a number of periods: evaluate one that decides the same in each")
    check_horizon(horizon)
    capacity = log.problem.capacity
    if start_stock is not None and not 0 <= start_stock <= (MOST_NUMBER if capacity is None else capacity):
        most = f"{MOST_NUMBER:g}" if capacity is None else f"the capacity of {capacity:g}"
        raise SettingError(f"the stock to start with must lie between 0 and {most}, but {start_stock:g} came")


def check_horizon(horizon: int | None) -> None:
    """Raise where the horizon is below one period."""
    if horizon is not None and horizon < 1:
        raise SettingError(f"horizon must be at least 1, but {horizon} came")


def shown(setting: object) -> str:
    """A setting as people read it.

    >>> shown(None), shown("after"), shown(())
    ('none', 'after', 'none')
    """
    if isinstance(setting, tuple):
        return ", ".join(str(getattr(each, "name", each)) for each in setting) or "none"
    return "none" if setting is None else str(setting)


def decisions(policy: Policy, log: SalesLog, runs: Runs, rows: Ints, rng: np.random.Generator) -> Floats:
    """Price and order at each row, (draws, rows, 2); one draw where the policy is deterministic."""
    view = view_of_rows(log_as_asked(policy, log), runs, rows)
    drawn = [np.column_stack(policy.decide(view, rng)) for _ in range(2)]
    if np.array_equal(drawn[0], drawn[1]):
        return np.array(drawn[:1])
    return np.array(drawn + [np.column_stack(policy.decide(view, rng)) for _ in range(DRAWS - 2)])
