"""The decisions of the period after the log, product by product, with what they bring and what to look at."""

from dataclasses import dataclass

import numpy as np

from lostsales.data.balance import is_off_balance, stock_after
from lostsales.data.labels import spelled
from lostsales.data.ledger import MOST_OFF_BALANCE
from lostsales.data.log import DecisionLog, SalesLog
from lostsales.data.pipelines import arrival_texts
from lostsales.data.sublogs import series_of, with_open_period
from lostsales.demand.censoring.runs import find_runs
from lostsales.evaluation.assortment import AssortmentGain, MoneyOver, on_sale
from lostsales.evaluation.report.open_period import next_features, next_period
from lostsales.policy.history import log_as_asked, view_of_rows
from lostsales.policy.policy import SavedPolicy
from lostsales.policy.recommendation import NOT_CHOSEN, decision_flags
from lostsales.types import Array

ONE_PRICE = "the price never varied, so the effect of another is not identified"
OFF_BALANCE = "the stock does not follow its balance"
VERDICTS = {
    "not proven": "no proven gain",
    "proven loss": "a proven loss",
    "too few rows": "too few rows to evaluate the policy",
}
UNDECIDED = "no demand was observed, so nothing is decided"


@dataclass(frozen=True)
class NextDecision:
    """The decision for one product in the period after its last row."""

    product: str
    period: str
    stock: float  # when the period opens, by the balance
    price: float
    last_price: float
    order: float
    expected_demand: float | None  # None where the policy does not tell
    stockout_chance: float | None
    gain: MoneyOver | None  # of the policy over what was done
    chosen: bool  # the policy should decide for it
    look_at: tuple[str, ...]  # why someone should look at it first
    arrivals: str | None = None  # what is on the way and when it comes, None where orders take a period at most


@dataclass(frozen=True)
class NextDecisions:
    """The decisions by product, the greatest gain first."""

    decisions: tuple[NextDecision, ...]
    no_longer_sold: int  # products without a row in the last tenth of the log
    carried_over: tuple[str, ...]  # features assumed to be as usual, as they follow no cycle
    undecided: tuple[str, ...] = ()  # products whose demand was never seen

    @property
    def to_look_at(self) -> dict[str, tuple[str, ...]]:
        """Products that someone should look at first, by the reason."""
        reasons = dict.fromkeys(reason for each in self.decisions for reason in each.look_at)
        found = {why: tuple(each.product for each in self.decisions if why in each.look_at) for why in reasons}
        return found | ({UNDECIDED: self.undecided} if self.undecided else {})


def next_decisions(policy: SavedPolicy, log: DecisionLog, gains: AssortmentGain | None) -> NextDecisions:
    """Decisions of a policy after the last row of each product that is still sold."""
    products = log.products
    sold = on_sale(log, products)
    last = np.full(len(products), -1)
    last[products.of_segment] = np.arange(len(log.names))  # the last part of a product that holes split
    part = series_of(log, last[sold])
    features, carried_over = next_features(part)
    ends = np.r_[part.starts[1:], len(part)] - 1
    opened = with_open_period(part, features, np.maximum(stock_after(part)[ends], 0.0), next_period(part))
    runs = find_runs(opened)
    rows = np.r_[opened.starts[1:], len(opened)] - 1
    known = runs.depth[rows] >= 0
    asked = log_as_asked(policy, opened)
    decision = policy.explain(view_of_rows(asked, runs, rows[known]))
    flags = {text: each for text, each in decision_flags(decision).items() if text != NOT_CHOSEN}
    flags |= _facts(log, part.names[known])
    by_product = {} if gains is None else {each.product: each for each in gains.products}
    arrivals = None if opened.pipeline is None else arrival_texts(log.problem, opened.pipeline[rows[known]])
    demand, chance = (decision.more.get(name) for name in ("expected_demand", "stockout_chance"))
    found = []
    for place, row in enumerate(rows[known]):
        name = str(opened.names[opened.series[row]])
        own = by_product.get(name)
        verdict = () if own is None or own.proven else (VERDICTS[own.verdict],)
        found.append(
            NextDecision(
                product=name,
                period=spelled(opened.period[row]),
                stock=float(opened.stock[row]),
                price=float(decision.price[place]),
                last_price=float(opened.price[row]),
                order=float(decision.order[place]),
                expected_demand=None if demand is None else float(demand[place]),
                stockout_chance=None if chance is None else float(chance[place]),
                gain=None if own is None else own.gain,
                chosen=own.chosen if own is not None else True,
                look_at=(*verdict, *(text for text, holds in flags.items() if holds[place])),
                arrivals=None if arrivals is None else str(arrivals[place]),
            )
        )
    found.sort(key=lambda each: np.inf if each.gain is None else -each.gain.period.value)
    undecided = tuple(str(name) for name in part.names[~known])
    return NextDecisions(tuple(found), int(np.count_nonzero(~sold)), carried_over, undecided)


def _facts(log: SalesLog, names: Array) -> dict[str, Array]:
    """Facts of the log that speak against a decision for each of these products."""
    products = log.products
    lowest, highest = np.full(len(products), np.inf), np.full(len(products), -np.inf)
    np.minimum.at(lowest, products.of_row, log.price)
    np.maximum.at(highest, products.of_row, log.price)
    off = np.bincount(products.of_row, is_off_balance(log), len(products))
    checked = np.bincount(products.of_row, log.has_next, len(products))
    at = {name: place for place, name in enumerate(products.names)}
    rows = np.array([at[str(name)] for name in names], dtype=np.int64)
    return {ONE_PRICE: (lowest == highest)[rows], OFF_BALANCE: (off > MOST_OFF_BALANCE * checked)[rows]}
