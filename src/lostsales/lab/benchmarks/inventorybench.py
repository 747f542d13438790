"""InventoryBench: 1,320 instances of one product, played period by period.

Each period the policy orders, then what is due arrives, then demand comes; the reward is p sold - h left. The score of
an instance is max(0, reward / (p total demand)).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lostsales.data.economics import UnitCosts, carried, sales_profit, units_available
from lostsales.data.shop import Shop
from lostsales.demand.model.moving_levels import MovingLevels
from lostsales.lab.benchmarks.board import BoardRow, Figures, fingerprint
from lostsales.lab.benchmarks.entrant import Entrant
from lostsales.lab.benchmarks.inventorybench_data import KINDS, LEADS, Batch, read_instances
from lostsales.lab.benchmarks.inventorybench_supply import Deliveries, KnownSupply, SupplyBelief, start_of
from lostsales.learn.planner.paths.search import Search, find_actions, terms_of
from lostsales.learn.planner.paths.search_loops import Situation, kept_prices
from lostsales.types import Floats

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
DISCOUNT = 0.9999  # rewards of all periods count the same


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


def play_batch(
    batch: Batch, sales_only: bool = False, search: Search = DEFAULT, entrant: Entrant | None = None
) -> Floats:
    """The score of every instance, (instances,).

    The policy is shown the demand of each period after it, or its sales; the units that arrived, not their order,
    and of a fixed lead time how long it is. Chances of random ones are learned as units arrive or do not.
    """
    n, periods = batch.demand.shape
    deliveries, supply = Deliveries.of(batch), start_of(batch)
    shop = Shop(arrival="before", discount=DISCOUNT)
    terms, flow, costs = terms_of(shop, shown=False), shop.flow, _costs(batch)
    levels = MovingLevels.start(n).after(batch.train)
    stock, reward = np.zeros(n), np.zeros(n)
    asked = entrant.start(batch.history) if entrant else None
    seen = {f"last_{name}": np.zeros(n) for name in ("sales", "stockout", "order", "received")}
    for t in range(periods):
        if asked is None:
            order = find_actions(levels, _situation(batch, stock, supply, search), terms, search).order
        else:
            order = asked(batch.columns(t) | {"stock": stock, "on_order": deliveries.on_order(t)} | seen)
        arrived = deliveries.arrived(t, order)
        supply, available = supply.after(order, arrived), units_available(stock, arrived, flow)
        sold = np.minimum(available, batch.demand[:, t])
        stock = carried(available, sold, flow)
        reward += sales_profit(batch.profit, sold, batch.demand[:, t] - sold, stock, costs)
        shown = sold if sales_only else batch.demand[:, t]
        hidden = (stock <= 0) & sales_only
        levels = levels.after(shown[:, None], hidden[:, None])
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
