"""Allocation of shared resources: one candidate order for each product, so that their total value is greatest.

The linear relaxation is the Lagrangian dual of the limits: its multipliers are the prices of the resources, at which
every product chooses for itself, and its value is a bound. Candidates that such prices make worse than others are left
out of large problems; an integer program then chooses among the others, and the gap to the bound is reported. Where
resources have terms, such as a least use, large problems have fewer candidates, and the bound is that of these.
"""

import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lostsales.errors import LostSalesError
from lostsales.types import Array, Bools, Floats, Ints

EXACT = 4_000  # candidates in all up to which every one of them is tried
SMALL = 400  # candidates in all up to which the best choice is found whatever the time
KEPT = 4  # of each product in larger problems: those of the largest value at the prices of the resources
EVENLY = 6  # of each product where a resource has terms, such as a least use: these must be met exactly
GAP_OF_TERMS = 2e-3  # relative, at which the search ends then
GAP = 1e-4  # relative, at which the search ends in larger problems
MOST_NODES = 300  # of the search, for the same answer on every machine
SLACK = 1e-9  # relative, of a resource


@dataclass(frozen=True, eq=False)
class OrderValues:
    """Value of candidate orders of every product, and what limits need to know of it."""

    order: Floats  # (rows, candidates) the first is none
    value: Floats  # (rows, candidates) expected profit as far as the policy looks, -inf where there is no candidate
    unit_cost: Floats  # (rows,)
    attributes: dict[str, Array]  # (rows,) as text, that the limits name

    @classmethod
    def joined(cls, parts: "Sequence[OrderValues | None]", back: Ints | slice) -> "OrderValues | None":
        """Values of parts of the rows put together, in the order `back`; None where a part has none."""
        known = [each for each in parts if each is not None]
        if len(known) < len(parts):
            return None

        def together(arrays: Iterable[Array]) -> Array:
            return np.concatenate(list(arrays))[back]

        return cls(
            order=together(each.order for each in known),
            value=together(each.value for each in known),
            unit_cost=together(each.unit_cost for each in known),
            attributes={name: together(each.attributes[name] for each in known) for name in known[0].attributes},
        )


class Resource(NamedTuple):
    """A limit over some products; what they use of it is (its products, candidates)."""

    title: str
    rows: Ints  # (its products,)
    use: Floats
    most: float = np.inf
    least: float = 0.0  # nothing is used, or at least this
    multiple: float = 0.0  # use is a number of these, each ...
    filled: float = 1.0  # ... to this share on average; 0 where there is no such rule
    fixed_cost: float = 0.0  # where anything is used

    def is_met(self, used: float) -> bool:
        """True where a use is within the limit."""
        slack = SLACK * (1 + abs(used))
        trucks = 0.0 if self.multiple == 0 else np.ceil(used / self.multiple - SLACK)
        return (
            used <= self.most + slack
            and (used <= slack or used >= self.least - slack)
            and used >= self.filled * self.multiple * trucks - slack
        )


@dataclass(frozen=True, eq=False)
class Allocation:
    """Candidates that were chosen, and how good the choice is."""

    chosen: Ints  # (products,)
    price: Floats  # (resources,) value of one more unit of `most`, 0 where there is enough
    used: Floats  # (resources,)
    value: float  # above that of the first candidates, fixed costs deducted
    bound: float  # the most that it could be

    @property
    def gap(self) -> float:
        """Part of the bound that may be missing."""
        return max(self.bound - self.value, 0.0) / max(abs(self.bound), 1e-12)


def allocate(value: Floats, resources: Sequence[Resource]) -> Allocation:
    """Choose a candidate of every product; `value` is (products, candidates), -inf where there is no candidate.

    The first candidate uses nothing of any resource, so that there always is a choice.
    """
    best = value.argmax(axis=1)
    if all(each.fixed_cost == 0 and each.is_met(_used(each, best)) for each in resources):
        return _allocated(best, value, resources, np.zeros(len(resources)), np.inf)
    has_terms = any(each.least > 0 or each.multiple > 0 or each.fixed_cost > 0 for each in resources)
    known = np.isfinite(value)
    if has_terms and np.count_nonzero(known) > EXACT:
        known &= _evenly(known, best)
    model = _Program.of(value, resources, known)
    price, bound = model.prices(len(resources))
    if has_terms:
        chosen, exact = model.solved(0.0 if model.candidates <= SMALL else GAP_OF_TERMS)
        bound = min(bound, exact)
    elif model.candidates > EXACT:
        reduced = value.copy()
        for each, cost in zip(resources, price, strict=True):
            reduced[each.rows] -= cost * each.use
        keep = known & (reduced >= np.sort(reduced, axis=1)[:, -min(KEPT, value.shape[1])][:, None])
        keep[:, 0] = True
        chosen, _ = _Program.of(value, resources, keep).solved(GAP)
    else:
        chosen, exact = model.solved(0.0 if model.candidates <= SMALL else GAP)
        bound = min(bound, exact)
    return _allocated(chosen, value, resources, price, bound)


def _evenly(known: Bools, best: Ints) -> Bools:
    """The first candidate of each product, the best, and some spread evenly over the others."""
    place = known.cumsum(axis=1) - 1
    steps = np.maximum(known.sum(axis=1) - 1, 1)[:, None] / (EVENLY - 1)
    found = np.floor(place / steps + 0.5) > np.floor((place - 1) / steps + 0.5)
    found[np.arange(len(best)), best] = True
    found[:, 0] = True
    return np.asarray(found)


def _used(resource: Resource, chosen: Ints) -> float:
    return float(resource.use[np.arange(len(resource.rows)), chosen[resource.rows]].sum())


def _allocated(chosen: Ints, value: Floats, resources: Sequence[Resource], price: Floats, bound: float) -> Allocation:
    used = np.array([_used(each, chosen) for each in resources])
    paid = sum(each.fixed_cost for each, total in zip(resources, used, strict=True) if total > 0)
    gained = float((value[np.arange(len(value)), chosen] - value[:, 0]).sum()) - paid
    return Allocation(chosen, price, used, gained, gained if np.isinf(bound) else max(bound, gained))


_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def _silenced() -> Iterator[None]:
    """Keep the solver from writing to the standard output, as HiGHS does where it repairs a solution."""
    with _ONE_AT_A_TIME:
        sys.stdout.flush()
        kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 1)
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            os.close(nowhere)


class _Program(NamedTuple):
    """Linear or integer program in the kept candidates, then for each resource an order (0 or 1) and its multiples."""

    product: Ints  # (candidates,)
    place: Ints  # (candidates,) among those of the product
    gain: Floats  # (columns,) of each variable
    matrix: Any  # (constraints, columns) sparse
    low: Floats  # (constraints,)
    high: Floats
    most: Floats  # (columns,) of each variable
    scale: Floats  # (resources,) in units of which its use is
    limit: Ints  # (resources with a most,) row of the constraint of each
    of_limit: Ints  # ... and its resource

    @property
    def candidates(self) -> int:
        """Number of candidates."""
        return len(self.product)

    @classmethod
    def of(cls, value: Floats, resources: Sequence[Resource], keep: Bools) -> "_Program":
        """Every product has one candidate; orders and multiples of a resource are tied to its use."""
        from scipy.sparse import coo_array

        product, place = np.nonzero(keep)
        gain = (value - value[:, :1])[product, place]
        products, count, columns = len(value), len(product), len(product) + 2 * len(resources)
        column_of = np.full(value.shape, -1)
        column_of[product, place] = np.arange(count)
        rows, cols, data = [product], [np.arange(count)], [np.ones(count)]
        low, high, limit, of_limit = [np.ones(products)], [np.ones(products)], [], []
        at = products
        most, scale = np.ones(columns), np.ones(len(resources))

        def add(used: tuple[Ints, Floats], extra: dict[int, float], least: float, top: float) -> None:
            nonlocal at
            cols.append(np.r_[used[0], np.array([*extra], dtype=np.int64)])
            data.append(np.r_[used[1], np.array([*extra.values()], dtype=np.float64)])
            rows.append(np.full(len(cols[-1]), at))
            low.append(np.array([least]))
            high.append(np.array([top]))
            at += 1

        for number, each in enumerate(resources):
            # Shares of the greatest use: else sums of large numbers miss the tolerance of the solver.
            own, total = column_of[each.rows], float(each.use.max(axis=1).sum())
            if total <= 0:
                continue
            used, scale[number] = (own[own >= 0], each.use[own >= 0] / total), total
            order, trucks, truck = count + 2 * number, count + 2 * number + 1, each.multiple / total
            most[trucks] = 0.0 if truck == 0 else np.ceil(1 / truck)
            if np.isfinite(each.most):
                limit.append(at)
                of_limit.append(number)
                add(used, {}, -np.inf, each.most / total * (1 + SLACK))
            if each.least > 0 or each.fixed_cost > 0:
                add(used, {order: -min(1.0, each.most / total)}, -np.inf, SLACK)
                add(used, {order: -each.least / total}, -SLACK, np.inf)
            if each.multiple > 0:
                add(used, {trucks: -truck}, -np.inf, SLACK * truck)
                add(used, {trucks: -truck * each.filled}, -SLACK * truck, np.inf)
        matrix = coo_array((np.concatenate(data), (np.concatenate(rows), np.concatenate(cols))), (at, columns)).tocsr()
        costs = np.array([[-each.fixed_cost, 0.0] for each in resources]).reshape(-1)
        return cls(
            product=product,
            place=place,
            gain=np.r_[gain, costs],
            matrix=matrix,
            low=np.concatenate(low),
            high=np.concatenate(high),
            most=most,
            scale=scale,
            limit=np.array(limit, dtype=np.int64),
            of_limit=np.array(of_limit, dtype=np.int64),
        )

    def prices(self, resources: int) -> tuple[Floats, float]:
        """Prices of the resources and bound of the value, by the relaxation in which candidates may be mixed."""
        from scipy.optimize import linprog
        from scipy.sparse import vstack

        matrix, low, high = self.matrix, self.low, self.high
        equal, below, above = low == high, np.isfinite(high) & (low < high), np.isfinite(low) & (low < high)
        found = linprog(
            -self.gain,
            A_ub=vstack([matrix[below], -matrix[above]]),
            b_ub=np.r_[high[below], -low[above]],
            A_eq=matrix[equal],
            b_eq=high[equal],
            bounds=[(0.0, each) for each in self.most.tolist()],
            method="highs",
        )
        if found.status != 0 or found.fun is None:
            raise LostSalesError(f"the limits that products share could not be solved: {found.message}")
        price = np.zeros(resources)
        place = np.cumsum(below) - 1
        marginals = found.ineqlin.marginals[place[self.limit]]
        price[self.of_limit] = np.maximum(-marginals, 0.0) / self.scale[self.of_limit]
        return price, float(-found.fun)

    def solved(self, gap: float) -> tuple[Ints, float]:
        """Chosen candidates (products,), and a bound of the value."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        with _silenced():
            found = milp(
                -self.gain,
                constraints=LinearConstraint(self.matrix, self.low, self.high),
                integrality=np.ones(len(self.gain), dtype=np.int64),
                bounds=Bounds(0, self.most),
                options={"mip_rel_gap": gap, "node_limit": MOST_NODES},
            )
        if found.x is None:
            raise LostSalesError(f"no orders meet the limits that products share: {found.message}")
        chosen = np.zeros(int(self.product.max()) + 1, dtype=np.int64)
        taken = found.x[: self.candidates] > 0.5
        chosen[self.product[taken]] = self.place[taken]
        return chosen, float(-found.mip_dual_bound)
