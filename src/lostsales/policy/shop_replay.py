"""The periods of a shop's log replayed under a policy, with the demand of those very periods at its prices.

Every segment of the log starts with its logged stock and orders on the way; after some periods of the log as they were,
by which a policy knows the level of demand, the policy decides. Corrections of the stock, such as shrinkage or short
deliveries, are those of the log, so that the logged actions lead to the logged stock and profit. Units are paid when
they are sold, at the order cost of that period: an order that is on the shelf or on its way at the end is no loss, and
gains of neighbouring periods do not depend on which of them has the order.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from lostsales.data.economics import UnitCosts, period_profit, waste_loss
from lostsales.data.log import DecisionLog
from lostsales.data.progress import Progress
from lostsales.demand.shop import RealisedDemand
from lostsales.policy.deliveries import Pipeline, deliver
from lostsales.policy.history import log_as_asked
from lostsales.policy.limits import within_limits
from lostsales.policy.period import Flow, Outcome, transition
from lostsales.policy.policy import Policy
from lostsales.policy.recent_demand import ShownDemand
from lostsales.policy.shelf import Shelf
from lostsales.policy.view import Action, ClosedPeriod, View
from lostsales.types import Bools, Floats, Ints

WARM_UP = 14  # periods of the log before a policy decides: levels have found their place
WARM_UP_SHARE = 0.25  # ... at most this share of a segment
KEPT = 60  # closed periods that a policy sees beside its shown demand
ENDS_ALIKE = 0.5  # segments of at least this share of the longest length are replayed together


@dataclass(frozen=True, eq=False)
class ReplayedShop:
    """Outcome of a policy in the rows of a log, means over draws; 0 in rows that are not counted."""

    is_counted: Bools  # (rows,)
    gain: Floats  # (rows,) profit less that of the log
    cash_gain: Floats  # (rows,) the same without the cost of lost sales
    slope: Floats  # (rows,) change of the gain where the elasticity is greater by 1
    price: Floats  # (rows,) of the policy
    flow: Flow  # of the policy
    logged: Flow  # of the log in the same draws, in all rows

    @classmethod
    def empty(cls, rows: int, logged: Flow) -> "ReplayedShop":
        """Outcome before any replay."""
        gain, cash_gain, slope, price = np.zeros((4, rows))
        own = Flow(*np.zeros((len(Flow._fields), rows)))
        return cls(np.zeros(rows, dtype=bool), gain, cash_gain, slope, price, own, logged)


def replay_shop(
    policy: Policy, realised: RealisedDemand, seed: int, horizon: int, progress: Progress | None = None
) -> ReplayedShop:
    """Replay the segments of a log under a policy, at most `horizon` periods of each."""
    log = realised.shop.log.decisions("evaluate")
    logged = _logged(log, realised)
    found = ReplayedShop.empty(len(log), logged.flow)
    length = np.diff(np.r_[log.starts, len(log)])
    length = np.minimum(length, horizon + _warm_up(length) + 1)
    left = np.argsort(-length, kind="stable")
    while len(left):
        together = length[left] >= ENDS_ALIKE * length[left[0]]
        _replay_segments(policy, realised, logged, left[together], length, found, seed)
        left = left[~together]
        if progress is not None:
            progress(len(length) - len(left), len(length))
    return found


@dataclass(frozen=True, eq=False)
class _Logged:
    """The log under its own actions, each (draws, rows)."""

    profit: Floats
    cash: Floats
    correction: Floats  # of the stock that follows
    flow: Flow  # means over draws, each (rows,)


def _logged(log: DecisionLog, realised: RealisedDemand) -> _Logged:
    rows = len(log)
    shop, rng = log.problem, np.random.default_rng(0)
    arrived = log.order
    if not shop.receives_orders:
        arrived = deliver(Pipeline.of(shop, log.pipeline, rows, rng), log.order, shop, rng)[0]
    follows, wasted = np.r_[log.stock[1:], 0.0], np.zeros(rows) if log.wasted is None else log.wasted
    found, flows = [], []
    for demand in realised.demand:
        outcome = transition(
            log.stock, np.zeros(rows), Action(log.price, log.order), demand, shop.flow, log.costs, arrived
        )
        outcome = replace(outcome, wasted=wasted)
        profit, cash = _profits(Action(log.price, log.order), outcome, log.costs, log.waste_cost)
        # Random arrivals of the log are not known apart from its corrections.
        # What was thrown away is none of these: a policy has waste of its own.
        correction = np.where(log.has_next & _is_sure(log), follows - outcome.stock_tp1 + wasted, 0.0)
        found.append((profit, cash, correction))
        flows.append(Flow.of(outcome))
    flow = Flow(*(np.mean(each, axis=0) for each in zip(*flows, strict=True)))
    profit, cash, correction = np.array(found).swapaxes(0, 1)
    return _Logged(profit, cash, correction, flow)


def _replay_segments(
    policy: Policy,
    realised: RealisedDemand,
    logged: _Logged,
    segments: Ints,
    lengths: Ints,
    found: ReplayedShop,
    seed: int,
) -> None:
    """Replay some segments in all draws, and fill in what they earn."""
    log, draws = realised.shop.log.decisions("evaluate"), len(realised.demand)
    shop, features = log.problem, log_as_asked(policy, log).features
    rng, supply_rng = (np.random.default_rng((seed, each)) for each in (1, 2))
    series, draw = np.tile(segments, draws), np.repeat(np.arange(draws), len(segments))
    length, warm_up = lengths[series], _warm_up(lengths[series])
    first, longest = log.starts[series], int(length.max())
    row_of = first[:, None] + np.minimum(np.arange(longest), length[:, None] - 1)
    shown = ShownDemand.of(len(series), longest, features.shape[1])
    dates = log.period[row_of].reshape(-1)
    stock, names = log.stock[first], log.names[series]
    pipeline = None
    if not shop.receives_orders:
        on_way = None if log.pipeline is None else log.pipeline[first]
        pipeline = Pipeline.of(shop, on_way, len(series), supply_rng)
    sales, stockout = log.last_sales[series], np.zeros(len(series), dtype=bool)
    depth, arrived = np.zeros(len(series), dtype=np.int16), None
    past: tuple[ClosedPeriod, ...] = ()
    shelf = None
    if log.shelf_life is not None and log.from_oldest is not None:
        shelf = Shelf.fresh(shop, log.shelf_life[first].astype(np.int64), log.from_oldest[first], stock)
    for period in range(longest):
        rows = row_of[:, period]
        view = View(
            period=period,
            features=tuple(features[rows].T),
            stock=stock,
            last_sales=sales,
            last_stockout=stockout,
            depth=depth,
            last_demand=None,
            past=past,
            names=names,
            pipeline=None if pipeline is None else pipeline.seen,
            order_phase=shop.supply.order_phase(log.period[rows]),
            recent=replace(shown.before(period), period=dates),
            dates=log.period[rows],
            ages=None if shelf is None else shelf.seen,
            season_end=None if log.season_end is None else log.season_end[rows],
            salvage=None if log.salvage is None else log.salvage[rows],
        )
        action = Action(log.price[rows], log.order[rows])
        decides = (period >= warm_up) & (period < length)
        if decides.any():
            own = policy.decide(within_limits(policy, view)[0], rng)
            action = Action(*(np.where(decides, new, old) for new, old in zip(own, action, strict=True)))
        demand = realised.at(draw, rows, action.price)
        if pipeline is not None:
            arrived, pipeline = deliver(pipeline, action.order, shop, supply_rng)
        costs = log.costs.at(rows)
        waste_cost = None if log.waste_cost is None else log.waste_cost[rows]
        outcome = transition(stock, depth, action, demand, shop.flow, costs, arrived, shelf)
        counted = decides & (period < length - 1)
        profit, cash = _profits(action, outcome, costs, waste_cost)
        at = rows[counted]
        found.is_counted[at] = True
        margin = (action.price - costs.order) * outcome.sales
        moved = realised.shop.relative_price(rows, action.price) - realised.shop.relative_price(rows, log.price[rows])
        for column, values in (
            (found.gain, profit - logged.profit[draw, rows]),
            (found.cash_gain, cash - logged.cash[draw, rows]),
            (found.slope, margin * moved),
            (found.price, action.price),
            *zip(found.flow, Flow.of(outcome), strict=True),
        ):
            np.add.at(column, at, values[counted] / draws)
        past = (*past, ClosedPeriod(replace(view, past=(), recent=None), action))[-KEPT:]
        shown.add(period, outcome.sales, outcome.stockout, action.price, view.features)
        stock = np.maximum(outcome.stock_tp1 + logged.correction[draw, rows], 0.0)
        shelf = None if outcome.shelf is None else outcome.shelf.counted(stock)
        depth, sales, stockout = outcome.depth_tp1, outcome.sales, outcome.stockout


def _warm_up(length: Ints) -> Ints:
    return np.minimum(WARM_UP, (WARM_UP_SHARE * length).astype(np.int64))


def _is_sure(log: DecisionLog) -> bool:
    return log.problem.receives_orders or log.problem.lead_times.is_fixed


def _profits(action: Action, outcome: Outcome, costs: UnitCosts, waste_cost: Floats | None) -> Iterator[Floats]:
    """Profit with and without the cost of lost sales; units are paid when they are sold or thrown away."""
    for lost in (outcome.lost, np.zeros(len(outcome.lost))):
        profit = period_profit(*action, outcome.sales, lost, outcome.leftover, costs)
        profit = profit + costs.order * (action.order - outcome.sales)
        if outcome.wasted is not None and waste_cost is not None:
            profit = profit - waste_loss(outcome.wasted, waste_cost + costs.order, costs)
        yield profit
