"""InventoryBench: 1,320 instances of one product, played period by period.

Each period the policy orders, then what is due arrives, then demand comes; the reward is p sold - h left. The score of
an instance is max(0, reward / (p total demand)).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lostsales.data.economics import UnitCosts, carried, sales_profit, units_available
from lostsales.data.shop import Shop
from lostsales.demand.model.moving_levels import MovingLevels
from lostsales.lab.benchmarks.board import BoardRow, Figures, fingerprint
from lostsales.lab.benchmarks.entrant import Entrant
from lostsales.lab.benchmarks.inventorybench_data import KINDS, LEADS, PROMISED, Batch, read_instances
from lostsales.lab.benchmarks.inventorybench_supply import Deliveries, KnownSupply, SupplyBelief, start_of
from lostsales.learn.planner.paths.search import Search, find_actions, terms_of
from lostsales.learn.planner.paths.search_loops import Situation, kept_prices
from lostsales.types import Array, Bools, Floats

SHOWN, SALES_ONLY = "demand shown after each period", "only sales shown"
# Best published in each batch, and over all instances: https://tianyipeng.github.io/InventoryBench/ (2025).
BEST = {
    ("real", "0"): 0.772,
    ("real", "4"): 0.308,
    ("real", "stochastic"): 0.353,
    ("synthetic", "0"): 0.860,
    ("synthetic", "4"): 0.558,
    ("synthetic", "stochastic"): 0.411,
}
BEST_OVERALL = 0.538  # best published score over all instances
DEFAULT = Search()
SHOP = Shop(arrival="before", discount=0.9999)  # rewards of all periods count the same
TERMS = terms_of(SHOP, shown=False)


@dataclass(frozen=True, eq=False)
class BatchRun:
    """A batch, on one of the two boards."""

    batch: Batch
    sales_only: bool
    search: Search = DEFAULT
    entrant: Entrant | None = None

    @property
    def key(self) -> str:
        """Name of the part and of its file."""
        return f"{self.batch.kind}-{self.batch.lead}-{'sales' if self.sales_only else 'demand'}"

    @property
    def fingerprint(self) -> str:
        """Fingerprint of its instances and the search."""
        batch = self.batch
        arrays = (batch.profit, batch.holding, batch.train, batch.demand, batch.lead_times)
        by = self.entrant.fingerprint if self.entrant else ""
        return fingerprint(self.key, repr(self.search), by, *(each.tobytes() for each in arrays))

    def run(self) -> Figures:
        """The score of every instance."""
        return {"scores": play_batch(self.batch, self.sales_only, self.search, self.entrant).tolist()}


@dataclass(frozen=True, eq=False)
class InventoryBench:
    """The board, as published and with only sales shown."""

    batches: list[Batch]
    entrant: Entrant | None = None
    name: str = "inventorybench"
    source: str = (
        "Baek, Fu, Ma and Peng (2025), AI agents for inventory control: https://github.com/TianyiPeng/InventoryBench"
    )

    @classmethod
    def read(cls, data: Path) -> "InventoryBench":
        """Read from the publisher's folder, or from one table."""
        return cls(read_instances(data))

    @property
    def parts(self) -> Sequence[BatchRun]:
        """Six batches on each of two boards."""
        return [
            BatchRun(batch, sales_only, entrant=self.entrant) for sales_only in (False, True) for batch in self.batches
        ]

    def rows(self, measured: dict[str, Figures]) -> list[BoardRow]:
        """Mean score by batch, and over all instances."""
        found = []
        for board, sales_only in ((SHOWN, False), (SALES_ONLY, True)):
            scores = {
                (batch.kind, batch.lead): np.array(measured[BatchRun(batch, sales_only).key]["scores"])
                for batch in self.batches
            }
            for kind, lead in scores:
                best = None if sales_only else BEST[kind, lead]
                found.append(_scored(board, f"{kind}, lead time {lead}", scores[kind, lead], best))
            whole = set(scores) == {(kind, lead) for kind in KINDS for lead in LEADS}
            best = BEST_OVERALL if whole and not sales_only else None
            found.append(_scored(board, "all instances", np.concatenate(list(scores.values())), best))
        return found


def _scored(board: str, case: str, scores: Floats, best: float | None) -> BoardRow:
    return BoardRow.of(board, case, "score", scores, best, "" if best is None else "best published")


@dataclass(frozen=True, eq=False)
class BatchOrders:
    """Our orders for a batch, from what is shown: arrivals, and demand or sales."""

    batch: Batch
    search: Search
    levels: MovingLevels
    supply: KnownSupply | SupplyBelief

    @classmethod
    def start(cls, batch: Batch, search: Search = DEFAULT) -> "BatchOrders":
        """State before the first period."""
        return cls(batch, search, MovingLevels.start(len(batch)).after(batch.train), start_of(batch))

    def order(self, stock: Floats) -> Floats:
        """Orders of a period, (instances,)."""
        situation = _situation(self.batch, stock, self.supply, self.search)
        return find_actions(self.levels, situation, TERMS, self.search).order

    def after(self, order: Floats, arrived: Floats, shown: Floats, hidden: Bools) -> "BatchOrders":
        """State after a period; where demand is hidden, what is shown is a part of it."""
        levels = self.levels.after(shown[:, None], hidden[:, None])
        return replace(self, levels=levels, supply=self.supply.after(order, arrived))


class InventoryBenchPolicy:
    """Our policy in the publisher's interface: run by its harness, it orders as on our board.

    Put it in place of the example in `eval/run_baseline_policy.py` of https://github.com/TianyiPeng/InventoryBench. The
    harness announces a lead time of 2 where it is random; what it says of orders on the way is not used.
    """

    def __init__(
        self,
        item_id: str,  # noqa: ARG002, the publisher's interface, as below
        initial_samples: list[tuple[str, float]],
        promised_lead_time: int,
        profit_per_unit: float,
        holding_cost_per_unit: float,
        product_description: str | None = None,  # noqa: ARG002
    ) -> None:
        lead = "stochastic" if promised_lead_time == PROMISED else str(promised_lead_time)
        train, nothing = np.array([[demand for _, demand in initial_samples]], dtype=np.float64), np.zeros((1, 0))
        profit, holding = np.array([profit_per_unit]), np.array([holding_cost_per_unit])
        self.batch = Batch("real", lead, profit, holding, train, nothing, nothing.astype(np.int64))
        self.reset()

    def reset(self) -> None:
        """Forget what was seen since the start."""
        self.player = BatchOrders.start(self.batch)

    def get_order(
        self,
        period: int,
        current_date: str,  # noqa: ARG002
        on_hand_inventory: float,
        in_transit_total: float,  # noqa: ARG002
        previous_demand: float,
        previous_order: float,
        previous_arrivals: float,
        profit_per_unit: float,  # noqa: ARG002
        holding_cost_per_unit: float,  # noqa: ARG002
    ) -> float:
        """Order of a period, counted from 1."""
        if period > 1:
            order, arrived, shown = (np.array([float(x)]) for x in (previous_order, previous_arrivals, previous_demand))
            self.player = self.player.after(order, arrived, shown, np.zeros(1, dtype=bool))
        return float(self.player.order(np.array([float(on_hand_inventory)]))[0])


def play_batch(
    batch: Batch, sales_only: bool = False, search: Search = DEFAULT, entrant: Entrant | None = None
) -> Floats:
    """The score of every instance, (instances,).

    The policy is shown the demand of each period after it, or its sales; the units that arrived, not their order,
    and of a fixed lead time how long it is. Chances of random ones are learned as units arrive or do not.
    """
    n, periods = batch.demand.shape
    deliveries, player, costs, flow = Deliveries.of(batch), BatchOrders.start(batch, search), _costs(batch), SHOP.flow
    stock, reward = np.zeros(n), np.zeros(n)
    asked = entrant.start(batch.history) if entrant else None
    seen: dict[str, Array] = {f"last_{name}": np.zeros(n) for name in ("sales", "stockout", "order", "received")}
    for t in range(periods):
        if asked is None:
            order = player.order(stock)
        else:
            order = asked(batch.columns(t) | {"stock": stock, "on_order": deliveries.on_order(t)} | seen)
        arrived = deliveries.arrived(t, order)
        available = units_available(stock, arrived, flow)
        sold = np.minimum(available, batch.demand[:, t])
        stock = carried(available, sold, flow)
        reward += sales_profit(batch.profit, sold, batch.demand[:, t] - sold, stock, costs)
        shown = sold if sales_only else batch.demand[:, t]
        hidden = (stock <= 0) & sales_only
        if asked is None:
            player = player.after(order, arrived, shown, hidden)
        seen = {"last_sales": shown, "last_stockout": hidden, "last_order": order, "last_received": arrived}
    total = batch.profit * batch.demand.sum(axis=1)
    return np.asarray(np.maximum(np.divide(reward, total, out=np.zeros(n), where=total > 0), 0.0))


def _costs(batch: Batch) -> UnitCosts:
    nothing = np.zeros(len(batch.holding))
    return UnitCosts(lost=nothing, order=nothing, holding=batch.holding)


def _situation(batch: Batch, stock: Floats, supply: KnownSupply | SupplyBelief, search: Search) -> Situation:
    n, nothing = len(stock), np.zeros(len(stock))
    chances, lost = supply.law
    periods = search.periods(chances.shape[1] - 1)
    return Situation(
        stock=stock,
        pipeline=supply.waiting,
        chances=chances,
        lost=lost,
        exposure=np.ones((n, periods)),
        may_order=np.ones((n, periods), dtype=bool),
        **kept_prices(batch.profit, periods),
        costs=_costs(batch),
        multiple=nothing + 1.0,
        minimum=nothing,
        limit=nothing + np.inf,
    )
