"""Deliveries of InventoryBench, and the belief about them of a policy that sees only quantities.

The interface for policies shows how many units arrived, not from which order. With random lead times the orders that
arrived are therefore known up to a belief over the sets of orders whose quantities add up to the arrival.
"""

from dataclasses import dataclass

import numpy as np

from lostsales.lab.benchmarks.inventorybench_data import Batch
from lostsales.types import Bools, Floats

AGES = (1, 2, 3)  # periods that a random lead time can have, as published; or never
SETS = 1 << len(AGES)  # of ages whose orders are out; age a is the bit a - 1
ENOUGH = 1e-6  # units by which quantities may differ


@dataclass(eq=False)
class Deliveries:
    """Orders on the way, as they are."""

    batch: Batch
    orders: Floats  # (instances, periods)

    @classmethod
    def of(cls, batch: Batch) -> "Deliveries":
        """State before the first order."""
        return cls(batch, np.zeros(batch.demand.shape))

    def arrived(self, t: int, order: Floats) -> Floats:
        """Units that arrive in a period in which this was ordered, (instances,)."""
        self.orders[:, t] = order
        due = self.batch.lead_times[:, : t + 1] == t - np.arange(t + 1)
        return np.asarray((self.orders[:, : t + 1] * due).sum(axis=1))

    def on_order(self, t: int) -> Floats:
        """Units on the way before a period, as the publisher shows them: without orders that never arrive."""
        lead_times = self.batch.lead_times[:, :t]
        return np.asarray((self.orders[:, :t] * (lead_times >= t - np.arange(t))).sum(axis=1))


@dataclass(frozen=True, eq=False)
class KnownSupply:
    """Orders on the way if all lead times are equal."""

    waiting: Floats  # (instances, lead time) column k was ordered (lead time - k) periods ago

    @classmethod
    def start(cls, instances: int, lead_time: int) -> "KnownSupply":
        """State before the first order."""
        return cls(np.zeros((instances, lead_time)))

    @property
    def law(self) -> tuple[Floats, Floats]:
        """Chances of lead times (instances, lead time + 1), and of loss (instances,)."""
        n, lead_time = self.waiting.shape
        chances = np.zeros((n, lead_time + 1))
        chances[:, -1] = 1.0
        return chances, np.zeros(n)

    def after(self, order: Floats, _arrived: Floats) -> "KnownSupply":
        """State after a period with such an order."""
        return KnownSupply(np.column_stack([self.waiting, order])[:, 1:] if self.waiting.shape[1] else self.waiting)


@dataclass(frozen=True, eq=False)
class SupplyBelief:
    """Belief about deliveries with random lead times, from the units that arrived."""

    orders: Floats  # (instances, ages) by age
    sets: Floats  # (instances, SETS) chance of each set of ages whose orders are out
    counts: Floats  # (instances, ages + 1) expected orders by lead time, the last of those that never came

    @classmethod
    def start(cls, instances: int) -> "SupplyBelief":
        """Belief before the first order, with one order of each lead time counted beforehand."""
        sets = np.zeros((instances, SETS))
        sets[:, 0] = 1.0
        return cls(np.zeros((instances, len(AGES))), sets, np.ones((instances, len(AGES) + 1)))

    @property
    def law(self) -> tuple[Floats, Floats]:
        """Chances of lead times (instances, longest + 1), and of loss (instances,)."""
        share = self.counts / self.counts.sum(axis=1, keepdims=True)
        return np.column_stack([np.zeros(len(share)), share[:, :-1]]), share[:, -1].copy()

    @property
    def waiting(self) -> Floats:
        """Units expected to be out, (instances, ages), the oldest order first."""
        return np.ascontiguousarray((self.orders * (self.sets @ _members()))[:, ::-1])

    def after(self, order: Floats, arrived: Floats) -> "SupplyBelief":
        """Belief after a period in which this was ordered and so much arrived."""
        joint = self._joint(arrived)  # (instances, out, arrived)
        came = joint.sum(axis=1) @ _members()
        stayed, sets, counts = np.zeros_like(self.sets), np.zeros_like(self.sets), self.counts.copy()
        for out in range(SETS):
            for some in range(SETS):
                stayed[:, out & ~some] += joint[:, out, some]
        counts[:, :-1] += came
        counts[:, -1] += stayed @ _members()[:, -1]
        for out in range(SETS):
            older = (out << 1) % SETS
            sets[:, older] += np.where(order > 0, 0.0, stayed[:, out])
            sets[:, older | 1] += np.where(order > 0, stayed[:, out], 0.0)
        return SupplyBelief(np.column_stack([order, self.orders[:, :-1]]), sets, counts)

    def _joint(self, arrived: Floats) -> Floats:
        """P(these were out, and these of them arrived), given the units that arrived, (instances, SETS, SETS)."""
        at_least = self.counts[:, ::-1].cumsum(axis=1)[:, ::-1]
        hazard = self.counts[:, :-1] / at_least[:, :-1]
        members = _members() > 0
        joint, prior = np.zeros((len(arrived), SETS, SETS)), np.zeros((len(arrived), SETS, SETS))
        for out in range(SETS):
            for some in range(SETS):
                if some & ~out:
                    continue
                comes, stays = members[some], members[out & ~some]
                chance = self.sets[:, out] * hazard[:, comes].prod(axis=1) * (1 - hazard[:, stays]).prod(axis=1)
                prior[:, out, some] = chance
                fits = np.abs(self.orders[:, comes].sum(axis=1) - arrived) < ENOUGH
                joint[:, out, some] = chance * fits
        total = joint.sum(axis=(1, 2))
        explained: Bools = total > 0
        # Units that no order explains carry no information.
        return np.where(explained[:, None, None], joint / np.where(explained, total, 1.0)[:, None, None], prior)


def _members() -> Floats:
    """1 where a set has an age, (SETS, ages)."""
    return ((np.arange(SETS)[:, None] >> np.arange(len(AGES))) & 1).astype(np.float64)


def start_of(batch: Batch) -> KnownSupply | SupplyBelief:
    """State of knowledge before the first order."""
    return (
        SupplyBelief.start(len(batch)) if batch.lead == "stochastic" else KnownSupply.start(len(batch), int(batch.lead))
    )
