"""The decisions of a policy in the rows of a log."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.cost_features import costs_as_features
from lostsales.data.log import SalesLog
from lostsales.demand.censoring.runs import Runs
from lostsales.policy.history import view_of_rows
from lostsales.policy.policy import Policy
from lostsales.types import Array, Bools, Floats, Ints

DRAWS = 8  # of a stochastic policy


def log_as_asked(policy: Policy, log: SalesLog) -> SalesLog:
    """The log with the features that a policy asks for, unit costs that vary among them where it uses them."""
    return log if policy.asks == log.problem.features else costs_as_features(log)


def decisions(policy: Policy, log: SalesLog, runs: Runs, rows: Ints, rng: np.random.Generator) -> Floats:
    """Price and order at each row, (draws, rows, 2); one draw where the policy is deterministic."""
    view = view_of_rows(log_as_asked(policy, log), runs, rows)
    drawn = [np.column_stack(policy.decide(view, rng)) for _ in range(2)]
    if np.array_equal(drawn[0], drawn[1]):
        return np.array(drawn[:1])
    return np.array(drawn + [np.column_stack(policy.decide(view, rng)) for _ in range(DRAWS - 2)])


@dataclass(frozen=True, eq=False)
class ResamplingUnits:
    """What is resampled together: series, groups of them where they are many, blocks in time where they are few."""

    of_row: Ints  # (rows,)
    names: Array  # (units,)
    by: str

    def __len__(self) -> int:
        return len(self.names)

    def mean(self, values: Floats, rows: Bools | None = None) -> Floats:
        """Contributions to the mean over rows, one a unit: the mean, moved by the unit's part in it.

        For units of one length these are their own means; for others they are those of the linearised ratio.
        """
        weight = np.ones(len(values)) if rows is None else rows.astype(np.float64)
        count = np.bincount(self.of_row, weight, len(self))
        total = np.bincount(self.of_row, weight * values, len(self))
        mean = total.sum() / count.sum()
        return np.asarray(mean + len(self) * (total - count * mean) / count.sum())

    def left_out(self, value: float, without: Floats) -> Floats:
        """Contributions to a value that is `without[u]` where unit u is left out (a grouped jackknife)."""
        share = np.bincount(self.of_row, minlength=len(self)) / len(self.of_row)
        moved = len(self) * (1 - share) * (value - without)
        return np.asarray(value + moved - moved.mean())


FEW_SERIES = 5  # below so many, blocks in time are resampled
BLOCK_PERIODS = 10


def units_of(log: SalesLog, most: int) -> ResamplingUnits:
    """At most `most` units of about equal size."""
    series = len(log.names)
    if series >= FEW_SERIES:
        if series <= most:
            return ResamplingUnits(log.series, log.names, "series")
        names = np.array([f"group {number + 1}" for number in range(most)], dtype=object)
        return ResamplingUnits(log.series % most, names, "groups of series")
    place = np.arange(len(log)) - log.starts[log.series]
    longest = int(place.max()) + 1
    periods = max(BLOCK_PERIODS, -(-longest * series // most))
    key, unit = np.unique(log.series * longest + place // periods, return_inverse=True)
    blocks = [f"{log.names[each // longest]}, block {each % longest + 1}" for each in key]
    return ResamplingUnits(unit.reshape(-1), np.array(blocks, dtype=object), "blocks in time")
