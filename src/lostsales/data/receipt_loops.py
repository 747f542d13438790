"""Compiled matching of receipts to orders: a hidden Markov model of which orders are still on the way.

The state of a period is the set of orders that have not arrived, a bit for each of the last `slots` periods, the
oldest lowest. In a period each of them, and the order of the period itself, arrives with its hazard; the units that
arrive must add up to the receipt. What no set of orders explains came from elsewhere, with a small weight. Orders count
as independent also where they do not cross: hazards are those of single orders in either case.
"""

import numpy as np

from lostsales._jit import compiled
from lostsales.types import Floats, Ints

UNEXPLAINED = 1e-6  # weight of a receipt that no set of orders explains
NEGLIGIBLE = 1e-5  # likelihood of a set of orders that is no longer followed
NEAR = 1e-6  # units: tolerance for rounding


@compiled
def weight(units: Floats, out: int, came: int, receipt: float, hazards: Floats, share: float) -> float:
    """Likelihood that of the orders `out` exactly `came` arrive, and that the receipt is as it is."""
    entries = len(units)
    chance, total = 1.0, 0.0
    for entry in range(entries):
        if not out >> entry & 1:
            continue
        hazard = hazards[entries - entry]
        if came >> entry & 1:
            chance *= hazard
            total += units[entry]
        else:
            chance *= 1.0 - hazard
    expected = share * total
    slack = NEAR if share == 1.0 else 1.0 - NEAR
    if abs(expected - receipt) <= slack * (1.0 if share < 1.0 else 1.0 + receipt):
        return chance
    return chance * UNEXPLAINED if expected < receipt else 0.0


@compiled
def units_at(order: Floats, first: int, row: int, slots: int, units: Floats) -> int:
    """The orders of the last periods and of the row, oldest first, into `units`; returns the bit of the row's own."""
    for entry in range(slots + 1):
        at = row - slots + entry
        units[entry] = order[at] if at >= first else 0.0
    return (1 << slots) if units[slots] > 0 else 0


@compiled
def kept(out: int, came: int) -> int:
    """The orders that are on the way in the next period; the oldest leaves the pipeline in any case."""
    return (out & ~came) >> 1


@compiled
def possible_arrivals(
    units: Floats, out: int, receipt: float, hazards: Floats, share: float, came: Ints, likely: Floats
) -> int:
    """The sets of orders that may have arrived of those `out` and their likelihoods, into arrays; returns how many."""
    count, each = 0, out
    while True:
        likelihood = weight(units, out, each, receipt, hazards, share)
        if likelihood > 0.0:
            came[count], likely[count] = each, likelihood
            count += 1
        if each == 0:
            return count
        each = (each - 1) & out


@compiled
def match(
    order: Floats,
    received: Floats,
    first: int,
    end: int,
    hazards: Floats,
    share: float,
    opening: int,
    on_way: Ints,
) -> Floats:
    """Filtered likelihoods of the states of a series, (periods + 1, states), and the likeliest into `on_way`."""
    slots = len(hazards) - 2
    units = np.zeros(slots + 1)
    came, likely = np.zeros(2 << slots, dtype=np.int64), np.zeros(2 << slots)
    alpha = np.zeros((end - first + 1, 1 << slots))
    alpha[0, opening] = 1.0
    for row in range(first, end):
        at = row - first
        on_way[row] = np.argmax(alpha[at])
        own = units_at(order, first, row, slots, units)
        for state in range(1 << slots):
            if alpha[at, state] <= 0.0:
                continue
            out = state | own
            for k in range(possible_arrivals(units, out, received[row], hazards, share, came, likely)):
                alpha[at + 1, kept(out, came[k])] += alpha[at, state] * likely[k]
        total = alpha[at + 1].sum()
        if total > 0.0:
            alpha[at + 1] /= total
            for state in range(1 << slots):
                if alpha[at + 1, state] < NEGLIGIBLE:
                    alpha[at + 1, state] = 0.0
        else:  # nothing explains the receipt: all orders stay on the way
            alpha[at + 1, kept(int(np.argmax(alpha[at])) | own, 0)] = 1.0
    return alpha


@compiled
def expected_arrivals(
    order: Floats, received: Floats, starts: Ints, hazards: Floats, share: float, arrivals: Floats, waiting: Floats
) -> float:
    """Add up expected arrivals and orders at risk by the periods they waited; returns receipts that fit no orders."""
    slots = len(hazards) - 2
    units = np.zeros(slots + 1)
    came, likely = np.zeros(2 << slots, dtype=np.int64), np.zeros(2 << slots)
    on_way = np.zeros(len(order), dtype=np.int64)
    unexplained = 0.0
    for series in range(len(starts) - 1):
        first, end = starts[series], starts[series + 1]
        alpha = match(order, received, first, end, hazards, share, 0, on_way)
        beta = np.ones(1 << slots)
        for row in range(end - 1, first - 1, -1):
            now = alpha[row - first]
            own = units_at(order, first, row, slots, units)
            earlier = np.zeros(1 << slots)
            for state in range(1 << slots):
                if now[state] > 0.0:
                    out = state | own
                    for k in range(possible_arrivals(units, out, received[row], hazards, share, came, likely)):
                        earlier[state] += likely[k] * beta[kept(out, came[k])]
            scale = (now * earlier).sum()
            if scale <= 0.0:
                beta = np.ones(1 << slots)
                unexplained += 1.0
                continue
            for state in range(1 << slots):
                if now[state] <= 0.0:
                    continue
                out = state | own
                for k in range(possible_arrivals(units, out, received[row], hazards, share, came, likely)):
                    chance = now[state] * likely[k] * beta[kept(out, came[k])] / scale
                    total = count_arrivals(units, out, came[k], chance, arrivals, waiting)
                    if share * total < received[row] - max(NEAR, (1.0 - share) * (1.0 + total)) - NEAR:
                        unexplained += chance
            beta = earlier / max(earlier.max(), 1e-300)
    return unexplained


@compiled
def count_arrivals(units: Floats, out: int, came: int, chance: float, arrivals: Floats, waiting: Floats) -> float:
    """Count the orders that are out and those that came, with a chance, by the periods waited; returns their units."""
    total, entries = 0.0, len(units)
    for entry in range(entries):
        if out >> entry & 1:
            waiting[entries - entry] += chance
            if came >> entry & 1:
                arrivals[entries - entry] += chance
                total += units[entry]
    return total
