"""Features of the calendar in tables: they follow from the periods."""

from dataclasses import replace

import numpy as np

from lostsales.data.calendar.dates import calendar_values
from lostsales.data.log import SalesLog
from lostsales.data.problem import Problem
from lostsales.data.reading.findings import Findings
from lostsales.types import Array, Floats


def check_calendar(findings: Findings, problem: Problem, period: Array) -> None:
    """Add a finding where a calendar meets periods that are no dates."""
    if problem.calendar and period.dtype.kind != "M":
        column = problem.columns.period
        findings.add(
            f"{column} must be dates, as the problem's calendar ({', '.join(problem.calendar)}) reads them, but it has "
            "whole numbers: leave calendar out, or give the dates"
        )


def with_calendar(log: SalesLog) -> SalesLog:
    """The log with the features of its calendar."""
    if not log.problem.calendar:
        return log
    features = log.features.copy()
    fill_calendar(log.problem, log.period, features)
    return replace(log, features=features)


def fill_calendar(problem: Problem, period: Array, features: Floats) -> None:
    """Write the features of the calendar at periods (rows,) into their columns of (rows, features)."""
    clock = problem.clock.calendars
    step = clock.step if clock.is_dated else 0
    for index, feature in enumerate(problem.features):
        if feature.calendar is not None:
            features[:, index] = calendar_values(feature.name, feature.calendar, np.asarray(period), step)
