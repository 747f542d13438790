"""Small shops with a past and a pilot, simulated apart from the package."""

from dataclasses import replace

import numpy as np

from lostsales.data.log import SalesLog
from lostsales.data.sublogs import without
from lostsales.evaluation.pilot.design import PilotSettings, design_pilot
from lostsales.evaluation.pilot.plan import Design, Pilot, TriedPolicy
from lostsales.lab.studies.pilot import AssortedShop
from lostsales.types import Bools

PAST = 40
TRIED = TriedPolicy(file=None, method="test", sha256=None)


def shop_log(series: int = 12, periods: int = 30, seed: int = 0, is_new: Bools | None = None) -> SalesLog:
    """A past of 40 periods and more; the new policy asks 4 % more."""
    schedule = np.zeros((series, PAST + periods), dtype=bool)
    if is_new is not None:
        schedule[:, PAST:] = is_new
    return AssortedShop(noise=0.5, spread=0.3).roll_out(schedule, seed)


def past_of(log: SalesLog) -> SalesLog:
    """The rows before the pilot."""
    return without(log, log.period >= PAST)


def dated(log: SalesLog, first: str = "2026-01-05") -> SalesLog:
    """The same log, its periods days."""
    days = np.datetime64(first, "us") + log.period.astype("timedelta64[D]").astype("timedelta64[us]")
    return replace(log, period=days)


def designed(
    log: SalesLog,
    periods: int | None = 30,
    design: Design | None = None,
    wash_out: int | None = None,
    seed: int = 3,
) -> Pilot:
    """A pilot on the past of a log."""
    settings = PilotSettings(periods=periods, design=design, wash_out=wash_out, seed=seed)
    return design_pilot(past_of(log), TRIED, settings)
