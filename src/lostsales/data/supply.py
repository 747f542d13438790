"""Supply: lead times, lost and short deliveries, order days, lots, and limits on open orders.

An order with lead time l, placed in period t, can be sold from period t + l on: with 0 in its own period, with 1 in the
next one. Lead times are at least 1, and orders then arrive after the sales of a period; or they are all 0.
"""

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import BeforeValidator, Field, field_validator, model_validator

from lostsales.data.calendar.clock import LEARN, WEEKDAYS, Day, weekday_named
from lostsales.data.settings import Above0, NonNegative, Number, Settings, no_truth_value
from lostsales.types import Array, Bools, Floats, Ints

LOST: Final = "lost"
LONGEST = 100  # periods of a lead time
_LAW = "{1 = 0.5, 2 = 0.3, lost = 0.2}"
Count = Annotated[int, BeforeValidator(no_truth_value)]


@dataclass(frozen=True)
class LeadTimes:
    """The law of lead times.

    >>> LeadTimes((0.0, 0.5, 0.25), lost=0.25).hazards
    array([0.        , 0.66666667, 1.        ])
    """

    chances: tuple[float, ...]  # of 0, 1, ..., the longest lead time
    lost: float = 0.0  # chance that an order never arrives

    @classmethod
    def fixed(cls, periods: int) -> "LeadTimes":
        """Lead time that is equal for all orders."""
        return cls((0.0,) * periods + (1.0,))

    @property
    def longest(self) -> int:
        """The longest lead time, after which an order that did not arrive is lost."""
        return len(self.chances) - 1

    @property
    def is_fixed(self) -> bool:
        """True where every order arrives, after one and the same time."""
        return self.chances[-1] == 1.0

    @property
    def mean(self) -> float:
        """Mean lead time of an order that arrives."""
        return float(np.arange(len(self.chances)) @ np.array(self.chances)) / (1 - self.lost)

    @cached_property
    def hazards(self) -> Floats:
        """Chance to arrive after 0, 1, ... periods, given that it did not before and is not lost, (longest + 1,)."""
        chances = np.array(self.chances)
        waiting = np.cumsum(chances[::-1])[::-1]
        return np.asarray(np.divide(chances, waiting, out=np.ones_like(chances), where=waiting > 0))

    @cached_property
    def lost_after(self) -> Floats:
        """Chance that an order is lost, given that it has not arrived after 0, 1, ... periods, (longest + 1,)."""
        waiting = self.lost + np.r_[np.cumsum(np.array(self.chances)[::-1])[::-1][1:], 0.0]
        return np.asarray(np.divide(self.lost, waiting, out=np.zeros(len(self.chances)), where=waiting > 0))


class OrderDays(Settings):
    """First day on which orders may be placed, and the periods from one order day to the next."""

    every: Annotated[Count, Field(ge=1, le=1_000)]
    start: Day = Field(0, alias="from")


def _weekday(value: Any) -> str:
    if (weekday := weekday_named(value)) is None:
        raise ValueError('must be weekdays such as ["Monday", "Thursday"]')
    return weekday


Weekday = Annotated[str, BeforeValidator(_weekday)]


class Supply(Settings):
    """Supply of a shop: lead times, losses, order days, lots and capacity."""

    lead_time: Annotated[Count, Field(ge=0, le=LONGEST)] | Literal["learn"] | dict[str, Number] | None = Field(
        None,
        description='Periods until an order can be sold: 0 is `arrival = "before"`, 1 is `"after"`; a table of '
        "probabilities by lead time, and of lost orders; or `learn`, from `order` and `received`. By default "
        "determined by `arrival`.",
        examples=[3, {"1": 0.5, "2": 0.3, "3": 0.1, "lost": 0.1}, "learn"],
    )
    lead_time_errors: dict[str, Number] | None = Field(
        None,
        description="Standard errors of a learned distribution of lead times; written by learning.",
        examples=[{"1": 0.01, "2": 0.01}],
    )
    crossing: bool = Field(
        True,
        description="Whether a later order may arrive before an earlier one: lead times of orders are then "
        "independent. If not, all orders that have waited long enough arrive together.",
        examples=[False],
    )
    share: Annotated[Number, Field(gt=0, le=1)] = Field(
        1.0,
        description="Share of an order that arrives, rounded to whole units at random; the rest never comes.",
        examples=[0.95],
    )
    order_days: Annotated[Count, Field(ge=1, le=1_000)] | tuple[Weekday, ...] | OrderDays | str | None = Field(
        None,
        description="When orders may be placed: every this many periods (from period 0, or `{every = 14, from = "
        '"2026-01-05"}`, in days where periods are dates), a list of weekdays, or a column that is 0 where none may.',
        examples=[7, ["Monday", "Thursday"], "may_order"],
    )
    multiple: Above0 | str | None = Field(
        None, description="Case size; orders are multiples of it: a number, or a column by series.", examples=[6]
    )
    minimum: NonNegative | str | None = Field(
        None, description="An order is none or at least this: a number, or a column by series.", examples=[12]
    )
    capacity: Above0 | None = Field(
        None, description="The most that may be on the way, the order of the period included.", examples=[40]
    )

    @field_validator("lead_time", mode="before")
    @classmethod
    def _is_law(cls, value: Any) -> Any:
        if isinstance(value, str) and value != LEARN:
            raise ValueError(f'must be a whole number, a table such as {_LAW}, or "learn"')
        return {str(key): each for key, each in value.items()} if isinstance(value, dict) else value

    @field_validator("lead_time")
    @classmethod
    def _adds_up(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        times = [key for key in value if key != LOST]
        for key in times:
            if not key.isdecimal() or not key.isascii() or int(key) > LONGEST:
                raise ValueError(f"a lead time must be a whole number up to {LONGEST} or lost, but {key!r} is none")
        for key, chance in value.items():
            if not 0 <= chance <= 1:
                raise ValueError(f"a chance must lie from 0 to 1, but that of {key} is {chance:g}")
        if abs(sum(value.values()) - 1) > 1e-6:
            raise ValueError(f"the chances must sum to 1, but they sum to {sum(value.values()):g}")
        possible = {int(key) for key in times if value[key] > 0}
        if not possible:
            raise ValueError("an order must be able to arrive, but all are lost")
        if 0 in possible and len(possible) > 1:
            raise ValueError("lead times must all be 0 or all be at least 1: orders arrive before or after sales")
        return value

    @field_validator("order_days", mode="before")
    @classmethod
    def _is_day(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            if not value:
                raise ValueError("must name at least one weekday")
            return tuple(_weekday(each) for each in value)
        return value

    @model_validator(mode="after")
    def _hazards_rise(self) -> "Supply":
        law = self.lead_times
        if not self.crossing and law is not None and (np.diff(law.hazards[1:]) < -1e-9).any():
            at = int(np.flatnonzero(np.diff(law.hazards[1:]) < -1e-9)[0]) + 2
            raise ValueError(
                "orders that do not cross arrive the likelier the longer they have waited, but by lead_time one after "
                f"{at - 1} periods is likelier to arrive than one after {at}; set crossing = true"
            )
        return self

    @cached_property
    def lead_times(self) -> LeadTimes | None:
        """The law of lead times, None where `arrival` says it or it is to be learned."""
        if isinstance(self.lead_time, dict):
            by_time = {int(key): chance for key, chance in self.lead_time.items() if key != LOST and chance > 0}
            total = sum(self.lead_time.values())
            chances = tuple(by_time.get(time, 0.0) / total for time in range(max(by_time) + 1))
            return LeadTimes(chances, self.lead_time.get(LOST, 0.0) / total)
        return LeadTimes.fixed(self.lead_time) if isinstance(self.lead_time, int) else None

    def in_units(self, unit: float) -> "Supply":
        """Supply with quantities counted in a unit."""
        quantities = {name: getattr(self, name) for name in ("multiple", "minimum", "capacity")}
        update = {name: round(each / unit, 10) for name, each in quantities.items() if isinstance(each, float)}
        return self.model_copy(update=update)

    @property
    def order_cycle(self) -> tuple[bool, ...] | None:
        """Order days by position in their cycle, True if an order may be placed; None without a cycle."""
        days = self.order_days
        if isinstance(days, tuple):
            return tuple(day in days for day in WEEKDAYS)
        every = days.every if isinstance(days, OrderDays) else days
        return (True,) + (False,) * (every - 1) if isinstance(every, int) else None

    def order_phase(self, period: Array) -> Ints | None:
        """Position of periods in the cycle of order days; whole numbers count days from a Monday."""
        cycle = self.order_cycle
        if cycle is None:
            return None
        dated = period.dtype.kind == "M"
        days = period.astype("datetime64[D]").astype(np.int64) if dated else period.astype(np.int64)
        if isinstance(self.order_days, OrderDays):
            start = self.order_days.start
            first = start if isinstance(start, int) else (date.fromisoformat(start) - date(1970, 1, 1)).days
        else:
            first = -3 if dated and isinstance(self.order_days, tuple) else 0  # 1970-01-01 was a Thursday
        return np.asarray((days - first) % len(cycle))

    def may_order(self, phase: Ints) -> Bools:
        """True at positions in the cycle of order days where orders may be placed."""
        cycle = self.order_cycle
        return np.ones(len(phase), dtype=bool) if cycle is None else np.array(cycle)[phase]


def periods_to_order(cycle: tuple[bool, ...]) -> Ints:
    """Periods from each position of a cycle of order days to the next order day, at least 1.

    >>> periods_to_order((True, False, False, True, False))
    array([3, 2, 1, 2, 1])
    """
    days = np.flatnonzero(cycle)
    coming = np.r_[days, days + len(cycle)]
    now = np.arange(len(cycle))
    return np.asarray(coming[np.searchsorted(coming, now, side="right")] - now)


def arrival_of(supply: object) -> Literal["before", "after"] | None:
    """Value of `arrival` that a supply table, checked or not yet, implies; None if it implies none or is wrong."""
    lead_time = supply.get("lead_time") if isinstance(supply, dict) else getattr(supply, "lead_time", None)
    if isinstance(lead_time, dict):
        lead_time = 0 if any(str(key) == "0" and chance for key, chance in lead_time.items()) else 1
    if lead_time == LEARN:
        return "after"
    if isinstance(lead_time, bool) or not isinstance(lead_time, int | np.integer):
        return None
    return "before" if lead_time == 0 else "after"


def order_day_column(supply: object) -> str | None:
    """The column of order days in a supply table, checked or not yet."""
    days = supply.get("order_days") if isinstance(supply, dict) else getattr(supply, "order_days", None)
    return days if isinstance(days, str) else None
