"""Small simulated logs, and their recent and open rows of a day."""

from functools import cache

import numpy as np
import pandas as pd

from lostsales.data.log import DecisionLog, SalesLog
from lostsales.simulation.scenario import Scenario
from lostsales.simulation.simulator import simulate

FORBID = "paper that forbids"  # as paper, but an order must fit the capacity


@cache
def scenario(name: str) -> Scenario:
    """By name."""
    return Scenario.load("paper", ("capacity_rule=forbid",)) if name == FORBID else Scenario.load(name)


@cache
def small_log(name: str, episodes: int = 8, seed: int = 1, horizon: int | None = None) -> DecisionLog:
    """A few episodes under uniform behaviour, of the scenario's horizon unless given."""
    world = scenario(name)
    return simulate(world.model_copy(update={"horizon": horizon or world.horizon}), episodes=episodes, seed=seed)[0]


def frame_of(log: SalesLog) -> pd.DataFrame:
    """The log as a shop has it."""
    frame = pd.DataFrame({name: np.ma.getdata(values) for name, values in log.table_columns.items()})
    first = frame["period"] == 0
    return frame.assign(last_sales=frame["last_sales"].where(first), last_stockout=frame["last_stockout"] & first)


def open_rows(frame: pd.DataFrame, log: SalesLog, period: int) -> pd.DataFrame:
    """The open rows of a period."""
    keep = ["series", "period", *(feature.name for feature in log.problem.features), "stock"]
    return frame.loc[frame["period"] == period, keep]


def days(log: SalesLog, period: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Closed rows before a period, and its open rows in another order."""
    frame = frame_of(log)
    return frame[frame["period"] < period], open_rows(frame, log, period).sample(frac=1, random_state=0)
