"""Receipts of a log: derived where the table has none, matched to orders, and lead times learned from them.

The matching is a hidden Markov model of which orders are still on the way. The state of a period is the set of orders
that have not arrived, a bit for each of the last `slots` periods, the oldest lowest. In a period each of them, and the
order of the period itself, arrives with its hazard; the units that arrive must add up to the receipt. What no set of
orders explains came from elsewhere, with a small weight. Orders count as independent also where they do not cross:
hazards are those of single orders in either case.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from lostsales._jit import compiled
from lostsales.data.calendar.clock import LEARN
from lostsales.data.ledger import LONGEST_LEAD, Ledger
from lostsales.data.log import SalesLog
from lostsales.data.shop import Shop
from lostsales.data.supply import LOST, LeadTimes
from lostsales.errors import LostSalesError
from lostsales.types import Floats, Ints, exceeds

UNEXPLAINED = 1e-6  # weight of a receipt that no set of orders explains
LEAST_LIKELIHOOD = 1e-5  # likelihood of a set of orders that is no longer followed
NEAR = 1e-6  # units: tolerance for rounding


@compiled
def weight(units: Floats, out: int, came: int, receipt: float, hazards: Floats, share: float) -> float:
    """Likelihood that exactly `came` of the orders `out` arrive, and of the receipt."""
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
                if alpha[at + 1, state] < LEAST_LIKELIHOOD:
                    alpha[at + 1, state] = 0.0
        else:  # nothing explains the receipt: all orders stay on the way
            alpha[at + 1, kept(int(np.argmax(alpha[at])) | own, 0)] = 1.0
    return alpha


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


@compiled
def count_expected_arrivals(
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


LONGEST_VARYING = 8  # up to which lead times may vary: work grows with 3 to this power
FIXED_SHARE = 0.95  # of the receipts that one lead time must give to be taken
LEARNED_ROWS = 20_000  # from which varying lead times are learned: bounds time
LEAST_ORDERS = 20  # below, lead times are not learned
ITERATIONS = 200  # most steps of the EM algorithm
CHANGE = 1e-5  # of a hazard at which iterations stop
LEAST_CHANCE = 1e-3  # a longest lead time of a smaller chance is taken off


@dataclass(frozen=True, eq=False)
class LearnedLeadTimes:
    """A law of lead times with its standard errors."""

    law: LeadTimes
    errors: Floats  # of the chances of 0, 1, ..., the longest lead time, and of lost orders
    orders: int  # that it was learned from
    unexplained: float  # share of the periods whose receipt no set of orders gives

    def table(self) -> tuple[dict[str, float], dict[str, float]]:
        """Chances and standard errors by lead time, as a problem holds them."""
        times = [time for time, chance in enumerate(self.law.chances) if chance > 0]
        chances = {str(time): self.law.chances[time] for time in times}
        errors = {str(time): float(self.errors[time]) for time in times}
        if self.law.lost:
            chances[LOST], errors[LOST] = self.law.lost, float(self.errors[-1])
        return chances, errors


def with_receipts(log: SalesLog) -> SalesLog:
    """The log with what arrived in each period and, where they are to be learned, the law of its lead times."""
    problem, ledger = log.problem, log.ledger
    if ledger is None:
        return log
    if problem.supply.lead_time == LEARN:
        received = receipts_by_stock(ledger) if log.received is None else log.received
        found = learn_lead_times(ledger._replace(arrived=received), problem.supply.share)
        chances, errors = found.table()
        (only,) = chances if len(chances) == 1 else (None,)
        update = {"lead_time": chances if only is None else int(only), "lead_time_errors": errors}
        supply = type(problem.supply).model_validate(problem.supply.model_dump() | update)
        problem = problem.model_copy(update={"supply": supply})
        log = replace(log, problem=problem)
    if problem.receives_orders or log.received is not None:
        return log
    law = problem.lead_times
    if not law.is_fixed or problem.supply.share < 1:
        return replace(log, received=receipts_by_stock(ledger))
    if law.longest == 0:
        return replace(log, received=ledger.order)
    # The order placed a lead time before; in the first rows, whose orders the log lacks, as the stock shows it.
    placed, known = ledger.before(law.longest - 1)
    return replace(log, received=np.where(known, placed, receipts_by_stock(ledger)))


def receipts_by_stock(ledger: Ledger) -> Floats:
    """Receipts implied by the next stock; 0 in the last row of a series."""
    following = np.r_[ledger.stock[1:], 0.0]
    came = np.maximum(following - np.maximum(ledger.stock - ledger.sales, 0.0) - ledger.moved, 0.0)
    came = np.where(exceeds(came, 0.0), came, 0.0)
    return np.where(ledger.has_next, np.round(came, 9), 0.0)


def learn_lead_times(ledger: Ledger, share: float) -> LearnedLeadTimes:
    """Distribution of lead times from orders and what arrived, a `share` of each order.

    One lead time of all orders, where it gives nearly all receipts. Otherwise hazards are estimated by expectation
    maximisation over the sets of orders that add up to each receipt: where no two sets do, this is the product-limit
    estimator, and the standard errors are Greenwood's by the delta method.
    """
    placed = int(np.count_nonzero(ledger.order > 0))
    if placed < LEAST_ORDERS:
        raise LostSalesError(
            f"lead times are learned from {LEAST_ORDERS} or more orders, but there are {placed}: set supply.lead_time"
        )
    fixed = _fixed(ledger, share)
    if fixed is not None:
        return LearnedLeadTimes(LeadTimes.fixed(fixed), np.zeros(fixed + 2), placed, 0.0)
    starts = np.r_[np.unique(ledger.starts), len(ledger.stock)]
    starts = starts[starts <= max(LEARNED_ROWS, starts[1])]
    hazards = np.r_[0.0, 1 / (LONGEST_VARYING + 1 - np.arange(LONGEST_VARYING))]
    unexplained, waiting = 0.0, np.zeros(len(hazards))
    for _ in range(ITERATIONS):
        arrivals, waiting = np.zeros(len(hazards)), np.zeros(len(hazards))
        unexplained = count_expected_arrivals(ledger.order, ledger.arrived, starts, hazards, share, arrivals, waiting)
        new = np.divide(arrivals, waiting, out=np.zeros(len(hazards)), where=waiting > 0)
        change, hazards = float(np.abs(new - hazards).max()), new
        if change < CHANGE:
            break
    law, errors = _law(hazards, waiting)
    rows = int(starts[-1])
    return LearnedLeadTimes(law, errors, int(np.count_nonzero(ledger.order[:rows] > 0)), unexplained / rows)


def _fixed(ledger: Ledger, share: float) -> int | None:
    """The lead time that gives nearly all receipts, None where none does."""
    for lead in range(1, LONGEST_LEAD + 1):
        placed, known = ledger.before(lead - 1)
        told = known & ((ledger.arrived > 0) | (placed > 0)) & ledger.has_next
        if np.count_nonzero(told) < LEAST_ORDERS:
            continue
        expected = share * placed[told]
        near = np.abs(ledger.arrived[told] - expected) < (1.0 if share < 1 else 1e-6 * (1 + expected))
        if near.mean() >= FIXED_SHARE:
            return lead
    return None


def _law(hazards: Floats, waiting: Floats) -> tuple[LeadTimes, Floats]:
    """Chances and their standard errors from hazards of 1, 2, ... periods and the orders that were at risk of them."""
    survive = np.cumprod(1 - hazards)
    chances = hazards * np.r_[1.0, survive[:-1]]
    longest = int(np.flatnonzero(chances > LEAST_CHANCE)[-1])
    hazards, chances, survive = hazards[: longest + 1], chances[: longest + 1], survive[: longest + 1]
    total = chances.sum() + survive[-1]
    variance = np.divide(
        hazards * (1 - hazards), waiting[: longest + 1], out=np.zeros(longest + 1), where=waiting[: longest + 1] > 0
    )
    # d chance_k / d hazard_j: survival before k where j = k, -chance_k / (1 - hazard_j) where j < k, else 0.
    left = np.maximum(1 - hazards, 1e-12)
    slopes = -np.tril(np.ones((longest + 1, longest + 1)), -1) * chances[:, None] / left
    slopes[np.diag_indices(longest + 1)] = np.r_[1.0, survive[:-1]]
    lost_slopes = -survive[-1] / left
    errors = np.sqrt(np.r_[slopes**2 @ variance, lost_slopes**2 @ variance])
    lost = float(survive[-1] / total)
    return LeadTimes(tuple((chances / total).tolist()), lost if lost > LEAST_CHANCE / 10 else 0.0), errors


def likeliest_on_way(ledger: Ledger, shop: Shop) -> Ints:
    """The orders that are likeliest on the way when each row opens, by what was received before, (rows,) bits.

    Bit k stands for the order of (pipeline length - k) periods before.
    """
    law = shop.lead_times
    waited = np.arange(1, law.longest + 1)
    seen = law.hazards[waited] * (1 - law.lost_after[waited - 1])
    on_way = np.zeros(len(ledger.stock), dtype=np.int64)
    for first, end in pairwise(np.r_[np.unique(ledger.starts), len(on_way)]):
        match(ledger.order, ledger.arrived, first, end, np.r_[0.0, seen], shop.supply.share, 0, on_way)
    return on_way
